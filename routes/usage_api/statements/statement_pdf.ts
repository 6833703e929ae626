/**
 * Writes a monthly statement as PDF. Its font is a part of Open Sans (`fonts/`) with the letters of Latin and Vietnamese:
 * the fonts that every reader has cannot write Vietnamese. The part was cut with `pyftsubset` of fonttools: U+0020-017F,
 * the letters ơ and ư, U+1EA0-1EF9, dashes, quotes, ₫, €, −.
 */
// @ts-types="./pdfkit.d.ts"
import PDFDocument from "pdfkit";
import { formatDecimal } from "../../../core/billing/money/display.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { dayText } from "../../../core/lib/time/day_text.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import {
  type StatementCell,
  type StatementColumn,
  statementColumns,
  type StatementDocument,
  type StatementRow,
  type StatementSection,
  sumOf,
} from "./statement_document.ts";
import { statementTexts } from "./statement_texts.ts";

/** Rows of a table that are printed, some forty pages: laying them out takes a processor a second or two, in slices. */
const maxPrintedRows = 1_500;

/** Characters of a printed cell: some four lines. */
const maxCellChars = 240;

/** Lengths in points. */
const margin = 40;
const footerSpace = 24;
const rowGap = 3;
const columnGap = 6;
const bodySize = 8;

/** Points of a line and the row of sums below it. */
const sumSpace = 20;

/** The share of the width that a column gets, by what its cells are. */
const shares: Readonly<Record<typeof statementColumns[StatementColumn], number>> = {
  day: 10,
  time: 16,
  text: 20,
  count: 11,
  vnd: 18,
};

/** Columns of text that need less, or more. */
const ownShares: { readonly [Column in StatementColumn]?: number } = {
  state: 13,
  vat_rate: 12,
  item: 17,
  detail: 24,
  reference: 29,
};

function shareOf(column: StatementColumn): number {
  return ownShares[column] ?? shares[statementColumns[column]];
}

function isNumber(column: StatementColumn): boolean {
  return ["count", "vnd"].includes(statementColumns[column]);
}

interface PlacedColumn {
  readonly column: StatementColumn;
  readonly x: number;
  readonly width: number;
}

function fractionOf(microVnd: bigint): string {
  return formatVnd(microVnd).split(".")[1] ?? "";
}

/** The decimals that all amounts of a table need: none, two or four. */
function decimalsOf({ rows, columns }: StatementSection): number {
  const most = rows.reduce((longest, row) => {
    const amounts = columns.map((column) => row[column]);
    const lengths = amounts.map((cell) => typeof cell === "bigint" ? fractionOf(cell).length : 0);
    return Math.max(longest, ...lengths);
  }, 0);
  return most === 0 ? 0 : most <= 2 ? 2 : Math.max(4, most);
}

function withDecimals(microVnd: bigint, decimals: number): string {
  const text = formatVnd(microVnd);
  const fraction = fractionOf(microVnd);
  if (fraction.length >= decimals) return text;
  return `${text}${fraction === "" ? "." : ""}${"0".repeat(decimals - fraction.length)}`;
}

/** Draws one statement. */
class Printer {
  readonly #pdf: PDFDocument;
  readonly #document: StatementDocument;
  readonly #slices: TimeSlices;
  #y = margin;
  /** Of each amount of the table, so that they stand below each other. */
  #decimals = 0;

  constructor(pdf: PDFDocument, document: StatementDocument, slices: TimeSlices) {
    this.#pdf = pdf;
    this.#document = document;
    this.#slices = slices;
  }

  get #width(): number {
    return this.#pdf.page.width - 2 * margin;
  }

  get #bottom(): number {
    return this.#pdf.page.height - margin - footerSpace;
  }

  async print(): Promise<void> {
    const { brand, title, facts, sections } = this.#document;
    this.#pdf.font("bold").fontSize(9).fillColor("#555555").text(brand, margin, this.#y);
    this.#pdf.fillColor("#000000");
    this.#y += 16;
    this.#pdf.font("bold").fontSize(16).text(title, margin, this.#y);
    this.#y += 30;
    for (const [name, value] of facts) this.#fact(name, value);
    for (const section of sections) await this.#section(section);
    this.#footers();
  }

  #fact(name: string, value: string): void {
    const nameWidth = 90;
    const width = this.#width - nameWidth;
    this.#pdf.font("bold").fontSize(9).text(name, margin, this.#y, { width: nameWidth });
    this.#pdf.font("regular").text(value, margin + nameWidth, this.#y, { width });
    this.#y += this.#pdf.heightOfString(value, { width }) + rowGap;
  }

  async #section(section: StatementSection): Promise<void> {
    const t = statementTexts[this.#document.locale];
    const { name, rows, columns, summed, sumLabel } = section;
    const placed = this.#placed(columns);
    this.#needSpace(70);
    this.#y += 16;
    this.#pdf.font("bold").fontSize(11).text(t.sections[name], margin, this.#y);
    this.#y += 20;
    if (rows.length === 0) return this.#line(t.none);
    this.#decimals = decimalsOf(section);
    this.#head(placed);
    const printed = rows.slice(0, maxPrintedRows);
    // The last row is on the page of the sums.
    const isLast = (at: number) => at === printed.length - 1;
    for (const [at, row] of printed.entries()) {
      this.#row(placed, row, "regular", isLast(at) ? sumSpace : 0);
      await this.#slices.rest();
    }
    if (rows.length > maxPrintedRows) {
      const { locale } = this.#document;
      this.#line(t.further(formatDecimal(String(rows.length - maxPrintedRows), locale)));
    }
    if (summed.length === 0) return;
    const sums = Object.fromEntries(summed.map((column) => [column, sumOf(rows, column)]));
    this.#rule();
    this.#row(
      placed,
      { ...(columns[0] !== undefined && { [columns[0]]: sumLabel }), ...sums },
      "bold",
    );
  }

  #placed(columns: readonly StatementColumn[]): PlacedColumn[] {
    const total = columns.reduce((sum, column) => sum + shareOf(column), 0);
    const free = this.#width - columnGap * (columns.length - 1);
    let x = margin;
    return columns.map((column) => {
      const width = free * shareOf(column) / total;
      const place = { column, x, width };
      x += width + columnGap;
      return place;
    });
  }

  /** Begins a page if less is left of this one. */
  #needSpace(points: number): boolean {
    if (this.#y + points <= this.#bottom) return false;
    this.#pdf.addPage();
    this.#y = margin;
    return true;
  }

  #line(text: string): void {
    this.#needSpace(14);
    this.#pdf.font("regular").fontSize(bodySize).text(text, margin, this.#y);
    this.#y += 14;
  }

  #rule(): void {
    this.#pdf.lineWidth(0.5).strokeColor("#888888").moveTo(margin, this.#y)
      .lineTo(margin + this.#width, this.#y).stroke();
    this.#y += rowGap;
  }

  #head(placed: readonly PlacedColumn[]): void {
    const { columns } = statementTexts[this.#document.locale];
    const texts = placed.map(({ column }) => columns[column]);
    this.#pdf.font("bold").fontSize(bodySize);
    this.#cells(placed, texts, "bold", this.#heightOf(placed, texts));
    this.#rule();
  }

  #row(
    placed: readonly PlacedColumn[],
    row: StatementRow,
    font: "regular" | "bold",
    spaceBelow = 0,
  ): void {
    const texts = placed.map(({ column }) => this.#text(row[column]));
    this.#pdf.font(font).fontSize(bodySize);
    const height = this.#heightOf(placed, texts);
    if (this.#needSpace(height + spaceBelow)) this.#head(placed);
    this.#cells(placed, texts, font, height);
  }

  #text(cell: StatementCell | undefined): string {
    const { locale } = this.#document;
    if (typeof cell === "bigint") return formatDecimal(withDecimals(cell, this.#decimals), locale);
    if (typeof cell === "number") return formatDecimal(String(cell), locale);
    const text = cell ?? "";
    // The time of day without its zone, which the period names.
    const [, day, time] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d).*)?$/u.exec(text) ?? [];
    if (day === undefined) return text.slice(0, maxCellChars);
    const written = dayText(day, locale);
    return time === undefined ? written : `${written} ${time}`;
  }

  #heightOf(placed: readonly PlacedColumn[], texts: readonly string[]): number {
    return Math.max(
      ...placed.map(({ width }, at) => this.#pdf.heightOfString(texts[at] ?? "", { width })),
    );
  }

  #cells(
    placed: readonly PlacedColumn[],
    texts: readonly string[],
    font: "regular" | "bold",
    height: number,
  ): void {
    this.#pdf.font(font).fontSize(bodySize);
    placed.forEach(({ column, x, width }, at) => {
      const align = isNumber(column) ? "right" : "left";
      this.#pdf.text(texts[at] ?? "", x, this.#y, { width, align });
    });
    this.#y += height + rowGap;
  }

  #footers(): void {
    const t = statementTexts[this.#document.locale];
    const { start, count } = this.#pdf.bufferedPageRange();
    for (let at = 0; at < count; at++) {
      this.#pdf.switchToPage(start + at);
      // Text in the margin would begin a new page.
      this.#pdf.page.margins.bottom = 0;
      const y = this.#pdf.page.height - margin - 8;
      const width = this.#width;
      this.#pdf.font("regular").fontSize(bodySize).fillColor("#555555")
        .text(this.#document.title, margin, y, { width, lineBreak: false })
        .text(t.page(at + 1, count), margin, y, { width, align: "right", lineBreak: false });
    }
  }
}

async function fontBytes(name: "regular" | "semibold"): Promise<Uint8Array> {
  return await Deno.readFile(new URL(`./fonts/open_sans_${name}.ttf`, import.meta.url));
}

/** Writes the file. The same statement gives the same text; the date of the file is the end of the month. */
export async function statementPdf(
  document: StatementDocument,
  lastDay: string,
  slices: TimeSlices,
): Promise<Uint8Array<ArrayBuffer>> {
  const [regular, bold] = await Promise.all([fontBytes("regular"), fontBytes("semibold")]);
  const pdf = new PDFDocument({
    size: "A4",
    margin,
    bufferPages: true,
    font: regular,
    lang: document.locale,
    info: {
      Title: document.title,
      Author: document.brand,
      CreationDate: new Date(vietnamDayStartMs(lastDay)),
    },
  });
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const done = new Promise<void>((resolve, reject) => {
    pdf.on("data", (part) => parts.push(new Uint8Array(part)));
    pdf.on("end", resolve);
    pdf.on("error", reject);
  });
  pdf.registerFont("regular", regular).registerFont("bold", bold);
  await new Printer(pdf, document, slices).print();
  pdf.end();
  await done;
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
