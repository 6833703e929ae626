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
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
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

/** What a backup is made of. */
export interface BackupSource {
  readonly kv: KeyValueStore;
  readonly snapshot: ReadSnapshot;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
}

/** What the files of sealed days are made of. */
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

/** What a backup contains. */
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
export async function isEmptyStore(kv: KeyValueStore): Promise<boolean> {
  const rows = await Array.fromAsync(kv.list(everyRow(), { limit: 1 }));
  return rows.length === 0;
}

/**
 * Writes the rows of backups that {@linkcode checkBackup} has read: those of sealed days first, then what has its
 * schema version. Until its end the store has a mark with which no gateway starts.
 *
 * @throws if the store has rows, or fails; it has to be emptied then
 */
export async function restoreBackup(
  kv: KeyValueStore,
  { days, last }: BackupBytes,
  nowMs: number,
): Promise<void> {
  if (!await isEmptyStore(kv)) throw new Error("The store is not empty");
  const mark = restoreMarkKey();
  const marked = await kv.atomic().check({ key: mark, versionstamp: null })
    .set(mark, { startedAtMs: nowMs }).commit();
  if (!marked.ok) throw new Error("Another restore into this store is under way");
  for (const bytes of days) {
    const { rows } = await decodeBackup(bytes);
    for await (const batch of batches(rows)) await writeRows(kv, batch, nowMs);
  }
  const { header, rows } = await decodeBackup(last);
  for await (const batch of batches(rows)) await writeRows(kv, batch, nowMs);
  await writeSchemaVersion(kv, header.schemaVersion, nowMs);
  await kv.delete(mark);
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

async function writeRows(
  kv: KeyValueStore,
  rows: readonly SnapshotRow[],
  nowMs: number,
): Promise<void> {
  const operation = kv.atomic();
  for (const { key: encoded, value, expiresAtMs } of rows) {
    const key = decodeKey(encoded);
    const expireIn = restoredLifeMs(kindOfKey(key), expiresAtMs, nowMs);
    if (value === null || expireIn === 0) operation.delete(key);
    else operation.set(key, decodeValue(value), expireIn === undefined ? {} : { expireIn });
  }
  const { ok } = await operation.commit();
  if (!ok) throw new Error("A commit without checks failed a check");
}
