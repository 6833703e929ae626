/** Opens a store on PostgreSQL: brings its schema up to date and looks at how safe the server keeps what it has. */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { Pool, stateOf } from "./pool.ts";
import { PostgresStore } from "./postgres_store.ts";

/**
 * The tables and functions of a store on PostgreSQL, in the order in which they were added. A migration that was
 * released never changes; a change is a new one.
 *
 * Rows are kept under encoded keys (`bytea` sorts by unsigned bytes, as the encoding needs). A commit is one call of
 * `gateway_kv_commit`:
 *
 * - It locks the rows that it names in the order of their keys, so that two commits cannot wait for each other.
 * - A row lock sees nothing where a row is absent. A key that must be absent is therefore inserted, and the insert
 *   gives way to a concurrent one; the commit then fails with 40001 and is repeated by the caller, whose check sees the
 *   other row.
 * - Versions come from a sequence: unique, but not in the order of commits.
 *
 * The clock of the server alone decides what has expired.
 */
export const migrations: readonly string[] = [
  `
  create table gateway_kv (
    key bytea primary key,
    value bytea not null,
    version bigint not null,
    expires_at timestamptz
  ) with (
    -- Wallets and leases change all the time: room in each page keeps an update out of the index.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05
  );
  create index gateway_kv_expiry on gateway_kv (expires_at) where expires_at is not null;
  create sequence gateway_kv_version cache 64;

  create function gateway_kv_commit(
    check_keys bytea[],
    check_versions bigint[],
    set_keys bytea[],
    set_values bytea[],
    set_lives_ms bigint[],
    delete_keys bytea[],
    channels text[]
  ) returns bigint language plpgsql as $$
  declare
    now_at timestamptz := clock_timestamp();
    next_version bigint;
    found_version bigint;
    absent_keys bytea[] := '{}';
    placeholder_keys bytea[] := '{}';
    written bigint;
    channel text;
  begin
    perform 1 from (
      select key from gateway_kv
      where key = any (check_keys || set_keys || delete_keys)
      order by key for update
    ) as locked;
    for i in 1 .. cardinality(check_keys) loop
      select version into found_version from gateway_kv
      where key = check_keys[i] and (expires_at is null or expires_at > now_at);
      if coalesce(found_version, 0) <> check_versions[i] then return null; end if;
      if check_versions[i] = 0 then absent_keys := absent_keys || check_keys[i]; end if;
    end loop;

    next_version := nextval('gateway_kv_version');
    if cardinality(absent_keys) > 0 then
      delete from gateway_kv where key = any (absent_keys) and expires_at <= now_at;
      select coalesce(array_agg(key), '{}') into placeholder_keys
      from unnest(absent_keys) as key where key <> all (set_keys);
    end if;
    if cardinality(set_keys) + cardinality(placeholder_keys) > 0 then
      insert into gateway_kv as kept (key, value, version, expires_at)
      select key, value, next_version, now_at + life_ms * interval '1 millisecond'
      from (
        select * from unnest(set_keys, set_values, set_lives_ms) as given (key, value, life_ms)
        union all
        select key, ''::bytea, 0 from unnest(placeholder_keys) as key
      ) as rows order by key
      on conflict (key) do update
      set value = excluded.value, version = excluded.version, expires_at = excluded.expires_at
      where kept.key <> all (absent_keys);
      get diagnostics written = row_count;
      if written <> cardinality(set_keys) + cardinality(placeholder_keys) then
        raise exception 'a row appeared that must be absent' using errcode = '40001';
      end if;
    end if;
    if cardinality(delete_keys) + cardinality(placeholder_keys) > 0 then
      delete from gateway_kv where key = any (delete_keys || placeholder_keys);
    end if;
    foreach channel in array channels loop
      perform pg_notify('gateway_kv', channel);
    end loop;
    return next_version;
  end $$;
  `,
];

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
