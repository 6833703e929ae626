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
 *
 * Sums of old days leave the store as well, and a call that ends late changes one that has left. Its writer reads the
 * archived row with a version of its own, and writes the whole sum to the store, where it counts in place of the
 * archived one until its day moves again. The commit checks that the store has no such row, that the archive has the one
 * that was read, and that no sum of its day has left meanwhile: each commit that clears rows of a day changes the mark
 * of the day ({@linkcode archivedSumsKey}), which the commit of the writer checks.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { shiftDay, vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import {
  allFailedPagesPrefix,
  allIndexPagesPrefix,
  archivedSumsDayOf,
  archivedSumsKey,
  archivedSumsPrefix,
  dayCopiesPrefix,
  daySumsPrefix,
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
import { decodeKey, encodeKey } from "../../engine/parts/tuple_key.ts";
import { rangeOf } from "../../engine/parts/key_range.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import {
  type AtomicWrite,
  keysPerRead,
  type KeyValueStore,
  type RowIterator,
  type RowListOptions,
  type WholeStore,
} from "../../engine/store/key_value_store.ts";
import {
  archivedIndex,
  archivedPages,
  archivedPagesWith,
  behindText,
  everyArchivedIndex,
  type IndexPlace,
} from "./archived_pages.ts";
import { archivedCalls } from "./archived_calls.ts";
import {
  archivedSumEntries,
  archivedSumRows,
  archivedSumsOf,
  cellOfSumKey,
  compareParts,
  everyArchivedDaySum,
  isSumKind,
  sumKeyText,
  sumRowsOf,
} from "./archived_sums.ts";
import { sumCellId, sumsOnPage } from "./sum_pages.ts";
import { archivedSumVersion, type DaySumCell, isArchivedSum } from "../receipts/day_sums.ts";
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

const isSameKey = (one: Deno.KvKey | undefined, other: Deno.KvKey): boolean =>
  one !== undefined && compareParts(one, other) === 0;

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
  selector: Deno.KvListSelector,
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
    const archived = await this.#readArchived(this.#rest, { limit, reverse });
    // Behind the last row of a side that has more, rows of the other would come too early.
    const ends = [living, archived].filter((side) => side.length >= limit).map((side) =>
      side.at(-1)
    );
    const page = archived.length === 0 ? living : merged(living, archived, reverse);
    const end = archived.length === 0
      ? -1
      : page.findIndex(({ key }) => ends.some((last) => isSameKey(last?.key, key)));
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
      : compareParts(left.key, right.key) * (reverse ? -1 : 1);
    const takesLeft = right === undefined || (left !== undefined && order <= 0);
    if (left !== undefined && takesLeft) rows.push(left);
    else if (right !== undefined) rows.push(right);
    if (takesLeft) one++;
    if (!takesLeft || (left !== undefined && right !== undefined && order === 0)) other++;
  }
}

const isReceiptPageKey = (key: Deno.KvKey): boolean =>
  archivedKinds.get(kindOfKey(key)) === receiptKind && key.length === 2;

/**
 * Days for which sums stay in the store at least: those of a month that is open, and some more. Reads of such days never
 * ask the archive.
 */
export const sumsStayDays = 35;

/** A clock of another instance may be ahead of this one by less than this. */
const clockSlackMs = dayMs;

/** Sums that may have left a store. */
class LeftSums {
  readonly #living: KeyValueStore;
  readonly #archive: ReceiptArchive;
  readonly #clock: Pick<Clock, "nowMs"> | undefined;

  constructor(
    living: KeyValueStore,
    archive: ReceiptArchive,
    clock: Pick<Clock, "nowMs"> | undefined,
  ) {
    this.#living = living;
    this.#archive = archive;
    this.#clock = clock;
  }

  /** Whether sums of a day are in the store for sure, or nowhere. */
  stays(day: string): boolean {
    if (this.#clock === undefined) return false;
    return day >= vietnamDay(this.#clock.nowMs() - sumsStayDays * dayMs + clockSlackMs);
  }

  /** Whether the rows of a selector have a first day from which on nothing has left. */
  stayWithin(selector: Deno.KvListSelector): boolean {
    const first = "start" in selector ? selector.start : selector.prefix;
    const isByDay = kindOfKey(first) === byDayKind;
    const [accountOrDay, day] = textParts(first);
    const isOfAccount = "prefix" in selector
      ? textParts(selector.prefix).length > 0
      : accountOrDay === textParts(selector.end)[0];
    const firstDay = isByDay ? accountOrDay : isOfAccount ? day : undefined;
    return firstDay !== undefined && this.stays(firstDay);
  }

  /** Keys among some that may be of sums that have left. */
  among(keys: readonly Deno.KvKey[]): Deno.KvKey[] {
    return keys.filter((key) => {
      const cell = isSumKind(kindOfKey(key)) ? cellOfSumKey(key) : undefined;
      return cell !== undefined && !this.stays(cell.day);
    });
  }

  async entriesOf(keys: readonly Deno.KvKey[]): Promise<ReadonlyMap<string, Entry>> {
    const wanted = this.among(keys);
    return wanted.length === 0 ? new Map() : await archivedSumEntries(this.#archive, wanted);
  }

  /**
   * Adds what a commit has to check in place of the versions of sums that have left.
   *
   * @returns whether the archive has the rows that were read
   */
  async check(op: AtomicWrite, expected: readonly ExpectedSum[]): Promise<boolean> {
    const days = [...new Set(expected.map(({ cell: { day } }) => day))];
    const marks: Deno.KvEntryMaybe<unknown>[] = [];
    for (const some of groupsOf(days.map(archivedSumsKey), keysPerRead)) {
      marks.push(...await this.#living.getMany<unknown[]>(some));
    }
    const left = new Set(
      days.filter((_, at) => marks[at] !== undefined && marks[at].versionstamp !== null),
    );
    const cells = expected.map(({ cell }) => cell).filter(({ day }) => left.has(day));
    const versions = new Map<string, string>();
    if (cells.length > 0) {
      for (const { cell, revision } of await archivedSumsOf(this.#archive, cells)) {
        versions.set(sumCellId(cell), archivedSumVersion(revision));
      }
    }
    if (expected.some(({ cell, version }) => (versions.get(sumCellId(cell)) ?? null) !== version)) {
      return false;
    }
    for (const { key } of expected) op.check({ key, versionstamp: null });
    for (const mark of marks) {
      op.check(mark);
      // The day has rows in the store again, which the next run moves.
      const row: ArchivedSumsMark = { isMoved: false };
      if (mark.versionstamp !== null) op.set(mark.key, row);
    }
    return true;
  }
}

/** The row of a day whose sums may have left the store. */
export interface ArchivedSumsMark {
  /** Whether all that there were have left. */
  readonly isMoved: boolean;
}

/** A sum as a writer has read it, which was not in the store. */
interface ExpectedSum {
  readonly key: Deno.KvKey;
  readonly cell: DaySumCell;
  /** That of the archive; `null`: neither had it. */
  readonly version: string | null;
}

const byDayKind = kindOfKey(dayCopiesPrefix());
const daySumKind = kindOfKey(daySumsPrefix());

/** Begins a commit, whose checks of sums count for store and archive as one. */
function archivedWrite(living: KeyValueStore, left: LeftSums): AtomicWrite {
  const op = living.atomic();
  const [check, commit] = [op.check.bind(op), op.commit.bind(op)];
  const expected: ExpectedSum[] = [];
  op.check = (...checks) => {
    for (const one of checks) {
      const { key, versionstamp } = one;
      const isOther = kindOfKey(key) !== daySumKind ||
        (versionstamp !== null && !isArchivedSum(one));
      const cell = isOther ? undefined : cellOfSumKey(key);
      if (cell === undefined || (versionstamp === null && left.stays(cell.day))) check(one);
      else expected.push({ key, cell, version: versionstamp });
    }
    return op;
  };
  op.commit = async () => {
    if (expected.length > 0) {
      op.check = check;
      if (!await left.check(op, expected)) return { ok: false };
    }
    return await commit();
  };
  return op;
}

/**
 * Reads a store and its archive as one. Closing it closes the store.
 *
 * @param clock spares reads of recent days a look into the archive; without it all of them take one
 */
export function archivedStore(
  living: KeyValueStore,
  archive: ReceiptArchive,
  clock?: Pick<Clock, "nowMs">,
): WholeStore {
  const left = new LeftSums(living, archive, clock);
  /** Completes entries, in their order, by what the archive has of those that the store has not. */
  const completed = async (
    found: readonly Deno.KvEntryMaybe<unknown>[],
  ): Promise<readonly Deno.KvEntryMaybe<unknown>[]> => {
    const absent = found.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => key);
    const ids = absent.filter(isReceiptPageKey).map(newestOnReceiptPage);
    const sums = await left.entriesOf(absent);
    if (ids.length === 0 && sums.size === 0) return found;
    const pages = ids.length === 0 ? undefined : await archivedPagesWith(archive, ids);
    return found.map((entry) => {
      if (entry.versionstamp !== null) return entry;
      if (!isReceiptPageKey(entry.key)) {
        return sums.size === 0 ? entry : sums.get(sumKeyText(entry.key)) ?? entry;
      }
      const page = pages?.get(newestOnReceiptPage(entry.key));
      return page === undefined ? entry : entryOf(receiptPageKey(page.newest), page.text);
    });
  };
  return {
    async get<Value>(key: Deno.KvKey) {
      const inStore = await living.get<Value>(key);
      const [found] = await completed([inStore]);
      const isOfKey = found !== undefined && found.key.length === key.length &&
        found.key.every((part, at) => part === key[at]);
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
      const name = kindOfKey(first);
      const kind = archivedKinds.get(name);
      if (options.isWithoutArchive === true) return living.list<Value>(selector, options);
      if (isSumKind(name) && !left.stayWithin(selector)) {
        const read: ReadArchived = (rest, { limit, reverse }) => {
          invariant(!reverse, "sums are read in their order");
          return archivedSumRows(archive, rest, limit);
        };
        return new MergedRows<Value>(living, read, selector, options);
      }
      if (kind === undefined) return living.list<Value>(selector, options);
      const read: ReadArchived = (rest, reading) => kind.read(archive, boundsOf(rest), reading);
      return new MergedRows<Value>(living, read, selector, options);
    },
    firstRows: living.firstRows?.bind(living),
    async archivedRows(keys) {
      const sums = await left.entriesOf(keys);
      return keys.map((key) => sums.get(sumKeyText(key)));
    },
    archivedCalls: (asked) => archivedCalls(archive, asked),
    archivedIndex: () => everyArchivedIndex(archive),
    archivedDaySums: () => everyArchivedDaySum(archive),
    set: (key, value, options) => living.set(key, value, options),
    delete: (key) => living.delete(key),
    atomic: () => archivedWrite(living, left),
    close: () => living.close(),
    [Symbol.dispose]: () => living.close(),
  };
}

/** Rows of one read of a snapshot. */
const snapshotRows = 500;

/** Pages of sums of one read of a snapshot. */
const snapshotPages = 16;

/** Options for reading a snapshot of both. */
export interface ArchivedSnapshotOptions {
  /** Tells which days may leave while it is read. */
  readonly clock: Pick<Clock, "nowMs">;
  /** Sums of old days that are remembered at most; fewer where a test has few. */
  readonly maxSeenSums?: number;
}

/**
 * Reads a store as of one moment, and the rows of its archive. Receipts never change, and one that moves meanwhile is in
 * both, and the same. A sum that the store has counts in place of the archived one, which may be of a later moment: so
 * the sums of all days that may leave meanwhile are remembered.
 *
 * @throws {Error} at the end, if a day has begun to leave whose sums were too many to remember, or a sum of a day that had
 * left was changed
 */
export async function* archivedSnapshot(
  { kv: living, snapshot }: { readonly kv: KeyValueStore; readonly snapshot: ReadSnapshot },
  archive: ReceiptArchive,
  { clock, maxSeenSums = maxSeenSumsDefault }: ArchivedSnapshotOptions,
  reading: SnapshotReading = {},
): AsyncGenerator<SnapshotRow> {
  const firstToStay = vietnamDay(clock.nowMs() - sumsStayDays * dayMs);
  const seen = new SeenSums(shiftDay(firstToStay, daysOfARun), maxSeenSums);
  const left = new Map<string, string>();
  for await (const { key, value, versionstamp } of marksOfLeftSums(living)) {
    if (value.isMoved) left.set(archivedSumsDayOf(key), versionstamp);
  }
  for await (const row of snapshot(reading)) {
    seen.add(row);
    yield row;
  }
  const selectors = reading.selectors ?? [everyRow()];
  for (const selector of selectors) {
    for (const { prefix, kind } of archivedPrefixes) {
      const within = withinPrefix(selector, prefix);
      if (within !== undefined) yield* everyRowOf(kind, archive, within, reading.slices);
    }
  }
  for await (const { key } of marksOfLeftSums(living)) {
    const day = archivedSumsDayOf(key);
    if (!seen.knows(day)) throw sumsHaveMoved(day);
    yield* sumsOfDay(archive, day, { selectors, seen, slices: reading.slices });
  }
  for await (const { key, versionstamp } of marksOfLeftSums(living)) {
    const day = archivedSumsDayOf(key);
    if (left.has(day) && left.get(day) !== versionstamp) throw sumsHaveMoved(day);
  }
}

function sumsHaveMoved(day: string): Error {
  return new Error(
    `the sums of ${day} changed on their way to the archive while the store was read: try again once admin archive has ended`,
  );
}

function marksOfLeftSums(living: KeyValueStore): RowIterator<ArchivedSumsMark> {
  return living.list<ArchivedSumsMark>({ prefix: archivedSumsPrefix() });
}

/** Days by which a clock may go on while a snapshot is read, and by which another instance's may be ahead. */
const daysOfARun = 3;

/** Sums that are remembered at most, some 150 bytes each: those of a day or two in a store whose days move nightly. */
const maxSeenSumsDefault = 1_000_000;

/** The sums of old days that a snapshot of a store has. */
class SeenSums {
  readonly #byDay = new Map<string, Set<string>>();
  readonly #max: number;
  #before: string;
  #count = 0;

  /**
   * @param before the first day whose sums cannot leave meanwhile
   * @param max sums that are remembered
   */
  constructor(before: string, max: number) {
    this.#before = before;
    this.#max = max;
  }

  /** Whether the sums of a day are known, or were not read. */
  knows(day: string): boolean {
    return day < this.#before;
  }

  add({ key: encoded, value }: SnapshotRow): void {
    if (!mayBeSum(encoded)) return;
    const cell = sumCellOf(encoded);
    if (cell === undefined || !this.knows(cell.day)) return;
    const ofDay = this.#byDay.get(cell.day) ?? new Set();
    this.#byDay.set(cell.day, ofDay);
    const before = ofDay.size;
    if (value === null) ofDay.delete(textOfKey(encoded));
    else ofDay.add(textOfKey(encoded));
    this.#count += ofDay.size - before;
    if (this.#count > this.#max) this.#forgetLastDay();
  }

  /** Days leave in their order, so that the last ones are the least likely to do so meanwhile. */
  #forgetLastDay(): void {
    const last = [...this.#byDay.keys()].reduce((one, other) => one > other ? one : other);
    this.#count -= this.#byDay.get(last)?.size ?? 0;
    this.#byDay.delete(last);
    this.#before = last;
  }

  has(day: string, encoded: Uint8Array): boolean {
    return this.#byDay.get(day)?.has(textOfKey(encoded)) === true;
  }
}

/** A text with a character for each byte, which takes as much memory. */
function textOfKey(encoded: Uint8Array): string {
  return String.fromCharCode(...encoded);
}

function sumCellOf(encoded: Uint8Array): DaySumCell | undefined {
  const key = decodeKey(encoded);
  return isSumKind(kindOfKey(key)) ? cellOfSumKey(key) : undefined;
}

/** Encoded prefix of the keys of sums, which rules most other keys out before they are decoded. */
const sumKeyBytes = encodeKey(daySumsPrefix()).subarray(0, -1);

function mayBeSum(encoded: Uint8Array): boolean {
  return sumKeyBytes.every((byte, at) => encoded[at] === byte);
}

async function* sumsOfDay(
  archive: ReceiptArchive,
  day: string,
  { selectors, seen, slices }: {
    readonly selectors: readonly Deno.KvListSelector[];
    readonly seen: SeenSums;
    readonly slices: TimeSlices | undefined;
  },
): AsyncGenerator<SnapshotRow> {
  const ranges = selectors.map(rangeOf)
    .map(({ start, end }) => ({ start: start.toHex(), end: end.toHex() }));
  for (let fromAccount = "";;) {
    const pages = await archive.sumPages({
      fromAccount,
      toAccount: behindEveryPart,
      fromDay: day,
      toDay: day,
      limit: snapshotPages,
    });
    for (const row of pages.flatMap((page) => sumsOnPage(page)).flatMap(sumRowsOf)) {
      const encoded = snapshotRowOf(row);
      const hex = encoded.key.toHex();
      const isWanted = ranges.some(({ start, end }) => hex >= start && hex < end);
      if (isWanted && !seen.has(day, encoded.key)) yield encoded;
      await slices?.rest();
    }
    if (pages.length < snapshotPages) return;
    fromAccount = `${pages.at(-1)?.lastAccount}${behindEveryPart}`;
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

/** Part that a selector has in common with the rows behind a prefix. */
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
