/**
 * An archive beside a store that is a file: one SQLite file for each month, in a folder.
 *
 * A month has its own dictionaries, so that a file is whole by itself and can be copied or read elsewhere. Whoever
 * writes has a connection of its own, so that readers never see an hour that is being written. Calls of the driver
 * block the thread: a page of fifty calls takes half a millisecond.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { join } from "node:path";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { invariant } from "../../../core/lib/base/assert.ts";
import { type AccountId, type RequestId } from "../../../core/lib/ids/ids.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";
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
import { type ArchivedCall, columnText, requestIdOf, shapeColumns } from "./receipt_rows.ts";
import { archivedAround } from "./archived_pages.ts";
import {
  type AccountCharges,
  type ArchivedMonth,
  type CallRange,
  type ColumnFilter,
  type DayCalls,
  type FilteredReading,
  type HourMark,
  type HourToWrite,
  type IndexReading,
  type ReceiptArchive,
  type SumPage,
  type SumReading,
  type SumsToWrite,
  type TimeRange,
} from "./receipt_archive.ts";

const columnTypes: Readonly<Record<ColumnKind, string>> = {
  account: "integer",
  key: "integer",
  shape: "integer",
  time: "integer",
  integer: "integer",
  amount: "integer",
  flag: "integer",
  text: "text",
};

const columnsSql = callMembers.map((member) => {
  const column = callColumns[member];
  return `${column.name} ${columnTypes[column.kind]}${"nullable" in column ? "" : " not null"}`;
}).join(", ");

const callsSql = `
  create table if not exists receipts (
    ${columnsSql}, primary key (called_at, position)
  ) strict, without rowid;
  create index if not exists receipts_by_account on receipts (account, called_at);`;

/** Pages are compressed. */
const sumsSql = `
  create table if not exists sums (
    day text not null, last_account text not null, first_account text not null, data blob not null,
    primary key (day, last_account)
  ) strict;`;

const schema = `
  ${sumsSql}
  create table if not exists accounts (account integer primary key, account_id text not null unique) strict;
  create table if not exists keys (key integer primary key, key_id text not null unique) strict;
  create table if not exists shapes (
    shape integer primary key, text text not null unique,
    kind text not null, model text not null, requested_model text, style text not null, route text,
    status integer not null, stream integer not null, outcome text not null,
    estimated integer not null, region text, catalog_version integer, end_code text,
    failed integer not null
  ) strict;
  ${callsSql}
  create table if not exists hours (
    started_at integer primary key, pages integer not null, receipts integer not null,
    charged_micro_vnd integer not null, digest text not null
  ) strict;
  create table if not exists day_sums (
    day text not null, account_id text not null, key_id text not null, model text not null,
    calls integer not null, failed_calls integer not null,
    input_tokens integer not null, output_tokens integer not null,
    cost_micro_vnd integer not null, provider_cost_micro_vnd integer not null,
    primary key (day, account_id, key_id, model)
  ) strict, without rowid;
  create table if not exists ledger (
    ledger_id text primary key, day text not null, moved_at integer not null,
    account_id text not null, amount_micro_vnd integer not null, kind text not null,
    operation_id text not null, request_id text
  ) strict, without rowid;
  create view if not exists receipts_v1 as
    select 'req_' || id as request_id, called_at, account_id, key_id, kind, model,
      requested_model, style, stream, status, outcome, failed, end_code, route, region,
      called_at + start_offset_ms as started_at, first_output_ms, latency_ms, input_tokens,
      cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, units,
      catalog_version, cost_micro_vnd, provider_cost_micro_vnd
    from receipts join accounts using (account) join keys using (key) join shapes using (shape);
  create view if not exists ledger_v1 as
    select ledger_id, moved_at, account_id, amount_micro_vnd, kind, operation_id, request_id from ledger;
  create view if not exists day_sums_v1 as select * from day_sums;`;

/** Expressions that the members of a call are read from. Amounts come as text: a number would lose digits. */
const selected = callMembers.map((member) => {
  const { name, kind } = callColumns[member];
  const source = {
    account: "account_id",
    key: "key_id",
    shape: "shapes.text",
    time: name,
    integer: name,
    amount: `cast(${name} as text)`,
    flag: name,
    text: name,
  } satisfies Record<ColumnKind, string>;
  return `${source[kind]} as ${member}`;
}).join(", ");

const selectCalls = `select ${selected} from receipts join accounts using (account)
  join keys using (key) join shapes using (shape)
  where called_at >= ? and called_at < ?`;

/** A place is an id with `~` behind it. */
const withinPlaces =
  "account_id = ? and called_at >= ? and called_at < ? and 'req_' || id || '~' >= ? and 'req_' || id || '~' < ?";

const selectIds = `select id from receipts join accounts using (account) where ${withinPlaces}`;

const selectFailedIds = `select id from receipts join accounts using (account)
  join shapes using (shape) where ${withinPlaces} and failed`;

/** The statement that reads the calls of a range that fit, the latest first, and its cells. */
function selectThatFit(
  { filter, from, before }: Pick<FilteredReading, "filter" | "from" | "before">,
  { fromMs, toMs }: TimeRange,
  limit: number,
) {
  const { accountId, keyId, model, onlyFailed, statusFrom, statusBefore, tag } = filter;
  const cells: SQLInputValue[] = [fromMs, toMs, from, before];
  const conditions = ["'req_' || id >= ?", "'req_' || id < ?"];
  const add = (condition: string, cell: SQLInputValue | undefined) => {
    if (cell === undefined) return;
    conditions.push(condition);
    cells.push(cell);
  };
  add("receipts.account = (select account from accounts where account_id = ?)", accountId);
  add("receipts.key = (select key from keys where key_id = ?)", keyId);
  add("model = ?", model === undefined ? undefined : columnText(model));
  add("status >= ?", statusFrom);
  add("status < ?", statusBefore);
  add("instr(rest, ?) > 0", tag);
  if (onlyFailed === true) conditions.push("failed");
  cells.push(limit);
  const sql = `${selectCalls} and ${conditions.join(" and ")}
    order by called_at desc, id desc limit ?`;
  return { sql, cells };
}

const selectCallsByDay = `select day.value as day, sum(calls) as calls, sum(
    case when (?2 is null or key_id = ?2) and (?3 is null or model = ?3)
      then case when ?4 then failed_calls else calls end else 0 end
  ) as fitting
  from json_each(?5) as day join day_sums on day_sums.day = day.value and account_id = ?1
  group by day.value order by day.value desc`;

const pagesSql = sumPagesSql("sums", (number) => `?${number}`);

/** Day by day, by the index of each: SQLite takes the order of a cross join, and an order of its own would read all pages. */
const selectPages = `${pagesSql.days}
  select page.day, first_account, last_account, data from days cross join sums as page
  where ${pagesSql.conditions} limit ?5`;

const insertCall = `insert into receipts (${
  callMembers.map((member) => callColumns[member].name).join(", ")
}) values (${callMembers.map(() => "?").join(", ")})`;

const insertSums = `insert or replace into day_sums
  select ?, account_id, key_id, model, count(*), sum(failed),
    coalesce(sum(input_tokens + cache_read_tokens + cache_write_tokens), 0),
    coalesce(sum(output_tokens), 0), sum(cost_micro_vnd), coalesce(sum(provider_cost_micro_vnd), 0)
  from receipts join accounts using (account) join keys using (key) join shapes using (shape)
  where called_at >= ? and called_at < ? group by account_id, key_id, model`;

/** Milliseconds for which a reader waits for a file that is being checkpointed. */
const busyMs = 5_000;

/** Files that are open at once for reading. */
const maxOpenMonths = 24;

/** Texts of a dictionary whose numbers are kept. */
const maxNumbersKept = 50_000;

function openMonth(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = ${busyMs};`);
  if (lacksColumns(db)) addColumns(db);
  if (lacksSums(db)) db.exec(sumsSql);
  return db;
}

function lacksSums(db: DatabaseSync): boolean {
  const sql = "select count(*) as there from sqlite_master where type = 'table' and name = 'sums'";
  return db.prepare(sql).get()?.["there"] !== 1;
}

function missingColumns(db: DatabaseSync) {
  const rows = db.prepare("select name from pragma_table_info('receipts')").all();
  const there = new Set(rows.map((row) => row["name"]));
  return addedColumns.filter(({ name }) => !there.has(name));
}

const lacksColumns = (db: DatabaseSync): boolean => missingColumns(db).length > 0;

/** Adds what a file of an earlier release lacks; another thread or process may be doing the same. */
function addColumns(db: DatabaseSync): void {
  db.exec("begin immediate");
  for (const { name, kind } of missingColumns(db)) {
    db.exec(`alter table receipts add column ${name} ${columnTypes[kind]}`);
  }
  db.exec("commit");
}

/** Numbers that stand for the texts of a month. */
class Dictionary {
  readonly #numbers = new Map<string, number>();
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #columnsOf: (text: string) => SQLInputValue[];

  constructor(
    db: DatabaseSync,
    { table, number, columns, columnsOf }: {
      readonly table: string;
      readonly number: string;
      readonly columns: readonly string[];
      readonly columnsOf: (text: string) => SQLInputValue[];
    },
  ) {
    this.#select = db.prepare(`select ${number} as number from ${table} where ${columns[0]} = ?`);
    this.#insert = db.prepare(
      `insert into ${table} (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`,
    );
    this.#columnsOf = columnsOf;
  }

  numberOf(text: string): number {
    const kept = this.#numbers.get(text);
    if (kept !== undefined) return kept;
    const found = this.#select.get(text);
    const number = Number(
      found?.["number"] ?? this.#insert.run(...this.#columnsOf(text)).lastInsertRowid,
    );
    if (this.#numbers.size >= maxNumbersKept) this.#numbers.clear();
    this.#numbers.set(text, number);
    return number;
  }
}

const shapeNames = {
  kind: "kind",
  model: "model",
  requestedModel: "requested_model",
  style: "style",
  route: "route",
  status: "status",
  stream: "stream",
  outcome: "outcome",
  estimated: "estimated",
  region: "region",
  catalogVersion: "catalog_version",
  endCode: "end_code",
  failed: "failed",
} as const satisfies Record<keyof ReturnType<typeof shapeColumns>, string>;

function shapeCells(text: string): SQLInputValue[] {
  const shape = shapeColumns(text);
  return [
    text,
    ...Object.values({
      kind: shape.kind,
      model: shape.model,
      requestedModel: shape.requestedModel,
      style: shape.style,
      route: shape.route,
      status: shape.status,
      stream: Number(shape.stream),
      outcome: shape.outcome,
      estimated: Number(shape.estimated),
      region: shape.region,
      catalogVersion: shape.catalogVersion,
      endCode: shape.endCode,
      failed: Number(shape.failed),
    }),
  ];
}

/** Writes calls of one month, within a transaction of the caller. */
class MonthWriter {
  readonly #insert: StatementSync;
  readonly #accounts: Dictionary;
  readonly #keys: Dictionary;
  readonly #shapes: Dictionary;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(insertCall);
    const plain = (text: string) => [text];
    this.#accounts = new Dictionary(db, {
      table: "accounts",
      number: "account",
      columns: ["account_id"],
      columnsOf: plain,
    });
    this.#keys = new Dictionary(db, {
      table: "keys",
      number: "key",
      columns: ["key_id"],
      columnsOf: plain,
    });
    this.#shapes = new Dictionary(db, {
      table: "shapes",
      number: "shape",
      columns: ["text", ...Object.values(shapeNames)],
      columnsOf: shapeCells,
    });
  }

  write(call: ArchivedCall): void {
    this.#insert.run(...callMembers.map((member) => this.#cell(member, call)));
  }

  #cell(member: keyof ArchivedCall, call: ArchivedCall): SQLInputValue {
    switch (member) {
      case "accountId":
        return this.#accounts.numberOf(call.accountId);
      case "keyId":
        return this.#keys.numberOf(call.keyId);
      case "shape":
        return this.#shapes.numberOf(call.shape);
      case "startsPage":
        return Number(call.startsPage);
      case "costMicroVnd":
      case "providerCostMicroVnd":
      case "heldMicroVnd": {
        const amount = call[member];
        return amount === null ? null : BigInt(amount);
      }
      default:
        return call[member];
    }
  }
}

const monthOfDay = (day: string): string => day.slice(0, 7);
const monthOf = (atMs: number): string => monthOfDay(vietnamDay(atMs));
const monthStartMs = (month: string): number => vietnamDayStartMs(`${month}-01`);

/** The names of 31 days: a month has no sums of those that it lacks. */
const daysOfMonth = (month: string): string[] =>
  Array.from({ length: 31 }, (_, at) => `${month}-${String(at + 1).padStart(2, "0")}`);

/** An archive in a folder. */
export class SqliteArchive implements ReceiptArchive {
  readonly #folder: string;
  readonly #readers = new Map<string, DatabaseSync>();
  /** Read statements of each file, by their text. */
  readonly #statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();
  #monthsThere: string[];
  /** Resolves when the transaction under way has ended. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(folder: string, months: string[]) {
    this.#folder = folder;
    this.#monthsThere = months;
  }

  /** Opens the archive of a folder, which need not exist before something is archived. */
  static async open(folder: string): Promise<SqliteArchive> {
    return new SqliteArchive(folder, await monthsIn(folder));
  }

  /** Other threads may have begun a month since this one looked; none ever goes. */
  async #monthsBetween(fromMs: number, toMs: number, reverse: boolean): Promise<string[]> {
    const first = monthOf(fromMs);
    const isWithinOne = Number.isFinite(toMs) && monthOf(toMs - 1) === first;
    if (isWithinOne && this.#monthsThere.includes(first)) return [first];
    this.#monthsThere = await monthsIn(this.#folder);
    const within = this.#monthsThere.filter((month) =>
      monthStartMs(month) < toMs && monthOf(fromMs) <= month
    );
    return reverse ? within.reverse() : within;
  }

  #path(month: string): string {
    return join(this.#folder, `${month}.sqlite`);
  }

  #reader(month: string): DatabaseSync {
    const open = this.#readers.get(month);
    if (open !== undefined) return open;
    if (this.#readers.size >= maxOpenMonths) this.#closeReaders();
    const db = openMonth(this.#path(month));
    this.#readers.set(month, db);
    return db;
  }

  #closeReaders(): void {
    for (const db of this.#readers.values()) db.close();
    this.#readers.clear();
  }

  #read(month: string, sql: string, cells: readonly SQLInputValue[]) {
    const db = this.#reader(month);
    const statements = this.#statements.get(db) ?? new Map<string, StatementSync>();
    this.#statements.set(db, statements);
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return statement.all(...cells);
  }

  async callsBetween({ fromMs, toMs, limit, reverse }: CallRange): Promise<ArchivedCall[]> {
    const order = reverse ? "desc" : "asc";
    const sql = `${selectCalls} order by called_at ${order}, position ${order} limit ?`;
    const calls: ArchivedCall[] = [];
    for (const month of await this.#monthsBetween(fromMs, toMs, reverse)) {
      if (calls.length >= limit) break;
      for (const row of this.#read(month, sql, [fromMs, toMs, limit - calls.length])) {
        calls.push(callOfRow(row));
      }
    }
    return calls;
  }

  async callsThatFit(reading: FilteredReading): Promise<ArchivedCall[]> {
    const calls: ArchivedCall[] = [];
    for (const range of reading.ranges) {
      for (const month of await this.#monthsBetween(range.fromMs, range.toMs, true)) {
        const left = reading.limit - calls.length;
        if (left <= 0) return calls;
        const { sql, cells } = selectThatFit(reading, range, left);
        for (const row of this.#read(month, sql, cells)) calls.push(callOfRow(row));
      }
    }
    return calls;
  }

  async callsByDay(
    accountId: string,
    filter: Pick<ColumnFilter, "keyId" | "model" | "onlyFailed">,
    { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
  ): Promise<DayCalls[]> {
    const onlyFailed = Number(filter.onlyFailed === true);
    const days: DayCalls[] = [];
    const [fromMs, toMs] = [vietnamDayStartMs(fromDay), vietnamDayStartMs(toDay) + dayMs];
    for (const month of await this.#monthsBetween(fromMs, toMs, true)) {
      const some = daysOfMonth(month).filter((day) => day >= fromDay && day <= toDay);
      const cells = [accountId, ...countedCells(filter), onlyFailed, JSON.stringify(some)];
      for (const row of this.#read(month, selectCallsByDay, cells)) days.push(dayCallsOf(row));
    }
    return days;
  }

  async timeOfCall({ fromMs, toMs }: TimeRange, count: number): Promise<number | undefined> {
    let left = count;
    for (const month of await this.#monthsBetween(fromMs, toMs, true)) {
      const within = "from receipts where called_at >= ? and called_at < ?";
      const sql = `select called_at as ms ${within} order by called_at desc limit 1 offset ?`;
      const [row] = this.#read(month, sql, [fromMs, toMs, left]);
      if (row !== undefined) return Number(row["ms"]);
      const [all] = this.#read(month, `select count(*) as calls ${within}`, [fromMs, toMs]);
      left -= Number(all?.["calls"]);
    }
    return undefined;
  }

  async idsOf(accountId: AccountId, reading: IndexReading): Promise<RequestId[]> {
    const { fromMs, toMs, limit, reverse, onlyFailed, fromPlace, beforePlace } = reading;
    const order = reverse ? "desc" : "asc";
    const select = onlyFailed ? selectFailedIds : selectIds;
    const sql = `${select} order by called_at ${order}, id ${order} limit ?`;
    const ids: RequestId[] = [];
    for (const month of await this.#monthsBetween(fromMs, toMs, reverse)) {
      if (ids.length >= limit) break;
      const cells = [accountId, fromMs, toMs, fromPlace, beforePlace, limit - ids.length];
      for (const row of this.#read(month, sql, cells)) {
        ids.push(requestIdOf({ id: String(row["id"]) }));
      }
    }
    return ids;
  }

  async idsAmong(
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>> {
    const found = new Set<RequestId>();
    for (const some of calls) {
      const there = await archivedAround(this, some, onlyFailed);
      for (const id of some.requestIds) if (there.has(id)) found.add(id);
    }
    return found;
  }

  async accounts(
    { from, limit, reverse }: {
      readonly from: string;
      readonly limit: number;
      readonly reverse: boolean;
    },
  ): Promise<AccountId[]> {
    const sql = reverse
      ? "select account_id from accounts where account_id < ? order by account_id desc limit ?"
      : "select account_id from accounts where account_id >= ? order by account_id limit ?";
    const found = new Set<string>();
    for (const month of await this.#monthsBetween(0, Infinity, false)) {
      for (const row of this.#read(month, sql, [from, limit])) found.add(String(row["account_id"]));
    }
    const sorted = [...found].sort();
    return (reverse ? sorted.reverse() : sorted).slice(0, limit) as AccountId[];
  }

  async hoursBetween(fromMs: number, toMs: number): Promise<HourMark[]> {
    const sql =
      `select started_at, pages, receipts, cast(charged_micro_vnd as text) as charged, digest
      from hours where started_at >= ? and started_at < ? order by started_at`;
    const hours: HourMark[] = [];
    for (const month of await this.#monthsBetween(fromMs, toMs, false)) {
      for (const row of this.#read(month, sql, [fromMs, toMs])) {
        hours.push({
          startMs: Number(row["started_at"]),
          pages: Number(row["pages"]),
          receipts: Number(row["receipts"]),
          chargedMicroVnd: BigInt(String(row["charged"])),
          digest: String(row["digest"]),
        });
      }
    }
    return hours;
  }

  /**
   * Opens a month for one transaction, which is rolled back unless `act` returns true. Transactions of this thread take
   * turns: the driver would wait for another one without letting it go on.
   */
  async #inMonth(month: string, act: (db: DatabaseSync) => Promise<boolean>): Promise<boolean> {
    const earlier = this.#writing;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing = promise;
    await earlier;
    try {
      return await this.#transact(month, act);
    } finally {
      resolve();
    }
  }

  async #transact(month: string, act: (db: DatabaseSync) => Promise<boolean>): Promise<boolean> {
    await this.#makeMonth(month);
    using db = openMonth(this.#path(month));
    db.exec("begin immediate");
    const isDone = await act(db);
    // An error closes the connection, which leaves nothing of the transaction.
    db.exec(isDone ? "commit" : "rollback");
    return isDone;
  }

  /** Makes the file of a month. It gets its name once its tables are there: readers look for files all the time. */
  async #makeMonth(month: string): Promise<void> {
    if ((await monthsIn(this.#folder)).includes(month)) return;
    await Deno.mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `${month}.new`);
    const file = await Deno.open(path, { create: true, write: true, truncate: true, mode: 0o600 });
    file.close();
    const db = new DatabaseSync(path);
    // A whole vacuum attaches a file, which the permissions of a gateway do not allow.
    db.exec(`pragma auto_vacuum = incremental; pragma journal_mode = delete; ${schema}`);
    db.close();
    await Deno.rename(path, this.#path(month));
  }

  async writeHour({ startMs, digest, calls, mark }: HourToWrite): Promise<boolean> {
    let isThere = false;
    await this.#inMonth(monthOf(startMs), async (db) => {
      const found = db.prepare("select digest from hours where started_at = ?").get(startMs);
      isThere = found?.["digest"] === digest;
      if (isThere) return false;
      db.prepare("delete from receipts where called_at >= ? and called_at < ?")
        .run(startMs, startMs + hourMs);
      const writer = new MonthWriter(db);
      for await (const some of calls) for (const call of some) writer.write(call);
      const hour = mark();
      isThere = hour.digest === digest;
      db.prepare("insert or replace into hours values (?, ?, ?, ?, ?)")
        .run(startMs, hour.pages, hour.receipts, hour.chargedMicroVnd, digest);
      return isThere;
    });
    return isThere;
  }

  async finishDay(day: string, lines: AsyncIterable<LedgerEntry>): Promise<void> {
    const startMs = vietnamDayStartMs(day);
    await this.#inMonth(monthOfDay(day), async (db) => {
      db.prepare("delete from day_sums where day = ?").run(day);
      db.prepare(insertSums).run(day, startMs, startMs + dayMs);
      db.prepare("delete from ledger where day = ?").run(day);
      const insert = db.prepare("insert into ledger values (?, ?, ?, ?, ?, ?, ?, ?)");
      for await (const line of lines) {
        const { ledgerId, atMs, accountId, amountMicroVnd, kind, operationId, requestId } = line;
        const cells = [ledgerId, day, atMs, accountId, amountMicroVnd, kind, operationId];
        insert.run(...cells, requestId ?? null);
      }
      return true;
    });
  }

  packDay(): Promise<void> {
    return Promise.resolve();
  }

  async accountsOfDay(day: string, onlyFailed: boolean): Promise<AccountId[]> {
    const startMs = vietnamDayStartMs(day);
    if ((await this.#monthsBetween(startMs, startMs + dayMs, false)).length === 0) return [];
    const sql = `select distinct account_id from day_sums
      where day = ? and failed_calls >= ? order by account_id`;
    const rows = this.#read(monthOfDay(day), sql, [day, Number(onlyFailed)]);
    return rows.map((row) => String(row["account_id"]) as AccountId);
  }

  async chargesOf(fromDay: string, toDay: string): Promise<AccountCharges[]> {
    const sql = `select account_id, cast(sum(cost_micro_vnd) as text) as charged from day_sums
      where day >= ? and day <= ? group by account_id`;
    const charges = new Map<AccountId, bigint>();
    const [fromMs, toMs] = [vietnamDayStartMs(fromDay), vietnamDayStartMs(toDay) + dayMs];
    for (const month of await this.#monthsBetween(fromMs, toMs, false)) {
      for (const row of this.#read(month, sql, [fromDay, toDay])) {
        const accountId = String(row["account_id"]) as AccountId;
        const charged = BigInt(String(row["charged"]));
        charges.set(accountId, (charges.get(accountId) ?? 0n) + charged);
      }
    }
    return [...charges].sort(([one], [other]) => one < other ? -1 : 1)
      .map(([accountId, chargedMicroVnd]) => ({ accountId, chargedMicroVnd }));
  }

  async sumPages(
    { fromAccount, toAccount, fromDay, toDay, limit }: SumReading,
  ): Promise<SumPage[]> {
    const pages: SumPage[] = [];
    for (const month of await this.#monthsBetween(0, Infinity, false)) {
      if (pages.length >= limit) break;
      if (month < fromDay.slice(0, month.length) || month > toDay) continue;
      const cells = [fromAccount, toAccount, fromDay, toDay, limit - pages.length];
      for (const row of this.#read(month, selectPages, cells)) pages.push(sumPageOf(row));
    }
    return pages;
  }

  async writeSums({ day, fromAccount, toAccount, merge }: SumsToWrite): Promise<void> {
    await this.#inMonth(monthOfDay(day), async (db) => {
      const cells = [fromAccount, toAccount, day, day, Number.MAX_SAFE_INTEGER];
      const pages = await merge(db.prepare(selectPages).all(...cells).map(sumPageOf));
      if (pages === undefined) return false;
      db.prepare("delete from sums where day = ? and last_account >= ? and first_account <= ?")
        .run(day, fromAccount, toAccount);
      const insert = db.prepare(
        "insert into sums (day, last_account, first_account, data) values (?, ?, ?, ?)",
      );
      for (const { firstAccount, lastAccount, text } of pages) {
        insert.run(day, lastAccount, firstAccount, deflateRawSync(text));
      }
      return true;
    });
  }

  async months(): Promise<ArchivedMonth[]> {
    const months: ArchivedMonth[] = [];
    for (const month of await this.#monthsBetween(0, Infinity, false)) {
      const [row] = this.#read(month, "select count(*) as count from receipts", []);
      const bytes = (await Deno.stat(this.#path(month))).size;
      months.push({ month, receipts: Number(row?.["count"]), bytes });
    }
    return months;
  }

  async dropMonth(month: string): Promise<void> {
    invariant(/^\d{4}-\d{2}$/.test(month), "a month");
    this.#closeReaders();
    using db = openMonth(this.#path(month));
    // Sums stay, and those whose they are.
    db.exec(`begin immediate; drop table receipts; delete from shapes; delete from keys;
      delete from accounts where account_id not in (select account_id from day_sums);
      ${callsSql} commit;`);
    // It gives back a page with each step of the statement.
    db.prepare("pragma incremental_vacuum").all();
    db.exec("pragma wal_checkpoint(truncate);");
    await Promise.resolve();
  }

  close(): Promise<void> {
    this.#closeReaders();
    return Promise.resolve();
  }
}

function sumPageOf(row: Readonly<Record<string, unknown>>): SumPage {
  const data = row["data"];
  invariant(data instanceof Uint8Array, "a page of sums is bytes");
  return {
    day: String(row["day"]),
    firstAccount: String(row["first_account"]),
    lastAccount: String(row["last_account"]),
    text: new TextDecoder().decode(inflateRawSync(data)),
  };
}

async function monthsIn(folder: string): Promise<string[]> {
  const months: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const month = /^(\d{4}-\d{2})\.sqlite$/.exec(name)?.[1];
      if (month !== undefined) months.push(month);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return months.sort();
}
