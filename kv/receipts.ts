/**
 * Reading receipts. A receipt is there, by its id, from the moment its call was settled; in the list of its account it
 * is found through the index, or, for a second or so, through the batch row of its commit. Readers see both.
 */
import type { AccountId, RequestId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import type { Receipt } from "../core/receipt.ts";
import { listBatches } from "./batches.ts";
import { receiptKey } from "./keys.ts";
import { decodeReceipt } from "./receipt_codec.ts";
import { listIndexed } from "./receipt_index.ts";

/** The store's bound for one `getMany`. */
const keysPerRead = 10;

/** The receipt of a call, if it was settled. Whose it is must be checked by the caller. */
export async function readReceipt(
  kv: Deno.Kv,
  requestId: RequestId,
): Promise<Receipt | undefined> {
  const row = await kv.get(receiptKey(requestId));
  return row.versionstamp === null ? undefined : decodeReceipt(requestId, row.value);
}

/** The receipts of these calls that exist, in the same order. */
export async function readReceipts(
  kv: Deno.Kv,
  requestIds: readonly RequestId[],
): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  for (let at = 0; at < requestIds.length; at += keysPerRead) {
    const some = requestIds.slice(at, at + keysPerRead);
    const rows = await kv.getMany<unknown[]>(some.map(receiptKey));
    some.forEach((requestId, at) => {
      const row = rows[at];
      if (row && row.versionstamp !== null) receipts.push(decodeReceipt(requestId, row.value));
    });
  }
  return receipts;
}

/** Ids of an account's calls that are settled but may not be in the index yet; some may be in both. */
export async function readTail(kv: Deno.Kv, accountId: AccountId): Promise<RequestId[]> {
  const tail: RequestId[] = [];
  for await (const { parts } of listBatches(kv)) {
    for (const part of parts) if (part.accountId === accountId) tail.push(...part.requestIds);
  }
  return tail;
}

export interface ReceiptPage {
  readonly receipts: readonly Receipt[];
  /** Pass as `before` to read on; absent at the end. */
  readonly next?: RequestId;
}

/**
 * The receipts of an account, the latest call first (by the time the request came in).
 *
 * @example
 * ```ts
 * import { newId } from "../core/ids.ts";
 * import { listReceipts } from "./receipts.ts";
 * using kv = await Deno.openKv(":memory:");
 * const page = await listReceipts(kv, newId("account", Date.now()), { limit: 20 });
 * if (page.receipts.length !== 0) throw new Error("no calls were made");
 * ```
 */
export async function listReceipts(
  kv: Deno.Kv,
  accountId: AccountId,
  page: { readonly limit: number; readonly before?: RequestId },
): Promise<ReceiptPage> {
  const limit = Math.min(page.limit, limits.moneyListRows);
  const { before } = page;
  // The tail first: what leaves it afterwards is in the index when that is read.
  const tail = await readTail(kv, accountId);
  const ids = new Set(before === undefined ? tail : tail.filter((id) => id < before));
  let listed = 0;
  for await (const requestId of listIndexed(kv, accountId, before)) {
    ids.add(requestId);
    if (++listed > limit) break;
  }
  const latest = [...ids].sort().reverse();
  const receipts = await readReceipts(kv, latest.slice(0, limit));
  const last = latest.length > limit ? latest[limit - 1] : undefined;
  return { receipts, ...(last === undefined ? {} : { next: last }) };
}
