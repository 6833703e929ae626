/**
 * Stores receipts, several to a row: a *page*.
 *
 * Writing a row takes as long as everything else in a settlement. So the receipts of one commit
 * whose calls started in the same bucket of time (the first eight of the nine time digits of their
 * ids, 36 ms) share a row. The key of a page is its newest id. Keys ascend with time, so rows are
 * appended, and the id of a receipt suffices to find it, among the pages from that id to the end of
 * its bucket. Receipts that are alone in their bucket are read by their key.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { beforeIdsOf, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { newestOnReceiptPage, receiptPageKey } from "../../engine/schema/keys.ts";
import { decodeReceipt, encodeReceipt } from "./receipt_codec.ts";
import {
  type AtomicWrite,
  keysPerRead,
  type KeyValueStore,
} from "../../engine/store/key_value_store.ts";

/**
 * Most characters on one page of receipts: at most two bytes each, and a value of the store has at
 * most 64 KiB.
 */
export const maxReceiptPageChars = 30_000;

/** `req_` and eight of the nine digits of the time. */
const bucketChars = 12;
/** Sorts after every id of a bucket. */
const bucketEnd = "~";

/** Returns the time bucket in which a call started; only receipts of one bucket share a page. */
export function pageBucketOf(requestId: RequestId): string {
  return requestId.slice(0, bucketChars);
}

/** Returns a bound for keys that is above all pages of the bucket of a call. */
export function endOfPageBucket(requestId: RequestId): string {
  return pageBucketOf(requestId) + bucketEnd;
}

/** A row that is being filled. */
interface Page {
  newest: RequestId;
  /** The JSON texts of its receipts, joined by commas. */
  text: string;
}

/** Distributes receipts over pages, which are written when all receipts are placed. */
export class ReceiptPageLayout {
  /** The page of each bucket that still has room. */
  readonly #open = new Map<string, Page>();
  readonly #pages: Page[] = [];

  /** Places one receipt. Returns the characters it takes, for the bounds of the commit. */
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

  /** Adds the rows to an atomic write. May be called again if that write was not applied. */
  write(op: AtomicWrite): void {
    for (const { newest, text } of this.#pages) op.set(receiptPageKey(newest), `[${text}]`);
  }
}

/**
 * Decodes the receipts of a page, or only those that are `wanted`: a full page has a hundred, and
 * decoding one costs more than skipping it.
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
  // The first form of the row: a single receipt, with its id in the key.
  if (typeof rows[0] === "number") {
    return wanted?.has(newest) === false ? [] : [decodeReceipt(newest, rows)];
  }
  return rows.flatMap((row) => {
    invariant(Array.isArray(row) && typeof row[0] === "string", "not a page of receipts");
    const requestId = row[0] as RequestId;
    if (wanted?.has(requestId) === false) return [];
    const isFound = requestId <= newest && pageBucketOf(requestId) === pageBucketOf(newest);
    invariant(isFound, `receipt ${requestId} is on a page where it cannot be found`);
    return decodeReceipt(requestId, row[1]);
  });
}

/** Selects the pages of the calls that arrived from one moment on and before another. */
export function receiptPagesBetween(fromMs: number, toMs: number) {
  return {
    start: receiptPageKey(beforeIdsOf("request", fromMs)),
    end: receiptPageKey(beforeIdsOf("request", toMs)),
  };
}

/** Selects the pages that may contain a call: from its id to the end of its bucket. */
function pagesFrom(requestId: RequestId): Deno.KvListSelector {
  return {
    start: receiptPageKey(requestId),
    end: receiptPageKey(endOfPageBucket(requestId)),
  };
}

/**
 * Reads the receipts of these calls that exist, by id. Pages of one receipt, the usual case, are
 * read by their key, ten at a time; the others are searched in their bucket, each bucket once. An
 * archive has answered for its calls by then: it is asked again only about those that are nowhere.
 *
 * @param options `isWithoutArchive` for a reader that asks the archive itself
 */
export async function readReceiptPages(
  kv: KeyValueStore,
  requestIds: readonly RequestId[],
  { isWithoutArchive: isStoreOnly = false } = {},
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
  for (const isWithoutArchive of isStoreOnly ? [true] : [true, false]) {
    const missing = [...wanted].filter((id) => !found.has(id)).sort();
    for (const [oldest, ...others] of Map.groupBy(missing, pageBucketOf).values()) {
      if (oldest === undefined) continue;
      // It is nearly always on the first page; a page has up to 50 KB.
      const options = { batchSize: 2, isWithoutArchive };
      for await (const entry of kv.list<unknown>(pagesFrom(oldest), options)) {
        take(entry);
        if (found.has(oldest) && others.every((id) => found.has(id))) break;
      }
    }
  }
  return found;
}
