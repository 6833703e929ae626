/** Lists the receipts of all accounts in order of time, for operators. */
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { newestOnReceiptPage, receiptPageKey, receiptsPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { decodeReceiptPage, endOfPageBucket, pageBucketOf } from "./receipt_pages.ts";

/** Pages that are read at once, of up to 50 KB each. */
const pagesPerRead = 10;

/**
 * Lists receipts, the latest call first, starting before `before` if given. Calls of one bucket of time may be on
 * several pages, so a bucket is sorted as a whole.
 */
export async function* listAllReceipts(
  kv: KeyValueStore,
  before?: RequestId,
): AsyncGenerator<Receipt, void, void> {
  const prefix = receiptsPrefix();
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: receiptPageKey(endOfPageBucket(before)) };
  let bucket = "";
  let receipts: Receipt[] = [];
  const inOrder = () => {
    const sorted = receipts.filter(({ requestId }) => before === undefined || requestId < before)
      .sort((one, other) => one.requestId < other.requestId ? 1 : -1);
    receipts = [];
    return sorted;
  };
  const pages = kv.list<unknown>(selector, { reverse: true, batchSize: pagesPerRead });
  for await (const entry of pages) {
    const next = pageBucketOf(newestOnReceiptPage(entry.key));
    if (next !== bucket) yield* inOrder();
    bucket = next;
    receipts.push(...decodeReceiptPage(entry));
  }
  yield* inOrder();
}
