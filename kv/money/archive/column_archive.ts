/**
 * An archive in columns, on either database: what is read and written, in which order. The database gives connections,
 * the SQL where it differs, and how calls are added and months dropped.
 *
 * A database has one part or several, each with its own tables: PostgreSQL one for all months, SQLite a file a month.
 * Readings ask one part after the other, in the order of their months.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import { monthOfDay, vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";
import type { LedgerEntry } from "../ledger/ledger.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import { ArchiveSql, type Cell, type Dialect, type Statement } from "./archive_sql.ts";
import { callOfRow, dayCallsOf } from "./archive_tables.ts";
import { type ArchivedCall, requestIdOf } from "./receipt_rows.ts";
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

/** A row of an answer. */
export type Row = Readonly<Record<string, unknown>>;

/** A part of a database that is read. */
export interface ArchivePart {
  query(statement: Statement): Promise<readonly Row[]>;
}

/** A transaction. */
export interface ArchiveTransaction {
  query(sql: string, cells?: readonly Cell[]): Promise<readonly Row[]>;
  addCalls(calls: AsyncIterable<readonly ArchivedCall[]>): Promise<void>;
}

/** Months such as `2026-11`, both included. An empty text is before all of them, `~` behind. */
export interface Months {
  readonly from: string;
  readonly to: string;
}

/** A database for an archive. */
export interface ArchiveDatabase {
  readonly dialect: Dialect;
  /** Whether one statement reads several ranges at once. */
  readonly readsRangesTogether: boolean;
  /** Statements that make the sums of a day of its calls, once those that it has are deleted. */
  sumDay(day: string, range: TimeRange): readonly Statement[];
  /** The parts with some months. */
  parts(months: Months, reverse: boolean): Promise<readonly ArchivePart[]>;
  /** Prepares a month for calls. */
  makeMonth(month: string): Promise<void>;
  /** Runs a transaction as the only writer, and rolls it back unless `act` returns true. */
  transaction(
    month: string,
    act: (transaction: ArchiveTransaction) => Promise<boolean>,
  ): Promise<void>;
  idsAmong(
    archive: ReceiptArchive,
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>>;
  packDay(day: string): Promise<void>;
  packMonth(month: string): Promise<void>;
  months(archive: ReceiptArchive): Promise<ArchivedMonth[]>;
  dropMonth(month: string): Promise<void>;
  close(): Promise<void>;
}

/** Ledger lines of one statement. */
const linesPerInsert = 500;

const isMonth = (month: string) => /^\d{4}-\d{2}$/.test(month);

function monthsOf({ fromMs, toMs }: TimeRange): Months {
  return { from: monthOfDay(vietnamDay(fromMs)), to: monthOfDay(vietnamDay(toMs - 1)) };
}

const everyMonth: Months = { from: "", to: "~" };

/** An archive on a database. */
export class ColumnArchive implements ReceiptArchive {
  readonly #database: ArchiveDatabase;
  readonly #sql: ArchiveSql;

  constructor(database: ArchiveDatabase) {
    this.#database = database;
    this.#sql = new ArchiveSql(database.dialect);
  }

  /** Reads rows of the parts with some months, until there are enough of them. */
  async #rows(
    { months, reverse = false, limit = Infinity }: {
      readonly months: Months;
      readonly reverse?: boolean;
      readonly limit?: number;
    },
    statementOf: (left: number) => Statement,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    for (const part of await this.#database.parts(months, reverse)) {
      if (rows.length >= limit) break;
      rows.push(...await part.query(statementOf(limit - rows.length)));
    }
    return rows;
  }

  async callsBetween({ limit, reverse, ...range }: CallRange): Promise<ArchivedCall[]> {
    const reading = { months: monthsOf(range), reverse, limit };
    const rows = await this.#rows(
      reading,
      (left) => this.#sql.callsBetween(range, reverse, left),
    );
    return rows.map(callOfRow);
  }

  async callsThatFit(reading: FilteredReading): Promise<ArchivedCall[]> {
    const calls: ArchivedCall[] = [];
    const { ranges, limit } = reading;
    const groups = this.#database.readsRangesTogether ? [ranges] : ranges.map((range) => [range]);
    for (const some of groups) {
      const [latest, earliest] = [some[0], some.at(-1)];
      if (latest === undefined || earliest === undefined || calls.length >= limit) break;
      const months = monthsOf({ fromMs: earliest.fromMs, toMs: latest.toMs });
      const rows = await this.#rows(
        { months, reverse: true, limit: limit - calls.length },
        (left) => this.#sql.callsThatFit(reading, some, left),
      );
      for (const row of rows) calls.push(callOfRow(row));
    }
    return calls;
  }

  async callsByDay(
    accountId: string,
    filter: Pick<ColumnFilter, "keyId" | "model" | "onlyFailed">,
    days: { readonly fromDay: string; readonly toDay: string },
  ): Promise<DayCalls[]> {
    const months = { from: monthOfDay(days.fromDay), to: monthOfDay(days.toDay) };
    const statement = this.#sql.callsByDay(accountId, filter, days);
    return (await this.#rows({ months, reverse: true }, () => statement)).map(dayCallsOf);
  }

  async timeOfCall(range: TimeRange, count: number): Promise<number | undefined> {
    let left = count;
    const parts = await this.#database.parts(monthsOf(range), true);
    for (const [at, part] of parts.entries()) {
      const [row] = await part.query(this.#sql.timeOfCall(range, left));
      if (row !== undefined) return Number(row["ms"]);
      if (at + 1 === parts.length) break;
      const [all] = await part.query(this.#sql.countCalls(range));
      left -= Number(all?.["calls"]);
    }
    return undefined;
  }

  async idsOf(accountId: AccountId, reading: IndexReading): Promise<RequestId[]> {
    const { limit, reverse, onlyFailed } = reading;
    const ids: RequestId[] = [];
    for (const part of await this.#database.parts(monthsOf(reading), reverse)) {
      if (ids.length >= limit) break;
      const left = { onlyFailed, reverse, limit: limit - ids.length };
      const [row] = await part.query(this.#sql.idsOf(accountId, reading, left));
      const text = row?.["ids"] ?? "";
      if (text === "") continue;
      for (const id of String(text).split(" ")) ids.push(requestIdOf({ id }));
    }
    return ids;
  }

  idsAmong(
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>> {
    return this.#database.idsAmong(this, calls, onlyFailed);
  }

  async accounts(
    { from, limit, reverse }: {
      readonly from: string;
      readonly limit: number;
      readonly reverse: boolean;
    },
  ): Promise<AccountId[]> {
    const statement = this.#sql.accountsFrom(from, limit, reverse);
    const rows = await this.#rows({ months: everyMonth }, () => statement);
    const sorted = [...new Set(accountsOf(rows))].sort();
    return (reverse ? sorted.reverse() : sorted).slice(0, limit);
  }

  async accountsOfDay(day: string, onlyFailed: boolean): Promise<AccountId[]> {
    const months = { from: monthOfDay(day), to: monthOfDay(day) };
    const statement = this.#sql.accountsOfDay(day, onlyFailed);
    return accountsOf(await this.#rows({ months }, () => statement));
  }

  async chargesOf(fromDay: string, toDay: string): Promise<AccountCharges[]> {
    const months = { from: monthOfDay(fromDay), to: monthOfDay(toDay) };
    const statement = this.#sql.chargesOf(fromDay, toDay);
    const charges = new Map<AccountId, bigint>();
    for (const row of await this.#rows({ months }, () => statement)) {
      const accountId = accountOf(row);
      const charged = BigInt(String(row["charged"]));
      charges.set(accountId, (charges.get(accountId) ?? 0n) + charged);
    }
    return [...charges].sort(([one], [other]) => ascending(one, other))
      .map(([accountId, chargedMicroVnd]) => ({ accountId, chargedMicroVnd }));
  }

  async hoursBetween(fromMs: number, toMs: number): Promise<HourMark[]> {
    const statement = this.#sql.hoursBetween(fromMs, toMs);
    const rows = await this.#rows({ months: monthsOf({ fromMs, toMs }) }, () => statement);
    return rows.map((row) => ({
      startMs: Number(row["started"]),
      pages: Number(row["pages"]),
      receipts: Number(row["receipts"]),
      chargedMicroVnd: BigInt(String(row["charged"])),
      digest: String(row["digest"]),
    }));
  }

  async writeHour({ startMs, digest, calls, mark }: HourToWrite): Promise<boolean> {
    const month = monthOfDay(vietnamDay(startMs));
    const endMs = startMs + hourMs;
    await this.#database.makeMonth(month);
    let isThere = false;
    await this.#database.transaction(month, async (transaction) => {
      const run = ({ sql, cells }: Statement) => transaction.query(sql, cells);
      const [found] = await run(this.#sql.hoursBetween(startMs, startMs + 1));
      isThere = found?.["digest"] === digest;
      if (isThere) return false;
      await run(this.#sql.deleteBetween("receipts", startMs, endMs));
      await run(this.#sql.deleteBetween("hours", startMs, startMs + 1));
      await transaction.addCalls(calls);
      const hour = mark();
      isThere = hour.digest === digest;
      const { pages, receipts, chargedMicroVnd } = hour;
      const cells = [startMs, pages, receipts, chargedMicroVnd.toString(), digest];
      await transaction.query(this.#sql.insertHour, cells);
      return isThere;
    });
    return isThere;
  }

  async finishDay(day: string, lines: AsyncIterable<LedgerEntry>): Promise<void> {
    const fromMs = vietnamDayStartMs(day);
    const sums = this.#database.sumDay(day, { fromMs, toMs: fromMs + dayMs });
    await this.#database.transaction(monthOfDay(day), async ({ query }) => {
      const run = ({ sql, cells }: Statement) => query(sql, cells);
      await run(this.#sql.deleteDay("day_sums", day));
      for (const statement of sums) await run(statement);
      await run(this.#sql.deleteDay("ledger", day));
      let some: object[] = [];
      const insert = async () => {
        if (some.length > 0) await query(this.#sql.insertLines, [JSON.stringify(some), day]);
        some = [];
      };
      for await (const line of lines) {
        const { ledgerId, atMs, accountId, amountMicroVnd, kind, operationId, requestId } = line;
        const amount = amountMicroVnd.toString();
        const cells = { ledgerId, atMs, accountId, kind, operationId, requestId };
        some.push({ ...cells, amountMicroVnd: amount });
        if (some.length >= linesPerInsert) await insert();
      }
      await insert();
      return true;
    });
  }

  async sumPages(
    { fromAccount, toAccount, fromDay, toDay, limit }: SumReading,
  ): Promise<SumPage[]> {
    const months = { from: monthOfDay(fromDay), to: monthOfDay(toDay) };
    const rows = await this.#rows({ months, limit }, (left) => ({
      sql: this.#sql.selectPages,
      cells: [fromAccount, toAccount, fromDay, toDay, left],
    }));
    return rows.map(sumPageOf);
  }

  async writeSums({ day, fromAccount, toAccount, merge }: SumsToWrite): Promise<void> {
    await this.#database.transaction(monthOfDay(day), async ({ query }) => {
      const cells = [fromAccount, toAccount, day, day, Number.MAX_SAFE_INTEGER];
      const rows = await query(this.#sql.selectPages, cells);
      const pages = await merge(rows.map(sumPageOf));
      if (pages === undefined) return false;
      const old = this.#sql.deletePages(day, fromAccount, toAccount);
      await query(old.sql, old.cells);
      for (const { firstAccount, lastAccount, text } of pages) {
        await query(this.#sql.insertPage, [day, lastAccount, firstAccount, deflateRawSync(text)]);
      }
      return true;
    });
  }

  packDay(day: string): Promise<void> {
    return this.#database.packDay(day);
  }

  async packMonth(month: string): Promise<void> {
    invariant(isMonth(month), "a month");
    await this.#database.packMonth(month);
  }

  months(): Promise<ArchivedMonth[]> {
    return this.#database.months(this);
  }

  async dropMonth(month: string): Promise<void> {
    invariant(isMonth(month), "a month");
    await this.#database.dropMonth(month);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

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

function accountOf(row: Row): AccountId {
  return String(row["account_id"]) as AccountId;
}

function accountsOf(rows: readonly Row[]): AccountId[] {
  return rows.map(accountOf);
}
