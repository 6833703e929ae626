/**
 * How receipts lie in the store: several to a row, a *sheet*.
 *
 * A row costs as much time as everything else that a settlement does, so the receipts of one commit whose calls began
 * in the same bucket of time, the first eight of the nine digits of their ids (36 ms), share one. The key of a sheet is
 * its newest id: sheets ascend in time and append, and a receipt is found by its id alone, among the sheets from that
 * id to the end of its bucket. Calls that lasted differently long have sheets of their own and are read by their key.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { RequestId } from "../../core/lib/ids.ts";
import { limits } from "../../core/limits.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { newestOnSheet, receiptSheetKey } from "../schema/keys.ts";
import { decodeReceipt, encodeReceipt } from "./receipt_codec.ts";

/** `req_` and eight of the nine digits of the time. */
const bucketChars = 12;
/** Sorts after every id of a bucket. */
const bucketEnd = "~";

/** The bucket of time that a call began in; its receipt shares a sheet with others of the same only. */
export function sheetBucketOf(requestId: RequestId): string {
  return requestId.slice(0, bucketChars);
}

/** A row that is about to be written. */
interface Sheet {
  newest: RequestId;
  /** The JSON texts of its receipts, joined by commas. */
  text: string;
}

/** Lays receipts onto sheets; each is ready to be written when all are laid. */
export class SheetLayout {
  /** The sheet of each bucket that has room. */
  readonly #open = new Map<string, Sheet>();
  readonly #sheets: Sheet[] = [];

  /** Lays one receipt down. Returns the characters it takes, for the bounds of the commit. */
  add(receipt: Receipt): number {
    const { requestId } = receipt;
    const text = `["${requestId}",${encodeReceipt(receipt)}]`;
    const bucket = sheetBucketOf(requestId);
    const sheet = this.#open.get(bucket);
    if (sheet !== undefined && sheet.text.length + text.length < limits.receiptSheetChars) {
      sheet.text += `,${text}`;
      if (requestId > sheet.newest) sheet.newest = requestId;
    } else {
      const fresh = { newest: requestId, text };
      this.#open.set(bucket, fresh);
      this.#sheets.push(fresh);
    }
    return text.length;
  }

  /** Adds the rows to an atomic. May be called again when that one was not applied. */
  write(op: Deno.AtomicOperation): void {
    for (const { newest, text } of this.#sheets) op.set(receiptSheetKey(newest), `[${text}]`);
  }
}

/**
 * The receipts of a sheet, or those of them that are `wanted`: a full one has a hundred, each of which costs more to
 * unpack than to skip.
 *
 * @throws {InvariantError} if the row is not a sheet
 */
export function decodeSheet(
  { key, value }: Deno.KvEntry<unknown>,
  wanted?: ReadonlySet<RequestId>,
): Receipt[] {
  invariant(typeof value === "string", "not a sheet of receipts");
  const rows: unknown = JSON.parse(value);
  invariant(Array.isArray(rows), "not a sheet of receipts");
  const newest = newestOnSheet(key);
  // The first form of the row: one receipt, bare, its id in the key.
  if (typeof rows[0] === "number") {
    return wanted?.has(newest) === false ? [] : [decodeReceipt(newest, rows)];
  }
  return rows.flatMap((row) => {
    invariant(Array.isArray(row) && typeof row[0] === "string", "not a sheet of receipts");
    const requestId = row[0] as RequestId;
    if (wanted?.has(requestId) === false) return [];
    const isFound = requestId <= newest && sheetBucketOf(requestId) === sheetBucketOf(newest);
    invariant(isFound, `receipt ${requestId} lies on a sheet on which nobody looks for it`);
    return decodeReceipt(requestId, row[1]);
  });
}

/** The keys between which the sheet of a call lies, and those of later calls of the same bucket. */
function sheetsFrom(requestId: RequestId): Deno.KvListSelector {
  return {
    start: receiptSheetKey(requestId),
    end: receiptSheetKey(sheetBucketOf(requestId) + bucketEnd),
  };
}

/**
 * The receipts of these calls that exist, by id. Sheets of one receipt, the usual case, are read by their key, ten at
 * a time; what is not found like that is looked for in its bucket.
 */
export async function readSheets(
  kv: Deno.Kv,
  requestIds: readonly RequestId[],
): Promise<Map<RequestId, Receipt>> {
  const wanted = new Set(requestIds);
  const found = new Map<RequestId, Receipt>();
  const take = (entry: Deno.KvEntry<unknown>) => {
    for (const receipt of decodeSheet(entry, wanted)) found.set(receipt.requestId, receipt);
  };
  for (let at = 0; at < requestIds.length; at += limits.keysPerRead) {
    const some = requestIds.slice(at, at + limits.keysPerRead).filter((id) => !found.has(id));
    if (some.length === 0) continue;
    for (const entry of await kv.getMany<unknown[]>(some.map(receiptSheetKey))) {
      if (entry.versionstamp !== null) take(entry);
    }
  }
  // The oldest of a bucket first: its reading passes the sheets of all the others.
  for (const requestId of [...wanted].sort()) {
    if (found.has(requestId)) continue;
    // It lies on the first nearly always; a sheet is up to 50 KB.
    for await (const entry of kv.list<unknown>(sheetsFrom(requestId), { batchSize: 2 })) {
      take(entry);
      if (found.has(requestId)) break;
    }
  }
  return found;
}
