/**
 * Indexes receipts by account, in pages of request ids.
 *
 * A row per receipt would double what a call costs the store. A page has the ids that were indexed
 * together and share a bucket, i.e. the first digits of their time (1.3 seconds). Its key ends in
 * its newest id, so the pages of a bucket are neighbours, and a list sorts one bucket at a time,
 * however late some of its calls ended.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import {
  failedPageKey,
  failedPagesPrefix,
  indexPageKey,
  indexPagesPrefix,
  newestOnIndexPage,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** `req_` and seven of the nine digits of the time: 36² ms. */
const bucketChars = 11;
/** Sorts after every id of a bucket. */
const bucketEnd = "~";

function bucketOf(requestId: string): string {
  return requestId.slice(0, bucketChars);
}

/** Returns the bucket of a page: pages of one are neighbours. */
export function indexBucketOf(key: Deno.KvKey): string {
  return bucketOf(newestOnIndexPage(key));
}

/** Returns a text behind all ids of the bucket of an id, or of a bucket. */
export function endOfIndexBucket(id: string): string {
  return bucketOf(id) + bucketEnd;
}

/** Calls of one account. */
export interface CallsOfAccount {
  readonly accountId: AccountId;
  readonly requestIds: readonly RequestId[];
}

/** Makes the key of a page from its account and its newest call. */
export type PageKey = typeof indexPageKey;

/** Adds the index pages of these calls to an atomic write. The calls must not be indexed yet. */
export function writePages(
  op: AtomicWrite,
  pageKey: PageKey,
  calls: Iterable<CallsOfAccount>,
): void {
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
    op.set(pageKey(accountId, newest), rest.join());
  }
}

/** Encodes the page of one call, for a key that begins with its id. */
export function pageOfCall(requestId: RequestId): string {
  return requestId.slice(bucketChars);
}

/**
 * Decodes the request ids of a page.
 *
 * @throws {InvariantError} if the row is not a page
 */
export function pageIds({ key, value }: Deno.KvEntry<unknown>): RequestId[] {
  invariant(typeof value === "string", "not a page of the receipt index");
  const bucket = indexBucketOf(key);
  return value.split(",").map((rest) => `${bucket}${rest}` as RequestId);
}

/** Lists the indexed calls of an account, the latest first, starting before `before` if given. */
export function listIndexed(
  kv: KeyValueStore,
  accountId: AccountId,
  before?: RequestId,
  options?: Deno.KvListOptions,
): AsyncGenerator<RequestId> {
  const bound = before === undefined ? undefined : {
    before,
    end: indexPageKey(accountId, bucketOf(before) + bucketEnd),
  };
  return listPages(kv, indexPagesPrefix(accountId), bound, options);
}

/** Pages that are read to find one call: those of a bucket are nearly always fewer. */
const pagesPerPeek = 3;

/** Returns the latest indexed call before another. */
export async function latestIndexed(
  kv: KeyValueStore,
  accountId: AccountId,
  before: RequestId,
): Promise<RequestId | undefined> {
  for await (const id of listIndexed(kv, accountId, before, { batchSize: pagesPerPeek })) return id;
  return undefined;
}

/** Returns the first indexed call after another. */
export async function nextIndexed(
  kv: KeyValueStore,
  accountId: AccountId,
  after: RequestId,
): Promise<RequestId | undefined> {
  const selector = { prefix: indexPagesPrefix(accountId), start: indexPageKey(accountId, after) };
  let bucket = "";
  let next: RequestId | undefined;
  for await (const entry of kv.list<unknown>(selector, { batchSize: pagesPerPeek })) {
    // The pages of a bucket may have its ids in any order.
    if (next !== undefined && indexBucketOf(entry.key) !== bucket) break;
    bucket = indexBucketOf(entry.key);
    for (const id of pageIds(entry)) {
      if (id > after && (next === undefined || id < next)) next = id;
    }
  }
  return next;
}

/** As {@linkcode listIndexed}, of the failed calls with a receipt. Those of days before their index was kept are missing. */
export function listFailed(
  kv: KeyValueStore,
  accountId: AccountId,
  before?: RequestId,
): AsyncGenerator<RequestId> {
  return listPages(
    kv,
    failedPagesPrefix(accountId),
    before === undefined ? undefined : {
      before,
      end: failedPageKey(accountId, bucketOf(before) + bucketEnd),
    },
  );
}

async function* listPages(
  kv: KeyValueStore,
  prefix: Deno.KvKey,
  bound: { readonly before: RequestId; readonly end: Deno.KvKey } | undefined,
  options?: Deno.KvListOptions,
): AsyncGenerator<RequestId> {
  const before = bound?.before;
  const selector = bound === undefined ? { prefix } : { prefix, end: bound.end };
  let bucket = "";
  let ids: RequestId[] = [];
  const inOrder = () => {
    // Two rebuilds at once may both have added a page.
    const sorted = [...new Set(ids)].filter((id) => before === undefined || id < before).sort()
      .reverse();
    ids = [];
    return sorted;
  };
  for await (const entry of kv.list<unknown>(selector, { ...options, reverse: true })) {
    const page = pageIds(entry);
    const next = indexBucketOf(entry.key);
    if (next !== bucket) yield* inOrder();
    bucket = next;
    ids.push(...page);
  }
  yield* inOrder();
}

/** Returns those of the given calls that are in the index. */
export function indexedAmong(
  kv: KeyValueStore,
  accountId: AccountId,
  requestIds: readonly RequestId[],
): Promise<Set<RequestId>> {
  return amongPages(kv, indexPageKey, accountId, requestIds);
}

/** Returns those of the given calls that are in the index of failed calls. */
export function failedAmong(
  kv: KeyValueStore,
  accountId: AccountId,
  requestIds: readonly RequestId[],
): Promise<Set<RequestId>> {
  return amongPages(kv, failedPageKey, accountId, requestIds);
}

async function amongPages(
  kv: KeyValueStore,
  pageKey: PageKey,
  accountId: AccountId,
  requestIds: readonly RequestId[],
): Promise<Set<RequestId>> {
  const wanted = new Set(requestIds);
  const indexed = new Set<RequestId>();
  for (const bucket of new Set(requestIds.map(bucketOf))) {
    const selector = {
      start: pageKey(accountId, bucket),
      end: pageKey(accountId, bucket + bucketEnd),
    };
    for await (const entry of kv.list<unknown>(selector)) {
      for (const id of pageIds(entry)) if (wanted.has(id)) indexed.add(id);
    }
  }
  return indexed;
}
