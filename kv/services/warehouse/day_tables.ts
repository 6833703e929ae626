/**
 * Reads the rows of a sealed day, as lines of JSON that another process turns into a file: encoding tables beside calls
 * would keep them waiting.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { idTimeMs } from "../../../core/lib/ids/ids.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import { isLedgerLine, type LedgerEntry, linesByTime } from "../../money/ledger/ledger.ts";
import { decodeReceiptPage, receiptPagesBetween } from "../../money/receipts/receipt_pages.ts";
import { type Column, parquetFile } from "./parquet.ts";
import { receiptColumns } from "./receipt_columns.ts";

/** The columns of ledger lines. A column that is added stands last, and no column changes its meaning: warehouses keep what they have loaded. */
const ledgerColumns: readonly Column<LedgerEntry>[] = [
  {
    name: "ledger_id",
    type: "text",
    about: "The id of the line; unique.",
    cell: ({ ledgerId }) => ledgerId,
  },
  {
    name: "moved_at",
    type: "time",
    about: "When money moved: the time in its id, which decides its day.",
    cell: ({ ledgerId }) => idTimeMs("ledger", ledgerId),
  },
  { name: "account_id", type: "text", about: "Whose money.", cell: ({ accountId }) => accountId },
  {
    name: "amount_vnd",
    type: "vnd",
    about: "More than 0: a credit; less: a debit.",
    cell: ({ amountMicroVnd }) => amountMicroVnd,
  },
  {
    name: "kind",
    type: "text",
    about: "Why: `topup`, `refund`, `admin`, …",
    cell: ({ kind }) => kind,
  },
  {
    name: "operation_id",
    type: "text",
    about: "The id of the cause; no two lines share one.",
    cell: ({ operationId }) => operationId,
  },
  {
    name: "request_id",
    type: "text",
    about: "The call that it gives back.",
    cell: ({ requestId }) => requestId,
  },
];

/** A day, of which rows are read. */
export interface DayReading {
  /** A day of Vietnam, such as `2026-11-26`. */
  readonly day: string;
  readonly slices?: TimeSlices | undefined;
}

/** A table of the warehouse. */
interface DayTable {
  /** Reads the stored rows of a day, each as a JSON object or array. */
  read(kv: KeyValueStore, reading: DayReading): AsyncIterable<object>;
  /** Makes a Parquet file of what was read. */
  file(rows: AsyncIterable<unknown>): AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** The documentation of its columns. */
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly about: string;
  }[];
}

/** The tables, by name. */
export const dayTables = {
  receipts: {
    columns: receiptColumns,
    async *read(kv, { day, slices }) {
      const startMs = vietnamDayStartMs(day);
      const pages = receiptPagesBetween(startMs, startMs + dayMs);
      for await (const { key, value } of wholeKind<unknown>(kv, pages, slices)) {
        yield [key, value];
      }
    },
    file: (pages) => parquetFile(receiptColumns, receiptsOf(pages)),
  },
  ledger: {
    columns: ledgerColumns,
    async *read(kv, { day, slices }) {
      const startMs = vietnamDayStartMs(day);
      for await (const { value } of linesByTime(kv, startMs, slices)) {
        invariant(isLedgerLine(value), "a line of the ledger");
        if (idTimeMs("ledger", value.ledgerId) >= startMs + dayMs) return;
        yield { ...value, amountMicroVnd: value.amountMicroVnd.toString() };
      }
    },
    file: (lines) => parquetFile(ledgerColumns, linesOf(lines)),
  },
} as const satisfies Record<string, DayTable>;

/** The name of a table. */
export type DayTableName = keyof typeof dayTables;

function isTableName(name: string): name is DayTableName {
  return Object.hasOwn(dayTables, name);
}

/** The names of all tables. */
export const dayTableNames = Object.keys(dayTables).filter(isTableName);

async function* receiptsOf(pages: AsyncIterable<unknown>) {
  for await (const page of pages) {
    invariant(Array.isArray(page) && Array.isArray(page[0]), "a page of receipts");
    yield* decodeReceiptPage({ key: page[0], value: page[1], versionstamp: "" });
  }
}

async function* linesOf(lines: AsyncIterable<unknown>) {
  for await (const line of lines) {
    invariant(typeof line === "object" && line !== null && "amountMicroVnd" in line, "a line");
    const entry = { ...line, amountMicroVnd: BigInt(String(line.amountMicroVnd)) };
    invariant(isLedgerLine(entry), "a line of the ledger");
    yield entry;
  }
}

/** Most characters of a line; a stored page of receipts has 30,000. */
const maxLineChars = 1_000_000;

/**
 * Writes rows, objects or arrays, as lines, and after the last one how many there were: without that number the day is
 * not whole.
 */
export async function* asLines(rows: AsyncIterable<object>): AsyncGenerator<string> {
  let count = 0;
  for await (const row of rows) {
    count++;
    yield `${JSON.stringify(row)}\n`;
  }
  yield `${count}\n`;
}

/**
 * Reads what {@linkcode asLines} wrote.
 *
 * @throws if the last line is missing, or another
 */
export async function* fromLines(text: AsyncIterable<string>): AsyncGenerator<unknown> {
  let rest = "";
  let count = 0;
  let last: unknown;
  for await (const part of text) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    invariant(rest.length <= maxLineChars, "a line of a table has an end");
    for (const line of lines) {
      if (last !== undefined) {
        count++;
        yield last;
      }
      last = JSON.parse(line);
    }
  }
  if (rest !== "" || last !== count) {
    throw new Error("the rows of the day broke off before their end");
  }
}
