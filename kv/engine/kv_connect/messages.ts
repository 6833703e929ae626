/** The messages of KV Connect: https://github.com/denoland/denokv/blob/main/proto/kv-connect.md. */
import type { RowCheck, RowWrite } from "../parts/collected_write.ts";
import type { KeyRange } from "../parts/key_range.ts";
import { versionstampOf } from "../parts/tuple_key.ts";
import { joined } from "../../../core/lib/bytes/byte_parts.ts";
import { z } from "zod";

// The two kinds of protocol buffer fields that KV Connect has: numbers and bytes.

export interface Field {
  readonly number: number;
  /** Of a field that holds bytes, text or a message; empty for a number. */
  readonly bytes: Uint8Array;
  /** Of a number; 0 for bytes. */
  readonly value: number;
}

/** Reads a message. Numbers above 2^53 lose their last digits, which no number of the protocol needs. */
export function* readFields(message: Uint8Array): Generator<Field> {
  let at = 0;
  const readNumber = () => {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("the message ends within a number");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = readNumber();
    const kind = tag & 7;
    if (kind !== 0 && kind !== 2) throw new Error(`a field of kind ${kind}`);
    const value = readNumber();
    if (kind === 0) {
      yield { number: tag >> 3, bytes: new Uint8Array(), value };
      continue;
    }
    if (at + value > message.length) throw new Error("the message ends within a field");
    yield { number: tag >> 3, bytes: message.subarray(at, at += value), value: 0 };
  }
}

/** Writes a message. */
export class FieldWriter {
  readonly #parts: Uint8Array[] = [];

  #number(value: number): void {
    const bytes: number[] = [];
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(rest % 128 + 128);
    bytes.push(Math.floor(value / 128 ** bytes.length));
    this.#parts.push(Uint8Array.from(bytes));
  }

  number(field: number, value: number): this {
    this.#number(field << 3);
    this.#number(value);
    return this;
  }

  bytes(field: number, bytes: Uint8Array): this {
    this.#number(field << 3 | 2);
    this.#number(bytes.length);
    this.#parts.push(bytes);
    return this;
  }

  finish(): Uint8Array {
    return joined(this.#parts);
  }
}

/** Encodings of a value: `ValueEncoding` of the protocol. Its third kind, counters, is not used here. */
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

// The metadata exchange of KV Connect: which endpoint answers, and the token for it.

/** Milliseconds that the exchange may take. */
const exchangeMs = 5_000;

/** Versions of the protocol that this client speaks; they differ in the names of two headers. */
const supportedVersions = [1, 2, 3];

const exchanged = z.object({
  version: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  databaseId: z.string(),
  endpoints: z.array(z.object({ url: z.string(), consistency: z.string() })),
  token: z.string(),
  expiresAt: z.string(),
});

/** Address of calls, and what they carry. */
export interface Endpoint {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly expiresAtMs: number;
}

/**
 * Asks a KV Connect address for the endpoint that reads and writes consistently.
 *
 * @throws {KvConnectError} if it refuses the token or answers something else
 */
export async function exchangeMetadata(url: string, accessToken: string): Promise<Endpoint> {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    body: JSON.stringify({ supportedVersions }),
    signal: AbortSignal.timeout(exchangeMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    const isRefused = response.status === 401 || response.status === 403;
    throw new KvConnectError(
      isRefused
        ? "The store refuses DENO_KV_ACCESS_TOKEN"
        : `The store answered with status ${response.status}`,
    );
  }
  const read = exchanged.safeParse(await response.json().catch(() => undefined));
  if (!read.success) throw new KvConnectError("The address does not answer as KV Connect does");
  const { version, databaseId, endpoints, token, expiresAt } = read.data;
  const strong = endpoints.find(({ consistency }) => consistency === "strong");
  if (strong === undefined) throw new KvConnectError("The store names no consistent endpoint");
  return {
    // Relative to the address that answered, after redirects.
    url: new URL(strong.url, response.url).href.replace(/\/$/, ""),
    headers: Object.freeze([
      ["authorization", `Bearer ${token}`],
      ["content-type", "application/x-protobuf"],
      ...(version === 1 ? [["x-transaction-domain-id", databaseId] as const] : [
        ["x-denokv-version", String(version)] as const,
        ["x-denokv-database-id", databaseId] as const,
      ]),
    ]),
    expiresAtMs: Date.parse(expiresAt) || Infinity,
  };
}
