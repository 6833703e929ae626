/**
 * Encodes the rows of a backup as one stream of bytes:
 *
 *     kind(1) number(8, double) keyLength(4) valueLength(4) key value
 *
 * The first record is the header, whose value is JSON. A row has the time at which it expires as its number, or NaN. The
 * last record has the number of records before it, so that a stream that broke off is not taken for a whole one.
 */
import { z } from "zod";
import type { SnapshotRow } from "../../engine/parts/snapshot.ts";
import type { RowKind } from "../../engine/schema/keys.ts";
import { expiresAfterMs } from "../retention/row_lives.ts";

// Decides what a backup does with each kind of row that expires.
//
// Deno KV does not tell when a row expires. Where the engine cannot say it, a restored row of such a kind lives as long
// as a new one: longer than it would have, by at most the time since it was written. All readers of these rows compare
// times that the rows hold, so a longer life changes nothing but the space.

/**
 * Kinds that a backup leaves out: rights and counters of minutes or days. A session or a mailed link that was ended since
 * must not work again after a restore.
 */
const leftOut: ReadonlySet<string> = new Set<RowKind>([
  "account_session",
  "app_code",
  "mail_token",
  "operator_session",
  "rate_limit",
  "rate_use",
  "session",
  "sign_in_flow",
  "store",
  "write_probe",
]);

/** Whether rows of a kind are part of a backup. Kinds that this version does not know are. */
export function isBackedUp(kind: string): boolean {
  return !leftOut.has(kind);
}

/** The milliseconds that a restored row lives; undefined: without end. */
export function restoredLifeMs(
  kind: string,
  expiresAtMs: number | null,
  nowMs: number,
): number | undefined {
  if (expiresAtMs !== null) return Math.max(0, Math.ceil(expiresAtMs - nowMs));
  return expiresAfterMs(kind);
}

const recordKinds = { header: 0, row: 1, gone: 2, end: 3 } as const;

const frameBytes = 17;

/** Bytes that are collected before they are passed on. */
const partBytes = 65_536;

/** Bounds of a key and a value: what is longer is no record. */
const keyBytesMax = 2_048;
const valueBytesMax = 131_072;

/** A sealed day, and what tells its rows from those that it had under another seal. */
export interface BackedUpDay {
  /** A day of Vietnam, such as `2026-11-26`. */
  readonly day: string;
  readonly content: string;
}

/**
 * Part of a store that a backup has: all of it, a sealed day, or what is not of the sealed days with files of their
 * own.
 */
export type BackupPart =
  | { readonly kind: "whole" }
  | { readonly kind: "day"; readonly day: BackedUpDay }
  | { readonly kind: "rest"; readonly days: readonly BackedUpDay[] };

/** Facts about a backup before its rows. */
export interface BackupHeader {
  readonly madeAtMs: number;
  /** The schema version of the store that was read. */
  readonly schemaVersion: number;
  readonly part: BackupPart;
}

/** A part of a store has a format of its own: a release that knows only whole backups refuses it. */
const formats: Readonly<Record<BackupPart["kind"], number>> = { whole: 1, day: 2, rest: 2 };

/** Days in the header of a rest, some eleven years: 30 bytes each, they fit into its value. */
export const maxBackupDays = 4_000;

/** Thrown if the bytes are not a whole stream of records. */
class BackupFormatError extends Error {
  override name = "BackupFormatError";
}

interface BackupRecord {
  readonly kind: number;
  readonly number: number;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

const none = new Uint8Array();

function frame({ kind, number, key, value }: BackupRecord): Uint8Array {
  const bytes = new Uint8Array(frameBytes + key.length + value.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, kind);
  view.setFloat64(1, number);
  view.setUint32(9, key.length);
  view.setUint32(13, value.length);
  bytes.set(key, frameBytes);
  bytes.set(value, frameBytes + key.length);
  return bytes;
}

async function* frames(
  header: BackupHeader,
  rows: AsyncIterable<SnapshotRow>,
): AsyncGenerator<Uint8Array> {
  const { part, ...rest } = header;
  const stored = { format: formats[part.kind], ...rest, ...encodePart(part) };
  const value = new TextEncoder().encode(JSON.stringify(stored));
  yield frame({ kind: recordKinds.header, number: 0, key: none, value });
  let count = 1;
  for await (const { key, value, expiresAtMs } of rows) {
    const kind = value === null ? recordKinds.gone : recordKinds.row;
    yield frame({ kind, number: expiresAtMs ?? NaN, key, value: value ?? none });
    count++;
  }
  yield frame({ kind: recordKinds.end, number: count, key: none, value: none });
}

/** Encodes a backup, some rows a part. */
export async function* encodeBackup(
  header: BackupHeader,
  rows: AsyncIterable<SnapshotRow>,
): AsyncGenerator<Uint8Array> {
  let collected: Uint8Array[] = [];
  let bytes = 0;
  const part = () => {
    const whole = new Uint8Array(bytes);
    let at = 0;
    for (const one of collected) {
      whole.set(one, at);
      at += one.length;
    }
    collected = [];
    bytes = 0;
    return whole;
  };
  for await (const one of frames(header, rows)) {
    collected.push(one);
    bytes += one.length;
    if (bytes >= partBytes) yield part();
  }
  yield part();
}

/** Takes given numbers of bytes from a stream. */
class StreamReader {
  readonly #parts: AsyncIterator<Uint8Array>;
  #rest = none;

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** Returns fewer bytes only at the end of the stream. */
  async take(count: number): Promise<Uint8Array> {
    while (this.#rest.length < count) {
      const { done, value } = await this.#parts.next();
      if (done === true) break;
      const joined = new Uint8Array(this.#rest.length + value.length);
      joined.set(this.#rest);
      joined.set(value, this.#rest.length);
      this.#rest = joined;
    }
    const bytes = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return bytes;
  }
}

async function nextRecord(reader: StreamReader): Promise<BackupRecord> {
  const head = await reader.take(frameBytes);
  if (head.length < frameBytes) throw new BackupFormatError("The backup is not whole");
  const view = new DataView(head.buffer, head.byteOffset);
  const keyLength = view.getUint32(9);
  const valueLength = view.getUint32(13);
  if (keyLength > keyBytesMax || valueLength > valueBytesMax) {
    throw new BackupFormatError("The backup has a record that is too long");
  }
  const body = await reader.take(keyLength + valueLength);
  if (body.length < keyLength + valueLength) {
    throw new BackupFormatError("The backup is not whole");
  }
  return {
    kind: view.getUint8(0),
    number: view.getFloat64(1),
    key: body.slice(0, keyLength),
    value: body.slice(keyLength),
  };
}

/** A day as a text: a header may have thousands. */
function dayText({ day, content }: BackedUpDay): string {
  return `${day} ${content}`;
}

function dayOfText(text: string): BackedUpDay {
  const [day = "", content = ""] = text.split(" ");
  return { day, content };
}

function encodePart(part: BackupPart): { readonly day?: string; readonly days?: string[] } {
  if (part.kind === "whole") return {};
  return part.kind === "day" ? { day: dayText(part.day) } : { days: part.days.map(dayText) };
}

const dayForm = z.string().regex(/^\d{4}-\d\d-\d\d [0-9a-f]+$/).transform(dayOfText);

const times = { madeAtMs: z.number(), schemaVersion: z.number() };

/** The headers that this version reads. */
const headerForm = z.union([
  z.object({ format: z.literal(formats.whole), ...times })
    .transform(({ format: _, ...rest }) => ({ ...rest, part: { kind: "whole" as const } })),
  z.object({ format: z.literal(formats.day), ...times, day: dayForm })
    .transform(({ format: _, day, ...rest }) => ({ ...rest, part: { kind: "day" as const, day } })),
  z.object({ format: z.literal(formats.rest), ...times, days: z.array(dayForm) })
    .transform(({ format: _, days, ...rest }) => ({
      ...rest,
      part: { kind: "rest" as const, days },
    })),
]);

function headerOf({ kind, value }: BackupRecord): BackupHeader {
  const read = headerForm.safeParse(
    kind === recordKinds.header ? JSON.parse(new TextDecoder().decode(value)) : undefined,
  );
  if (read.success) return read.data;
  throw new BackupFormatError("The backup has a format that this version does not read");
}

async function* rowsUntilEnd(reader: StreamReader): AsyncGenerator<SnapshotRow> {
  for (let count = 1;; count++) {
    const { kind, number, key, value } = await nextRecord(reader);
    const expiresAtMs = Number.isNaN(number) ? null : number;
    if (kind === recordKinds.row) yield { key, value, expiresAtMs };
    else if (kind === recordKinds.gone) yield { key, value: null, expiresAtMs };
    else if (kind === recordKinds.end && number === count) break;
    else throw new BackupFormatError("The backup has a record of an unknown kind");
  }
  if ((await reader.take(1)).length > 0) throw new BackupFormatError("Bytes follow the backup");
}

/**
 * Decodes a backup. Its rows have to be read to the end before it is known to be whole.
 *
 * @throws {BackupFormatError} if the bytes are not a whole backup; the rows throw it, too
 */
export async function decodeBackup(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ readonly header: BackupHeader; readonly rows: AsyncGenerator<SnapshotRow> }> {
  const reader = new StreamReader(bytes);
  const header = headerOf(await nextRecord(reader));
  return { header, rows: rowsUntilEnd(reader) };
}
