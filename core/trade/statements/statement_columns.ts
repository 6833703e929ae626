/** Recognises the columns of a bank's statement export by the names that Vietnamese banks give them. */
import { foldVietnamese } from "../bank/fold_text.ts";

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
export function statementColumns(
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
