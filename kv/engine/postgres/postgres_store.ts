/**
 * The store on PostgreSQL: rows of one table under encoded keys, a commit as one call of a function.
 * `migrations.ts` says how a commit is atomic.
 *
 * - Folder `kv/engine/postgres/`: the engine for PostgreSQL: schema, connections, commits, lists, expiry.
 * - In: the address of the server, calls of {@linkcode KeyValueStore}.
 * - Out: rows and results of commits; warnings about a server that may lose commits.
 * - Never: decides from an error whether a commit took effect, or reads from a standby.
 */
import { sleep } from "../../../core/lib/time/sleep.ts";
import type { AtomicWrite, KeyValueStore, RowIterator } from "../store/key_value_store.ts";
import { type KeyRange, PagedRows, rangeOf, type ReadRow } from "../parts/key_range.ts";
import { decodeKey, decodeValue, encodeKey, versionstampOf } from "../parts/tuple_key.ts";
import type { SnapshotReading, SnapshotRow } from "../parts/snapshot.ts";
import { everyRow } from "../schema/keys.ts";
import { CollectedWrite, type Commit, type CommitResult } from "../parts/collected_write.ts";
import { type ChangeNotices, isNoticeKind, type NoticeKind } from "../store/change_notices.ts";
import { postgresOutage } from "./outages.ts";
import { type Pool, type Row, stateOf } from "./pool.ts";

// Arrays as PostgreSQL reads them from text. The driver would need a query for the types of arrays first.

/** The text of a `bytea[]`. */
function byteArrays(rows: readonly Uint8Array[]): string {
  return `{${rows.map((bytes) => `"\\\\x${bytes.toHex()}"`).join(",")}}`;
}

/** The text of a `bigint[]`; `null` stands for no number. */
function numbers(values: readonly (bigint | number | null)[]): string {
  return `{${values.map((value) => value === null ? "null" : String(value)).join(",")}}`;
}

/** The text of a `text[]` of names that need no quotes. */
function names(values: readonly string[]): string {
  return `{${values.join(",")}}`;
}

// Deletes rows that have expired. Reads leave them out in any case, so a sweep only frees their space. Every instance
// tries each minute; one at a time sweeps, by a lock that ends with its statement.

/** Pause between two sweeps of an instance. */
const sweepEveryMs = 60_000;

/** Rows of one statement: it holds their locks for a few milliseconds. */
const sweepRows = 500;

/** Statements of one sweep, so that a backlog is worked off over several without keeping others waiting. */
const maxStatements = 20;

/** The advisory lock of the sweep: "gateway sweep" in no other program's numbers. */
export const sweepLock = 7_306_915_113;

/**
 * A row that just expired is left alone: a commit may be about to write it again. `now()` is the same throughout the
 * statement, so that the index on `expires_at` serves the comparison; with `clock_timestamp()` the planner reads the
 * whole table in the order of its keys.
 */
const deleteExpired = `
  with turn as materialized (
    select pg_try_advisory_xact_lock(${sweepLock}) as is_ours
  ), expired as (
    select key from gateway_kv
    where expires_at < now() - interval '1 second' and (select is_ours from turn)
    order by expires_at limit ${sweepRows} for update skip locked
  ), gone as (
    delete from gateway_kv where key in (select key from expired) returning 1
  )
  select count(*)::int as count from gone`;

/**
 * Deletes expired rows, a bounded number.
 *
 * @returns how many were deleted
 */
export async function sweepExpired(pool: Pool): Promise<number> {
  let deleted = 0;
  for (let statement = 0; statement < maxStatements; statement++) {
    const [row] = await pool.query(deleteExpired, []);
    const count = Number(row?.["count"]);
    deleted += count;
    if (count < sweepRows) break;
  }
  return deleted;
}

/** Sweeps every minute until it is disposed of. A sweep that fails is made up for by the next one. */
class ExpirySweep implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;
  #isSweeping = false;

  constructor(pool: Pool) {
    this.#timer = setInterval(() => void this.#sweep(pool), sweepEveryMs);
    Deno.unrefTimer(Number(this.#timer));
  }

  async #sweep(pool: Pool): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      await sweepExpired(pool);
    } catch {
      // The store is away; reads say so where it matters.
    } finally {
      this.#isSweeping = false;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

// Passes the notices that commits send by `pg_notify` on to this instance.

/** The channel on which the commit function announces kinds of rows. */
const channel = "gateway_kv";

/** Every kind: what may have changed while nothing was heard. */
const everyKind: readonly NoticeKind[] = ["control", "outbox"];

/**
 * Makes notices of `LISTEN` on a connection of its own. While that is away, the store is asked at intervals.
 */
function postgresNotices(pool: Pool): ChangeNotices {
  return {
    listen(onNotice) {
      const heard = (kind: NoticeKind) => void Promise.resolve(onNotice(kind)).catch(() => {});
      return pool.listen(channel, (payload) => {
        if (isNoticeKind(payload)) heard(payload);
      }, () => everyKind.forEach(heard));
    },
  };
}

/** Keys of one {@linkcode KeyValueStore.getMany}, as in Deno KV. */
const readKeysMax = 10;

/** Tries of a commit that lost a race or a deadlock. Each ends in the success of another commit. */
const commitTries = 12;

/** Pauses between tries grow to this, with full jitter. */
const retryPauseMaxMs = 50;

/** SQLSTATEs that say that nothing was written and another try may succeed: serialization_failure, deadlock_detected. */
const retriedStates = new Set(["40001", "40P01"]);

const isAlive = "(expires_at is null or expires_at > clock_timestamp())";
const selectRows = `select key, value, version from gateway_kv where ${isAlive} and`;
const getOne = `${selectRows} key = $1`;
const getSeveral = `${selectRows} key = any ($1::bytea[])`;
const rowsOfRanges = (order: "asc" | "desc") =>
  `select at, key, value, version
  from unnest($1::bytea[], $2::bytea[]) with ordinality as ranges (first, behind, at)
    cross join lateral (
      ${selectRows} key >= first and key < behind order by key ${order} limit $3
    ) as rows
  order by at, key ${order}`;
const firstInRanges = rowsOfRanges("asc");
const lastInRanges = rowsOfRanges("desc");
const inRange = `${selectRows} key >= $1 and key < $2 order by key`;
const commitCall =
  "select gateway_kv_commit($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bytea[], $7::text[]) as version";

/** The rows of a range and when they expire, in milliseconds. */
function selectSnapshot({ start, end }: KeyRange): string {
  const columns = "key, value, (extract(epoch from expires_at) * 1000)::float8 as expires_at_ms";
  const bytes = (key: Uint8Array) => `'\\x${key.toHex()}'::bytea`;
  return `select ${columns} from gateway_kv where ${isAlive}
    and key >= ${bytes(start)} and key < ${bytes(end)} order by key`;
}

/** Rows of one page of a snapshot: at most 6.5 MB. */
const snapshotPageRows = 100;

/** Entry of a row of a query. The driver gives `bytea` as bytes and `bigint` as text. */
function entryOf<Value>(key: Deno.KvKey, row: Row): Deno.KvEntry<Value> {
  const { value, version } = row;
  if (!(value instanceof Uint8Array) || typeof version !== "string") {
    throw new TypeError("The store answered with a row of another shape");
  }
  // What a row holds is known only to whoever wrote it, as with Deno KV.
  return { key, value: decodeValue(value) as Value, versionstamp: versionstampOf(BigInt(version)) };
}

function keyOf(row: Row): Uint8Array {
  if (row["key"] instanceof Uint8Array) return row["key"];
  throw new TypeError("The store answered with a row of another shape");
}

function absent<Value>(key: Deno.KvKey): Deno.KvEntryMaybe<Value> {
  return { key, value: null, versionstamp: null };
}

export interface PostgresStoreOptions {
  /** Kinds of rows whose change is announced to all instances. */
  readonly announcedKinds: ReadonlySet<string>;
}

/** A {@linkcode KeyValueStore} over a {@linkcode Pool}, which it closes. */
export class PostgresStore implements KeyValueStore {
  readonly #pool: Pool;
  readonly #announcedKinds: ReadonlySet<string>;
  readonly #sweep: ExpirySweep;

  constructor(pool: Pool, options: PostgresStoreOptions) {
    this.#pool = pool;
    this.#sweep = new ExpirySweep(pool);
    this.#announcedKinds = options.announcedKinds;
  }

  async get<Value = unknown>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<Value>> {
    const [row] = await this.#read(getOne, [encodeKey(key)]);
    return row === undefined ? absent(key) : entryOf<Value>(key, row);
  }

  async getMany<Values extends readonly unknown[]>(
    keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
  ): Promise<{ [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> }> {
    const encoded = keys.map(encodeKey);
    if (encoded.length > readKeysMax) throw new TypeError(`Too many ranges (max ${readKeysMax})`);
    const rows = await this.#read(getSeveral, [byteArrays(encoded)]);
    const found = new Map(rows.map((row) => [keyOf(row).toHex(), row]));
    const entries = keys.map((key: Deno.KvKey, at) => {
      const row = found.get(encoded[at]?.toHex() ?? "");
      return row === undefined ? absent(key) : entryOf(key, row);
    });
    // One entry for each key, in their order; a mapped tuple type cannot be built by `map`.
    return entries as { [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> };
  }

  list<Value = unknown>(
    selector: Deno.KvListSelector,
    options: Deno.KvListOptions = {},
  ): RowIterator<Value> {
    return new PagedRows<Value>(selector, options, (...page) => this.#readPage(...page));
  }

  async firstRows(
    selectors: readonly Deno.KvListSelector[],
    limit: number,
    reverse = false,
  ): Promise<readonly (readonly Deno.KvEntry<unknown>[])[]> {
    const ranges = selectors.map(rangeOf);
    const bounds = [ranges.map(({ start }) => start), ranges.map(({ end }) => end)];
    const text = reverse ? lastInRanges : firstInRanges;
    const rows = await this.#read(text, [...bounds.map(byteArrays), limit]);
    const found: Deno.KvEntry<unknown>[][] = selectors.map(() => []);
    for (const row of rows) {
      found[Number(row["at"]) - 1]?.push(entryOf(decodeKey(keyOf(row)), row));
    }
    return found;
  }

  async #readPage<Value>(
    { start, end }: KeyRange,
    limit: number,
    reverse: boolean,
  ): Promise<ReadRow<Value>[]> {
    const text = `${inRange} ${reverse ? "desc" : "asc"} limit $3`;
    const rows = await this.#read(text, [start, end, limit]);
    return rows.map((row) => {
      const encodedKey = keyOf(row);
      return { encodedKey, entry: entryOf<Value>(decodeKey(encodedKey), row) };
    });
  }

  async set(
    key: Deno.KvKey,
    value: unknown,
    options?: { expireIn?: number },
  ): Promise<Deno.KvCommitResult> {
    const written = await this.atomic().set(key, value, options).commit();
    if (!written.ok) throw new Error("A commit without checks failed a check");
    return written;
  }

  async delete(key: Deno.KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  atomic(): AtomicWrite {
    return new CollectedWrite((commit) => this.#commit(commit));
  }

  /** Notices of what other instances committed; none pass a pooler. */
  notices(): ChangeNotices | undefined {
    return this.#pool.isPooled ? undefined : postgresNotices(this.#pool);
  }

  /** Reads rows as of one moment. The server keeps old versions of rows until it ends. */
  async *snapshot(
    { selectors = [everyRow()] }: SnapshotReading = {},
  ): AsyncGenerator<SnapshotRow> {
    const queries = selectors.map((selector) => selectSnapshot(rangeOf(selector)));
    for await (const rows of this.#pool.readSnapshot(queries, snapshotPageRows)) {
      for (const row of rows) {
        const { value, expires_at_ms: expires } = row;
        if (!(value instanceof Uint8Array)) {
          throw new TypeError("The store answered with a row of another shape");
        }
        const expiresAtMs = expires === null ? null : Number(expires);
        yield { key: keyOf(row), value, expiresAtMs };
      }
    }
  }

  async #commit({ checks, writes, kinds }: Commit): Promise<CommitResult> {
    const sets = writes.filter(({ value }) => value !== null);
    const parameters = [
      byteArrays(checks.map(({ key }) => key)),
      numbers(checks.map(({ version }) => version)),
      byteArrays(sets.map(({ key }) => key)),
      byteArrays(sets.map(({ value }) => value ?? new Uint8Array())),
      numbers(sets.map(({ lifeMs }) => lifeMs)),
      byteArrays(writes.filter(({ value }) => value === null).map(({ key }) => key)),
      names([...kinds.intersection(this.#announcedKinds)]),
    ];
    const [row] = await this.#repeat(() => this.#pool.query(commitCall, parameters));
    const version = row?.["version"];
    if (version === null) return { ok: false };
    if (typeof version !== "string") throw new TypeError("The store answered without a version");
    return { ok: true, versionstamp: versionstampOf(BigInt(version)) };
  }

  /** Runs a read, once more if the server went away: another try finds the next server, or the same one restarted. */
  async #read(text: string, parameters: Parameters<Pool["query"]>[1]): Promise<Row[]> {
    try {
      return await this.#pool.query(text, parameters);
    } catch (error) {
      if (postgresOutage(error) === undefined) throw error;
      return await this.#pool.query(text, parameters);
    }
  }

  async #repeat(query: () => Promise<Row[]>): Promise<Row[]> {
    for (let tries = 1;; tries++) {
      try {
        return await query();
      } catch (error) {
        if (tries >= commitTries || !retriedStates.has(stateOf(error) ?? "")) throw error;
      }
      await sleep(Math.random() * Math.min(retryPauseMaxMs, 2 ** tries));
    }
  }

  /** Closes the store and waits until its connections have ended. */
  async end(): Promise<void> {
    this.#sweep[Symbol.dispose]();
    await this.#pool.end();
  }

  close(): void {
    void this.end().catch(() => {});
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
