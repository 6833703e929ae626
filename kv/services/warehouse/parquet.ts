/**
 * Writes tables as Parquet files, the form in columns that warehouses read.
 *
 * - Folder `kv/services/warehouse/`: sealed days of receipts and ledger lines as tables for a warehouse.
 * - In: a store and a day, or the lines that another process read of them.
 * - Out: rows, and Parquet files of them, each day the same.
 * - Never: holds a day in memory, or has a prompt, a completion or a secret in a column.
 */
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { invariant } from "../../../core/lib/base/assert.ts";

/** Types of the cells of a column. */
interface CellTypes {
  readonly text: string;
  /** A safe integer. */
  readonly count: number;
  /** Any finite number. */
  readonly number: number;
  /** µVND, which the file has as a decimal of VND. */
  readonly vnd: bigint;
  /** Milliseconds since 1970, in UTC. */
  readonly time: number;
  readonly flag: boolean;
}

/** The type of a column. */
export type ColumnType = keyof CellTypes;

/** A column: its name, its type, what it means, and its cell of a row. An `undefined` cell is null. */
export type Column<Row> = {
  readonly [Type in ColumnType]: {
    readonly name: string;
    readonly type: Type;
    /** One sentence for the documentation. */
    readonly about: string;
    readonly cell: (row: Row) => CellTypes[Type] | undefined;
  };
}[ColumnType];

/** Types as Parquet stores them. An INT64 with six decimals holds 9 × 10¹² VND. */
const stored: Readonly<Record<ColumnType, Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  count: { type: "INT64" },
  number: { type: "DOUBLE" },
  vnd: { type: "INT64", converted_type: "DECIMAL", precision: 18, scale: 6 },
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  flag: { type: "BOOLEAN" },
};

/** Rows that are in memory at once, some 20 MB. Readers skip what they do not need in units of as many. */
const maxRowsOfGroup = 20_000;

/** Counts and times are INT64, which Parquet takes as `bigint`. */
function encoded(type: ColumnType, cell: CellTypes[ColumnType] | undefined) {
  if (cell === undefined) return null;
  if (typeof cell !== "number" || type === "number") return cell;
  invariant(Number.isSafeInteger(cell), "a number of a table is a safe integer");
  return BigInt(cell);
}

/**
 * Writes a table as one file, a part for each group of rows.
 *
 * @param rowsOfGroup fewer where calls wait while a group is encoded
 * @example
 * ```ts
 * import { parquetFile } from "./parquet.ts";
 * async function* rows() {
 *   yield { name: "Ann", paid: 1_500_000n };
 * }
 * const parts = await Array.fromAsync(parquetFile([
 *   { name: "name", type: "text", about: "Who paid.", cell: ({ name }) => name },
 *   { name: "paid_vnd", type: "vnd", about: "How much.", cell: ({ paid }) => paid },
 * ], rows()));
 * const text = new TextDecoder("latin1").decode(await new Blob(parts).arrayBuffer());
 * if (!text.startsWith("PAR1") || !text.endsWith("PAR1")) throw new Error("no Parquet file");
 * ```
 */
export async function* parquetFile<Row>(
  columns: readonly Column<Row>[],
  rows: AsyncIterable<Row>,
  rowsOfGroup: number = maxRowsOfGroup,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const bytes = new ByteWriter();
  const schema: SchemaElement[] = [
    { name: "root", num_children: columns.length },
    ...columns.map(({ name, type }): SchemaElement => {
      return { name, repetition_type: "OPTIONAL", ...stored[type] };
    }),
  ];
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: "unified model gateway" });
  const taken = () => {
    const part = new Uint8Array(bytes.getBytes());
    bytes.index = 0;
    return part;
  };
  let group: Row[] = [];
  const writeGroup = async () => {
    const columnData = columns.map(({ name, type, cell }) => {
      return { name, data: group.map((row) => encoded(type, cell(row))) };
    });
    await file.write({ columnData, rowGroupSize: rowsOfGroup });
    group = [];
    return taken();
  };
  for await (const row of rows) {
    group.push(row);
    if (group.length === rowsOfGroup) yield await writeGroup();
  }
  if (group.length > 0) yield await writeGroup();
  await file.finish();
  yield taken();
}
