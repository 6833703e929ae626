/** Reads the rows of a range page by page. */
import type { RowIterator } from "../store/key_value_store.ts";
import { cursorAt, type KeyRange, rangeBehind, rangeOf } from "./key_range.ts";

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
  #cursor = "";

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
    return this.#cursor;
  }

  async next(): Promise<IteratorResult<Deno.KvEntry<Value>, undefined>> {
    if (this.#left <= 0) return { done: true, value: undefined };
    if (this.#at >= this.#page.length && !this.#isLast) await this.#turnPage();
    const row = this.#page[this.#at++];
    if (row === undefined) return { done: true, value: undefined };
    this.#left--;
    this.#cursor = cursorAt(this.#whole, row.encodedKey);
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
