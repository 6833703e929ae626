/**
 * Makes a backup of a store and restores it into an empty store of any engine.
 *
 * A backup is the store as of one moment (`kv/engine/parts/snapshot.ts` says how each engine gives it), so every invariant of
 * money that held then holds after a restore. Rows keep their keys and values. Leases of instances are part of it: after
 * a restore no such instance runs, and the reaper returns them as it does after a crash.
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
import { decodeBackup, encodeBackup, isBackedUp, restoredLifeMs } from "./backup_records.ts";

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

async function* keptRows(rows: AsyncIterable<SnapshotRow>): AsyncGenerator<SnapshotRow> {
  for await (const row of rows) if (isBackedUp(kindOfKey(decodeKey(row.key)))) yield row;
}

/** Reads a store as the bytes of a backup, which are not encrypted yet. */
export async function* backupBytes(
  { kv, snapshot, nowMs, slices }: BackupSource,
): AsyncGenerator<Uint8Array> {
  // All rows are part of it, also those of an archive.
  const schemaVersion = Math.min(programSchemaVersion, await readSchemaVersion(kv));
  const header = { format: 1, madeAtMs: nowMs, schemaVersion } as const;
  yield* encodeBackup(header, keptRows(snapshot(slices)));
}

/** What a backup contains. */
export interface BackupSummary {
  readonly madeAt: string;
  readonly schemaVersion: number;
  readonly records: number;
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
  return { madeAt, schemaVersion: header.schemaVersion, records };
}

/** Whether a store has no rows. */
export async function isEmptyStore(kv: KeyValueStore): Promise<boolean> {
  const rows = await Array.fromAsync(kv.list(everyRow(), { limit: 1 }));
  return rows.length === 0;
}

/**
 * Writes the rows of a backup that {@linkcode checkBackup} has read. Until its end the store has a mark with which no
 * gateway starts.
 *
 * @throws if the store has rows, or fails; it has to be emptied then
 */
export async function restoreBackup(
  kv: KeyValueStore,
  bytes: AsyncIterable<Uint8Array>,
  nowMs: number,
): Promise<void> {
  if (!await isEmptyStore(kv)) throw new Error("The store is not empty");
  const mark = restoreMarkKey();
  const marked = await kv.atomic().check({ key: mark, versionstamp: null })
    .set(mark, { startedAtMs: nowMs }).commit();
  if (!marked.ok) throw new Error("Another restore into this store is under way");
  const { header, rows } = await decodeBackup(bytes);
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
