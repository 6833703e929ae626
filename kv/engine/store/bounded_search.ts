/** Searches rows for those that fit, within a bound of reading: where few fit, a page is short and has a next one. */

/** Rows that one search reads at most: about a second of reading. */
const maxSearchedRows = 10_000;

/** Result of a search. */
export interface Found<Row> {
  readonly rows: readonly Row[];
  /** The last row that was read, after which the search continues; absent at the end. */
  readonly next: Row | undefined;
}

/**
 * Takes the first `count` rows that fit.
 *
 * @param rows in the order of the answer, for as many as are read
 *
 * @example
 * ```ts
 * import { takeFitting } from "./bounded_search.ts";
 * const rows = (async function* () {
 *   for (let value = 0; value < 9; value++) yield await Promise.resolve({ value });
 * })();
 * const found = await takeFitting(rows, { count: 2, fits: (value) => value % 3 === 0 });
 * if (found.rows.join() !== "0,3" || found.next !== 3) throw new Error(`${found.next}`);
 * ```
 */
export async function takeFitting<Row>(
  rows: AsyncIterable<{ readonly value: Row }>,
  { count, fits, maxRead = maxSearchedRows }: {
    readonly count: number;
    readonly fits: (row: Row) => boolean;
    readonly maxRead?: number;
  },
): Promise<Found<Row>> {
  const found: Row[] = [];
  let last: Row | undefined;
  let read = 0;
  for await (const { value } of rows) {
    if (found.length === count || read === maxRead) return { rows: found, next: last };
    read++;
    last = value;
    if (fits(value)) found.push(value);
  }
  return { rows: found, next: undefined };
}
