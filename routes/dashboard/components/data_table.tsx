/** Renders lists as tables: a page describes the columns, this file writes the markup. */
import type { Child } from "hono/jsx";
import { TableFrame } from "./blocks.tsx";

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
  /** The heading is for screen readers only, since the buttons below it name their acts. */
  readonly hiddenHead?: boolean;
  readonly cell: (row: Row, at: number) => Child;
}

export interface DataTableProps<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The content if there are no rows. */
  readonly empty?: Child;
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

function classOf<Row>(
  { kind, wideOnly }: Column<Row>,
  classes: typeof headClasses | typeof cellClasses,
): string | undefined {
  const words = [kind && classes[kind], wideOnly === true && "wide-only"].filter(Boolean);
  return words.length === 0 ? undefined : words.join(" ");
}

/** A table with its columns, or a message if there are no rows. */
export function DataTable<Row>({ label, columns, rows, empty }: DataTableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <TableFrame label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classOf(column, headClasses)}>
                {column.hiddenHead === true
                  ? <span class="visually-hidden">{column.head}</span>
                  : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr>
              {columns.map((column) => (
                <td class={classOf(column, cellClasses)}>{column.cell(row, at)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
