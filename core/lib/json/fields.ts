/**
 * Fields of what the gateway publishes: a list names each field once, and JSON and CSV are loops over it. The order of
 * the list is the order of both.
 */
import type { CsvColumn, CsvValue } from "../base/csv.ts";
import type { Json, JsonObject } from "./json.ts";

/** One field. */
export interface Field<Row> {
  /** The name of the member in JSON. */
  readonly name: string;
  /** The value of the member; `undefined` leaves it out. */
  readonly value: (row: Row) => Json | undefined;
  /**
   * Its columns in CSV: the value as text under the same name or under another one, or columns with cells of their own.
   * Absent: none.
   */
  readonly csv?: true | string | readonly CsvColumn<Row>[];
}

/**
 * Writes a record as JSON.
 *
 * @example
 * ```ts
 * import { type Field, fieldColumns, fieldsJson } from "./fields.ts";
 * const fields: Field<{ id: number; note?: string }>[] = [
 *   { name: "id", value: ({ id }) => id, csv: "key" },
 *   { name: "note", value: ({ note }) => note },
 * ];
 * if (JSON.stringify(fieldsJson(fields, { id: 1 })) !== '{"id":1}') throw new Error("wrong");
 * if (fieldColumns(fields).map(({ name }) => name).join() !== "key") throw new Error("wrong columns");
 * ```
 */
export function fieldsJson<Row>(fields: readonly Field<Row>[], row: Row): JsonObject {
  const json: JsonObject = {};
  for (const { name, value } of fields) {
    const member = value(row);
    if (member !== undefined) json[name] = member;
  }
  return json;
}

function cellOf(value: Json | undefined): CsvValue {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** Returns the columns of fields, in their order. */
export function fieldColumns<Row>(fields: readonly Field<Row>[]): CsvColumn<Row>[] {
  return fields.flatMap(({ name, value, csv }) => {
    if (csv === undefined) return [];
    if (typeof csv === "object") return csv;
    return [{ name: csv === true ? name : csv, cell: (row: Row) => cellOf(value(row)) }];
  });
}
