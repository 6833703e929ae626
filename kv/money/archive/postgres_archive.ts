/**
 * An archive in the database of a store on PostgreSQL: a table of calls, partitioned by months of Vietnam, with
 * dictionaries for what many calls share, and beside it the hours that are there, sums by day, and ledger lines.
 *
 * Programs for finance and reports read the views, whose columns keep their names and meanings; the tables may change.
 */
import { idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { vietnamDayStartMs, vietnamPeriodEndMs } from "../../../core/lib/time/vietnam_time.ts";
import { postgresOutage } from "../../engine/postgres/outages.ts";
import { Pool, stateOf } from "../../engine/postgres/pool.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import {
  ArchiveSql,
  callColumnsSql,
  type Dialect,
  type Statement,
  sumsTableSql,
  tablesSql,
  viewsSql,
} from "./archive_sql.ts";
import { addedColumns, callColumns, type CallMember, callMembers } from "./archive_tables.ts";
import { BinaryRows } from "./binary_copy.ts";
import { CallCells } from "./call_cells.ts";
import {
  type ArchiveDatabase,
  type ArchivePart,
  type ArchiveTransaction,
  ColumnArchive,
} from "./column_archive.ts";
import { type ArchivedCall, idOfRequest, requestIdOf } from "./receipt_rows.ts";
import type { ArchivedMonth, ReceiptArchive, TimeRange } from "./receipt_archive.ts";

/** Cells of a page of sums by day. */
const cellsPerPage = 256;

/** The columns of a page of sums by day, in which a cell has the same place. */
const cellColumns = {
  accounts: "integer",
  keys: "integer",
  models: "integer",
  calls: "integer",
  failed_calls: "integer",
  input_tokens: "bigint",
  output_tokens: "bigint",
  cost_micro_vnd: "bigint",
  provider_cost_micro_vnd: "bigint",
} as const;

const cellNames = Object.keys(cellColumns).join(", ");

/** The cells of pages, a row each, as other statements read them. */
const cells =
  `archive_day_pages cross join lateral unnest(${cellNames}) as cell (account, key, model,
    calls, failed, input, output, cost, provider_cost)`;

/** Writes cells, rows of `cell (day, account, …)`, as pages. */
const insertPagesOf = (cell: string) =>
  `insert into archive_day_pages
  select day, page, min(account), max(account), ${
    ["account", "key", "model", "calls", "failed", "input", "output", "cost", "provider_cost"]
      .map((name) => `array_agg(${name} order by account, key, model)`).join(", ")
  }
  from (
    select *, (row_number() over (partition by day order by account, key, model) - 1) / ${cellsPerPage} as page
    from (${cell}) as cell
  ) as numbered group by day, page`;

/** The days of an account, each found by its page: their calls in all, and those that fit. */
const selectCallsByDay = `
  with wanted as (
    select (select account from archive_accounts where account_id = $1) as account,
      (select key from archive_keys where key_id = $4) as key,
      (select model from archive_models where name = $5) as model
  )
  select to_char(day, 'YYYY-MM-DD') as day, calls, fitting
  from wanted cross join generate_series(
      greatest($2::text::date, (select least((select min(day) from archive_day_pages), (select min(day) from archive_day_sums)))),
      least($3::text::date, (select greatest((select max(day) from archive_day_pages), (select max(day) from archive_day_sums)))),
      interval '1 day'
    ) as days (day)
    cross join lateral (
      select sum(calls)::float8 as calls, sum(
          case when fits then case when cast($6 as integer) = 1 then failed else calls end else 0 end
        )::float8 as fitting
      from (
        select cell.calls, cell.failed, ($4::text is null or cell.key = wanted.key)
            and ($5::text is null or cell.model = wanted.model) as fits
        from ${cells}
        where archive_day_pages.day = days.day::date and last_account >= wanted.account
          and first_account <= wanted.account and cell.account = wanted.account
          and last_account <= coalesce((
            select min(behind.last_account) from archive_day_pages as behind
            where behind.day = days.day::date and behind.last_account > wanted.account
          ), wanted.account)
        union all
        select calls, failed_calls, ($4::text is null or key_id = $4)
            and ($5::text is null or model = $5)
        from archive_day_sums where archive_day_sums.day = days.day::date and account_id = $1
      ) as found
    ) as sums
  where calls > 0 order by 1 desc`;

/** Rounded, since a float of seconds has no whole milliseconds; `extract` would calculate in decimal digits. */
const msOf = (moment: string) => `round(date_part('epoch', ${moment}) * 1000)`;
const atMs = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;

/** The latest calls, and all of the millisecond of the last one: in the order of an index, which has no ids. */
const latest = "order by called_at desc fetch first ($4::bigint) rows with ties";

const postgres: Dialect = {
  prefix: "archive_",
  types: {
    account: "integer",
    key: "integer",
    shape: "integer",
    time: "timestamptz",
    integer: "integer",
    amount: "bigint",
    flag: "boolean",
    text: `text collate "C"`,
    day: "date",
    bytes: "bytea",
  },
  tableOptions: () => "",
  numbered: "integer generated always as identity primary key",
  at: atMs,
  ms: msOf,
  day: (parameter) => `${parameter}::text::date`,
  later: (moment, ms) => `${moment} + ${ms} * interval '1 millisecond'`,
  money: (name) => `${name}_micro_vnd * 0.000001 as ${name}_vnd`,
  has: (text, part) => `position(${part} in ${text}) > 0`,
  given: (members) =>
    `json_to_recordset($1::text::json) as given (${
      Object.entries(members).map(([name, type]) => `"${name}" ${type}`).join(", ")
    })`,
  daySums: "archive_day_cells",
  selectCallsByDay,
  selectPages: (conditions) =>
    `select found.* from days cross join lateral (
      select day, first_account, last_account, data from archive_sums as page
      where ${conditions} order by last_account
    ) as found limit $5`,
  selectThatFit: ({ selected, joined, conditions }) => {
    const found = `(
      select found.* from json_to_recordset($1::text::json) as range ("fromMs" float8, "toMs" float8)
        cross join lateral (
          select archive_receipts.* from archive_receipts
          where called_at >= ${atMs(`"fromMs"`)} and called_at < ${atMs(`"toMs"`)}
            and ${conditions.join(" and ")}
          ${latest}
        ) as found
      ${latest}
    ) as archive_receipts`;
    return `select ${selected} from ${joined(found)} order by called_at desc, id desc`;
  },
};

const statements = new ArchiveSql(postgres);

/** The lock of whoever makes tables or moves days: "gateway archive" in no other program's numbers. */
const archiveLock = 7_306_915_114;

/** Runs statements that make tables, one process at a time. Those of them that wait for reports give up early. */
const makeTables = (sql: string, lockTimeout = "0") => `
  begin;
  set local lock_timeout = '${lockTimeout}';
  select pg_advisory_xact_lock(${archiveLock});
  ${sql}
  commit;`;

/** Sums by day are those of days that an earlier release has moved, until the next run makes pages of them. */
const schema = makeTables(`
  ${tablesSql(postgres)}
  -- By hash, since a text may be longer than a row of another index. Two numbers for one text do no harm.
  create index if not exists archive_shapes_text on archive_shapes using hash (text);
  create table if not exists archive_receipts (${
  callColumnsSql(postgres)
}) partition by range (called_at);
  create index if not exists archive_receipts_account on archive_receipts (account, called_at);
  create index if not exists archive_receipts_time on archive_receipts (called_at);
  create index if not exists archive_ledger_day on archive_ledger (day);
  ${viewsSql(postgres, "create or replace view")}`);

/**
 * Makes the pages of sums by day. A view of an earlier release is replaced, so that whoever may read it may read the new
 * one.
 */
const dayPagesSchema = makeTables(
  `  create table if not exists archive_models (
    model integer generated always as identity primary key, name text collate "C" not null unique
  );
  create table if not exists archive_day_pages (
    day date not null, page integer not null, first_account integer not null, last_account integer not null,
    ${Object.entries(cellColumns).map(([name, type]) => `${name} ${type}[] not null`).join(", ")},
    primary key (day, last_account, page)
  );
  create or replace view archive_day_cells as
    select day, account_id, key_id, name as model, cell.calls::bigint as calls,
      cell.failed::bigint as failed_calls, cell.input as input_tokens, cell.output as output_tokens,
      cell.cost as cost_micro_vnd, cell.provider_cost as provider_cost_micro_vnd
    from ${cells} join archive_accounts using (account) join archive_keys using (key)
      join archive_models using (model)
    union all select * from archive_day_sums;
  create or replace view day_sums_v1 as
    select day, account_id, key_id, model, calls, failed_calls, input_tokens, output_tokens,
      cost_micro_vnd * 0.000001 as cost_vnd,
      provider_cost_micro_vnd * 0.000001 as provider_cost_vnd
    from archive_day_cells;`,
  "5s",
);

/**
 * Adds what tables of an earlier release lack. That waits for reports that run, and everybody's reads wait behind it, so
 * it gives up early.
 */
const addColumns = makeTables(
  addedColumns.map(({ name, kind }) =>
    `alter table archive_receipts add column if not exists ${name} ${postgres.types[kind]};`
  ).join("\n  "),
  "5s",
);

const countAddedColumns = `select count(*)::float8 as there from pg_attribute
  where attrelid = 'archive_receipts'::regclass and not attisdropped
    and attname in (${addedColumns.map(({ name }) => `'${name}'`).join(", ")})`;

/**
 * Makes the table of sums, with which an archive of an earlier release begins once. Pages are compressed before they are
 * written.
 */
const sumsSchema = makeTables(`
  ${sumsTableSql(postgres)}
  alter table archive_sums alter column data set storage external;`);

/** Each call is found by its account and time, in the partition of its month. */
const selectAmong = `select archive_receipts.id
  from json_to_recordset($1::text::json) as given (account text, id text, ms float8)
    join archive_accounts on account_id = given.account collate "C"
    join archive_receipts on archive_receipts.account = archive_accounts.account
      and called_at = ${atMs("given.ms")} and archive_receipts.id = given.id collate "C"
    join archive_shapes using (shape)
  where called_at >= ${atMs("$2")} and called_at < ${atMs("$3")}
    and (failed or not cast($4 as integer) = 1)`;

const copyCalls = `copy archive_receipts (${
  callMembers.map((member) => callColumns[member].name).join(", ")
}) from stdin with (format binary)`;

const ofDay = `archive_receipts join archive_shapes using (shape)
  where called_at >= ${atMs("$1")} and called_at < ${atMs("$2")}`;

const insertModels = `insert into archive_models (name)
  select distinct model from ${ofDay}
    and not exists (select 1 from archive_models where name = archive_shapes.model)`;

const insertSums = insertPagesOf(`
  select $3::text::date as day, account, key, archive_models.model, count(*)::integer as calls,
    (count(*) filter (where failed))::integer as failed,
    coalesce(sum(input_tokens::bigint + cache_read_tokens + cache_write_tokens), 0)::bigint as input,
    coalesce(sum(output_tokens), 0)::bigint as output, sum(cost_micro_vnd)::bigint as cost,
    coalesce(sum(provider_cost_micro_vnd), 0)::bigint as provider_cost
  from archive_receipts join archive_shapes using (shape)
    join archive_models on name = archive_shapes.model
  where called_at >= ${atMs("$1")} and called_at < ${atMs("$2")}
  group by account, key, archive_models.model`);

/** Makes pages of a day that an earlier release has as rows. */
const packRows = insertPagesOf(`
  select day, account, key, archive_models.model, calls::integer as calls,
    failed_calls::integer as failed, input_tokens as input, output_tokens as output,
    cost_micro_vnd as cost, provider_cost_micro_vnd as provider_cost
  from archive_day_sums join archive_accounts using (account_id) join archive_keys using (key_id)
    join archive_models on name = archive_day_sums.model
  where day = $1::text::date`);

/** Names of these rows that dictionaries need: those of receipts that were dropped are there, models are not. */
const packNames = [
  `insert into archive_models (name) select distinct model from archive_day_sums
    where day = $1::text::date and not exists (select 1 from archive_models where name = archive_day_sums.model)`,
  `insert into archive_keys (key_id) select distinct key_id from archive_day_sums as sums
    where day = $1::text::date and not exists (select 1 from archive_keys where key_id = sums.key_id)`,
  `insert into archive_accounts (account_id) select distinct account_id from archive_day_sums as sums
    where day = $1::text::date
      and not exists (select 1 from archive_accounts where account_id = sums.account_id)`,
];

const deleteRows = "delete from archive_day_sums where day = $1::text::date";

/** Connections of an archive: one that writes, and one or two that read beside it. */
const maxArchiveConnections = 3;

/** Tries of an opening: a proxy that starts may have sent the first connection to a server that does not lead. */
const openTries = 5;

/** Longer than a proxy takes between two looks at its servers. */
const openPauseMs = 1_000;

/** A transaction of a mover that stands still ends after this: another one could not go on. */
const idleInTransaction = "set local idle_in_transaction_session_timeout = '60s'";

/** Bytes of rows that are sent at once. */
const copyPartBytes = 262_144;

async function* bytesOf(
  cells: CallCells,
  calls: AsyncIterable<readonly ArchivedCall[]>,
): AsyncGenerator<Uint8Array> {
  const rows = new BinaryRows();
  for await (const some of calls) {
    await cells.learn(some);
    for (const call of some) {
      rows.row(callMembers.length);
      for (const member of callMembers) addField(rows, member, cells.cellOf(member, call));
    }
    if (rows.bytes >= copyPartBytes) yield rows.taken();
  }
  yield rows.end();
}

function addField(rows: BinaryRows, member: CallMember, cell: ArchivedCall[CallMember]): void {
  if (cell === null) return rows.absent();
  switch (callColumns[member].kind) {
    case "account":
    case "key":
    case "shape":
    case "integer":
      return rows.integer(Number(cell));
    case "time":
      return rows.time(Number(cell));
    case "amount":
      return rows.bigint(BigInt(cell));
    case "flag":
      return rows.flag(cell === true);
    case "text":
      return rows.text(String(cell));
  }
}

const partitionOf = (month: string): string => `archive_receipts_${month.replace("-", "_")}`;

/**
 * Opens the archive in a database, and makes its tables if they are not there.
 *
 * @throws {Error} if no host of the address takes writes, or the role may not create tables
 */
export async function openPostgresArchive(
  { url, clock }: { readonly url: string; readonly clock: Clock },
): Promise<ColumnArchive> {
  for (let tries = 1;; tries++) {
    const pool = await Pool.open({
      url,
      clock,
      maxConnections: maxArchiveConnections,
      isForCopies: true,
    });
    try {
      const isMissing = async (table: string) => {
        const [row] = await pool.query(`select to_regclass('${table}') is null as missing`, []);
        return row?.["missing"] !== false;
      };
      if (await isMissing("ledger_v1")) await pool.script(schema);
      if (await isMissing("archive_sums")) await pool.script(sumsSchema);
      if (await isMissing("archive_day_pages")) await pool.script(dayPagesSchema);
      const [added] = await pool.query(countAddedColumns, []);
      if (added?.["there"] !== addedColumns.length) await pool.script(addColumns);
      return new ColumnArchive(new PostgresDatabase(pool));
    } catch (error) {
      await pool.end();
      const mayPass = postgresOutage(error) !== undefined || stateOf(error) === lockNotAvailable;
      if (tries >= openTries || !mayPass) throw error;
    }
    await sleep(openPauseMs);
  }
}

/** The database of a store. */
class PostgresDatabase implements ArchiveDatabase {
  readonly dialect = postgres;
  readonly readsRangesTogether = true;
  readonly #pool: Pool;
  readonly #parts: readonly ArchivePart[];
  /** Numbers are committed before the rows that use them. */
  readonly #cells: CallCells;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#parts = [{ query: ({ sql, cells }) => pool.query(sql, [...cells]) }];
    this.#cells = new CallCells((sql, cells) => pool.query(sql, cells), statements);
  }

  parts(): Promise<readonly ArchivePart[]> {
    return Promise.resolve(this.#parts);
  }

  /**
   * Makes the table of a month. It is attached once it is there: that waits for nobody's query, while a table that is
   * made as a partition would wait for the longest report, and everybody's reads behind it.
   */
  async makeMonth(month: string): Promise<void> {
    const startMs = vietnamDayStartMs(`${month}-01`);
    const [from, to] = [startMs, vietnamPeriodEndMs("month", startMs)]
      .map((boundMs) => `'${new Date(boundMs).toISOString()}'`);
    const table = partitionOf(month);
    await this.#pool.transaction(async ({ query }) => {
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      const [found] = await query(`select to_regclass('${table}') is not null as there`);
      if (found?.["there"] === true) return false;
      await query(
        `create table ${table} (like archive_receipts) with (fillfactor = 100,
          autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000)`,
      );
      await query(
        `alter table archive_receipts attach partition ${table} for values from (${from}) to (${to})`,
      );
      return true;
    });
  }

  async transaction(
    _month: string,
    act: (transaction: ArchiveTransaction) => Promise<boolean>,
  ): Promise<void> {
    await this.#pool.transaction(async ({ query, copyFrom }) => {
      await query(idleInTransaction);
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      return await act({
        query: (sql, cells = []) => query(sql, [...cells]),
        addCalls: (calls) => copyFrom(copyCalls, bytesOf(this.#cells, calls)),
      });
    });
  }

  sumDay(day: string, { fromMs, toMs }: TimeRange): readonly Statement[] {
    return [
      { sql: "delete from archive_day_pages where day = $1::text::date", cells: [day] },
      { sql: insertModels, cells: [fromMs, toMs] },
      { sql: insertSums, cells: [fromMs, toMs, day] },
    ];
  }

  async idsAmong(
    _archive: ReceiptArchive,
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>> {
    const given = calls.flatMap(({ accountId, requestIds }) =>
      requestIds.map((requestId) => ({
        account: accountId,
        id: idOfRequest(requestId),
        ms: idTimeMs("request", requestId),
      }))
    );
    const times = given.map(({ ms }) => ms);
    if (times.length === 0) return new Set();
    const [fromMs, toMs] = [Math.min(...times), Math.max(...times) + 1];
    const rows = await this.#pool.query(
      selectAmong,
      [JSON.stringify(given), fromMs, toMs, Number(onlyFailed)],
    );
    return new Set(rows.map((row) => requestIdOf({ id: String(row["id"]) })));
  }

  async packDay(day: string): Promise<void> {
    const [found] = await this.#pool.query(
      "select 1 as there from archive_day_sums where day = $1::text::date limit 1",
      [day],
    );
    if (found === undefined) return;
    await this.#pool.transaction(async ({ query }) => {
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      for (const insert of packNames) await query(insert, [day]);
      await query(packRows, [day]);
      await query(deleteRows, [day]);
      return true;
    });
    await this.#emptyRows();
  }

  /** Gives the room of rows back once all are gone, unless a report reads them just now. */
  async #emptyRows(): Promise<void> {
    const rows = await this.#pool.query("select 1 as there from archive_day_sums limit 1", []);
    if (rows.length > 0) return;
    try {
      await this.#pool.transaction(async ({ query }) => {
        await query("set local lock_timeout = '500ms'");
        await query("truncate archive_day_sums");
        return true;
      });
    } catch (error) {
      if (stateOf(error) !== lockNotAvailable) throw error;
    }
  }

  /**
   * Rebuilds the indexes of a month without free space: its calls were added in the order of time, which leaves the pages
   * of the index by account half empty. A run that is killed leaves an invalid index, which the next run drops. Does
   * nothing behind a pooler, where a setting would not stay with its connection.
   */
  async packMonth(month: string): Promise<void> {
    const table = partitionOf(month);
    if (this.#pool.isPooled) return;
    const [found] = await this.#pool.query(
      `select to_regclass('${table}') is not null as there,
        obj_description(to_regclass('${table}'), 'pg_class') is not null as packed`,
      [],
    );
    if (found?.["there"] !== true || found["packed"] === true) return;
    const indexes = await this.#pool.query(
      `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
        where indrelid = '${table}'::regclass`,
      [],
    );
    const of = (isValid: boolean) =>
      indexes.filter(({ valid }) => valid === isValid).map(({ name }) => String(name));
    try {
      await this.#pool.apart([
        ...of(false).map((name) => `drop index concurrently if exists ${name}`),
        ...of(true).map((name) => `alter index ${name} set (fillfactor = 100)`),
        `reindex table concurrently ${table}`,
        `comment on table ${table} is 'its indexes were built anew'`,
      ], packLockTimeout);
    } catch (error) {
      if (stateOf(error) !== lockNotAvailable) throw error;
    }
  }

  async months(archive: ReceiptArchive): Promise<ArchivedMonth[]> {
    const rows = await this.#pool.query(
      `select c.relname as name, pg_total_relation_size(c.oid)::text as bytes
        from pg_inherits join pg_class as c on c.oid = inhrelid
        where inhparent = 'archive_receipts'::regclass order by 1`,
      [],
    );
    const months: ArchivedMonth[] = [];
    for (const row of rows) {
      const month = String(row["name"]).slice(partitionOf("").length).replace("_", "-");
      const startMs = vietnamDayStartMs(`${month}-01`);
      const hours = await archive.hoursBetween(startMs, vietnamPeriodEndMs("month", startMs));
      const receipts = hours.reduce((sum, hour) => sum + hour.receipts, 0);
      months.push({ month, receipts, bytes: Number(row["bytes"]) });
    }
    return months;
  }

  async dropMonth(month: string): Promise<void> {
    const table = partitionOf(month);
    for (let tries = 1;; tries++) {
      try {
        await this.#pool.transaction(async ({ query }) => {
          // Readers behind a drop that waits would wait as well.
          await query("set local lock_timeout = '500ms'");
          await query(`select pg_advisory_xact_lock(${archiveLock})`);
          await query(`drop table if exists ${table}`);
          return true;
        });
        return;
      } catch (error) {
        if (tries >= dropTries || stateOf(error) !== lockNotAvailable) throw error;
      }
      await sleep(dropPauseMs);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** SQLSTATE lock_not_available. */
const lockNotAvailable = "55P03";

/** Longest wait for the locks of readers. A backup may hold one for hours; the next run tries again. */
const packLockTimeout = "10s";

/** Tries of a drop, which waits for readers half a second each time. */
const dropTries = 60;

/** Readers go on in between. */
const dropPauseMs = 500;
