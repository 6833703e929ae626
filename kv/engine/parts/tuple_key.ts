/**
 * Encodes keys so that the order of their bytes is the order of the keys, as Deno KV and FoundationDB's tuple layer do
 * (https://github.com/apple/foundationdb/blob/main/design/tuple.md). Engines without tuples of their own keep rows
 * under these bytes.
 *
 * - Folder `kv/engine/parts/`: what engines share: encoded keys and values, ranges, pages, collected commits,
 *   snapshots, watching commits.
 * - In: keys, values and selectors of calls of {@linkcode KeyValueStore}.
 * - Out: bytes in the order of the keys, ranges and cursors, every row as of one moment.
 * - Never: opens a store, or interprets the value of a row.
 */
import { Buffer } from "node:buffer";
import { deserialize, serialize } from "node:v8";

// Encodes values as the embedded engine does: by the structured clone of V8, which keeps `bigint` and binary parts.

/** The bound that Deno KV puts on a value. Every engine keeps it, so that a store can move to any other. */
const valueBytes = 65_536;

/** @throws {TypeError} if the value cannot be cloned or is longer than 65,536 bytes */
export function encodeValue(value: unknown): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize(value);
  } catch (error) {
    throw new TypeError("The value cannot be stored", { cause: error });
  }
  return checkedBytes(bytes);
}

/** @throws {TypeError} if the bytes of a value are more than 65,536 */
export function checkedBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length > valueBytes) throw new TypeError(`A value has at most ${valueBytes} bytes`);
  return bytes;
}

/** The begin of a text of one byte a letter in the form of V8: its version, and a tag. Most rows are such texts. */
const textStart = [0xff, 0x0f, 0x22] as const;

/** The engine that reads decides the type: what a row holds is known only to whoever wrote it. */
export function decodeValue(bytes: Uint8Array): unknown {
  return oneByteText(bytes) ?? deserialize(bytes);
}

/** Reads a text without a decoder of V8, which takes more time than the text. */
function oneByteText(bytes: Uint8Array): string | undefined {
  if (textStart.some((byte, at) => bytes[at] !== byte)) return undefined;
  let [length, at, shift] = [0, textStart.length as number, 0];
  for (let byte = 0x80; byte >= 0x80 && shift < 28; shift += 7) {
    byte = bytes[at++] ?? 0;
    length |= (byte & 0x7f) << shift;
  }
  if (at + length !== bytes.length) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString("latin1");
}

// Versionstamps as Deno KV writes them: twenty hexadecimal digits.

const digits = 20;

/** @param version a number that no other commit has */
export function versionstampOf(version: bigint): string {
  return version.toString(16).padStart(digits, "0");
}

/**
 * Reads the number back.
 *
 * @throws {TypeError} if the text is not a versionstamp
 */
export function versionOf(versionstamp: string): bigint {
  if (!/^[0-9a-f]{20}$/.test(versionstamp)) throw new TypeError("Not a versionstamp");
  return BigInt(`0x${versionstamp}`);
}

/** Type codes of the tuple layer. */
const code = {
  bytes: 0x01,
  text: 0x02,
  /** The length of a whole number is added or taken away: eight bytes below and above zero. */
  zero: 0x14,
  /** Longer than eight bytes: the length follows. */
  longNegative: 0x0b,
  longPositive: 0x1d,
  double: 0x21,
  isFalse: 0x26,
  isTrue: 0x27,
} as const;

/** The bound that Deno KV puts on a key. A longer one would not fit every engine. */
const keyBytes = 2_048;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Collects the bytes of one key. */
class KeyWriter {
  #bytes = new Uint8Array(128);
  #length = 0;

  #room(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A zero byte inside is followed by 0xff, so that the one at the end is unique. */
  terminated(bytes: Uint8Array): void {
    if (!bytes.includes(0)) this.raw(bytes);
    else {
      for (const byte of bytes) {
        this.byte(byte);
        if (byte === 0) this.byte(0xff);
      }
    }
    this.byte(0);
  }

  /** ASCII, as nearly every part of a key is, is written letter by letter: calling the encoder takes longer. */
  text(text: string): void {
    this.#room(text.length + 1);
    const start = this.#length;
    for (let at = 0; at < text.length; at++) {
      const letter = text.charCodeAt(at);
      if (letter === 0 || letter > 0x7f) {
        this.#length = start;
        return this.terminated(encoder.encode(text));
      }
      this.#bytes[this.#length++] = letter;
    }
    this.#bytes[this.#length++] = 0;
  }

  done(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}

function bigEndian(magnitude: bigint): Uint8Array {
  const hex = magnitude.toString(16);
  return Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
}

/** A negative number is the complement of its magnitude, so that a greater magnitude sorts first. */
function complement(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => byte ^ 0xff);
}

function writeWhole(writer: KeyWriter, value: bigint): void {
  if (value === 0n) return writer.byte(code.zero);
  const isNegative = value < 0n;
  const magnitude = bigEndian(isNegative ? -value : value);
  const { length } = magnitude;
  const bytes = isNegative ? complement(magnitude) : magnitude;
  if (length <= 8) writer.byte(isNegative ? code.zero - length : code.zero + length);
  else {
    if (length > 0xff) throw new TypeError("A number in a key has at most 255 bytes");
    writer.byte(isNegative ? code.longNegative : code.longPositive);
    writer.byte(isNegative ? length ^ 0xff : length);
  }
  writer.raw(bytes);
}

/** The sign bit flips for positive numbers and all bits for negative ones: then the bytes sort as the numbers do. */
function writeDouble(writer: KeyWriter, value: number): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  const first = bytes[0] ?? 0;
  writer.byte(code.double);
  if ((first & 0x80) !== 0) return writer.raw(complement(bytes));
  bytes[0] = first | 0x80;
  writer.raw(bytes);
}

function writePart(writer: KeyWriter, part: Deno.KvKeyPart): void {
  switch (typeof part) {
    case "string":
      writer.byte(code.text);
      return writer.text(part);
    case "number":
      return writeDouble(writer, part);
    case "bigint":
      return writeWhole(writer, part);
    case "boolean":
      return writer.byte(part ? code.isTrue : code.isFalse);
    default:
      if (!(part instanceof Uint8Array)) throw new TypeError("A key has a part of no known type");
      writer.byte(code.bytes);
      writer.terminated(part);
  }
}

/**
 * Encodes a key or a prefix of keys.
 *
 * @throws {TypeError} if the key is longer than 2,048 bytes or has a part of another type
 *
 * @example
 * ```ts
 * import { decodeKey, encodeKey } from "./tuple_key.ts";
 * const hex = encodeKey(["wallet", 7]).toHex();
 * if (hex !== "0277616c6c65740021c01c000000000000") throw new Error(hex);
 * if (decodeKey(encodeKey(["wallet", 7]))[1] !== 7) throw new Error("not the same key");
 * ```
 */
export function encodeKey(key: Deno.KvKey): Uint8Array<ArrayBuffer> {
  const writer = new KeyWriter();
  for (const part of key) writePart(writer, part);
  const bytes = writer.done();
  if (bytes.length > keyBytes) throw new TypeError(`A key has at most ${keyBytes} bytes`);
  return bytes;
}

/** Reads the parts of one encoded key. */
class KeyReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new TypeError("An encoded key ends within a part");
    return byte;
  }

  take(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new TypeError("An encoded key ends within a part");
    const bytes = this.#bytes.slice(this.#at, end);
    this.#at = end;
    return bytes;
  }

  terminated(): Uint8Array {
    const bytes: number[] = [];
    for (;;) {
      const byte = this.byte();
      if (byte === 0) {
        if (this.#bytes[this.#at] !== 0xff) return Uint8Array.from(bytes);
        this.#at++;
      }
      bytes.push(byte);
    }
  }

  /** ASCII is read letter by letter, like {@linkcode KeyWriter.text} writes it. */
  text(): string {
    let text = "";
    for (let at = this.#at;; at++) {
      const byte = this.#bytes[at];
      if (byte === undefined || byte > 0x7f || (byte === 0 && this.#bytes[at + 1] === 0xff)) {
        return decoder.decode(this.terminated());
      }
      if (byte === 0) {
        this.#at = at + 1;
        return text;
      }
      text += String.fromCharCode(byte);
    }
  }
}

function wholeOf(magnitude: Uint8Array, isNegative: boolean): bigint {
  const value = BigInt(`0x${(isNegative ? complement(magnitude) : magnitude).toHex()}`);
  return isNegative ? -value : value;
}

function doubleOf(bytes: Uint8Array): number {
  const first = bytes[0] ?? 0;
  const view = new DataView(new ArrayBuffer(8));
  const isPositive = (first & 0x80) !== 0;
  bytes.forEach((byte, at) => view.setUint8(at, isPositive ? byte : byte ^ 0xff));
  if (isPositive) view.setUint8(0, first & 0x7f);
  return view.getFloat64(0);
}

function readPart(reader: KeyReader): Deno.KvKeyPart {
  const kind = reader.byte();
  switch (kind) {
    case code.bytes:
      return reader.terminated();
    case code.text:
      return reader.text();
    case code.double:
      return doubleOf(reader.take(8));
    case code.isFalse:
      return false;
    case code.isTrue:
      return true;
    case code.zero:
      return 0n;
    case code.longNegative:
      return wholeOf(reader.take(reader.byte() ^ 0xff), true);
    case code.longPositive:
      return wholeOf(reader.take(reader.byte()), false);
  }
  const length = kind - code.zero;
  if (Math.abs(length) > 8) throw new TypeError("An encoded key has a part of no known type");
  return wholeOf(reader.take(Math.abs(length)), length < 0);
}

/**
 * Decodes what {@linkcode encodeKey} made.
 *
 * @throws {TypeError} if the bytes are not an encoded key
 */
export function decodeKey(bytes: Uint8Array): Deno.KvKeyPart[] {
  const reader = new KeyReader(bytes);
  const key: Deno.KvKeyPart[] = [];
  while (!reader.isAtEnd) key.push(readPart(reader));
  return key;
}
