/**
 * Writes a monthly statement as XLSX: a sheet for each table, amounts as numbers, sums as formulas with their values.
 * A spreadsheet's numbers have fifteen digits; the CSV file has all.
 */
import { cellRef, type CellStyle, type CellValue, type WriteSheet, writeXlsx } from "hucre/xlsx";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { counted } from "../../http/query.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import {
  type StatementCell,
  type StatementColumn,
  statementColumns,
  type StatementDocument,
  type StatementSection,
  sumOf,
} from "./statement_document.ts";
import { statementTexts } from "./statement_texts.ts";

const formats = {
  day: "yyyy-mm-dd",
  time: "yyyy-mm-dd hh:mm:ss",
  text: undefined,
  count: "#,##0",
  vnd: "#,##0.00####",
} as const;

/** Widths in characters. */
const widths: Readonly<Record<keyof typeof formats, number>> = {
  day: 12,
  time: 20,
  text: 34,
  count: 14,
  vnd: 22,
};

/** Rows of a sheet: writing as many keeps the thread for some tenths of a second, which nothing can interrupt. */
const maxSheetRows = 2_000;

/** Characters of a cell's text: what spreadsheets take. */
const maxCellChars = 32_767;

const bold: CellStyle = { font: { bold: true } };

function styleOf(column: StatementColumn, isBold = false): CellStyle {
  const numFmt = formats[statementColumns[column]];
  return { ...(isBold && bold), ...(numFmt !== undefined && { numFmt }) };
}

/** Dates of spreadsheets have no zone: what is written is the wall clock of Vietnam. */
function valueOf(column: StatementColumn, cell: StatementCell | undefined): CellValue {
  if (cell === undefined) return null;
  if (typeof cell === "bigint") return Number(formatVnd(cell));
  if (typeof cell === "number") return cell;
  switch (statementColumns[column]) {
    case "day":
      return new Date(`${cell}T00:00:00Z`);
    case "time":
      return new Date(`${cell.slice(0, 19)}Z`);
    default:
      return cell.slice(0, maxCellChars);
  }
}

type Cells = NonNullable<WriteSheet["cells"]>;

/** Writes the row of sums below the rows from `firstRow` on. */
function addSums(cells: Cells, section: StatementSection, firstRow: number): void {
  const { rows, columns, summed, sumLabel } = section;
  if (summed.length === 0) return;
  const at = firstRow + rows.length;
  columns.forEach((column, index) => {
    if (summed.includes(column)) {
      const value = valueOf(column, sumOf(rows, column));
      const range = `${cellRef(firstRow, index)}:${cellRef(at - 1, index)}`;
      const formula = rows.length === 0 ? "0" : `SUM(${range})`;
      const style = styleOf(column, true);
      cells.set(`${at},${index}`, { value, type: "formula", formula, formulaResult: value, style });
    } else if (index === 0) {
      cells.set(`${at},0`, { value: sumLabel, type: "string", style: bold });
    }
  });
}

function sheetOf(
  section: StatementSection,
  { title, facts, locale }: StatementDocument,
): WriteSheet {
  const t = statementTexts[locale];
  const { name, columns, rows } = section;
  invariant(columns.length > 0, "a table has columns");
  const above: CellValue[][] = name === "summary"
    ? [[title], ...facts.map((fact) => [...fact])]
    : [];
  const headRow = above.length;
  const cells: Cells = new Map();
  if (headRow > 0) cells.set("0,0", { value: title, type: "string", style: bold });
  columns.forEach((column, index) => {
    const value = t.columns[column];
    cells.set(`${headRow},${index}`, { value, type: "string", style: bold });
    rows.forEach((row, at) => {
      const cell = valueOf(column, row[column]);
      if (cell !== null) {
        cells.set(`${headRow + 1 + at},${index}`, { value: cell, style: styleOf(column) });
      }
    });
  });
  addSums(cells, section, headRow + 1);
  return {
    name: t.sections[name],
    columns: columns.map((column) => ({ width: widths[statementColumns[column]] })),
    rows: above,
    cells,
    freezePane: { rows: headRow + 1 },
  };
}

/**
 * Writes the file.
 *
 * @throws {GatewayError} `invalid_request` if a table has more than `maxSheetRows` rows
 */
export async function statementXlsx(
  document: StatementDocument,
): Promise<Uint8Array<ArrayBuffer>> {
  if (document.sections.some(({ rows }) => rows.length > maxSheetRows)) {
    const most = counted(maxSheetRows);
    throw new GatewayError("invalid_request", `A sheet has at most ${most} rows; CSV has all`);
  }
  const sheets = document.sections.map((section) => sheetOf(section, document));
  return new Uint8Array(await writeXlsx({ sheets, properties: { title: document.title } }));
}
