/** Turns a selector of `list` into a range of encoded keys, and cursors into places within it. */
import { encodeKey } from "./tuple_key.ts";
import type { RowIterator } from "../store/key_value_store.ts";

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
function cursorAt(range: KeyRange, key: Uint8Array): string {
  return key.subarray(commonLength(range)).toBase64({ alphabet: "base64url" });
}

/**
 * Rest of a range behind a cursor.
 *
 * @throws {TypeError} if the cursor is not one of this range
 */
function rangeBehind(range: KeyRange, cursor: string, reverse: boolean): KeyRange {
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

// Reads the rows of a range page by page.

/** Rows of one page unless the caller asks for another number, as in Deno KV. */
const pageRowsDefault = 100;

/** The most that a caller may ask for, as in Deno KV. */
const pageRowsMax = 1_000;

/** A row with its key in both forms. */
export interface ReadRow<Value> {
  readonly encodedKey: Uint8Array;
  readonly entry: Deno.KvEntry<Value>;
}

/** Reads at most `limit` rows of a range, from its end if `reverse`. */
export type ReadPage<Value> = (
  range: KeyRange,
  limit: number,
  reverse: boolean,
) => Promise<readonly ReadRow<Value>[]>;

function positive(value: number | undefined, name: string): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value > 0)) return value;
  throw new TypeError(`${name} must be a positive integer`);
}

/** Iterates over a selector; a page is read when the one before is used up. */
export class PagedRows<Value> implements RowIterator<Value> {
  readonly #readPage: ReadPage<Value>;
  readonly #whole: KeyRange;
  readonly #pageRows: number;
  readonly #reverse: boolean;
  #rest: KeyRange;
  #page: readonly ReadRow<Value>[] = [];
  #at = 0;
  #left: number;
  #isLast = false;
  #last: ReadRow<Value> | undefined;

  constructor(
    selector: Deno.KvListSelector,
    options: Deno.KvListOptions,
    readPage: ReadPage<Value>,
  ) {
    this.#readPage = readPage;
    this.#whole = rangeOf(selector);
    this.#reverse = options.reverse ?? false;
    this.#left = positive(options.limit, "limit") ?? Infinity;
    this.#pageRows = positive(options.batchSize, "batchSize") ?? pageRowsDefault;
    if (this.#pageRows > pageRowsMax) throw new TypeError(`Too many entries (max ${pageRowsMax})`);
    this.#rest = options.cursor === undefined || options.cursor === ""
      ? this.#whole
      : rangeBehind(this.#whole, options.cursor, this.#reverse);
  }

  get cursor(): string {
    return this.#last === undefined ? "" : cursorAt(this.#whole, this.#last.encodedKey);
  }

  async next(): Promise<IteratorResult<Deno.KvEntry<Value>, undefined>> {
    if (this.#left <= 0) return { done: true, value: undefined };
    if (this.#at >= this.#page.length && !this.#isLast) await this.#turnPage();
    const row = this.#page[this.#at++];
    if (row === undefined) return { done: true, value: undefined };
    this.#left--;
    this.#last = row;
    return { done: false, value: row.entry };
  }

  async #turnPage(): Promise<void> {
    const limit = Math.min(this.#pageRows, this.#left);
    this.#page = await this.#readPage(this.#rest, limit, this.#reverse);
    this.#at = 0;
    this.#isLast = this.#page.length < limit;
    const last = this.#page.at(-1);
    if (last === undefined) return;
    this.#rest = rangeBehind(this.#whole, cursorAt(this.#whole, last.encodedKey), this.#reverse);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
