/** The messages of KV Connect: https://github.com/denoland/denokv/blob/main/proto/kv-connect.md. */
import type { RowCheck, RowWrite } from "../parts/collected_write.ts";
import type { KeyRange } from "../parts/key_range.ts";
import { versionstampOf } from "../parts/versionstamp.ts";
import { FieldWriter, readFields } from "./fields.ts";

/** How a value is encoded: `ValueEncoding` of the protocol. Its third kind, counters, is not used here. */
export const valueEncoding = { v8: 1, bytes: 3 } as const;

/** Kinds of mutations: `MutationType` of the protocol. */
const mutationType = { set: 1, delete: 2 } as const;

/** Results of reads and commits: `SnapshotReadStatus` and `AtomicWriteStatus`. */
const readDisabled = 2;
const commitStatus = { success: 1, checkFailed: 2, disabled: 5 } as const;

/** A range to read. */
export interface RangeRead extends KeyRange {
  readonly limit: number;
  readonly reverse: boolean;
}

/** A row as the server sends it. */
export interface SentRow {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly encoding: number;
  /** Twenty hexadecimal digits. */
  readonly versionstamp: string;
}

/** The rows of each range, or `moved` if another endpoint has to be asked. */
export type ReadOutput = readonly (readonly SentRow[])[] | "moved";

/** The result of a commit; `moved` wrote nothing, and another endpoint has to be asked. */
export type WriteOutput = Deno.KvCommitResult | Deno.KvCommitError | "moved";

/** Thrown for an answer that is none of the protocol. */
export class KvConnectError extends Error {
  override name = "KvConnectError";
}

/** Writes a request for the rows of ranges. */
export function encodeReads(reads: readonly RangeRead[]): Uint8Array {
  const message = new FieldWriter();
  for (const { start, end, limit, reverse } of reads) {
    const range = new FieldWriter().bytes(1, start).bytes(2, end).number(3, limit);
    if (reverse) range.number(4, 1);
    message.bytes(1, range.finish());
  }
  return message.finish();
}

/** Writes a commit. `nowMs` is the time at which the lives of its rows begin. */
export function encodeWrite(
  checks: readonly RowCheck[],
  writes: readonly RowWrite[],
  nowMs: number,
): Uint8Array {
  const message = new FieldWriter();
  for (const { key, version } of checks) {
    const check = new FieldWriter().bytes(1, key);
    if (version !== 0n) check.bytes(2, Uint8Array.fromHex(versionstampOf(version)));
    message.bytes(1, check.finish());
  }
  for (const { key, value, isBinary, lifeMs } of writes) {
    const mutation = new FieldWriter().bytes(1, key);
    if (value === null) {
      message.bytes(2, mutation.number(3, mutationType.delete).finish());
      continue;
    }
    const encoding = isBinary ? valueEncoding.bytes : valueEncoding.v8;
    mutation.bytes(2, new FieldWriter().bytes(1, value).number(2, encoding).finish())
      .number(3, mutationType.set);
    if (lifeMs !== null) mutation.number(4, nowMs + lifeMs);
    message.bytes(2, mutation.finish());
  }
  return message.finish();
}

function rowOf(message: Uint8Array): SentRow {
  const row = { key: new Uint8Array(), value: new Uint8Array(), encoding: 0, versionstamp: "" };
  for (const { number, bytes, value } of readFields(message)) {
    if (number === 1) row.key = new Uint8Array(bytes);
    else if (number === 2) row.value = new Uint8Array(bytes);
    else if (number === 3) row.encoding = value;
    else if (number === 4) row.versionstamp = bytes.toHex();
  }
  return row;
}

function rowsOf(message: Uint8Array): SentRow[] {
  const rows: SentRow[] = [];
  for (const { number, bytes } of readFields(message)) if (number === 1) rows.push(rowOf(bytes));
  return rows;
}

/** Reads the answer to {@linkcode encodeReads}. */
export function decodeReads(message: Uint8Array): ReadOutput {
  const ranges: SentRow[][] = [];
  let isStrong = false;
  for (const { number, bytes, value } of readFields(message)) {
    if (number === 1) ranges.push(rowsOf(bytes));
    else if ((number === 2 && value === 1) || (number === 8 && value === readDisabled)) {
      return "moved";
    } else if (number === 4) isStrong = value === 1;
  }
  return isStrong ? ranges : "moved";
}

/**
 * Reads the answer to {@linkcode encodeWrite}.
 *
 * @throws {KvConnectError} if it is none
 */
export function decodeWrite(message: Uint8Array): WriteOutput {
  let status = 0;
  let versionstamp = "";
  for (const { number, bytes, value } of readFields(message)) {
    if (number === 1) status = value;
    else if (number === 2) versionstamp = bytes.toHex();
  }
  switch (status) {
    case commitStatus.success:
      return { ok: true, versionstamp };
    case commitStatus.checkFailed:
      return { ok: false };
    case commitStatus.disabled:
      return "moved";
    default:
      throw new KvConnectError(`The store answered a commit with status ${status}`);
  }
}
