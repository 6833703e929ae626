/**
 * Reads every row of a store as of one moment, although other rows are written meanwhile. Each engine has its own way:
 *
 * - **Embedded.** One process has the store to itself, so it knows all writes ({@linkcode WriteTracker}). Rows are
 *   listed page by page while writes continue, and the keys that are written meanwhile are recorded. Recorded keys are
 *   read again and appended, in rounds, until few are left; those are read while writes pause, a fraction of a second. The
 *   result is the store at that pause: a row that was not written since it was read is what it was, and a row that was
 *   written is read again later. Whoever applies the rows in order, the last of a key counting, has that store.
 * - **PostgreSQL.** A cursor in a transaction at the level `repeatable read`. Each commit of the gateway is one
 *   transaction, so the snapshot of the server holds all of it or nothing.
 * - **denokv.** There is neither a snapshot over several pages nor a view of what other processes write. The store is
 *   read twice; if every row has the same versionstamp in both, each was unchanged between the two readings, and what
 *   was read is the store at that moment. Otherwise the snapshot fails. A row that is created and deleted between both
 *   readings is missed, but a commit that moves money also changes a row that remains. In practice this needs gateways
 *   that are stopped, since running ones renew their leases.
 *
 * A row may expire while it is read; the snapshot may then contain it.
 */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { everyRow } from "../schema/keys.ts";
import { encodeKey, encodeValue } from "./tuple_key.ts";
import { keysPerRead, type KeyValueStore } from "../store/key_value_store.ts";
import type { WriteTracker } from "./write_tracker.ts";

/** A row in its encoded form (`tuple_key.ts`, `stored_value.ts`). */
export interface SnapshotRow {
  readonly key: Uint8Array;
  /** `null`: the row is gone, also if it was read before. */
  readonly value: Uint8Array | null;
  /** Moment at which the row expires, where the engine can tell; `null` if never or unknown. */
  readonly expiresAtMs: number | null;
}

/** Reading of a store as of one moment: what is read, and how. */
export interface SnapshotReading {
  /** With them the reader yields to other work of the thread. */
  readonly slices?: TimeSlices | undefined;
  /** The ranges that are read, in the order of their keys; by default all rows. Other rows may be part of it, too. */
  readonly selectors?: readonly Deno.KvListSelector[] | undefined;
}

/** Reads a snapshot. */
export type ReadSnapshot = (reading?: SnapshotReading) => AsyncIterable<SnapshotRow>;

/** Rows of a page. A page is read as a whole before anything of it is passed on. */
const pageRows = 400;

/** Changed keys that are kept in memory before they are read again. */
const changedKeysMax = 20_000;

/** Changed keys that are left to the pause: some ten milliseconds on a local store. */
const pausedKeysMax = 500;

/** Reads under way at once: beside writers, each waits its turn. */
const readsAtOnce = 32;

/** Thrown if the store changed while it was read, where this cannot be made up for. */
export class StoreChangedError extends Error {
  override name = "StoreChangedError";

  constructor() {
    super("The store changed while it was read: stop every gateway that uses it and try again");
  }
}

/** Returns a row that was read, or that was not found, in its encoded form. */
export function snapshotRowOf(entry: Deno.KvEntryMaybe<unknown>): SnapshotRow {
  const key = encodeKey(entry.key);
  const value = entry.versionstamp === null ? null : encodeValue(entry.value);
  return { key, value, expiresAtMs: null };
}

async function* pages(
  kv: KeyValueStore,
  { slices, selectors = [everyRow()] }: SnapshotReading,
): AsyncGenerator<Deno.KvEntry<unknown>[]> {
  for (const selector of selectors) {
    let cursor = "";
    for (;;) {
      const rows = kv.list(selector, { limit: pageRows, batchSize: pageRows, cursor });
      const page = await Array.fromAsync(rows);
      yield page;
      if (page.length < pageRows) break;
      cursor = rows.cursor;
      const rest = slices?.rest();
      if (rest !== undefined) await rest;
    }
  }
}

async function* readAgain(
  kv: KeyValueStore,
  keys: readonly Deno.KvKey[],
): AsyncGenerator<SnapshotRow> {
  const groups = Array.from(
    { length: Math.ceil(keys.length / keysPerRead) },
    (_, at) => keys.slice(at * keysPerRead, (at + 1) * keysPerRead),
  );
  for (let at = 0; at < groups.length; at += readsAtOnce) {
    const some = groups.slice(at, at + readsAtOnce);
    const read = await Promise.all(some.map((group) => kv.getMany<unknown[]>(group)));
    yield* read.flat().map(snapshotRowOf);
  }
}

/** Reads a store that only this process writes. */
export async function* trackedSnapshot(
  kv: KeyValueStore,
  tracker: WriteTracker,
  reading: SnapshotReading = {},
): AsyncGenerator<SnapshotRow> {
  using changed = tracker.record();
  for await (const page of pages(kv, reading)) {
    yield* page.map(snapshotRowOf);
    // Only between pages: a row of a page that was read before must not follow what is read here.
    if (changed.size > changedKeysMax) yield* readAgain(kv, changed.take());
  }
  // Rounds end as soon as they gain little: the pause then takes longer, since the store is written as fast as it is read.
  for (let before = Infinity; changed.size > pausedKeysMax && changed.size < before / 2;) {
    before = changed.size;
    yield* readAgain(kv, changed.take());
  }
  yield* await tracker.whilePaused(() => Array.fromAsync(readAgain(kv, changed.take())));
}

/**
 * Reads a store that nobody writes.
 *
 * @throws {StoreChangedError} at the end, if somebody did
 */
export async function* stillSnapshot(
  kv: KeyValueStore,
  reading: SnapshotReading = {},
): AsyncGenerator<SnapshotRow> {
  // Loaded on demand: every start would pay for it otherwise.
  const { createHash } = await import("node:crypto");
  const read = createHash("sha256");
  for await (const page of pages(kv, reading)) {
    for (const entry of page) {
      const row = snapshotRowOf(entry);
      read.update(row.key).update(entry.versionstamp);
      yield row;
    }
  }
  const again = createHash("sha256");
  for await (const page of pages(kv, reading)) {
    for (const { key, versionstamp } of page) again.update(encodeKey(key)).update(versionstamp);
  }
  if (read.digest("hex") !== again.digest("hex")) throw new StoreChangedError();
}
