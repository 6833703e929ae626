/** Reading an account's receipts in a range of time, newest first, with filters, page by page. */
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import { parseId } from "../../core/lib/ids.ts";
import { invariant } from "../../core/lib/assert.ts";
import { maxCallMs } from "../../core/limits.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { listReceipts, maxReceiptsPerRead } from "../../kv/receipts/receipts.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

/** Receipts searched for one page when few of them match a filter: about a quarter of a second of reading. */
const maxReceiptScanRows = 5_000;

export interface ReceiptFilter {
  readonly accountId: AccountId;
  /** First moment. */
  readonly fromMs: number;
  /** First moment after the range. */
  readonly untilMs: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Continues below this one. */
  readonly before?: RequestId | undefined;
}

/** The least id that a request of this moment can have: ids begin with their time. */
function firstIdAt(atMs: number): RequestId {
  const id = parseId("request", `req_${Math.max(0, atMs).toString(36).padStart(9, "0")}`);
  invariant(id !== undefined, "an id is made of a time");
  return id;
}

/**
 * Yields the receipts around a range, newest first. Ids are by the time of arrival and a receipt tells when its call
 * started, which is the same moment or a little later: so the range is widened, and {@linkcode matches} decides.
 */
async function* walkReceipts(
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

/** Yields every receipt of a range that fits, newest first. For exports, which stream. */
export async function* scanReceipts(
  kv: KeyValueStore,
  filter: ReceiptFilter,
): AsyncGenerator<Receipt, void, void> {
  for await (const receipt of walkReceipts(kv, filter)) {
    if (matches(receipt, filter)) yield receipt;
  }
}

function matches(receipt: Receipt, filter: ReceiptFilter): boolean {
  return receipt.startedAtMs >= filter.fromMs && receipt.startedAtMs < filter.untilMs &&
    (filter.keyId === undefined || receipt.keyId === filter.keyId) &&
    (filter.model === undefined || receipt.model === filter.model);
}

/**
 * Up to `count` receipts, and where to read on. Looks at {@linkcode maxReceiptScanRows} rows at most: with a filter
 * that fits little, a page may be short and still have a next one.
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
    if (receipts.length === count || looked === maxReceiptScanRows) {
      return { receipts, next: last };
    }
    looked++;
    last = receipt.requestId;
    if (matches(receipt, filter)) receipts.push(receipt);
  }
  return { receipts, next: undefined };
}
