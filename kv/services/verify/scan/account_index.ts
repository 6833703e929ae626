/** Reads the index of one account from an id on. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { pageIds } from "../../../money/receipts/receipt_index.ts";
import { indexPageKey, indexPagesPrefix } from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";
import type { Problem } from "../checks/problems.ts";

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
