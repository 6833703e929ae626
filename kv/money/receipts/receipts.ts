/**
 * Reads receipts. A receipt can be read by its id as soon as its call is settled. Lists of an
 * account find it through the index, or for about a second through the batch row of its commit; the
 * functions here read both.
 *
 * - Folder `kv/money/receipts/`: receipts, their index by account, and the sums per day that are derived from them.
 * - In: the batch rows of settlements.
 * - Out: receipts by id and by account, usage per day, key and model.
 * - Never: moves money: the sums can be deleted and built again.
 */
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { listBatches } from "../../engine/store/batches.ts";
import { behindAllIds, newestReceipts } from "./newest_receipts.ts";
import { readReceiptPages } from "./receipt_pages.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/** Most receipts on one page of a list, or in one read. */
export const maxReceiptsPerRead = 500;

/** Reads the receipt of a call, if it was settled. The caller checks whose it is. */
export async function readReceipt(
  kv: KeyValueStore,
  requestId: RequestId,
): Promise<Receipt | undefined> {
  return (await readReceiptPages(kv, [requestId])).get(requestId);
}

/** Reads the receipts of these calls that exist, in the same order. */
export async function readReceipts(
  kv: KeyValueStore,
  requestIds: readonly RequestId[],
): Promise<Receipt[]> {
  const found = await readReceiptPages(kv, requestIds);
  return requestIds.map((requestId) => found.get(requestId))
    .filter((receipt) => receipt !== undefined);
}

/**
 * Reads the ids of settled calls of an account that may not be in the index yet; some may be in
 * both.
 */
export async function readTail(kv: KeyValueStore, accountId: AccountId): Promise<RequestId[]> {
  const tail: RequestId[] = [];
  for await (const { parts } of listBatches(kv)) {
    for (const part of parts) if (part.accountId === accountId) tail.push(...part.requestIds);
  }
  return tail;
}

/** One page of a list of receipts. */
export interface ReceiptPage {
  readonly receipts: readonly Receipt[];
  /** The `before` of the following page; absent at the end. */
  readonly next?: RequestId;
}

/**
 * Lists the receipts of an account, the latest call first, by the time its request arrived.
 *
 * @example
 * ```ts
 * import { newId } from "../../../core/lib/ids/ids.ts";
 * import { listReceipts } from "./receipts.ts";
 * using kv = await Deno.openKv(":memory:");
 * const page = await listReceipts(kv, newId("account", Date.now()), { limit: 20 });
 * if (page.receipts.length !== 0) throw new Error("no calls were made");
 * ```
 */
export async function listReceipts(
  kv: KeyValueStore,
  accountId: AccountId,
  page: { readonly limit: number; readonly before?: RequestId },
): Promise<ReceiptPage> {
  const limit = Math.min(page.limit, maxReceiptsPerRead);
  // The tail is read first: what leaves it afterwards is in the index by the time that is read.
  const tail = await readTail(kv, accountId);
  const { before = behindAllIds } = page;
  const found: Receipt[] = [];
  const asked = { accountId, from: "", before, tail, firstRead: limit + 1 };
  for await (const { receipts } of newestReceipts(kv, asked)) {
    found.push(...receipts);
    if (found.length > limit) break;
  }
  const receipts = found.slice(0, limit);
  const last = found.length > limit ? receipts.at(-1)?.requestId : undefined;
  return { receipts, ...defined({ next: last }) };
}
