/**
 * A store whose receipts of sealed days are in an archive. Whoever reads it sees the rows of both as one: what a page,
 * an API, an export or a verification reads does not depend on where a receipt is.
 *
 * A row is in the archive before it leaves the store, and may be in both for a while. So a reading asks the store
 * first and the archive second, for the same range: it misses nothing, wherever a day is on its way. A page of receipts
 * that both have is the same in both. Of an index both may name a call, on pages of their own; readers of an index take
 * a call once.
 *
 * Several rows that are read at once are asked for in the archive together. There a call is found by its own id,
 * and the entry carries the key of its page, which saves the caller a search in the bucket.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import {
  allFailedPagesPrefix,
  allIndexPagesPrefix,
  everyRow,
  failedPageKey,
  firstKeyBehind,
  indexPageKey,
  kindOfKey,
  newestOnReceiptPage,
  partsBehindKind,
  receiptPageKey,
  receiptsPrefix,
} from "../../engine/schema/keys.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import {
  type ReadSnapshot,
  type SnapshotReading,
  type SnapshotRow,
  snapshotRowOf,
} from "../../engine/parts/snapshot.ts";
import { encodeKey } from "../../engine/parts/tuple_key.ts";
import type {
  KeyValueStore,
  RowIterator,
  RowListOptions,
} from "../../engine/store/key_value_store.ts";
import {
  archivedIndex,
  archivedPages,
  archivedPagesWith,
  behindText,
  type IndexPlace,
} from "./archived_pages.ts";
import { archivedCalls } from "./archived_calls.ts";
import { pageOfCall } from "../receipts/receipt_index.ts";
import type { ReceiptArchive } from "./receipt_archive.ts";

/** Rows of one read unless the caller asks for another number, as in Deno KV. */
const defaultBatchRows = 100;

/** The version of rows that never change. */
const archivedVersion = "0".repeat(20);

type Entry = Deno.KvEntry<unknown>;

/** A kind of rows that the archive has: how those of a selector are read from it. */
interface ArchivedKind {
  read(
    archive: ReceiptArchive,
    bounds: Bounds,
    reading: { readonly limit: number; readonly reverse: boolean },
  ): Promise<Entry[]>;
}

/** The keys of a selector: from one on and before another, without their kind. Absent parts are without a bound. */
interface Bounds {
  readonly from: readonly string[];
  readonly before: readonly string[] | undefined;
}

function entryOf(key: Deno.KvKey, value: unknown): Entry {
  return { key, value, versionstamp: archivedVersion };
}

const receiptKind: ArchivedKind = {
  async read(archive, { from, before }, reading) {
    const range = { from: textBound(from), before: before && textBound(before) };
    const pages = await archivedPages(archive, range, reading);
    return pages.map(({ newest, text }) => entryOf(receiptPageKey(newest), text));
  },
};

/** A bound of one part; with an empty part behind it, it lies behind the row itself. */
function textBound([first, ...rest]: readonly string[]): string | undefined {
  return first === undefined || rest.length === 0 ? first : behindText(first);
}

function indexKind(pageKey: typeof indexPageKey, onlyFailed: boolean): ArchivedKind {
  return {
    async read(archive, { from, before }, reading) {
      invariant(before?.length !== 1, "a range of an index ends within an account");
      const range = { from: placeIn(from), before: before && placeIn(before) };
      const rows = await archivedIndex(archive, range, { ...reading, onlyFailed });
      return rows.map(({ accountId, place, requestId }) =>
        entryOf(pageKey(accountId, place), pageOfCall(requestId))
      );
    },
  };
}

function placeIn([accountId = "", ...id]: readonly string[]): IndexPlace {
  return { accountId, id: textBound(id) };
}

const archivedPrefixes = [
  { prefix: receiptsPrefix(), kind: receiptKind },
  { prefix: allIndexPagesPrefix(), kind: indexKind(indexPageKey, false) },
  { prefix: allFailedPagesPrefix(), kind: indexKind(failedPageKey, true) },
] as const;

const archivedKinds: ReadonlyMap<string, ArchivedKind> = new Map(
  archivedPrefixes.map(({ prefix, kind }) => [kindOfKey(prefix), kind]),
);

/** Sorts behind every part of a key of these kinds. */
const behindEveryPart = "~";

function textParts(key: Deno.KvKey): string[] {
  return partsBehindKind(key).map((part) => {
    invariant(typeof part === "string", "the keys of archived rows are texts");
    return part;
  });
}

function boundsOf(selector: Deno.KvListSelector): Bounds {
  const prefix = "prefix" in selector ? textParts(selector.prefix) : undefined;
  const from = "start" in selector ? textParts(selector.start) : prefix;
  const before = "end" in selector
    ? textParts(selector.end)
    : prefix && prefix.length > 0
    ? prefix.concat(behindEveryPart)
    : undefined;
  return { from: from ?? [], before };
}

/** Compares keys whose parts are ids: a space sorts before all of their letters. */
function compareKeys(one: Deno.KvKey, other: Deno.KvKey): number {
  const [left, right] = [one.join(" "), other.join(" ")];
  return left === right ? 0 : left < right ? -1 : 1;
}

const isSameKey = (one: Deno.KvKey | undefined, other: Deno.KvKey): boolean =>
  one !== undefined && compareKeys(one, other) === 0;

/** The rest of a selector behind a row. */
function behind(
  selector: Deno.KvListSelector,
  key: Deno.KvKey,
  reverse: boolean,
): Deno.KvListSelector {
  if (reverse) {
    return "start" in selector ? { start: selector.start, end: key } : { ...selector, end: key };
  }
  const start = firstKeyBehind(key);
  return "end" in selector ? { start, end: selector.end } : { ...selector, start };
}

const encodeCursor = (key: Deno.KvKey): string =>
  new TextEncoder().encode(JSON.stringify(key)).toBase64({ alphabet: "base64url" });

function decodeCursor(cursor: string): Deno.KvKey {
  const key: unknown = JSON.parse(
    new TextDecoder().decode(Uint8Array.fromBase64(cursor, { alphabet: "base64url" })),
  );
  invariant(Array.isArray(key), "a cursor is the key of a row");
  return key;
}

/** Reads the archived rows of one kind. */
type ReadArchived = (
  bounds: Bounds,
  reading: { readonly limit: number; readonly reverse: boolean },
) => Promise<Entry[]>;

/** Reads the rows of store and archive in one order. */
class MergedRows<Value> implements RowIterator<Value> {
  readonly #living: KeyValueStore;
  readonly #readArchived: ReadArchived;
  readonly #batchRows: number;
  readonly #reverse: boolean;
  #rest: Deno.KvListSelector;
  #left: number;
  #page: readonly Entry[] = [];
  #at = 0;
  #isLast = false;
  #last: Deno.KvKey | undefined;

  constructor(
    living: KeyValueStore,
    readArchived: ReadArchived,
    selector: Deno.KvListSelector,
    options: RowListOptions,
  ) {
    const { reverse = false, limit = Infinity, batchSize = defaultBatchRows, cursor } = options;
    this.#living = living;
    this.#readArchived = readArchived;
    this.#batchRows = batchSize;
    this.#reverse = reverse;
    this.#left = limit;
    this.#rest = cursor ? behind(selector, decodeCursor(cursor), reverse) : selector;
  }

  get cursor(): string {
    return this.#last === undefined ? "" : encodeCursor(this.#last);
  }

  async next(): Promise<IteratorResult<Deno.KvEntry<Value>, undefined>> {
    if (this.#left <= 0) return { done: true, value: undefined };
    if (this.#at >= this.#page.length && !this.#isLast) await this.#turnPage();
    const entry = this.#page[this.#at++];
    if (entry === undefined) return { done: true, value: undefined };
    this.#left--;
    this.#last = entry.key;
    // What a row holds is known only to whoever wrote it, as with Deno KV.
    return { done: false, value: entry as Deno.KvEntry<Value> };
  }

  async #turnPage(): Promise<void> {
    const reverse = this.#reverse;
    const limit = Math.min(this.#batchRows, this.#left);
    const list = this.#living.list<unknown>(this.#rest, { limit, batchSize: limit, reverse });
    const living = await Array.fromAsync(list);
    const archived = await this.#readArchived(boundsOf(this.#rest), { limit, reverse });
    // Behind the last row of a side that has more, rows of the other would come too early.
    const ends = [living, archived].filter((side) => side.length >= limit).map((side) =>
      side.at(-1)
    );
    const page = merged(living, archived, reverse);
    const end = page.findIndex(({ key }) => ends.some((last) => isSameKey(last?.key, key)));
    this.#page = end < 0 ? page : page.slice(0, end + 1);
    this.#at = 0;
    this.#isLast = ends.length === 0;
    const last = this.#page.at(-1);
    if (last !== undefined) this.#rest = behind(this.#rest, last.key, reverse);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Merges rows that are in order. A row that both have counts once, as the store has it. */
function merged(living: readonly Entry[], archived: readonly Entry[], reverse: boolean): Entry[] {
  const rows: Entry[] = [];
  let [one, other] = [0, 0];
  for (;;) {
    const [left, right] = [living[one], archived[other]];
    if (left === undefined && right === undefined) return rows;
    const order = left === undefined || right === undefined
      ? 0
      : compareKeys(left.key, right.key) * (reverse ? -1 : 1);
    const takesLeft = right === undefined || (left !== undefined && order <= 0);
    if (left !== undefined && takesLeft) rows.push(left);
    else if (right !== undefined) rows.push(right);
    if (takesLeft) one++;
    if (!takesLeft || (left !== undefined && right !== undefined && order === 0)) other++;
  }
}

const isReceiptPageKey = (key: Deno.KvKey): boolean =>
  archivedKinds.get(kindOfKey(key)) === receiptKind && key.length === 2;

/** Reads a store and its archive as one. Closing it closes the store. */
export function archivedStore(living: KeyValueStore, archive: ReceiptArchive): KeyValueStore {
  /** Completes entries, in their order, by what the archive has of those that the store has not. */
  const completed = async (
    found: readonly Deno.KvEntryMaybe<unknown>[],
  ): Promise<readonly Deno.KvEntryMaybe<unknown>[]> => {
    const missing = found.filter(({ key, versionstamp }) =>
      versionstamp === null && isReceiptPageKey(key)
    );
    if (missing.length === 0) return found;
    const ids = missing.map(({ key }) => newestOnReceiptPage(key));
    const pages = await archivedPagesWith(archive, ids);
    return found.map((entry) => {
      if (entry.versionstamp !== null || !isReceiptPageKey(entry.key)) return entry;
      const page = pages.get(newestOnReceiptPage(entry.key));
      return page === undefined ? entry : entryOf(receiptPageKey(page.newest), page.text);
    });
  };
  const firstRows = living.firstRows?.bind(living);
  return {
    async get<Value>(key: Deno.KvKey) {
      const inStore = await living.get<Value>(key);
      const [found] = await completed([inStore]);
      const isOfKey = found !== undefined && isSameKey(found.key, key);
      return isOfKey ? found as Deno.KvEntryMaybe<Value> : inStore;
    },
    async getMany<Values extends readonly unknown[]>(
      keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
    ) {
      const entries = await completed(await living.getMany<Values>(keys));
      // One entry for each key, in their order; a mapped tuple type cannot be built by `map`.
      return entries as unknown as { [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> };
    },
    list<Value>(selector: Deno.KvListSelector, options: RowListOptions = {}) {
      const first = "prefix" in selector ? selector.prefix : selector.start;
      const kind = options.isWithoutArchive ? undefined : archivedKinds.get(kindOfKey(first));
      if (kind === undefined) return living.list<Value>(selector, options);
      const read: ReadArchived = (bounds, reading) => kind.read(archive, bounds, reading);
      return new MergedRows<Value>(living, read, selector, options);
    },
    ...(firstRows !== undefined && { firstRows }),
    archivedCalls: (asked) => archivedCalls(archive, asked),
    set: (key, value, options) => living.set(key, value, options),
    delete: (key) => living.delete(key),
    atomic: () => living.atomic(),
    close: () => living.close(),
    [Symbol.dispose]: () => living.close(),
  };
}

/** Rows of one read of a snapshot. */
const snapshotRows = 500;

/**
 * Reads a store as of one moment, and the rows of its archive, which never change. A row that moves meanwhile is in
 * both, and the same.
 */
export async function* archivedSnapshot(
  living: ReadSnapshot,
  archive: ReceiptArchive,
  reading: SnapshotReading = {},
): AsyncGenerator<SnapshotRow> {
  yield* living(reading);
  for (const selector of reading.selectors ?? [everyRow()]) {
    for (const { prefix, kind } of archivedPrefixes) {
      const within = withinPrefix(selector, prefix);
      if (within !== undefined) yield* everyRowOf(kind, archive, within, reading.slices);
    }
  }
}

async function* everyRowOf(
  kind: ArchivedKind,
  archive: ReceiptArchive,
  selector: Deno.KvListSelector,
  slices: TimeSlices | undefined,
): AsyncGenerator<SnapshotRow> {
  let rest = selector;
  for (;;) {
    const reading = { limit: snapshotRows, reverse: false };
    const entries = await kind.read(archive, boundsOf(rest), reading);
    for (const entry of entries) {
      yield snapshotRowOf(entry);
      await slices?.rest();
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < snapshotRows) return;
    rest = behind(rest, last.key, false);
  }
}

/** What a selector has in common with the rows behind a prefix. */
function withinPrefix(
  selector: Deno.KvListSelector,
  prefix: Deno.KvKey,
): Deno.KvListSelector | undefined {
  const isBefore = (one: Deno.KvKey, other: Deno.KvKey) =>
    encodeKey(one).toHex() < encodeKey(other).toHex();
  const end = prefix.concat(behindEveryPart);
  if ("prefix" in selector && selector.prefix.length > 0) {
    return isSameKey(selector.prefix, prefix) ? selector : undefined;
  }
  const from = "start" in selector && isBefore(prefix, selector.start) ? selector.start : undefined;
  const before = "end" in selector && isBefore(selector.end, end) ? selector.end : undefined;
  if (from !== undefined && !isBefore(from, end)) return undefined;
  if (before !== undefined && !isBefore(from ?? prefix, before)) return undefined;
  if (before === undefined) return from === undefined ? { prefix } : { prefix, start: from };
  return from === undefined ? { prefix, end: before } : { start: from, end: before };
}
