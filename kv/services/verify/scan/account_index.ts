/** Reads the index of one account from an id on. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { pageIds } from "../../../money/receipts/receipt_index.ts";
import { indexPageKey, indexPagesPrefix } from "../../../engine/schema/keys.ts";
import type { ArchivedIds, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";
import type { Problem } from "../checks/problems.ts";

/** Sorts behind every account. */
const behindEveryAccount = "~" as AccountId;

/** Ids in the index of an account. */
export interface IndexedIds {
  readonly ids: readonly RequestId[];
  /** Rows that cannot be read. */
  readonly problems: readonly Problem[];
}

/** Reads the calls of an account whose ids are not before `startId`; all if it is empty. */
export async function indexedIds(
  kv: KeyValueStore,
  accountId: AccountId,
  startId: string,
): Promise<IndexedIds> {
  // An archive may name a call, too, while its day is moved.
  const ids = new Set<RequestId>();
  const problems: Problem[] = [];
  const prefix = indexPagesPrefix(accountId);
  // The key of a page has its newest id, so a page with such a call lies behind the start.
  const selector = startId === ""
    ? { prefix }
    : { prefix, start: indexPageKey(accountId, startId) };
  for await (const page of readAhead<unknown>(kv, selector)) {
    try {
      for (const requestId of pageIds(page)) if (requestId >= startId) ids.add(requestId);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      problems.push({ accountId, kind: "row", detail: `${page.key.join(" ")}: ${error.message}` });
    }
  }
  return { ids: [...ids], problems };
}

/** Takes a call that an index names. */
type TakeCall = (accountId: AccountId, requestId: RequestId) => void;

/** Index of the calls in an archive, read beside that of the store: both are in the order of accounts and calls. */
export class IndexOfArchive {
  /** Options for reading the index of the store beside it. */
  readonly ofStore: { readonly isWithoutArchive: boolean };
  readonly #groups: AsyncIterator<ArchivedIds> | undefined;
  readonly #slices: TimeSlices | undefined;
  #group: ArchivedIds | undefined;
  #at = 0;
  #hasBegun = false;

  constructor(kv: KeyValueStore, slices: TimeSlices | undefined) {
    this.#groups = kv.archivedIndex?.()[Symbol.asyncIterator]();
    this.ofStore = { isWithoutArchive: this.#groups !== undefined };
    this.#slices = slices;
  }

  /** Takes the calls before a place, behind those that were taken: all of earlier accounts, and earlier ones of this. */
  async before(accountId: AccountId, bound: string, take: TakeCall): Promise<void> {
    if (!this.#hasBegun) await this.#advance();
    for (let group; (group = this.#group) !== undefined;) {
      if (group.accountId > accountId) return;
      const { requestIds } = group;
      const isEarlier = group.accountId < accountId;
      for (; this.#at < requestIds.length; this.#at++) {
        const requestId = requestIds[this.#at]!;
        if (!isEarlier && requestId >= bound) return;
        // A row that is there twice names its call once, as a page would.
        if (requestId !== requestIds[this.#at - 1]) take(group.accountId, requestId);
      }
      await this.#advance();
    }
  }

  /** Takes the calls that are left. */
  async rest(take: TakeCall): Promise<void> {
    await this.before(behindEveryAccount, "", take);
  }

  async #advance(): Promise<void> {
    this.#hasBegun = true;
    const next = await this.#groups?.next();
    this.#group = next === undefined || next.done === true ? undefined : next.value;
    this.#at = 0;
    await this.#slices?.rest();
  }
}
