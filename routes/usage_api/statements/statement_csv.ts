/** Writes a monthly statement as CSV: all tables in one, of which a column names the table. */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CsvColumn, csvFile } from "../../../core/lib/base/csv.ts";
import {
  type StatementCell,
  type StatementColumn,
  statementColumns,
  type StatementDocument,
  type StatementRow,
  sumOf,
} from "./statement_document.ts";

interface CsvLine extends StatementRow {
  readonly section: string;
  /** `row`, or `sum` of the rows above. */
  readonly line: "row" | "sum";
}

const names = Object.keys(statementColumns) as readonly StatementColumn[];

function csvValue(cell: StatementCell | undefined): string | number | undefined {
  return typeof cell === "bigint" ? formatVnd(cell) : cell;
}

const columns: readonly CsvColumn<CsvLine>[] = [
  { name: "section", cell: ({ section }) => section },
  { name: "line", cell: ({ line }) => line },
  ...names.map((name): CsvColumn<CsvLine> => ({ name, cell: (row) => csvValue(row[name]) })),
];

/** Writes the file. Names of sections and columns are the same in both languages; what people read is in theirs. */
export function statementCsv({ sections }: StatementDocument): string {
  return csvFile(
    columns,
    sections.flatMap(({ name, rows, sumLabel, summed }): CsvLine[] => {
      const sum: StatementRow = {
        item: sumLabel,
        ...Object.fromEntries(summed.map((column) => [column, sumOf(rows, column)])),
      };
      return [
        ...rows.map((row): CsvLine => ({ section: name, line: "row", ...row })),
        ...(summed.length === 0 ? [] : [{ section: name, line: "sum" as const, ...sum }]),
      ];
    }),
  );
}
