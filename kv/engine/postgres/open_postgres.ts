/** Opens a store on PostgreSQL: brings its schema up to date and looks at how safe the server keeps what it has. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { migrations } from "./migrations.ts";
import { Pool, stateOf } from "./pool.ts";
import { PostgresStore } from "./postgres_store.ts";

/** Instances that start together migrate at the same time; all but one lose and look again. */
const migrationTries = 10;

/** Pause before looking again. */
const migrationPauseMs = 200;

/**
 * SQLSTATEs of a lost race: the table, function or row is there already (unique_violation, duplicate_table,
 * duplicate_function, duplicate_object), or the server ended one of two (serialization_failure, deadlock_detected).
 */
const lostRaceStates = new Set(["23505", "42P07", "42723", "42710", "40001", "40P01"]);

/** The kinds of rows whose change other instances should see at once. */
export interface OpenPostgresOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly announcedKinds: ReadonlySet<string>;
}

/** An open store and what the operator should know about its server, a line each. */
export interface OpenedPostgres {
  readonly kv: PostgresStore;
  readonly warnings: readonly string[];
}

async function versionOfSchema(pool: Pool): Promise<number> {
  await pool.query(
    "create table if not exists gateway_kv_schema (version integer primary key, applied_at timestamptz not null default now())",
    [],
  );
  const [row] = await pool.query(
    "select coalesce(max(version), 0)::int as version from gateway_kv_schema",
    [],
  );
  return Number(row?.["version"]);
}

/** Each migration and its number are one transaction: a block that fails leaves nothing. */
async function applyMigrations(pool: Pool): Promise<void> {
  for (let version = await versionOfSchema(pool); version < migrations.length; version++) {
    const statements = migrations[version] ?? "";
    await pool.script(
      `begin; insert into gateway_kv_schema (version) values (${
        version + 1
      }); ${statements} commit;`,
    );
  }
}

async function migrate(pool: Pool): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return await applyMigrations(pool);
    } catch (error) {
      if (tries >= migrationTries || !lostRaceStates.has(stateOf(error) ?? "")) throw error;
    }
    await sleep(migrationPauseMs);
  }
}

async function warningsOf(pool: Pool): Promise<string[]> {
  const [settings] = await pool.query(
    "select current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync",
    [],
  );
  const standbys = await pool.query(
    "select count(*)::int as count from pg_stat_replication where sync_state = 'async'",
    [],
  );
  const warnings: string[] = [];
  if (pool.isPooled) {
    warnings.push(
      "PostgreSQL is behind a pooler: statements are not prepared, and changes by other instances are asked for at intervals",
    );
  }
  if (settings?.["commit"] === "off" || settings?.["fsync"] === "off") {
    warnings.push(
      "PostgreSQL answers before a commit is on disk (synchronous_commit or fsync is off): a crash of the server loses receipts",
    );
  }
  if (Number(standbys[0]?.["count"]) > 0) {
    warnings.push(
      "PostgreSQL has a standby that is not synchronous: a fail-over to it loses the newest commits; set synchronous_standby_names",
    );
  }
  return warnings;
}

/**
 * Opens the store.
 *
 * @throws {Error} if no host of the address takes writes, or the role may not create tables
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<OpenedPostgres> {
  const pool = await Pool.open(options);
  try {
    await migrate(pool);
    const warnings = await warningsOf(pool);
    return { kv: new PostgresStore(pool, options), warnings };
  } catch (error) {
    await pool.end();
    throw error;
  }
}
