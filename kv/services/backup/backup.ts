/**
 * Makes a backup of a store and restores it into an empty store of any engine.
 *
 * A backup is the store as of one moment (`kv/engine/parts/snapshot.ts` says how each engine gives it), so every invariant of
 * money that held then holds after a restore. Rows keep their keys and values. Leases of instances are part of it: after
 * a restore no such instance runs, and the reaper returns them as it does after a crash.
 *
 * A backup may leave out the rows of sealed days that have files of their own (`sealed_day_rows.ts`). They are read
 * apart from the snapshot, which is then one of the rest: those rows were the same before it, and are after it.
 *
 * - Folder `kv/services/backup/`: backups: records, their encryption, what is left out, restoring.
 * - In: a snapshot of a store; the bytes of a backup; a key.
 * - Out: the bytes of a backup; the rows of a new store.
 * - Never: writes to a store that has rows, or lets bytes leave unencrypted except to the process that encrypts them.
 */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { everyRow, kindOfKey, restoreMarkKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { StoreUnavailableError } from "../../engine/store/store_unavailable.ts";
import { onceStoreIsBack, type StoreWait } from "../../engine/store/store_wait.ts";
import {
  programSchemaVersion,
  readSchemaVersion,
  writeSchemaVersion,
} from "../../engine/opening/schema_version.ts";
import type { ReadSnapshot, SnapshotRow } from "../../engine/parts/snapshot.ts";
import { decodeKey, decodeValue } from "../../engine/parts/tuple_key.ts";
import {
  type BackupHeader,
  type BackupPart,
  decodeBackup,
  encodeBackup,
  isBackedUp,
  restoredLifeMs,
} from "./backup_records.ts";
import { daysWithFiles, restSelectors, sealedDayRows, type SealedDays } from "./sealed_day_rows.ts";

/** Bounds of one commit of a restore, far below those of every engine. */
const commitRows = 200;
const commitBytes = 400_000;

/** Source of a backup. */
export interface BackupSource {
  readonly kv: KeyValueStore;
  readonly snapshot: ReadSnapshot;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
}

/** Source of the files of sealed days. */
export type DayBackupSource = Omit<BackupSource, "snapshot"> & SealedDays;

async function* keptRows(rows: AsyncIterable<SnapshotRow>): AsyncGenerator<SnapshotRow> {
  for await (const row of rows) if (isBackedUp(kindOfKey(decodeKey(row.key)))) yield row;
}

/** The schema version of a backup. It has all rows, also those of an archive, and is restored without one. */
async function backupVersion(kv: KeyValueStore): Promise<number> {
  return Math.min(programSchemaVersion, await readSchemaVersion(kv));
}

/** Reads a store as the bytes of a backup, which are not encrypted yet. */
export async function* backupBytes(
  { kv, snapshot, nowMs, slices }: BackupSource,
): AsyncGenerator<Uint8Array> {
  const schemaVersion = await backupVersion(kv);
  const header: BackupHeader = { madeAtMs: nowMs, schemaVersion, part: { kind: "whole" } };
  yield* encodeBackup(header, keptRows(snapshot({ slices })));
}

/**
 * Reads what a store has besides the sealed days up to one of them, as {@linkcode backupBytes}.
 *
 * @throws at the end, if one of those days was sealed anew meanwhile
 */
export async function* restBytes(
  source: DayBackupSource & Pick<BackupSource, "snapshot">,
  throughDay: string,
): AsyncGenerator<Uint8Array> {
  const { kv, snapshot, nowMs, slices } = source;
  const daysNow = async () =>
    (await daysWithFiles(source)).days.filter(({ day }) => day <= throughDay);
  const days = await daysNow();
  const schemaVersion = await backupVersion(kv);
  const header: BackupHeader = { madeAtMs: nowMs, schemaVersion, part: { kind: "rest", days } };
  const rows = snapshot({ slices, selectors: restSelectors(days) });
  yield* encodeBackup(header, keptRows(rows));
  const after = await daysNow();
  const isSame = days.every(({ content }, at) => content === after[at]?.content);
  if (!isSame) throw new Error("days were sealed anew while the store was read");
}

/**
 * Reads a sealed day as the bytes of its file.
 *
 * @throws if it has none, or its rows are not those that were sealed
 */
export async function dayBytes(
  source: DayBackupSource,
  dayName: string,
): Promise<AsyncGenerator<Uint8Array>> {
  const { kv, nowMs, slices } = source;
  const schemaVersion = await backupVersion(kv);
  const { day, rows } = await sealedDayRows(source, dayName, slices);
  return encodeBackup({ madeAtMs: nowMs, schemaVersion, part: { kind: "day", day } }, rows);
}

/** Contents of a backup. */
export interface BackupSummary {
  readonly madeAt: string;
  readonly schemaVersion: number;
  readonly records: number;
  readonly part: BackupPart;
}

/**
 * Reads a backup to its end.
 *
 * @throws if it is not whole, or of a newer schema version than this program knows
 */
export async function checkBackup(bytes: AsyncIterable<Uint8Array>): Promise<BackupSummary> {
  const { header, rows } = await decodeBackup(bytes);
  if (header.schemaVersion > programSchemaVersion) {
    throw new Error(
      `The backup has schema version ${header.schemaVersion}, this program knows version ${programSchemaVersion}. Restore it with the newer release`,
    );
  }
  let records = 0;
  for await (const { key } of rows) {
    decodeKey(key);
    records++;
  }
  const madeAt = new Date(header.madeAtMs).toISOString();
  return { madeAt, schemaVersion: header.schemaVersion, records, part: header.part };
}

/** The bytes that make a store. */
export interface BackupBytes {
  /** Of sealed days, which the last one leaves out. */
  readonly days: readonly AsyncIterable<Uint8Array>[];
  readonly last: AsyncIterable<Uint8Array>;
}

/** Whether a store has no rows. */
async function isEmptyStore(kv: KeyValueStore): Promise<boolean> {
  const rows = await Array.fromAsync(kv.list(everyRow(), { limit: 1 }));
  return rows.length === 0;
}

/** The row of a restore that has not ended; no gateway starts on its store. */
interface RestoreMark {
  readonly startedAtMs: number;
  /** Names the backup. Absent, as the others: the restore was of an earlier release. */
  readonly backup?: string;
  /** Rows of the backup that are in the store. */
  readonly written?: number;
  /** The restore that writes: it stops once the row names another one. */
  readonly holder?: string;
}

/** Options of a restore: its source, and how it waits for its store. */
export interface RestoreOptions {
  readonly nowMs: number;
  /** Names the backup, so that no other one is written over a part of it. */
  readonly backup: string;
  /** For a store that is away. */
  readonly wait: StoreWait;
}

/**
 * Writes the rows of backups that {@linkcode checkBackup} has read: those of sealed days first, then what has its
 * schema version. Each commit notes how far it is, so that a restore that was interrupted goes on where it stopped.
 */
export class Restore {
  /** Rows that an earlier run has written. */
  readonly resumedAfter: number;
  readonly #kv: KeyValueStore;
  readonly #options: RestoreOptions;
  readonly #holder: string;
  #mark: Deno.KvEntryMaybe<RestoreMark>;
  /** Whether the mark may have changed: the answer of a commit was lost. */
  #isUncertain = false;
  /** Rows of the backup that were read. */
  #read = 0;

  private constructor(
    kv: KeyValueStore,
    options: RestoreOptions,
    holder: string,
    mark: Deno.KvEntryMaybe<RestoreMark>,
  ) {
    this.#kv = kv;
    this.#options = options;
    this.#holder = holder;
    this.#mark = mark;
    this.resumedAfter = mark.value?.written ?? 0;
  }

  /**
   * Begins a restore into an empty store, or takes over one of the same backup that did not end.
   *
   * @throws {Error} if the store has other rows
   */
  static async begin(kv: KeyValueStore, options: RestoreOptions): Promise<Restore> {
    const holder = crypto.randomUUID();
    return await onceBack(options.wait, async () => {
      const found = await kv.get<RestoreMark>(restoreMarkKey());
      if (found.value?.holder === holder) return new Restore(kv, options, holder, found);
      if (found.value === null && !await isEmptyStore(kv)) {
        throw new Error("the store is not empty; name an empty one in GATEWAY_KV");
      }
      const { backup, nowMs } = options;
      if (found.value !== null && found.value.backup !== backup) {
        const other = found.value.backup ?? "an earlier release";
        throw new Error(`the store has a part of another backup (${other}); empty it first`);
      }
      const value = { written: 0, startedAtMs: nowMs, ...found.value, backup, holder };
      const { ok } = await kv.atomic().check(found).set(found.key, value).commit();
      if (!ok) throw otherRestore();
      return new Restore(kv, options, holder, await kv.get<RestoreMark>(found.key));
    });
  }

  /**
   * Writes what is not there yet.
   *
   * @throws {Error} if the store fails or stays away; another run goes on from there
   */
  async write({ days, last }: BackupBytes): Promise<void> {
    for (const bytes of days) await this.#writeRows((await decodeBackup(bytes)).rows);
    const { header, rows } = await decodeBackup(last);
    await this.#writeRows(rows);
    await onceBack(this.#options.wait, async () => {
      await writeSchemaVersion(this.#kv, header.schemaVersion, this.#options.nowMs);
      await this.#kv.delete(this.#mark.key);
    });
  }

  async #writeRows(rows: AsyncIterable<SnapshotRow>): Promise<void> {
    for await (const batch of batches(rows)) {
      this.#read += batch.length;
      if (this.#read <= this.resumedAfter) continue;
      await onceBack(this.#options.wait, () => this.#commit(batch));
    }
  }

  async #commit(batch: readonly SnapshotRow[]): Promise<void> {
    if (this.#isUncertain && await this.#hasLanded()) return;
    this.#isUncertain = true;
    const { value, key } = this.#mark;
    const noted: RestoreMark = {
      startedAtMs: value?.startedAtMs ?? this.#options.nowMs,
      backup: this.#options.backup,
      written: this.#read,
      holder: this.#holder,
    };
    const operation = this.#kv.atomic().check(this.#mark).set(key, noted);
    addRows(operation, batch, this.#options.nowMs);
    const commit = await operation.commit();
    if (!commit.ok) {
      // A commit whose answer was lost may land late.
      if (await this.#hasLanded()) return;
      throw otherRestore();
    }
    this.#mark = { key, value: noted, versionstamp: commit.versionstamp };
    this.#isUncertain = false;
  }

  /** Reads the mark anew, and says whether the batch under way is in the store. */
  async #hasLanded(): Promise<boolean> {
    const found = await this.#kv.get<RestoreMark>(this.#mark.key);
    if (found.value?.holder !== this.#holder) throw otherRestore();
    this.#mark = found;
    this.#isUncertain = false;
    return (found.value.written ?? 0) >= this.#read;
  }
}

function otherRestore(): Error {
  return new Error("another restore into this store is under way");
}

/** Repeats an act while the store is away. */
async function onceBack<Result>(wait: StoreWait, act: () => Promise<Result>): Promise<Result> {
  type Tried = { readonly result: Result } | { readonly away: StoreUnavailableError };
  const ask = async (): Promise<Tried> => {
    try {
      return { result: await act() };
    } catch (error) {
      if (error instanceof StoreUnavailableError) return { away: error };
      throw error;
    }
  };
  const tried = await onceStoreIsBack(wait, await ask(), { isAway: (one) => "away" in one, ask });
  if ("away" in tried) throw tried.away;
  return tried.result;
}

/** Collects rows for commits. No key is in one commit twice, since engines differ in what counts then. */
async function* batches(rows: AsyncIterable<SnapshotRow>): AsyncGenerator<SnapshotRow[]> {
  let batch = new Map<string, SnapshotRow>();
  let bytes = 0;
  for await (const row of rows) {
    const id = row.key.toHex();
    const size = row.key.length + (row.value?.length ?? 0);
    if (batch.size >= commitRows || bytes + size > commitBytes || batch.has(id)) {
      yield [...batch.values()];
      batch = new Map();
      bytes = 0;
    }
    batch.set(id, row);
    bytes += size;
  }
  if (batch.size > 0) yield [...batch.values()];
}

function addRows(operation: AtomicWrite, rows: readonly SnapshotRow[], nowMs: number): void {
  for (const { key: encoded, value, expiresAtMs } of rows) {
    const key = decodeKey(encoded);
    const expireIn = restoredLifeMs(kindOfKey(key), expiresAtMs, nowMs);
    if (value === null || expireIn === 0) operation.delete(key);
    else operation.set(key, decodeValue(value), expireIn === undefined ? {} : { expireIn });
  }
}
