/**
 * Renders lists as tables: a page describes the columns, this file writes the markup. On a phone each row is a card, so
 * that no column is cut; lists that are long have rows of two lines there.
 */
import type { Child } from "hono/jsx";
import { TableFrame } from "./blocks.tsx";

/**
 * A place in a row of two lines: left or right in the first or the second, beside both, a line of its own below, or a
 * half of one under its heading.
 */
export type PhonePlace =
  | "first"
  | "first-end"
  | "second"
  | "second-end"
  | "beside"
  | "half"
  | "below";

/** One column of a table. */
export interface Column<Row> {
  readonly head: Child;
  /**
   * The layout of a column. Numbers are aligned right, one-line texts do not wrap, buttons are side by side. Long texts
   * and ids wrap anywhere, so that the table fits the page.
   */
  readonly kind?: "number" | "one-line" | "buttons" | "long";
  /** Left out on a phone. */
  readonly wideOnly?: boolean;
  /** Its place in a row of two lines, which a table has on a phone if any column has a place; others are left out. */
  readonly phone?: PhonePlace;
  /** A note on the heading. */
  readonly title?: string;
  /** Cells are less important than the others. */
  readonly muted?: true;
  /** The heading is for screen readers only, since the buttons below it name their acts. */
  readonly hiddenHead?: boolean;
  /** The head sorts the rows of the page, by `app.js`: by the value of a `<data>`, the time, or the text of a cell. */
  readonly sortable?: true;
  /** By what the head sorts, where the cell does not say it. */
  readonly sortValue?: (row: Row) => number | string;
  readonly cell: (row: Row, at: number) => Child;
}

export interface DataTableProps<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The content if there are no rows. */
  readonly empty?: Child;
  /** Rows of another form before and after the others, such as the balances of a statement. */
  readonly edges?: { readonly first: Child; readonly last: Child };
  /** Attributes of a row, for scripts. */
  readonly rowAttributes?: (row: Row) => Readonly<Record<`data-${string}`, string>>;
}

const headClasses = {
  number: "number",
  "one-line": undefined,
  buttons: undefined,
  long: undefined,
} as const;
const cellClasses = {
  number: "number",
  "one-line": "nowrap",
  buttons: "table-actions",
  long: "long",
} as const;

function classOf(...words: readonly (string | false | undefined)[]): string | undefined {
  return words.filter(Boolean).join(" ") || undefined;
}

function headClass<Row>({ kind, wideOnly }: Column<Row>): string | undefined {
  return classOf(kind && headClasses[kind], wideOnly === true && "wide-only");
}

function cellClass<Row>({ kind, muted, wideOnly }: Column<Row>): string | undefined {
  return classOf(
    kind && cellClasses[kind],
    muted === true && "muted",
    wideOnly === true && "wide-only",
  );
}

function Head<Row>({ head, hiddenHead, sortable }: Column<Row>) {
  if (hiddenHead === true) return <span class="visually-hidden">{head}</span>;
  return sortable === true
    ? <button type="button" class="sort" data-sort>{head}</button>
    : <>{head}</>;
}

/** The heading that a cell has beside it on a phone, where rows are cards and there is no head. */
function labelOf<Row>({ head, hiddenHead }: Column<Row>): string | undefined {
  return typeof head === "string" && hiddenHead !== true ? head : undefined;
}

function bodyCell<Row>(column: Column<Row>, row: Row, at: number) {
  return (
    <td
      class={cellClass(column)}
      data-phone={column.phone}
      data-label={column.phone === undefined || column.phone === "half"
        ? labelOf(column)
        : undefined}
      data-value={column.sortValue?.(row)}
    >
      {column.cell(row, at)}
    </td>
  );
}

/** A table with its columns, a list of cards on a phone, or a message if there are no rows. */
export function DataTable<Row>(
  { label, columns, rows, empty, edges, rowAttributes }: DataTableProps<Row>,
) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const hasTwoLines = columns.some(({ phone }) => phone !== undefined);
  const hasHead = columns.some(({ hiddenHead }) => hiddenHead !== true);
  return (
    <TableFrame label={label}>
      <table class={classOf("cards", hasTwoLines && "two-lines", !hasHead && "headless")}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={headClass(column)} title={column.title}>
                <Head {...column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {edges?.first}
          {rows.map((row, at) => (
            <tr {...rowAttributes?.(row)}>
              {columns.map((column) => bodyCell(column, row, at))}
            </tr>
          ))}
          {edges?.last}
        </tbody>
      </table>
    </TableFrame>
  );
}
