/** The kinds of files of a monthly statement. What writes PDF and XLSX is loaded with the first such file. */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import {
  type StatementCell,
  type StatementColumn,
  statementColumns,
  type StatementDocument,
  type StatementRow,
  sumOf,
} from "./statement_document.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CsvColumn, csvFile } from "../../../core/lib/base/csv.ts";

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
function statementCsv({ sections }: StatementDocument): string {
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

interface FileKind {
  readonly type: string;
  /** Writes the file. What takes long does so in slices, since calls are served beside it. */
  write(
    document: StatementDocument,
    lastDay: string,
    slices: TimeSlices,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** The kinds, by the end of their names. */
export const statementFileKinds = {
  pdf: {
    type: "application/pdf",
    async write(document, lastDay, slices) {
      const { statementPdf } = await import("./statement_pdf.ts");
      return await statementPdf(document, lastDay, slices);
    },
  },
  xlsx: {
    type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    async write(document) {
      const { statementXlsx } = await import("./statement_xlsx.ts");
      return await statementXlsx(document);
    },
  },
  csv: {
    type: "text/csv; charset=utf-8",
    write: (document) => Promise.resolve(new TextEncoder().encode(statementCsv(document))),
  },
} as const satisfies Readonly<Record<string, FileKind>>;

/** The name of a kind. */
export type StatementFileKind = keyof typeof statementFileKinds;

function isKind(name: string): name is StatementFileKind {
  return Object.hasOwn(statementFileKinds, name);
}

/** The names of all kinds. */
export const statementFileKindNames = Object.keys(statementFileKinds).filter(isKind);
