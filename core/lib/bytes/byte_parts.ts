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
