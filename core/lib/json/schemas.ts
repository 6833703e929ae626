/** JSON Schemas of what the gateway takes and answers, beside the code that reads or writes it. */
import type { Field } from "./fields.ts";
import type { JsonObject } from "./json.ts";

/** A member of an object, as a schema describes it. */
export interface DescribedMember {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired?: boolean;
}

/** A field of what the gateway answers, and the schema of its value. */
export interface DescribedField<Row> extends Field<Row>, DescribedMember {}

/** Returns the `properties` of the schema of an object with these members. */
export function propertiesOf(members: readonly DescribedMember[]): JsonObject {
  return Object.fromEntries(members.map(({ name, schema }) => [name, schema]));
}

/**
 * Makes the schema of an object with these members.
 *
 * @example
 * ```ts
 * import { count, objectSchema } from "./schemas.ts";
 * const schema = objectSchema("A sum.", [{ name: "calls", schema: count, isRequired: true }]);
 * if (JSON.stringify(schema["required"]) !== '["calls"]') throw new Error("wrong");
 * ```
 */
export function objectSchema(description: string, members: readonly DescribedMember[]): JsonObject {
  return {
    type: "object",
    description,
    required: members.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    properties: propertiesOf(members),
  };
}

/** Any text. */
export const text: JsonObject = { type: "string" };
/** A text, or `null` where there is none. */
export const maybeText: JsonObject = { type: ["string", "null"] };
/** A number of things. */
export const count: JsonObject = { type: "integer", minimum: 0 };
/** A time in ISO 8601. */
export const dateTime: JsonObject = { type: "string", format: "date-time" };
