/** Writes the statement of a wallet as CSV. */
import { type CsvColumn, csvFile } from "../../../../core/lib/base/csv.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { vietnamIsoTime } from "../../../../core/lib/time/vietnam_time.ts";
import {
  changeOf,
  openingDay,
  type Statement,
  type StatementLine,
} from "../../../../kv/money/ledger/statement.ts";

/** The balance before the first line, or after the last one. */
interface BalanceLine {
  readonly kind: "opening_balance" | "balance_before" | "closing_balance";
  readonly day: string;
  readonly balanceMicroVnd: bigint;
}

type Line = StatementLine | BalanceLine;

/** The movement of a line; calls are summed per day, so their line has none, and no time. */
function entryOf(line: Line) {
  return line.kind === "ledger" ? line.entry : undefined;
}

const columns: readonly CsvColumn<Line>[] = [
  { name: "day", cell: ({ day }) => day },
  {
    name: "booked_at",
    cell: (line) => line.kind === "ledger" ? vietnamIsoTime(line.entry.atMs) : undefined,
  },
  { name: "kind", cell: (line) => entryOf(line)?.kind ?? line.kind },
  { name: "detail", cell: (line) => entryOf(line)?.reason },
  { name: "calls", cell: (line) => line.kind === "usage" ? line.calls : undefined },
  { name: "ledger_id", cell: (line) => entryOf(line)?.ledgerId },
  {
    name: "change_vnd",
    cell: (line) =>
      line.kind === "ledger" || line.kind === "usage" ? formatVnd(changeOf(line)) : undefined,
  },
  { name: "balance_vnd", cell: ({ balanceMicroVnd }) => formatVnd(balanceMicroVnd) },
];

/** Writes a statement, oldest line first, between opening and closing balance. */
export function statementCsv(statement: Statement): string {
  return csvFile(columns, [
    {
      kind: statement.opensAt === "day" ? "opening_balance" : "balance_before",
      day: openingDay(statement),
      balanceMicroVnd: statement.openingMicroVnd,
    },
    ...statement.lines,
    {
      kind: "closing_balance",
      day: statement.toDay,
      balanceMicroVnd: statement.closingMicroVnd,
    },
  ]);
}
