/**
 * Reads a bank's statement export as notices: the second (or only) source if no webhook has
 * reported a movement.
 *
 * - Folder `core/trade/statements/`: statements of banks, and comparing what they report with notices that are known.
 * - In: the CSV export of a bank, memos, amounts as people type them.
 * - Out: bank notices, order codes found in memos, verdicts on movements that were reported twice.
 * - Never: corrects a misspelt order code, or credits a wallet.
 */
import { parseWrittenAmount } from "../../billing/money/read_amount.ts";
import { encodeHex } from "../../lib/runtime/built_ins.ts";
import { sha256 } from "../../lib/hash/sha256.ts";
import { vietnamDateTime } from "../../lib/time/vietnam_time.ts";
import { type BankNotice, parseBankTime } from "../bank/bank_notice.ts";
import { parseCsv } from "../../lib/base/csv.ts";
import { defined } from "../../lib/base/defined.ts";
import { foldVietnamese } from "../bank/order_code.ts";

// Recognises the columns of a bank's statement export by the names that Vietnamese banks give them.

/** The meaning of a column. */
export type StatementColumn =
  | "date"
  | "clock"
  | "credit"
  | "debit"
  | "amount"
  | "memo"
  | "reference"
  | "balance"
  | "account"
  | "payerAccount"
  | "payerName";

/** Names without accents, in order of preference; the whole header cell must equal one of them. */
const names: Readonly<Record<StatementColumn, readonly string[]>> = {
  date: [
    "NGAY GIAO DICH",
    "THOI GIAN GIAO DICH",
    "NGAY GIO GIAO DICH",
    "NGAY GD",
    "THOI GIAN",
    "TRANSACTION DATE",
    "TRANSACTION TIME",
    "NGAY HACH TOAN",
    "NGAY HIEU LUC",
    "POSTING DATE",
    "NGAY",
    "DATE",
  ],
  clock: ["GIO GIAO DICH", "GIO", "TIME"],
  credit: [
    "SO TIEN GHI CO",
    "PHAT SINH CO",
    "TIEN VAO",
    "SO TIEN VAO",
    "GHI CO",
    "CO",
    "CREDIT",
    "CREDIT AMOUNT",
  ],
  debit: [
    "SO TIEN GHI NO",
    "PHAT SINH NO",
    "TIEN RA",
    "SO TIEN RA",
    "GHI NO",
    "NO",
    "DEBIT",
    "DEBIT AMOUNT",
  ],
  amount: ["SO TIEN GIAO DICH", "SO TIEN", "GIA TRI", "AMOUNT", "TRANSACTION AMOUNT"],
  memo: [
    "NOI DUNG GIAO DICH",
    "NOI DUNG CHI TIET",
    "NOI DUNG",
    "DIEN GIAI",
    "MO TA",
    "MO TA GIAO DICH",
    "CHI TIET GIAO DICH",
    "DESCRIPTION",
    "TRANSACTION DESCRIPTION",
    "DETAILS",
    "REMARK",
    "CONTENT",
  ],
  reference: [
    "SO THAM CHIEU",
    "MA THAM CHIEU",
    "MA GIAO DICH",
    "SO GIAO DICH",
    "SO BUT TOAN",
    "SO CHUNG TU",
    "SO CT",
    "MA GD",
    "REFERENCE",
    "REFERENCE NUMBER",
    "REFERENCE NO",
    "TRANSACTION ID",
    "TRANSACTION NO",
    "REF",
  ],
  balance: [
    "SO DU",
    "SO DU SAU GIAO DICH",
    "SO DU CUOI",
    "BALANCE",
    "RUNNING BALANCE",
    "CLOSING BALANCE",
  ],
  account: ["SO TAI KHOAN", "TAI KHOAN", "ACCOUNT", "ACCOUNT NUMBER"],
  payerAccount: ["TAI KHOAN DOI UNG", "SO TAI KHOAN DOI UNG", "COUNTER ACCOUNT"],
  payerName: [
    "TEN DOI UNG",
    "TEN TAI KHOAN DOI UNG",
    "DON VI THU HUONG/DON VI CHUYEN",
    "COUNTER ACCOUNT NAME",
  ],
};

/** Normalises a header cell: no accents, units in brackets or decoration. */
function plainHeader(cell: string): string {
  return foldVietnamese(cell).replace(/\([^)]*\)/g, " ").replace(/[^A-Z0-9/]+/g, " ").trim();
}

/**
 * Returns the column positions of a header row; `undefined` unless it has a date, a memo and an
 * amount (or credit) column.
 */
function statementColumns(
  row: readonly string[],
): ReadonlyMap<StatementColumn, number> | undefined {
  const headers = row.map(plainHeader);
  const found = new Map<StatementColumn, number>();
  for (const [column, known] of Object.entries(names) as [StatementColumn, readonly string[]][]) {
    for (const name of known) {
      const at = headers.indexOf(name);
      if (at >= 0) {
        found.set(column, at);
        break;
      }
    }
  }
  const complete = found.has("date") && found.has("memo") &&
    (found.has("credit") || found.has("amount"));
  return complete ? found : undefined;
}

/** Movements in one statement import: a month of a busy account. */
const maxStatementRows = 10_000;

/** The rows of a statement, and those that could not be read. */
export interface Statement {
  readonly events: readonly BankNotice[];
  /**
   * The former id by the id of an event: the one that the row had when the balance was part of it.
   * Only for rows with a balance.
   */
  readonly formerIds: ReadonlyMap<string, string>;
  /** `line` counts from 1, as a spreadsheet does. */
  readonly problems: readonly { readonly line: number; readonly what: string }[];
}

/** The rows in which the header is searched: a title, the period and the holder come before it. */
const headerRows = 50;

type Cells = (column: StatementColumn) => string;

/** Reads the signed amount of a row: money in is positive. `undefined` if unreadable. */
function rowAmount(cells: Cells, hasCredit: boolean): bigint | undefined {
  if (!hasCredit) return parseWrittenAmount(cells("amount"));
  const credit = parseWrittenAmount(cells("credit"));
  const debit = parseWrittenAmount(cells("debit"));
  if (credit === undefined || debit === undefined) return undefined;
  // Some banks write money out as a negative debit.
  const out = debit < 0n ? -debit : debit;
  return credit !== 0n && out !== 0n ? undefined : credit - out;
}

async function hashOf(parts: readonly string[]): Promise<string> {
  return encodeHex((await sha256(JSON.stringify(parts))).subarray(0, 16));
}

/** Numbers equal rows in order: 0 for the first of its kind. */
function counter(): (parts: readonly string[]) => string {
  const seen = new Map<string, number>();
  return (parts) => {
    const kind = parts.join("\n");
    const above = seen.get(kind) ?? 0;
    seen.set(kind, above + 1);
    return String(above);
  };
}

/**
 * Reads a statement.
 *
 * The id of a row is a hash of its content and of the number of equal rows above it, so that the
 * same file, or one that overlaps it by whole days, can be imported again without a second credit.
 * The balance is not part of it: whether an export has that column does not change the movement.
 *
 * @param account the receiving account that the statement belongs to, used if the file does not
 * name it
 */
export async function parseStatement(text: string, account: string): Promise<Statement> {
  const rows = parseCsv(text);
  const formerIds = new Map<string, string>();
  const head = rows.slice(0, headerRows).findIndex((row) => statementColumns(row) !== undefined);
  if (head < 0) {
    return { events: [], formerIds, problems: [{ line: 1, what: "no header row was found" }] };
  }
  const columns = statementColumns(rows[head]!)!;
  const read: BankNotice[] = [];
  const problems: { line: number; what: string }[] = [];
  const [above, formerlyAbove] = [counter(), counter()];
  for (let at = head + 1; at < rows.length; at++) {
    const row = rows[at]!;
    if (row.every((cell) => cell.trim() === "")) continue;
    if (read.length >= maxStatementRows) {
      problems.push({ line: at + 1, what: `more than ${maxStatementRows} movements` });
      break;
    }
    const cells: Cells = (column) => (row[columns.get(column) ?? -1] ?? "").trim();
    const event = readRow(cells, columns.has("credit"), account);
    if (typeof event === "string") {
      if (event !== "") problems.push({ line: at + 1, what: event });
      continue;
    }
    const parts = identity(event, "");
    const id = await hashOf([...parts, above(parts)]);
    const former = identity(event, event.balanceAfterMicroVnd?.toString() ?? "");
    const formerId = await hashOf([...former, formerlyAbove(former)]);
    if (formerId !== id) formerIds.set(id, formerId);
    read.push({ ...event, id });
  }
  const importId = await hashOf(read.map(({ id }) => id).sort());
  return { events: read.map((event) => ({ ...event, importId })), formerIds, problems };
}

/**
 * @param balance empty, except for rows that were imported when it was part of their id
 */
function identity(event: BankNotice, balance: string): string[] {
  return [
    event.account,
    vietnamDateTime(event.time.atMs),
    event.direction,
    event.amountMicroVnd.toString(),
    event.reference ?? "",
    event.memo,
    balance,
  ];
}

/**
 * Reads the event of a row, without its id. A text is the problem; the empty text means "not a
 * movement" (totals, footers).
 */
function readRow(cells: Cells, hasCredit: boolean, account: string): BankNotice | string {
  const date = cells("date");
  const time = parseBankTime(cells("clock") === "" ? date : `${date} ${cells("clock")}`);
  if (time === undefined) {
    // A line that begins like a date is a movement; "Tổng cộng" and plain notes are not.
    return /^\d/.test(date) ? "the date cannot be read" : "";
  }
  const amount = rowAmount(cells, hasCredit);
  if (amount === undefined) return "the amount cannot be read";
  if (amount === 0n) return "the amount is zero";
  const balance = cells("balance") === "" ? undefined : parseWrittenAmount(cells("balance"));
  const payer = {
    ...(cells("payerAccount") === "" ? {} : { account: cells("payerAccount") }),
    ...(cells("payerName") === "" ? {} : { name: cells("payerName") }),
  };
  return {
    source: "csv",
    id: "",
    account: cells("account") === "" ? account : cells("account"),
    direction: amount > 0n ? "in" : "out",
    amountMicroVnd: amount > 0n ? amount : -amount,
    time,
    memo: cells("memo"),
    ...(cells("reference") === "" ? {} : { reference: cells("reference") }),
    ...defined({ balanceAfterMicroVnd: balance }),
    ...(Object.keys(payer).length === 0 ? {} : { payer }),
  };
}
