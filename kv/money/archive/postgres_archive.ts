/**
 * An archive in the database of a store on PostgreSQL: a table of calls, partitioned by months of Vietnam, with
 * dictionaries for what many calls share, and beside it the hours that are there, sums by day, and ledger lines.
 *
 * Programs for finance and reports read the views, whose columns keep their names and meanings; the tables may change.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { invariant } from "../../../core/lib/base/assert.ts";
import { type AccountId, idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import {
  vietnamDay,
  vietnamDayStartMs,
  vietnamPeriodEndMs,
} from "../../../core/lib/time/vietnam_time.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";
import { postgresOutage } from "../../engine/postgres/outages.ts";
import { Pool, type Row, stateOf } from "../../engine/postgres/pool.ts";
import type { LedgerEntry } from "../ledger/ledger.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import {
  addedColumns,
  callColumns,
  callMembers,
  callOfRow,
  type ColumnKind,
  countedCells,
  dayCallsOf,
  sumPagesSql,
} from "./archive_tables.ts";
import { BinaryRows } from "./binary_copy.ts";
import {
  type ArchivedCall,
  columnText,
  idOfRequest,
  requestIdOf,
  shapeColumns,
} from "./receipt_rows.ts";
import type {
  AccountCharges,
  ArchivedMonth,
  CallRange,
  ColumnFilter,
  DayCalls,
  FilteredReading,
  HourMark,
  HourToWrite,
  IndexReading,
  ReceiptArchive,
  SumPage,
  SumReading,
  SumsToWrite,
  TimeRange,
} from "./receipt_archive.ts";

const columnTypes: Readonly<Record<ColumnKind, string>> = {
  account: "integer",
  key: "integer",
  shape: "integer",
  time: "timestamptz",
  integer: "integer",
  amount: "bigint",
  flag: "boolean",
  text: `text collate "C"`,
};

const columnsSql = callMembers.map((member) => {
  const column = callColumns[member];
  return `${column.name} ${columnTypes[column.kind]}${"nullable" in column ? "" : " not null"}`;
}).join(", ");

/** The lock of whoever makes tables or moves days: "gateway archive" in no other program's numbers. */
const archiveLock = 7_306_915_114;

const schema = `
  begin;
  select pg_advisory_xact_lock(${archiveLock});
  create table if not exists archive_accounts (
    account integer generated always as identity primary key, account_id text collate "C" not null unique
  );
  create table if not exists archive_keys (
    key integer generated always as identity primary key, key_id text collate "C" not null unique
  );
  create table if not exists archive_shapes (
    shape integer generated always as identity primary key, text text collate "C" not null,
    kind text not null, model text not null, requested_model text, style text not null, route text,
    status integer not null, stream boolean not null, outcome text not null,
    estimated boolean not null, region text, catalog_version integer, end_code text,
    failed boolean not null
  );
  -- By hash, since a text may be longer than a row of another index. Two numbers for one text do no harm.
  create index if not exists archive_shapes_text on archive_shapes using hash (text);
  create table if not exists archive_receipts (${columnsSql}) partition by range (called_at);
  create index if not exists archive_receipts_account on archive_receipts (account, called_at);
  create index if not exists archive_receipts_time on archive_receipts (called_at);
  create table if not exists archive_hours (
    started_at timestamptz primary key, pages integer not null, receipts integer not null,
    charged_micro_vnd bigint not null, digest text not null
  );
  -- Days that an earlier release has moved, until the next run makes pages of them.
  create table if not exists archive_day_sums (
    day date not null, account_id text collate "C" not null, key_id text collate "C" not null,
    model text collate "C" not null, calls bigint not null, failed_calls bigint not null,
    input_tokens bigint not null, output_tokens bigint not null,
    cost_micro_vnd bigint not null, provider_cost_micro_vnd bigint not null,
    primary key (day, account_id, key_id, model)
  );
  create table if not exists archive_ledger (
    ledger_id text collate "C" primary key, day date not null, moved_at timestamptz not null,
    account_id text collate "C" not null, amount_micro_vnd bigint not null, kind text not null,
    operation_id text not null, request_id text
  );
  create index if not exists archive_ledger_day on archive_ledger (day);
  create or replace view receipts_v1 as
    select 'req_' || id as request_id, called_at, account_id, key_id, kind, model,
      requested_model, style, stream, status, outcome, failed, end_code, route, region,
      called_at + start_offset_ms * interval '1 millisecond' as started_at, first_output_ms,
      latency_ms, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
      reasoning_tokens, estimated, units, catalog_version,
      cost_micro_vnd * 0.000001 as cost_vnd,
      provider_cost_micro_vnd * 0.000001 as provider_cost_vnd
    from archive_receipts join archive_accounts using (account) join archive_keys using (key)
      join archive_shapes using (shape);
  create or replace view ledger_v1 as
    select ledger_id, moved_at, account_id, amount_micro_vnd * 0.000001 as amount_vnd,
      kind, operation_id, request_id
    from archive_ledger;
  commit;`;

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

/**
 * Makes the pages of sums by day. A view of an earlier release is replaced, so that whoever may read it may read the new
 * one.
 */
const dayPagesSchema = `
  begin;
  set local lock_timeout = '5s';
  select pg_advisory_xact_lock(${archiveLock});
  create table if not exists archive_models (
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
    from archive_day_cells;
  commit;`;

/**
 * Adds what tables of an earlier release lack. That waits for reports that run, and everybody's reads wait behind it, so
 * it gives up early.
 */
const addColumns = `
  begin;
  set local lock_timeout = '5s';
  select pg_advisory_xact_lock(${archiveLock});
  ${
  addedColumns.map(({ name, kind }) =>
    `alter table archive_receipts add column if not exists ${name} ${columnTypes[kind]};`
  ).join("\n  ")
}
  commit;`;

const countAddedColumns = `select count(*)::float8 as there from pg_attribute
  where attrelid = 'archive_receipts'::regclass and not attisdropped
    and attname in (${addedColumns.map(({ name }) => `'${name}'`).join(", ")})`;

/**
 * Makes the table of sums, with which an archive of an earlier release begins once. Pages are compressed before they are
 * written.
 */
const sumsSchema = `
  begin;
  select pg_advisory_xact_lock(${archiveLock});
  create table if not exists archive_sums (
    day text collate "C" not null, last_account text collate "C" not null,
    first_account text collate "C" not null, data bytea not null, primary key (day, last_account)
  );
  alter table archive_sums alter column data set storage external;
  commit;`;

const pagesSql = sumPagesSql("archive_sums", (number) => `$${number}`);

const selectPages = `${pagesSql.days}
  select found.* from days cross join lateral (
    select day, first_account, last_account, data from archive_sums as page
    where ${pagesSql.conditions} order by last_account
  ) as found limit $5`;

const insertPage = `insert into archive_sums (day, last_account, first_account, data)
  values ($1, $2, $3, $4)`;

const deletePages = `delete from archive_sums
  where day = $1 and last_account >= $2 and first_account <= $3`;

/** Rounded, since a float of seconds has no whole milliseconds; `extract` would calculate in decimal digits. */
const msOf = (column: string) => `round(date_part('epoch', ${column}) * 1000)`;
const atMs = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)`;

/** Expressions that the members of a call are read from. Amounts come as text: a number would lose digits. */
const selected = callMembers.map((member) => {
  const { name, kind } = callColumns[member];
  const source = {
    account: "account_id",
    key: "key_id",
    shape: "archive_shapes.text",
    time: msOf(name),
    integer: name,
    amount: `${name}::text`,
    flag: name,
    text: name,
  } satisfies Record<ColumnKind, string>;
  return `${source[kind]} as "${member}"`;
}).join(", ");

const joined = `archive_receipts join archive_accounts using (account)
  join archive_keys using (key) join archive_shapes using (shape)`;

const selectCalls = `select ${selected} from ${joined}
  where called_at >= ${atMs("$1")} and called_at < ${atMs("$2")}`;

/** A place is an id with `~` behind it. */
const place = `('req_' || id || '~') collate "C"`;

const selectIds = `select id from archive_receipts join archive_shapes using (shape)
  where account = (select account from archive_accounts where account_id = $1)
    and called_at >= ${atMs("$2")} and called_at < ${atMs("$3")}
    and ${place} >= $4 and ${place} < $5 and (failed or not $6::text::boolean)`;

/** Each call is found by its account and time, in the partition of its month. */
const selectAmong = `select archive_receipts.id
  from json_to_recordset($1::text::json) as given (account text, id text, ms float8)
    join archive_accounts on account_id = given.account collate "C"
    join archive_receipts on archive_receipts.account = archive_accounts.account
      and called_at = ${atMs("given.ms")} and archive_receipts.id = given.id collate "C"
    join archive_shapes using (shape)
  where called_at >= ${atMs("$2")} and called_at < ${atMs("$3")}
    and (failed or not $4::text::boolean)`;

/**
 * Conditions of a filter on the rows of calls, with the parameters of these conditions. Their shapes are looked up in a
 * set: a join would read all rows of a range and sort them, where the index has the latest first.
 */
function conditionsOf(
  { accountId, keyId, model, onlyFailed, statusFrom, statusBefore, tag }: ColumnFilter,
  parameter: (value: string | number) => string,
): string[] {
  const conditions: string[] = [];
  const ofShapes: string[] = onlyFailed === true ? ["failed"] : [];
  if (accountId !== undefined) {
    const account = `select account from archive_accounts where account_id = ${
      parameter(accountId)
    }`;
    conditions.push(`account = (${account})`);
  }
  if (keyId !== undefined) {
    conditions.push(`key = (select key from archive_keys where key_id = ${parameter(keyId)})`);
  }
  if (tag !== undefined) conditions.push(`position(${parameter(tag)} in rest) > 0`);
  if (model !== undefined) ofShapes.push(`model = ${parameter(columnText(model))}`);
  if (statusFrom !== undefined) ofShapes.push(`status >= ${parameter(statusFrom)}`);
  if (statusBefore !== undefined) ofShapes.push(`status < ${parameter(statusBefore)}`);
  if (ofShapes.length > 0) {
    const shapes = `select shape from archive_shapes where ${ofShapes.join(" and ")}`;
    conditions.push(`(shape in (${shapes})) is true`);
  }
  return conditions;
}

/** The latest calls, and all of the millisecond of the last one: in the order of an index, which has no ids. */
const latest = "order by called_at desc fetch first ($4::bigint) rows with ties";

/** The statement that reads the calls that fit, a range at a time from the latest on, and its parameters. */
function selectThatFit({ filter, ranges, from, before, limit }: FilteredReading) {
  const parameters: (string | number)[] = [JSON.stringify(ranges), from, before, limit];
  const conditions = conditionsOf(filter, (value) => `$${parameters.push(value)}`);
  const id = `('req_' || id) collate "C"`;
  const text = `select ${selected} from (
      select found.* from json_to_recordset($1::text::json) as range ("fromMs" float8, "toMs" float8)
        cross join lateral (
          select archive_receipts.* from archive_receipts
          where called_at >= ${atMs(`"fromMs"`)} and called_at < ${atMs(`"toMs"`)}
            and ${[`${id} >= $2`, `${id} < $3`, ...conditions].join(" and ")}
          ${latest}
        ) as found
      ${latest}
    ) as archive_receipts join archive_accounts using (account)
      join archive_keys using (key) join archive_shapes using (shape)
    order by called_at desc, id desc`;
  return { text, parameters };
}

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
          case when fits then case when $6::text::boolean then failed else calls end else 0 end
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

const selectTimeOfCall = `select ${msOf("called_at")} as ms from archive_receipts
  where called_at >= ${atMs("$1")} and called_at < ${atMs("$2")}
  order by called_at desc offset $3 limit 1`;

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

const insertLines = `insert into archive_ledger
  select "ledgerId", $2::date, ${
  atMs(`"atMs"`)
}, "accountId", "amountMicroVnd", kind, "operationId", "requestId"
  from json_to_recordset($1::text::json) as line ("ledgerId" text, "atMs" float8, "accountId" text,
    "amountMicroVnd" bigint, kind text, "operationId" text, "requestId" text)`;

/** Connections of an archive: one that writes, and one or two that read beside it. */
const maxArchiveConnections = 3;

/** Tries of an opening: a proxy that starts may have sent the first connection to a server that does not lead. */
const openTries = 5;

/** Longer than a proxy takes between two looks at its servers. */
const openPauseMs = 1_000;

/** Ledger lines of one statement. */
const linesPerInsert = 500;

/** Texts of a dictionary whose numbers are kept. */
const maxNumbersKept = 50_000;

/** A transaction of a mover that stands still ends after this: another one could not go on. */
const idleInTransaction = "set local idle_in_transaction_session_timeout = '60s'";

const given = (columns: string) => `json_to_recordset($1::text::json) as given (${columns})`;

/** Statements of a dictionary, whose parameter is a list of rows with a `text` each. */
interface DictionarySql {
  /** Adds the texts that are not there. */
  readonly insert: string;
  readonly select: string;
}

const accountsSql: DictionarySql = {
  insert: `insert into archive_accounts (account_id) select text from ${given("text text")}
    on conflict do nothing`,
  select: `select account as number, account_id as text from archive_accounts
    where account_id in (select text from ${given("text text")})`,
};

const keysSql: DictionarySql = {
  insert: `insert into archive_keys (key_id) select text from ${given("text text")}
    on conflict do nothing`,
  select: `select key as number, key_id as text from archive_keys
    where key_id in (select text from ${given("text text")})`,
};

const shapeColumnsSql = `text, kind, model, requested_model, style, route, status, stream, outcome,
  estimated, region, catalog_version, end_code, failed`;

const shapesSql: DictionarySql = {
  insert: `insert into archive_shapes (${shapeColumnsSql})
    select text, kind, model, "requestedModel", style, route, status, stream, outcome, estimated,
      region, "catalogVersion", "endCode", failed
    from ${
    given(`text text, kind text, model text, "requestedModel" text, style text, route text,
      status integer, stream boolean, outcome text, estimated boolean, region text,
      "catalogVersion" integer, "endCode" text, failed boolean`)
  }
    where not exists (select 1 from archive_shapes as kept where kept.text = given.text collate "C")`,
  select: `select max(shape) as number, kept.text from archive_shapes as kept
    join ${given("text text")} on kept.text = given.text collate "C" group by kept.text`,
};

/** Numbers that stand for texts. New ones are committed before the rows that use them. */
class Dictionary {
  readonly #numbers = new Map<string, number>();
  readonly #pool: Pool;
  readonly #sql: DictionarySql;
  readonly #rowOf: (text: string) => { readonly text: string };

  constructor(
    pool: Pool,
    sql: DictionarySql,
    rowOf: (text: string) => { readonly text: string } = (text) => ({ text }),
  ) {
    this.#pool = pool;
    this.#sql = sql;
    this.#rowOf = rowOf;
  }

  /** Learns the numbers of texts, before rows ask for them. */
  async learn(texts: Iterable<string>): Promise<void> {
    const wanted = [...new Set(texts)];
    if (wanted.every((text) => this.#numbers.has(text))) return;
    if (this.#numbers.size + wanted.length > maxNumbersKept) this.#numbers.clear();
    await this.#read(this.#unknown(wanted));
    const fresh = this.#unknown(wanted);
    if (fresh.length === 0) return;
    // Only those: each row of an insert takes a number, also where the text is there already.
    await this.#pool.query(this.#sql.insert, [JSON.stringify(fresh.map(this.#rowOf))]);
    await this.#read(fresh);
  }

  #unknown(texts: readonly string[]): string[] {
    return texts.filter((text) => !this.#numbers.has(text));
  }

  async #read(texts: readonly string[]): Promise<void> {
    const rows = JSON.stringify(texts.map((text) => ({ text })));
    for (const row of await this.#pool.query(this.#sql.select, [rows])) {
      this.#numbers.set(String(row["text"]), Number(row["number"]));
    }
  }

  numberOf(text: string): number {
    const number = this.#numbers.get(text);
    invariant(number !== undefined, "a dictionary has learned the texts of its rows");
    return number;
  }
}

/** Bytes of rows that are sent at once. */
const copyPartBytes = 262_144;

/** Encodes calls as rows of the table. */
class CallEncoder {
  readonly #accounts: Dictionary;
  readonly #keys: Dictionary;
  readonly #shapes: Dictionary;

  constructor(pool: Pool) {
    this.#accounts = new Dictionary(pool, accountsSql);
    this.#keys = new Dictionary(pool, keysSql);
    this.#shapes = new Dictionary(pool, shapesSql, (text) => ({ text, ...shapeColumns(text) }));
  }

  async *bytesOf(calls: AsyncIterable<readonly ArchivedCall[]>): AsyncGenerator<Uint8Array> {
    const rows = new BinaryRows();
    for await (const some of calls) {
      await this.#accounts.learn(some.map(({ accountId }) => accountId));
      await this.#keys.learn(some.map(({ keyId }) => keyId));
      await this.#shapes.learn(some.map(({ shape }) => shape));
      for (const call of some) {
        rows.row(callMembers.length);
        for (const member of callMembers) this.#field(rows, member, call);
      }
      if (rows.bytes >= copyPartBytes) yield rows.taken();
    }
    yield rows.end();
  }

  #field(rows: BinaryRows, member: keyof ArchivedCall, call: ArchivedCall): void {
    switch (member) {
      case "accountId":
        return rows.integer(this.#accounts.numberOf(call.accountId));
      case "keyId":
        return rows.integer(this.#keys.numberOf(call.keyId));
      case "shape":
        return rows.integer(this.#shapes.numberOf(call.shape));
      case "calledAtMs":
        return rows.time(call.calledAtMs);
      case "costMicroVnd":
      case "providerCostMicroVnd":
      case "heldMicroVnd": {
        const amount = call[member];
        return amount === null ? rows.absent() : rows.bigint(BigInt(amount));
      }
    }
    const value = call[member];
    if (value === null) return rows.absent();
    switch (typeof value) {
      case "number":
        return rows.integer(value);
      case "string":
        return rows.text(value);
      case "boolean":
        return rows.flag(value);
    }
  }
}

const monthOf = (day: string): string => day.slice(0, 7);
const partitionOf = (month: string): string => `archive_receipts_${month.replace("-", "_")}`;

/** An archive in a database. */
export class PostgresArchive implements ReceiptArchive {
  readonly #pool: Pool;
  readonly #encoder: CallEncoder;

  private constructor(pool: Pool) {
    this.#pool = pool;
    this.#encoder = new CallEncoder(pool);
  }

  /**
   * Opens the archive in a database, and makes its tables if they are not there.
   *
   * @throws {Error} if no host of the address takes writes, or the role may not create tables
   */
  static async open(
    { url, clock }: { readonly url: string; readonly clock: Clock },
  ): Promise<PostgresArchive> {
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
        return new PostgresArchive(pool);
      } catch (error) {
        await pool.end();
        const mayPass = postgresOutage(error) !== undefined || stateOf(error) === lockNotAvailable;
        if (tries >= openTries || !mayPass) throw error;
      }
      await sleep(openPauseMs);
    }
  }

  async callsBetween({ fromMs, toMs, limit, reverse }: CallRange): Promise<ArchivedCall[]> {
    const order = reverse ? "desc" : "asc";
    const rows = await this.#pool.query(
      `${selectCalls} order by called_at ${order}, position ${order} limit $3`,
      [fromMs, toMs, limit],
    );
    return rows.map(callOfRow);
  }

  async callsThatFit(reading: FilteredReading): Promise<ArchivedCall[]> {
    const { text, parameters } = selectThatFit(reading);
    return (await this.#pool.query(text, parameters)).map(callOfRow);
  }

  async callsByDay(
    accountId: string,
    filter: Pick<ColumnFilter, "keyId" | "model" | "onlyFailed">,
    { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
  ): Promise<DayCalls[]> {
    const onlyFailed = String(filter.onlyFailed === true);
    const cells = [accountId, fromDay, toDay, ...countedCells(filter), onlyFailed];
    return (await this.#pool.query(selectCallsByDay, cells)).map(dayCallsOf);
  }

  async timeOfCall({ fromMs, toMs }: TimeRange, count: number): Promise<number | undefined> {
    const [row] = await this.#pool.query(selectTimeOfCall, [fromMs, toMs, count]);
    return row === undefined ? undefined : Number(row["ms"]);
  }

  async idsOf(accountId: AccountId, reading: IndexReading): Promise<RequestId[]> {
    const { fromMs, toMs, limit, reverse, onlyFailed, fromPlace, beforePlace } = reading;
    const order = reverse ? "desc" : "asc";
    const rows = await this.#pool.query(
      `${selectIds} order by called_at ${order}, id ${order} limit $7`,
      [accountId, fromMs, toMs, fromPlace, beforePlace, String(onlyFailed), limit],
    );
    return rows.map((row) => requestIdOf({ id: String(row["id"]) }));
  }

  async idsAmong(
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
      [JSON.stringify(given), fromMs, toMs, String(onlyFailed)],
    );
    return new Set(rows.map((row) => requestIdOf({ id: String(row["id"]) })));
  }

  async accounts(
    { from, limit, reverse }: {
      readonly from: string;
      readonly limit: number;
      readonly reverse: boolean;
    },
  ): Promise<AccountId[]> {
    const within = reverse
      ? "account_id < $1 order by account_id desc"
      : "account_id >= $1 order by account_id";
    return accountsOf(
      await this.#pool.query(
        `select account_id from archive_accounts where ${within} limit $2`,
        [from, limit],
      ),
    );
  }

  async accountsOfDay(day: string, onlyFailed: boolean): Promise<AccountId[]> {
    const sql = `select distinct account_id from archive_day_cells
      where day = $1::text::date and failed_calls >= $2 order by 1`;
    return accountsOf(await this.#pool.query(sql, [day, Number(onlyFailed)]));
  }

  async chargesOf(fromDay: string, toDay: string): Promise<AccountCharges[]> {
    const rows = await this.#pool.query(
      `select account_id, sum(cost_micro_vnd)::text as charged from archive_day_cells
        where day >= $1::text::date and day <= $2::text::date group by account_id order by account_id`,
      [fromDay, toDay],
    );
    return rows.map((row) => ({
      accountId: String(row["account_id"]) as AccountId,
      chargedMicroVnd: BigInt(String(row["charged"])),
    }));
  }

  async hoursBetween(fromMs: number, toMs: number): Promise<HourMark[]> {
    const rows = await this.#pool.query(
      `select ${
        msOf("started_at")
      } as started, pages, receipts, charged_micro_vnd::text as charged, digest
        from archive_hours where started_at >= ${atMs("$1")} and started_at < ${
        atMs("$2")
      } order by started_at`,
      [fromMs, toMs],
    );
    return rows.map((row) => ({
      startMs: Number(row["started"]),
      pages: Number(row["pages"]),
      receipts: Number(row["receipts"]),
      chargedMicroVnd: BigInt(String(row["charged"])),
      digest: String(row["digest"]),
    }));
  }

  /**
   * Makes the table of a month. It is attached once it is there: that waits for nobody's query, while a table that is
   * made as a partition would wait for the longest report, and everybody's reads behind it.
   */
  async #makePartition(month: string): Promise<void> {
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

  async writeHour({ startMs, digest, calls, mark }: HourToWrite): Promise<boolean> {
    await this.#makePartition(monthOf(vietnamDay(startMs)));
    let isThere = false;
    await this.#pool.transaction(async (transaction) => {
      const { query } = transaction;
      await query(idleInTransaction);
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      const started = `started_at = ${atMs("$1")}`;
      const [found] = await query(`select digest from archive_hours where ${started}`, [startMs]);
      isThere = found?.["digest"] === digest;
      if (isThere) return false;
      await query(
        `delete from archive_receipts where called_at >= ${atMs("$1")} and called_at < ${
          atMs("$2")
        }`,
        [startMs, startMs + hourMs],
      );
      await query(`delete from archive_hours where ${started}`, [startMs]);
      await transaction.copyFrom(copyCalls, this.#encoder.bytesOf(calls));
      const hour = mark();
      await query(
        `insert into archive_hours values (${atMs("$1")}, $2, $3, $4::text::bigint, $5)`,
        [startMs, hour.pages, hour.receipts, hour.chargedMicroVnd.toString(), digest],
      );
      isThere = hour.digest === digest;
      return isThere;
    });
    return isThere;
  }

  async finishDay(day: string, lines: AsyncIterable<LedgerEntry>): Promise<void> {
    const startMs = vietnamDayStartMs(day);
    await this.#pool.transaction(async ({ query }) => {
      await query(idleInTransaction);
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      await query("delete from archive_day_pages where day = $1::text::date", [day]);
      await query(deleteRows, [day]);
      await query(insertModels, [startMs, startMs + dayMs]);
      await query(insertSums, [startMs, startMs + dayMs, day]);
      await query("delete from archive_ledger where day = $1::text::date", [day]);
      let some: object[] = [];
      const insert = async () => void await query(insertLines, [JSON.stringify(some), day]);
      for await (const line of lines) {
        const { ledgerId, atMs, accountId, amountMicroVnd, kind, operationId, requestId } = line;
        const amount = amountMicroVnd.toString();
        some.push({
          ledgerId,
          atMs,
          accountId,
          amountMicroVnd: amount,
          kind,
          operationId,
          requestId,
        });
        if (some.length < linesPerInsert) continue;
        await insert();
        some = [];
      }
      if (some.length > 0) await insert();
      return true;
    });
  }

  async sumPages(
    { fromAccount, toAccount, fromDay, toDay, limit }: SumReading,
  ): Promise<SumPage[]> {
    const cells = [fromAccount, toAccount, fromDay, toDay, limit];
    return (await this.#pool.query(selectPages, cells)).map(sumPageOf);
  }

  async writeSums({ day, fromAccount, toAccount, merge }: SumsToWrite): Promise<void> {
    await this.#pool.transaction(async ({ query }) => {
      await query(idleInTransaction);
      await query(`select pg_advisory_xact_lock(${archiveLock})`);
      const cells = [fromAccount, toAccount, day, day, Number.MAX_SAFE_INTEGER];
      const pages = await merge((await query(selectPages, cells)).map(sumPageOf));
      if (pages === undefined) return false;
      await query(deletePages, [day, fromAccount, toAccount]);
      for (const { firstAccount, lastAccount, text } of pages) {
        await query(insertPage, [day, lastAccount, firstAccount, deflateRawSync(text)]);
      }
      return true;
    });
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

  async months(): Promise<ArchivedMonth[]> {
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
      const hours = await this.hoursBetween(startMs, vietnamPeriodEndMs("month", startMs));
      const receipts = hours.reduce((sum, hour) => sum + hour.receipts, 0);
      months.push({ month, receipts, bytes: Number(row["bytes"]) });
    }
    return months;
  }

  async dropMonth(month: string): Promise<void> {
    invariant(/^\d{4}-\d{2}$/.test(month), "a month");
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

/** Tries of a drop, which waits for readers half a second each time. */
const dropTries = 60;

/** Readers go on in between. */
const dropPauseMs = 500;

function sumPageOf(row: Row): SumPage {
  const data = row["data"];
  invariant(data instanceof Uint8Array, "a page of sums is bytes");
  return {
    day: String(row["day"]),
    firstAccount: String(row["first_account"]),
    lastAccount: String(row["last_account"]),
    text: new TextDecoder().decode(inflateRawSync(data)),
  };
}

function accountsOf(rows: readonly Row[]): AccountId[] {
  return rows.map((row) => String(row["account_id"]) as AccountId);
}
