/** Reads an account's receipts in a time range, newest first, filtered and paged. */
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import { parseId } from "../../core/lib/ids.ts";
import { invariant } from "../../core/lib/assert.ts";
import { maxCallMs } from "../../core/limits.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { listReceipts, maxReceiptsPerRead } from "../../kv/receipts/receipts.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

/** Calls searched for one page when few of them match a filter: about a quarter of a second of reading. */
export const maxScanRows = 5_000;

/** The receipts to read. */
export interface ReceiptFilter {
  readonly accountId: AccountId;
  /** First moment. */
  readonly fromMs: number;
  /** First moment after the range. */
  readonly untilMs: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Continues with the receipts older than this one. */
  readonly before?: RequestId | undefined;
}

/** Returns the smallest id that a request of this moment can have: ids begin with their time. */
function firstIdAt(atMs: number): RequestId {
  const id = parseId("request", `req_${Math.max(0, atMs).toString(36).padStart(9, "0")}`);
  invariant(id !== undefined, "an id is made of a time");
  return id;
}

/**
 * Yields the receipts around a range, newest first. Ids contain the time of arrival, while a
 * receipt has the start of its call, which can be a little later: so the range is widened, and
 * {@linkcode matchesReceipt} decides.
 */
export async function* walkReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt, void, void> {
  const top = firstIdAt(filter.untilMs + maxCallMs);
  let before: RequestId | undefined = filter.before !== undefined && filter.before < top
    ? filter.before
    : top;
  const bottom = firstIdAt(filter.fromMs - maxCallMs);
  while (before !== undefined) {
    const page: Awaited<ReturnType<typeof listReceipts>> = await listReceipts(
      kv,
      filter.accountId,
      { limit: maxReceiptsPerRead, before },
    );
    for (const receipt of page.receipts) {
      if (receipt.requestId < bottom) return;
      yield receipt;
    }
    before = page.next;
  }
}

/**
 * Yields every receipt of a range that matches the filter, newest first. For exports, which stream.
 */
export async function* scanReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt, void, void> {
  for await (const receipt of walkReceipts(kv, filter)) {
    if (matchesReceipt(receipt, filter)) yield receipt;
  }
}

/** Whether a receipt fits a filter. */
export function matchesReceipt(receipt: Receipt, filter: ReceiptFilter): boolean {
  return receipt.startedAtMs >= filter.fromMs && receipt.startedAtMs < filter.untilMs &&
    (filter.keyId === undefined || receipt.keyId === filter.keyId) &&
    (filter.model === undefined || receipt.model === filter.model);
}

/**
 * Reads up to `count` receipts and the id to continue from. Reads at most {@linkcode maxScanRows} rows: with a
 * narrow filter a page may be short and still have a next one.
 */
export async function takeReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
  count: number,
): Promise<{ receipts: Receipt[]; next: RequestId | undefined }> {
  const receipts: Receipt[] = [];
  let looked = 0;
  let last: RequestId | undefined;
  for await (const receipt of walkReceipts(kv, filter)) {
    if (receipts.length === count || looked === maxScanRows) {
      return { receipts, next: last };
    }
    looked++;
    last = receipt.requestId;
    if (matchesReceipt(receipt, filter)) receipts.push(receipt);
  }
  return { receipts, next: undefined };
}
