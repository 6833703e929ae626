/**
 * How receipts lie in the store: several to a row, a *page*.
 *
 * A row costs as much time as everything else that a settlement does, so the receipts of one commit whose calls began
 * in the same bucket of time, the first eight of the nine digits of their ids (36 ms), share one. The key of a page is
 * its newest id: pages ascend in time and append, and a receipt is found by its id alone, among the pages from that
 * id to the end of its bucket. Calls that lasted differently long have pages of their own and are read by their key.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { RequestId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { newestOnReceiptPage, receiptPageKey } from "../schema/keys.ts";
import { decodeReceipt, encodeReceipt } from "./receipt_codec.ts";
import { type AtomicWrite, keysPerRead, type KeyValueStore } from "../store/key_value_store.ts";

/**
 * Characters on one page of receipts: two bytes each at worst, and the store's bound for a value is 64 KiB.
 */
export const maxReceiptPageChars = 30_000;

/** `req_` and eight of the nine digits of the time. */
const bucketChars = 12;
/** Sorts after every id of a bucket. */
const bucketEnd = "~";

/** The bucket of time that a call began in; its receipt shares a page with others of the same only. */
export function pageBucketOf(requestId: RequestId): string {
  return requestId.slice(0, bucketChars);
}

/** A row that is about to be written. */
interface Page {
  newest: RequestId;
  /** The JSON texts of its receipts, joined by commas. */
  text: string;
}

/** Lays receipts onto pages; each is ready to be written when all are laid. */
export class ReceiptPageLayout {
  /** The page of each bucket that has room. */
  readonly #open = new Map<string, Page>();
  readonly #pages: Page[] = [];

  /** Lays one receipt down. Returns the characters it takes, for the bounds of the commit. */
  add(receipt: Receipt): number {
    const { requestId } = receipt;
    const text = `["${requestId}",${encodeReceipt(receipt)}]`;
    const bucket = pageBucketOf(requestId);
    const page = this.#open.get(bucket);
    if (page !== undefined && page.text.length + text.length < maxReceiptPageChars) {
      page.text += `,${text}`;
      if (requestId > page.newest) page.newest = requestId;
    } else {
      const fresh = { newest: requestId, text };
      this.#open.set(bucket, fresh);
      this.#pages.push(fresh);
    }
    return text.length;
  }

  /** Adds the rows to an atomic. May be called again when that one was not applied. */
  write(op: AtomicWrite): void {
    for (const { newest, text } of this.#pages) op.set(receiptPageKey(newest), `[${text}]`);
  }
}

/**
 * The receipts of a page, or those of them that are `wanted`: a full one has a hundred, each of which costs more to
 * unpack than to skip.
 *
 * @throws {InvariantError} if the row is not a page
 */
export function decodeReceiptPage(
  { key, value }: Deno.KvEntry<unknown>,
  wanted?: ReadonlySet<RequestId>,
): Receipt[] {
  invariant(typeof value === "string", "not a page of receipts");
  const rows: unknown = JSON.parse(value);
  invariant(Array.isArray(rows), "not a page of receipts");
  const newest = newestOnReceiptPage(key);
  // The first form of the row: one receipt, bare, its id in the key.
  if (typeof rows[0] === "number") {
    return wanted?.has(newest) === false ? [] : [decodeReceipt(newest, rows)];
  }
  return rows.flatMap((row) => {
    invariant(Array.isArray(row) && typeof row[0] === "string", "not a page of receipts");
    const requestId = row[0] as RequestId;
    if (wanted?.has(requestId) === false) return [];
    const isFound = requestId <= newest && pageBucketOf(requestId) === pageBucketOf(newest);
    invariant(isFound, `receipt ${requestId} lies on a page on which nobody looks for it`);
    return decodeReceipt(requestId, row[1]);
  });
}

/** The keys between which the page of a call lies, and those of later calls of the same bucket. */
function pagesFrom(requestId: RequestId): Deno.KvListSelector {
  return {
    start: receiptPageKey(requestId),
    end: receiptPageKey(pageBucketOf(requestId) + bucketEnd),
  };
}

/**
 * The receipts of these calls that exist, by id. Pages of one receipt, the usual case, are read by their key, ten at
 * a time; what is not found like that is looked for in its bucket.
 */
export async function readReceiptPages(
  kv: KeyValueStore,
  requestIds: readonly RequestId[],
): Promise<Map<RequestId, Receipt>> {
  const wanted = new Set(requestIds);
  const found = new Map<RequestId, Receipt>();
  const take = (entry: Deno.KvEntry<unknown>) => {
    for (const receipt of decodeReceiptPage(entry, wanted)) found.set(receipt.requestId, receipt);
  };
  for (let at = 0; at < requestIds.length; at += keysPerRead) {
    const some = requestIds.slice(at, at + keysPerRead).filter((id) => !found.has(id));
    if (some.length === 0) continue;
    for (const entry of await kv.getMany<unknown[]>(some.map(receiptPageKey))) {
      if (entry.versionstamp !== null) take(entry);
    }
  }
  // The oldest of a bucket first: its reading passes the pages of all the others.
  for (const requestId of [...wanted].sort()) {
    if (found.has(requestId)) continue;
    // It lies on the first nearly always; a page is up to 50 KB.
    for await (const entry of kv.list<unknown>(pagesFrom(requestId), { batchSize: 2 })) {
      take(entry);
      if (found.has(requestId)) break;
    }
  }
  return found;
}
