/** Comma-separated values (RFC 4180), as spreadsheets write and read them. */

/**
 * Parses a table. The separator is the one of `, ; tab` that the first lines use most; a quoted
 * cell may span lines.
 */
export function parseCsv(text: string): string[][] {
  const source = text.startsWith("\ufeff") ? text.slice(1) : text;
  const separator = separatorOf(source);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < source.length; at++) {
    const char = source[at]!;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (source[at + 1] === '"') {
        cell += '"';
        at++;
      } else quoted = false;
    } else if (char === '"' && cell === "") quoted = true;
    else if (char === separator) {
      row.push(cell);
      cell = "";
    } else if (char === "\n" || char === "\r") {
      if (char === "\r" && source[at + 1] === "\n") at++;
      rows.push([...row, cell]);
      row = [];
      cell = "";
    } else cell += char;
  }
  if (cell !== "" || row.length > 0) rows.push([...row, cell]);
  return rows;
}

function separatorOf(text: string): string {
  const head = text.slice(0, 8_192);
  const counts = [",", ";", "\t"].map((separator) => ({
    separator,
    count: head.split(separator).length - 1,
  }));
  // Amounts contain commas, so semicolons or tabs win if there are as many of them as rows.
  const lines = head.split("\n").length - 1;
  const strong = counts.find(({ separator, count }) =>
    separator !== "," && count >= 2 * lines && count > 2
  );
  return strong?.separator ?? ",";
}

/**
 * Places at which a spreadsheet may start a cell: at the start of the text, and after anything that it may
 * take for a separator or a line end.
 */
const formulaStart = /(^|[,;|\t\r\n])([\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** Most cells of a file: no separator or quote, and no begin of a formula. */
const plainCell = /^[A-Za-z0-9_][\w.:/-]*$/;

/**
 * Writes one cell, quoted if necessary.
 *
 * Text that a spreadsheet would run as a formula gets an apostrophe in front of it, since it may
 * come from strangers. Spreadsheets choose the separator by the locale of the machine (in Vietnam
 * the semicolon), and quotes in the middle of what they take for a cell protect nothing; so text
 * after any separator is guarded as well.
 */
export function csvCell(value: string): string {
  if (value === "" || plainCell.test(value)) return value;
  const isNumber = /^-?\d+(?:\.\d+)?$/.test(value);
  const guarded = isNumber ? value : value.replace(formulaStart, "$1$2'");
  const safe = /^[\t\r]/.test(guarded) ? `'${guarded}` : guarded;
  return /[",;\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Values of a cell; `null` and `undefined` are an empty cell. */
export type CsvValue = string | number | bigint | boolean | null | undefined;

/** A column of a file. Its name and its cells stand together, so neither can be added or moved alone. */
export interface CsvColumn<Row> {
  readonly name: string;
  readonly cell: (row: Row) => CsvValue;
}

function csvLine(cells: readonly CsvValue[]): string {
  return `${cells.map((cell) => csvCell(String(cell ?? ""))).join(",")}\r\n`;
}

/** Writes the start of a file: a byte order mark, without which Excel misreads Vietnamese, and the names. */
export function csvHead<Row>(columns: readonly CsvColumn<Row>[]): string {
  return `\ufeff${csvLine(columns.map(({ name }) => name))}`;
}

/** Writes one row, which ends in CR LF. */
export function csvRow<Row>(columns: readonly CsvColumn<Row>[], row: Row): string {
  return csvLine(columns.map(({ cell }) => cell(row)));
}

/**
 * Writes a whole file.
 *
 * @example
 * ```ts
 * import { csvFile } from "./csv.ts";
 * const file = csvFile([{ name: "a", cell: (text: string) => text }], ["=1+1"]);
 * if (file !== "\ufeffa\r\n'=1+1\r\n") throw new Error("wrong");
 * ```
 */
export function csvFile<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  return csvHead(columns) + rows.map((row) => csvRow(columns, row)).join("");
}
