/** Turns a selector of `list` into a range of encoded keys, and cursors into places within it. */
import { encodeKey } from "./tuple_key.ts";

/** From `start`, included, to `end`, left out. */
export interface KeyRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function followedBy(bytes: Uint8Array, byte: number): Uint8Array {
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  longer[bytes.length] = byte;
  return longer;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length > prefix.length && compare(bytes.subarray(0, prefix.length), prefix) === 0;
}

/**
 * The range of a selector. The row whose key is the prefix itself is not part of it.
 *
 * @throws {TypeError} if a bound lies outside of the prefix or the start behind the end
 */
export function rangeOf(selector: Deno.KvListSelector): KeyRange {
  const prefix = "prefix" in selector ? encodeKey(selector.prefix) : undefined;
  const start = "start" in selector ? encodeKey(selector.start) : undefined;
  const end = "end" in selector ? encodeKey(selector.end) : undefined;
  if (prefix === undefined) {
    if (start === undefined || end === undefined) {
      throw new TypeError("A selector without a prefix needs a start and an end");
    }
    if (compare(start, end) > 0) throw new TypeError("The start of a selector is behind its end");
    return { start, end };
  }
  for (const bound of [start, end]) {
    if (bound !== undefined && !startsWith(bound, prefix)) {
      throw new TypeError("A bound of a selector is outside of its prefix");
    }
  }
  return { start: start ?? followedBy(prefix, 0), end: end ?? followedBy(prefix, 0xff) };
}

function commonLength({ start, end }: KeyRange): number {
  let length = 0;
  while (length < start.length && length < end.length && start[length] === end[length]) length++;
  return length;
}

/** The cursor behind a row. It leaves out what all keys of the range share, so that it shows nothing of a caller's own prefix. */
export function cursorAt(range: KeyRange, key: Uint8Array): string {
  return key.subarray(commonLength(range)).toBase64({ alphabet: "base64url" });
}

/**
 * What is left of a range behind a cursor.
 *
 * @throws {TypeError} if the cursor is not one of this range
 */
export function rangeBehind(range: KeyRange, cursor: string, reverse: boolean): KeyRange {
  const suffix = decodeCursor(cursor);
  const shared = range.start.subarray(0, commonLength(range));
  const key = new Uint8Array(shared.length + suffix.length);
  key.set(shared);
  key.set(suffix, shared.length);
  if (compare(key, range.start) < 0 || compare(key, range.end) >= 0) {
    throw new TypeError("The cursor is outside of the selector");
  }
  return reverse ? { start: range.start, end: key } : { start: followedBy(key, 0), end: range.end };
}

function decodeCursor(cursor: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
  } catch (error) {
    throw new TypeError("The cursor is not one of this store", { cause: error });
  }
}
