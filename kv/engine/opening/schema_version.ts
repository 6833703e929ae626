/**
 * The version of the schema that the rows of a store have. The first start writes it, and each start compares it with
 * the version of the program:
 *
 * - equal: nothing to do;
 * - older: migrations run, each once, in the order of their versions, by one instance at a time;
 * - newer: the program refuses to start, since it would misread or lose what a newer one wrote.
 *
 * A store without the row is of version 1: the row was introduced with it.
 *
 * New optional members of a row need no new version. A migration must leave rows that the previous release still reads,
 * and must be repeatable: an instance that is killed in the middle leaves it to the next one.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { everyRow, migrationLockKey, restoreMarkKey, schemaVersionKey } from "../schema/keys.ts";
import { compareAndSet } from "../store/cas.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Changes the rows of one version to those of the next. May run again after it was interrupted. */
export type Migration = (kv: KeyValueStore) => Promise<void>;

/** The migration at index `n` leads from version `n + 1` to `n + 2`. One that was released never changes. */
const storeMigrations: readonly Migration[] = [];

/** The schema version that this program reads and writes. */
export const programSchemaVersion = storeMigrations.length + 1;

/**
 * The version of a store whose receipts are partly in an archive. Its rows are those of the version before; a program
 * that knows no archive would serve without the receipts that have left the store.
 */
export const archivedSchemaVersion = programSchemaVersion + 1;

/**
 * Version of a store some of whose sums are in the archive. A program that reads only receipts from there would take the
 * sums of old days for zero.
 */
export const archivedSumsSchemaVersion = archivedSchemaVersion + 1;

/** Milliseconds for which a lock on migrations counts, unless it is renewed. */
const lockMs = 60_000;

/** Milliseconds after which its holder renews the lock, and others look whether it is free. */
const lockEveryMs = 2_000;

/** Tries of a change of the version row, which is contended only while several instances start. */
const versionAttempts = 20;

interface SchemaVersionRow {
  readonly version: number;
  readonly writtenAtMs: number;
}

interface MigrationLockRow {
  readonly holder: string;
  readonly expiresAtMs: number;
}

/** Needs of {@linkcode prepareStore}. */
export interface PrepareStoreOptions {
  readonly clock: Clock;
  readonly sleep: (durationMs: number) => Promise<void>;
  /** For tests: other migrations than those of the program. */
  readonly migrations?: readonly Migration[];
}

/** Whether the program may use the store; `problem` is one line for the operator. */
export type PreparedStore =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly problem: string };

/** Reads the schema version of the rows: 1 if the store says nothing. */
export async function readSchemaVersion(kv: KeyValueStore): Promise<number> {
  return (await kv.get<SchemaVersionRow>(schemaVersionKey())).value?.version ?? 1;
}

/** Writes the schema version into a store that has none. */
export async function writeSchemaVersion(
  kv: KeyValueStore,
  version: number,
  nowMs: number,
): Promise<void> {
  const row: SchemaVersionRow = { version, writtenAtMs: nowMs };
  await kv.set(schemaVersionKey(), row);
}

/** Writes a higher schema version into a store, unless it has that or a later one. */
export async function raiseSchemaVersion(
  kv: KeyValueStore,
  version: number,
  nowMs: number,
): Promise<void> {
  const outcome = await compareAndSet<void>(async () => {
    const found = await kv.get<SchemaVersionRow>(schemaVersionKey());
    if ((found.value?.version ?? 1) >= version) return { done: undefined };
    const row: SchemaVersionRow = { version, writtenAtMs: nowMs };
    const written = await kv.atomic().check(found).set(found.key, row).commit();
    return written.ok ? { done: undefined } : "again";
  }, { attempts: versionAttempts });
  if (outcome === "conflict") throw new Error("The schema version of the store changes constantly");
}

/**
 * Brings the rows of a store to the version of the program, or says why the program must not use it.
 *
 * @throws what a migration or the store throws
 */
export async function prepareStore(
  kv: KeyValueStore,
  options: PrepareStoreOptions,
): Promise<PreparedStore> {
  const wanted = (options.migrations ?? storeMigrations).length + 1;
  if ((await kv.get(restoreMarkKey())).versionstamp !== null) {
    const problem =
      "Cannot use the store: a restore into it did not end. Restore the same backup again, which goes on where it stopped";
    return { ok: false, problem };
  }
  for (;;) {
    const version = await settledVersion(kv, wanted, options.clock.nowMs());
    const known = wanted + archivedSumsSchemaVersion - programSchemaVersion;
    if (version > known) {
      const problem =
        `Cannot use the store: it has schema version ${version}, this program knows version ${known}. Start the newer release that wrote it`;
      return { ok: false, problem };
    }
    if (version >= wanted) return { ok: true, version };
    if (!await migrateLocked(kv, version, options)) await options.sleep(lockEveryMs);
  }
}

/** Returns the version; an empty store gets that of the program, an older one without the row gets 1. */
async function settledVersion(kv: KeyValueStore, wanted: number, nowMs: number): Promise<number> {
  const outcome = await compareAndSet<number>(async () => {
    const found = await kv.get<SchemaVersionRow>(schemaVersionKey());
    if (found.value !== null) return { done: found.value.version };
    const [first] = await Array.fromAsync(kv.list(everyRow(), { limit: 1 }));
    const row: SchemaVersionRow = { version: first === undefined ? wanted : 1, writtenAtMs: nowMs };
    const written = await kv.atomic().check(found).set(found.key, row).commit();
    return written.ok ? { done: row.version } : "again";
  }, { attempts: versionAttempts });
  if (outcome === "conflict") throw new Error("The schema version of the store changes constantly");
  return outcome.done;
}

/** Runs the next migration if nobody else does. */
async function migrateLocked(
  kv: KeyValueStore,
  version: number,
  { clock, migrations = storeMigrations }: PrepareStoreOptions,
): Promise<boolean> {
  const holder = newId("instance", clock.nowMs());
  const lock = await kv.get<MigrationLockRow>(migrationLockKey());
  if (lock.value !== null && lock.value.expiresAtMs > clock.nowMs()) return false;
  const row = (): MigrationLockRow => ({ holder, expiresAtMs: clock.nowMs() + lockMs });
  let held = await kv.atomic().check(lock).set(lock.key, row()).commit();
  if (!held.ok) return false;
  const renew = async () => {
    if (!held.ok) return;
    const { versionstamp } = held;
    held = await kv.atomic().check({ key: lock.key, versionstamp }).set(lock.key, row()).commit();
  };
  let renewal = Promise.resolve();
  const timer = setInterval(() => {
    renewal = renewal.then(renew).catch(() => {});
  }, lockEveryMs);
  try {
    // Another instance may have finished it between the reading of the version and the lock.
    const found = await kv.get<SchemaVersionRow>(schemaVersionKey());
    if (found.value?.version !== version) return true;
    await migrations[version - 1]?.(kv);
    clearInterval(timer);
    await renewal;
    const next: SchemaVersionRow = { version: version + 1, writtenAtMs: clock.nowMs() };
    await kv.atomic().check(found).set(found.key, next).commit();
    return true;
  } finally {
    clearInterval(timer);
    await renewal;
    if (held.ok) {
      const { versionstamp } = held;
      await kv.atomic().check({ key: lock.key, versionstamp }).delete(lock.key).commit();
    }
  }
}
