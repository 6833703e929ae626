/** Bytes in parts: joined, passed on as views, and edited in ranges. */

/**
 * Takes what a {@linkcode ByteSource} produces. The controller of a `ReadableStream` is one, and so
 * is the writer of the server's connections.
 */
export interface ByteSink {
  /** 0 or more while the sink has passed everything on, negative while bytes wait; `null` after a failure. */
  readonly desiredSize: number | null;
  /** Takes bytes, which must not change afterwards. */
  enqueue(bytes: Uint8Array): void;
  /**
   * Takes bytes that may change after the call, and passes them on at once. Absent where a sink keeps what it takes. A
   * source that uses it may return from `pull` before it has bytes.
   */
  lend?(bytes: Uint8Array): void;
  /** Ends the bytes; they are whole. */
  close(): void;
  /** Breaks off: whoever reads learns that the bytes are not whole. */
  error(reason: unknown): void;
}

/**
 * Produces bytes when they are asked for: the underlying source of a `ReadableStream`.
 *
 * The same object can be the body of a `Response`, or be written to a connection without a stream in between.
 *
 * The rules are those of a stream without a queue: `pull` is called when the reader waits and nothing
 * is enqueued, and not again while its promise is pending.
 */
export interface ByteSource {
  start?(sink: ByteSink): void;
  pull(sink: ByteSink): Promise<void> | undefined | void;
  /** The reader has left. */
  cancel(): Promise<void> | void;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder();

/**
 * Decodes UTF-8. The lenient decoder is several times faster and marks every fault; only a text with such marks is
 * decoded again strictly.
 *
 * @throws {TypeError} if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = lenientUtf8.decode(bytes);
  return text.includes("\ufffd") ? strictUtf8.decode(bytes) : text;
}

/**
 * Whether bytes contain a short text of ASCII. It searches for a digit of the text, if it has one: in prose digits are
 * rarer than letters, so the engine skips most of it.
 *
 * @example
 * ```ts
 * import { holdsAscii } from "./byte_parts.ts";
 * const bytes = new TextEncoder().encode("a1 ab1");
 * if (!holdsAscii(bytes, "ab1") || holdsAscii(bytes, "ab2")) throw new Error("wrong");
 * ```
 */
export function holdsAscii(bytes: Uint8Array, text: string): boolean {
  const part = new TextEncoder().encode(text);
  const rarestAt = Math.max(text.search(/\d/), 0);
  const rarest = part[rarestAt]!;
  for (let at = bytes.indexOf(rarest); at !== -1; at = bytes.indexOf(rarest, at + 1)) {
    if (part.every((byte, i) => bytes[at - rarestAt + i] === byte)) return true;
  }
  return false;
}

/**
 * Counts the UTF-16 units of UTF-8 bytes, or returns -1 if the bytes are no valid UTF-8 (table 3-7 of the Unicode
 * standard), which a decoder would replace.
 *
 * @example
 * ```ts
 * import { utf16Length } from "./byte_parts.ts";
 * const bytes = new TextEncoder().encode("aé\u{1f600}");
 * if (utf16Length(bytes, 0, bytes.length) !== 4) throw new Error("miscounted");
 * if (utf16Length(bytes, 0, bytes.length - 1) !== -1) throw new Error("half a character");
 * ```
 */
export function utf16Length(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  for (let at = from; at < to; at++) {
    const lead = bytes[at]!;
    units++;
    if (lead < 0x80) continue;
    const following = followingBytes(lead);
    if (following === 0 || at + following >= to) return -1;
    const second = bytes[at + 1]!;
    if (second < leastSecond(lead) || second > maxSecond(lead)) return -1;
    for (let index = 2; index <= following; index++) {
      if ((bytes[at + index]! & 0xc0) !== 0x80) return -1;
    }
    if (following === 3) units++;
    at += following;
  }
  return units;
}

/** Bytes that follow the first byte of a character; 0 if no character begins with it. */
function followingBytes(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
}

/** Bounds of the second byte: they exclude longer forms, halves of surrogate pairs, and what is beyond the last character. */
function leastSecond(lead: number): number {
  return lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
}

function maxSecond(lead: number): number {
  return lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
}

/**
 * Bytes in one piece or in several consecutive ones, so that large pieces need no copy to lie
 * together.
 */
export type ByteParts = Uint8Array | readonly Uint8Array[];

/** Returns the pieces in their order. */
export function piecesOf(bytes: ByteParts): readonly Uint8Array[] {
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

/** Counts the bytes of all pieces. */
export function lengthOf(bytes: ByteParts): number {
  if (bytes instanceof Uint8Array) return bytes.length;
  let length = 0;
  for (const piece of bytes) length += piece.length;
  return length;
}

/** Joins the pieces; copies only if there are several. */
export function joined(bytes: ByteParts): Uint8Array {
  const pieces = piecesOf(bytes);
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Joins neighbouring pieces of up to `copiedBytes` each, so that fewer are left.
 *
 * @example
 * ```ts
 * import { withFewPieces } from "./byte_parts.ts";
 * const pieces = [1, 2, 100, 3, 4].map((length) => new Uint8Array(length));
 * const lengths = withFewPieces(pieces, 50).map(({ length }) => length);
 * if (lengths.join() !== "3,100,7") throw new Error(lengths.join());
 * ```
 */
export function withFewPieces(
  pieces: readonly Uint8Array[],
  copiedBytes: number,
): readonly Uint8Array[] {
  const few: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const flush = () => {
    if (small.length > 0) few.push(joined(small));
    small = [];
  };
  for (const piece of pieces) {
    if (piece.length <= copiedBytes) {
      if (piece.length > 0) small.push(piece);
      continue;
    }
    flush();
    few.push(piece);
  }
  flush();
  return few;
}

// Shared buffers for small pieces of bytes: a buffer per event of a stream costs more than all other work on the event.

/** Bytes of one shared buffer for small copies, and so the memory that one held copy can keep alive. */
export const pooledBufferBytes = 8 * 1024;

/**
 * Bytes of the largest copy in a shared buffer: a larger one would leave much of it unused, and has a buffer
 * of its own.
 */
export const maxPooledCopyBytes = 2 * 1024;

/** Bytes of the memory that is lent; a usual event has a few hundred, and a read of a burst up to this. */
const lentBytes = 64 * 1024;

/** Most UTF-8 bytes of a UTF-16 unit. */
const maxBytesPerUnit = 3;

const encoder = new TextEncoder();
const lent = new Uint8Array(lentBytes);
let buffer = new Uint8Array(0);
let used = 0;

/** Returns a place of `length` bytes that is not in use yet. */
function room(length: number): Uint8Array {
  if (used + length > buffer.length) {
    buffer = new Uint8Array(pooledBufferBytes);
    used = 0;
  }
  return buffer.subarray(used, used + length);
}

/**
 * Copies `bytes[start, end)`; small copies share a buffer.
 *
 * A buffer lives as long as any of its copies, so one that is kept holds on to at most
 * `pooledBufferBytes`. The copy is for reading: its `buffer` holds other copies too and must
 * not be transferred.
 *
 * @example
 * ```ts
 * import { copyOf } from "./byte_parts.ts";
 * const lent = new Uint8Array([1, 2, 3, 4]);
 * const [one, two] = [copyOf(lent, 0, 2), copyOf(lent, 1, 4)];
 * lent.fill(0);
 * if (one.join() !== "1,2" || two.join() !== "2,3,4") throw new Error("not copies");
 * ```
 */
export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const length = end - start;
  if (length > maxPooledCopyBytes) return bytes.slice(start, end);
  const copy = room(length);
  copy.set(bytes.subarray(start, end));
  used += length;
  return copy;
}

/** Lends memory that is valid until the next call of this or of {@linkcode encodedLent}. */
function lentRoom(length: number): Uint8Array {
  return length > lentBytes ? new Uint8Array(length) : lent.subarray(0, length);
}

/** Encodes a text as UTF-8 into lent memory; see {@linkcode lentRoom}. */
export function encodedLent(text: string): Uint8Array {
  if (text.length * maxBytesPerUnit > lentBytes) return encoder.encode(text);
  return lent.subarray(0, encoder.encodeInto(text, lent).written);
}

/**
 * Encodes a text as UTF-8; small ones share buffers like the copies of {@linkcode copyOf}.
 */
export function encoded(text: string): Uint8Array {
  const maxBytes = text.length * maxBytesPerUnit;
  if (maxBytes > maxPooledCopyBytes) return encoder.encode(text);
  const place = room(maxBytes);
  const { written } = encoder.encodeInto(text, place);
  used += written;
  return place.subarray(0, written);
}

const nothing = new Uint8Array(0);

/** Entries kept for the next use: a read of a burst has a few dozen events with two or three ranges each. */
const entriesKept = 64;

interface Entry {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/**
 * Ranges of bytes that are sent one behind the other. Neighbours in the same buffer become one range, and entries are used
 * again, so that passing on what was read allocates nothing.
 *
 * @example
 * ```ts
 * import { ByteRanges } from "./byte_parts.ts";
 * const bytes = new TextEncoder().encode("one two three");
 * const ranges = new ByteRanges();
 * ranges.add(bytes, 0, 4);
 * ranges.add(bytes, 8, 11);
 * ranges.add(bytes, 11, 13);
 * if (new TextDecoder().decode(ranges.take(bytes)) !== "one three") throw new Error("wrong");
 * ```
 */
export class ByteRanges {
  readonly #entries: Entry[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    const last = this.#count === 0 ? undefined : this.#entries[this.#count - 1];
    if (last !== undefined && last.bytes === bytes && last.end === start) {
      last.end = end;
      return;
    }
    const entry = this.#entries[this.#count++];
    if (entry === undefined) {
      this.#entries.push({ bytes, start, end });
      return;
    }
    entry.bytes = bytes;
    entry.start = start;
    entry.end = end;
  }

  /** Joins the ranges into bytes that the caller owns: `lent` is used again by its owner, other buffers are not. */
  take(lent: Uint8Array | undefined): Uint8Array {
    const [first] = this.#entries;
    let out: Uint8Array = nothing;
    if (this.#count === 1 && first !== undefined) {
      out = first.bytes === lent
        ? copyOf(first.bytes, first.start, first.end)
        : first.bytes.subarray(first.start, first.end);
    } else if (this.#count > 1) out = this.#joined(new Uint8Array(this.#length()));
    this.#clear();
    return out;
  }

  /** Joins the ranges into bytes that are valid until any buffer is used again; see {@linkcode lentRoom}. */
  lend(): Uint8Array {
    const [first] = this.#entries;
    let out: Uint8Array = nothing;
    if (this.#count === 1 && first !== undefined) {
      const { bytes, start, end } = first;
      out = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    } else if (this.#count > 1) out = this.#joined(lentRoom(this.#length()));
    this.#clear();
    return out;
  }

  #length(): number {
    let length = 0;
    for (let index = 0; index < this.#count; index++) {
      const { start, end } = this.#entries[index]!;
      length += end - start;
    }
    return length;
  }

  #joined(out: Uint8Array): Uint8Array {
    let at = 0;
    for (let index = 0; index < this.#count; index++) {
      const { bytes, start, end } = this.#entries[index]!;
      out.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), at);
      at += end - start;
    }
    return out;
  }

  /** Lets go of all buffers, and of entries beyond those of a usual read. */
  #clear(): void {
    for (let index = 0; index < this.#count; index++) this.#entries[index]!.bytes = nothing;
    this.#count = 0;
    if (this.#entries.length > entriesKept) this.#entries.length = 0;
  }
}
