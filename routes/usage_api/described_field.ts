/** Fields of the answers of the usage API, each with its schema, from which the OpenAPI document is built. */
import type { Field } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";

/** A field and the JSON Schema of its value. */
export interface DescribedField<Row> extends Field<Row> {
  readonly schema: JsonObject;
}

/** Returns the `properties` of the schema of an object with these fields. */
export function propertiesOf<Row>(fields: readonly DescribedField<Row>[]): JsonObject {
  return Object.fromEntries(fields.map(({ name, schema }) => [name, schema]));
}

// Schemas that several fields have.

export const text: JsonObject = { type: "string" };
export const maybeText: JsonObject = { type: ["string", "null"] };
export const count: JsonObject = { type: "integer", minimum: 0 };
export const dateTime: JsonObject = { type: "string", format: "date-time" };
export const vnd: JsonObject = {
  type: "string",
  pattern: "^-?\\d+(\\.\\d+)?$",
  description: "An exact amount in VND.",
};
