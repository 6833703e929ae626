/**
 * Indexes receipts by account, in pages of request ids.
 *
 * A row per receipt would double what a call costs the store. A page has the ids that were indexed
 * together and share a bucket, i.e. the first digits of their time (1.3 seconds). Its key ends in
 * its newest id, so the pages of a bucket are neighbours, and a list sorts one bucket at a time,
 * however late some of its calls ended.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import { indexPageKey, indexPagesPrefix, newestOnIndexPage } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** `req_` and seven of the nine digits of the time: 36² ms. */
const bucketChars = 11;
/** Sorts after every id of a bucket. */
const bucketEnd = "~";

function bucketOf(requestId: string): string {
  return requestId.slice(0, bucketChars);
}

/** Calls of one account. */
export interface CallsOfAccount {
  readonly accountId: AccountId;
  readonly requestIds: readonly RequestId[];
}

/** Adds the index pages of these calls to an atomic write. The calls must not be indexed yet. */
export function writePages(op: AtomicWrite, calls: Iterable<CallsOfAccount>): void {
  const pages = new Map<string, { accountId: AccountId; newest: RequestId; rest: string[] }>();
  for (const { accountId, requestIds } of calls) {
    for (const requestId of requestIds) {
      const id = accountId + bucketOf(requestId);
      const page = pages.get(id);
      if (page) {
        page.rest.push(requestId.slice(bucketChars));
        if (requestId > page.newest) page.newest = requestId;
      } else {
        pages.set(id, { accountId, newest: requestId, rest: [requestId.slice(bucketChars)] });
      }
    }
  }
  for (const { accountId, newest, rest } of pages.values()) {
    op.set(indexPageKey(accountId, newest), rest.join());
  }
}

/**
 * Decodes the request ids of a page.
 *
 * @throws {InvariantError} if the row is not a page
 */
export function pageIds({ key, value }: Deno.KvEntry<unknown>): RequestId[] {
  invariant(typeof value === "string", "not a page of the receipt index");
  const bucket = bucketOf(newestOnIndexPage(key));
  return value.split(",").map((rest) => `${bucket}${rest}` as RequestId);
}

/** Lists the indexed calls of an account, the latest first, starting before `before` if given. */
export async function* listIndexed(
  kv: KeyValueStore,
  accountId: AccountId,
  before?: RequestId,
): AsyncGenerator<RequestId> {
  const prefix = indexPagesPrefix(accountId);
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: indexPageKey(accountId, bucketOf(before) + bucketEnd) };
  let bucket = "";
  let ids: RequestId[] = [];
  const inOrder = () => {
    const sorted = ids.filter((id) => before === undefined || id < before).sort().reverse();
    ids = [];
    return sorted;
  };
  for await (const entry of kv.list<unknown>(selector, { reverse: true })) {
    const page = pageIds(entry);
    const next = bucketOf(newestOnIndexPage(entry.key));
    if (next !== bucket) yield* inOrder();
    bucket = next;
    ids.push(...page);
  }
  yield* inOrder();
}

/** Returns those of the given calls that are in the index. */
export async function indexedAmong(
  kv: KeyValueStore,
  accountId: AccountId,
  requestIds: readonly RequestId[],
): Promise<Set<RequestId>> {
  const wanted = new Set(requestIds);
  const indexed = new Set<RequestId>();
  for (const bucket of new Set(requestIds.map(bucketOf))) {
    const selector = {
      start: indexPageKey(accountId, bucket),
      end: indexPageKey(accountId, bucket + bucketEnd),
    };
    for await (const entry of kv.list<unknown>(selector)) {
      for (const id of pageIds(entry)) if (wanted.has(id)) indexed.add(id);
    }
  }
  return indexed;
}
