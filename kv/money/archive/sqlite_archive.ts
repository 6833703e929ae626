/**
 * An archive beside a store that is a file: one SQLite file for each month, in a folder.
 *
 * A month has its own dictionaries, so that a file is whole by itself and can be copied or read elsewhere. Whoever
 * writes has a connection of its own, so that readers never see an hour that is being written. Calls of the driver
 * block the thread: a page of fifty calls takes half a millisecond.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { join } from "node:path";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import { archivedAround } from "./archived_pages.ts";
import {
  ArchiveSql,
  callColumnsSql,
  type Cell,
  daysSql,
  type Dialect,
  namedCalls,
  type Statement,
  sumsTableSql,
  tablesSql,
  viewsSql,
} from "./archive_sql.ts";
import { addedColumns, callColumns, type CallMember, callMembers } from "./archive_tables.ts";
import { CallCells } from "./call_cells.ts";
import {
  type ArchiveDatabase,
  type ArchivePart,
  type ArchiveTransaction,
  ColumnArchive,
  type Months,
  type Row,
} from "./column_archive.ts";
import type { ArchivedCall } from "./receipt_rows.ts";
import type { ArchivedMonth, ReceiptArchive, TimeRange } from "./receipt_archive.ts";

/** Day by day, by the index of each: SQLite takes the order of a cross join, and an order of its own would read all rows. */
const selectCallsByDay = `${daysSql("day_sums", "$2", "$3")}
  select days.day as day, sum(calls) as calls, sum(
    case when ($4 is null or key_id = $4) and ($5 is null or model = $5)
      then case when $6 = 1 then failed_calls else calls end else 0 end
  ) as fitting
  from days cross join day_sums
  where day_sums.day = days.day and days.day <= $3 and account_id = $1
  group by days.day order by days.day desc`;

const sqlite: Dialect = {
  prefix: "",
  types: {
    account: "integer",
    key: "integer",
    shape: "integer",
    time: "integer",
    integer: "integer",
    amount: "integer",
    flag: "integer",
    text: "text",
    day: "text",
    bytes: "blob",
  },
  tableOptions: (isByKey) => isByKey ? "strict, without rowid" : "strict",
  numbered: "integer primary key",
  at: (parameter) => parameter,
  ms: (moment) => moment,
  day: (parameter) => parameter,
  later: (moment, ms) => `${moment} + ${ms}`,
  money: (name) => `${name}_micro_vnd`,
  has: (text, part) => `instr(${text}, ${part}) > 0`,
  given: (members) =>
    `(select ${
      Object.keys(members).map((name) => `value->>'${name}' as "${name}"`).join(", ")
    } from json_each($1)) as given`,
  daySums: "day_sums",
  selectCallsByDay,
  selectPages: (conditions) =>
    `select page.day, first_account, last_account, data from days cross join sums as page
    where ${conditions} limit $5`,
  selectThatFit: ({ selected, joined, conditions }) =>
    `select ${selected} from ${joined("receipts")}
    where called_at >= json_extract($1, '$[0].fromMs') and called_at < json_extract($1, '$[0].toMs')
      and ${conditions.join(" and ")}
    order by called_at desc, id desc limit $4`,
};

const statements = new ArchiveSql(sqlite);

/** Statements as SQLite numbers their parameters, by their text. */
const numbered = (sql: string) => sql.replaceAll(/\$(\d)/g, "?$1");

const callsSql = `
  create table if not exists receipts (
    ${callColumnsSql(sqlite)}, primary key (called_at, position)
  ) strict, without rowid;
  create index if not exists receipts_by_account on receipts (account, called_at);`;

const sumsSql = sumsTableSql(sqlite);

const schema = `
  ${sumsSql}
  ${tablesSql(sqlite)}
  create unique index shapes_by_text on shapes (text);
  ${callsSql}
  ${viewsSql(sqlite, "create view if not exists")}
  create view if not exists day_sums_v1 as select * from day_sums;`;

const insertCall = `insert into receipts (${
  callMembers.map((member) => callColumns[member].name).join(", ")
}) values (${callMembers.map(() => "?").join(", ")})`;

const insertSums = `insert into day_sums
  select $3, account_id, key_id, model, count(*), sum(failed),
    coalesce(sum(input_tokens + cache_read_tokens + cache_write_tokens), 0),
    coalesce(sum(output_tokens), 0), sum(cost_micro_vnd), coalesce(sum(provider_cost_micro_vnd), 0)
  from ${namedCalls("")}
  where called_at >= $1 and called_at < $2 group by account_id, key_id, model`;

/** Milliseconds for which a reader waits for a file that is being checkpointed. */
const busyMs = 5_000;

/** Files that are open at once for reading. */
const maxOpenMonths = 24;

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
    db.exec(`alter table receipts add column ${name} ${sqlite.types[kind]}`);
  }
  db.exec("commit");
}

/** Statements on a connection, by their text. */
class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  query(sql: string, cells: readonly Cell[] = []): Promise<readonly Row[]> {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(numbered(sql));
      this.#prepared.set(sql, statement);
    }
    return Promise.resolve(statement.all(...cells));
  }

  async addCalls(calls: AsyncIterable<readonly ArchivedCall[]>): Promise<void> {
    const insert = this.#db.prepare(insertCall);
    const numbers = new CallCells((sql, cells) => this.query(sql, cells), statements);
    for await (const some of calls) {
      await numbers.learn(some);
      for (const call of some) {
        insert.run(...callMembers.map((member) => cellOf(member, numbers.cellOf(member, call))));
      }
    }
  }
}

function cellOf(member: CallMember, cell: ArchivedCall[CallMember]): SQLInputValue {
  if (typeof cell === "boolean") return Number(cell);
  return cell !== null && callColumns[member].kind === "amount" ? BigInt(cell) : cell;
}

/** Opens the archive of a folder, which need not exist before something is archived. */
export async function openSqliteArchive(folder: string): Promise<ColumnArchive> {
  return new ColumnArchive(new SqliteDatabase(folder, await monthsIn(folder)));
}

/** A connection of readers. */
interface Reader {
  readonly db: DatabaseSync;
  readonly part: ArchivePart;
}

/** A folder of months. */
class SqliteDatabase implements ArchiveDatabase {
  readonly dialect = sqlite;
  readonly readsRangesTogether = false;
  readonly #folder: string;
  readonly #readers = new Map<string, Reader>();
  #monthsThere: string[];
  /** Resolves when the transaction under way has ended. */
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string, months: string[]) {
    this.#folder = folder;
    this.#monthsThere = months;
  }

  async parts(months: Months, reverse: boolean): Promise<readonly ArchivePart[]> {
    const within = await this.#monthsWithin(months);
    if (reverse) within.reverse();
    // Opened when it is read: of many months, most are not.
    return within.map((month) => ({ query: (statement) => this.#reader(month).query(statement) }));
  }

  /** Other threads may have begun a month since this one looked; none ever goes. */
  async #monthsWithin({ from, to }: Months): Promise<string[]> {
    if (from === to && this.#monthsThere.includes(from)) return [from];
    this.#monthsThere = await monthsIn(this.#folder);
    return this.#monthsThere.filter((month) => from <= month && month <= to);
  }

  #path(month: string): string {
    return join(this.#folder, `${month}.sqlite`);
  }

  #reader(month: string): ArchivePart {
    const open = this.#readers.get(month);
    if (open !== undefined) return open.part;
    if (this.#readers.size >= maxOpenMonths) this.#closeReaders();
    const db = openMonth(this.#path(month));
    const prepared = new Statements(db);
    const part: ArchivePart = { query: ({ sql, cells }) => prepared.query(sql, cells) };
    this.#readers.set(month, { db, part });
    return part;
  }

  #closeReaders(): void {
    for (const { db } of this.#readers.values()) db.close();
    this.#readers.clear();
  }

  sumDay(day: string, { fromMs, toMs }: TimeRange): readonly Statement[] {
    return [{ sql: insertSums, cells: [fromMs, toMs, day] }];
  }

  async idsAmong(
    archive: ReceiptArchive,
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>> {
    const found = new Set<RequestId>();
    for (const some of calls) {
      const there = await archivedAround(archive, some, onlyFailed);
      for (const id of some.requestIds) if (there.has(id)) found.add(id);
    }
    return found;
  }

  /** A transaction makes its month. */
  makeMonth(): Promise<void> {
    return Promise.resolve();
  }

  /** Transactions of this thread take turns: the driver would wait for another one without letting it go on. */
  async transaction(
    month: string,
    act: (transaction: ArchiveTransaction) => Promise<boolean>,
  ): Promise<void> {
    const earlier = this.#writing;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing = promise;
    await earlier;
    try {
      await this.#transact(month, act);
    } finally {
      resolve();
    }
  }

  async #transact(
    month: string,
    act: (transaction: ArchiveTransaction) => Promise<boolean>,
  ): Promise<void> {
    await this.#createMonth(month);
    using db = openMonth(this.#path(month));
    const prepared = new Statements(db);
    db.exec("begin immediate");
    const isDone = await act({
      query: (sql, cells) => prepared.query(sql, cells),
      addCalls: (calls) => prepared.addCalls(calls),
    });
    // An error closes the connection, which leaves nothing of the transaction.
    db.exec(isDone ? "commit" : "rollback");
  }

  /** Makes the file of a month. It gets its name once its tables are there: readers look for files all the time. */
  async #createMonth(month: string): Promise<void> {
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

  packDay(): Promise<void> {
    return Promise.resolve();
  }

  /** A file would be locked for seconds. */
  packMonth(): Promise<void> {
    return Promise.resolve();
  }

  async months(): Promise<ArchivedMonth[]> {
    const months: ArchivedMonth[] = [];
    for (const month of await this.#monthsWithin({ from: "", to: "~" })) {
      const counted = { sql: "select count(*) as count from receipts", cells: [] };
      const [row] = await this.#reader(month).query(counted);
      const bytes = (await Deno.stat(this.#path(month))).size;
      months.push({ month, receipts: Number(row?.["count"]), bytes });
    }
    return months;
  }

  async dropMonth(month: string): Promise<void> {
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
