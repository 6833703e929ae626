/** Writes the statement of a wallet as CSV. */
import { csvFile } from "../../../../core/lib/base/csv.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { vietnamIsoTime } from "../../../../core/lib/time/vietnam_time.ts";
import {
  changeOf,
  openingDay,
  type Statement,
  type StatementLine,
} from "../../../../kv/money/ledger/statement.ts";

const header = [
  "day",
  "booked_at",
  "kind",
  "detail",
  "calls",
  "ledger_id",
  "change_vnd",
  "balance_vnd",
] as const;

function lineCells(line: StatementLine): string[] {
  const isLedger = line.kind === "ledger";
  return [
    line.day,
    // Calls are summed per day, so their line has no time.
    isLedger ? vietnamIsoTime(line.entry.atMs) : "",
    isLedger ? line.entry.kind : "usage",
    isLedger ? line.entry.reason : "",
    isLedger ? "" : String(line.calls),
    isLedger ? line.entry.ledgerId : "",
    formatVnd(changeOf(line)),
    formatVnd(line.balanceMicroVnd),
  ];
}

function balanceCells(day: string, kind: string, microVnd: bigint): string[] {
  return [day, "", kind, "", "", "", "", formatVnd(microVnd)];
}

/** Writes a statement, oldest line first, between opening and closing balance. */
export function statementCsv(statement: Statement): string {
  const opening = statement.opensAt === "day" ? "opening_balance" : "balance_before";
  return csvFile([
    header,
    balanceCells(openingDay(statement), opening, statement.openingMicroVnd),
    ...statement.lines.map(lineCells),
    balanceCells(statement.toDay, "closing_balance", statement.closingMicroVnd),
  ]);
}
