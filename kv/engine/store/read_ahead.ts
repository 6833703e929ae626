/**
 * Reads the rows of a selector in pages, and requests a page while the one before is processed. Over a network a
 * reader would otherwise wait for a round trip per page, during which it does nothing.
 */
import { firstKeyBehind } from "../schema/keys.ts";
import { groupsOf, inParallel } from "./in_parallel.ts";
import { keysPerRead, type KeyValueStore, type RowListOptions } from "./key_value_store.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";

/** Rows of the first page, and the fewest of any: some milliseconds of decoding. */
const leastPageRows = 100;

/** Most rows of a page: the bound of KV Connect for one read. */
const maxPageRows = 1_000;

/**
 * Characters that a page should have. It is decoded without a pause, so that calls on the same thread wait for it: some
 * three milliseconds.
 */
const pageChars = 1024 * 1024;

/** Characters that a row which is no text counts as: wallets, leases and sums have about as many bytes. */
const objectRowChars = 250;

interface Page<Value> {
  readonly entries: readonly Deno.KvEntry<Value>[];
  readonly cursor: string;
  readonly isLast: boolean;
}

/** Options of the reading: {@linkcode RowListOptions} says more. */
export type ReadAheadOptions = Pick<RowListOptions, "isWithoutArchive">;

async function readPage<Value>(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  { rows, cursor, ...options }: ReadAheadOptions & {
    readonly rows: number;
    readonly cursor: string;
  },
): Promise<Page<Value>> {
  const list = kv.list<Value>(selector, { ...options, limit: rows, batchSize: rows, cursor });
  const entries = await Array.fromAsync(list);
  return { entries, cursor: list.cursor, isLast: entries.length < rows };
}

/** Returns how many rows the next page should have, from the size of those of the last one. */
function rowsAfter(entries: readonly Deno.KvEntry<unknown>[]): number {
  let chars = 0;
  for (const { value } of entries) {
    chars += typeof value === "string" ? value.length : objectRowChars;
  }
  const rows = Math.floor(pageChars * entries.length / Math.max(1, chars));
  return Math.min(maxPageRows, Math.max(leastPageRows, rows));
}

/**
 * Lists the rows of a selector in key order. At most two pages are in memory: the one that is processed and the next.
 *
 * @example
 * ```ts
 * import { readAhead } from "./read_ahead.ts";
 * using kv = await Deno.openKv(":memory:");
 * await kv.set(["wallet", "acc_1"], 1);
 * const rows = await Array.fromAsync(readAhead(kv, { prefix: ["wallet"] }));
 * if (rows.length !== 1) throw new Error("not read");
 * ```
 */
export async function* readAhead<Value>(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  options: ReadAheadOptions = {},
): AsyncGenerator<Deno.KvEntry<Value>> {
  let next = readPage<Value>(kv, selector, { ...options, rows: leastPageRows, cursor: "" });
  for (;;) {
    const { entries, cursor, isLast } = await next;
    if (!isLast) {
      next = readPage<Value>(kv, selector, { ...options, rows: rowsAfter(entries), cursor });
      // A reader that stops early never awaits it.
      next.catch(() => {});
    }
    yield* entries;
    if (isLast) return;
  }
}

/** Most rows that an engine reads at once, as in Deno KV. */
const maxBatchRows = 1_000;

/**
 * Reads the first rows of each of several ranges, or the last ones first, in the order of the ranges: in one round where
 * the engine can, or one range after the other. Rows of an archive are left out. All of it is in memory at once.
 */
export async function firstRowsOf(
  kv: KeyValueStore,
  selectors: readonly Deno.KvListSelector[],
  limit: number,
  reverse = false,
): Promise<readonly (readonly Deno.KvEntry<unknown>[])[]> {
  if (selectors.length === 0) return [];
  if (kv.firstRows !== undefined) return await kv.firstRows(selectors, limit, reverse);
  const batchSize = Math.min(limit, maxBatchRows);
  const options = { limit, batchSize, reverse, isWithoutArchive: true };
  const rows: Deno.KvEntry<unknown>[][] = [];
  for (const selector of selectors) {
    rows.push(await Array.fromAsync(kv.list<unknown>(selector, options)));
  }
  return rows;
}

/** Rows that are read by their keys at once: an even number, so that two of one thing are read at one moment. */
export const keysAtOnce = 500;

/**
 * Reads rows by their keys, at most {@linkcode keysAtOnce} of them: at one moment where the engine reads several ranges
 * in one round, or ten of them at a moment.
 */
export async function rowsOfKeys(
  kv: KeyValueStore,
  keys: readonly Deno.KvKey[],
): Promise<readonly (Deno.KvEntry<unknown> | undefined)[]> {
  if (kv.firstRows !== undefined) {
    const ranges = keys.map((key) => ({ start: key, end: firstKeyBehind(key) }));
    const rows = (await firstRowsOf(kv, ranges, 1)).map(([row]) => row);
    const missing = keys.filter((_, at) => rows[at] === undefined);
    if (kv.archivedRows === undefined || missing.length === 0) return rows;
    const archived = (await kv.archivedRows(missing)).values();
    return rows.map((row) => row ?? archived.next().value);
  }
  const groups = groupsOf(keys, keysPerRead);
  const read: (readonly Deno.KvEntryMaybe<unknown>[])[] = [];
  await inParallel(groups.entries(), async ([at, some]) => {
    read[at] = await kv.getMany<unknown[]>(some);
  });
  return read.flat().map((row) => row.versionstamp === null ? undefined : row);
}

/** Reads what rows hold, like {@linkcode rowsOfKeys}; `undefined` for a row that is not there. */
export async function valuesOfKeys<Value>(
  kv: KeyValueStore,
  keys: readonly Deno.KvKey[],
): Promise<readonly (Value | undefined)[]> {
  // What a row holds is known only to whoever wrote it, as with Deno KV.
  return (await rowsOfKeys(kv, keys)).map((row) => (row?.value ?? undefined) as Value | undefined);
}

// Reads all rows of a kind, for audits and exports.

/**
 * Rows fetched at once by readers that stop early or read little. They are decoded without a pause:
 * 500 rows with a dozen receipts each would block calls for a tenth of a second.
 */
export const listBatchRows = 100;

/**
 * Lists the rows of a selector in key order, with a bounded number in memory. With `slices` the
 * reader yields to other work of the thread.
 */
export async function* wholeKind<Value>(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  slices: TimeSlices | undefined,
  options?: ReadAheadOptions,
): AsyncGenerator<Deno.KvEntry<Value>> {
  yield* inSlices(readAhead<Value>(kv, selector, options), slices);
}

/** Yields what was read, and to other work of the thread in between. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item>,
  slices: TimeSlices | undefined,
): AsyncGenerator<Item> {
  for await (const item of items) {
    yield item;
    const rest = slices?.rest();
    if (rest !== undefined) await rest;
  }
}
