/** JSON Schemas of what the gateway takes and answers, beside the code that reads or writes it. */
import { type Field, fieldsJson } from "./fields.ts";
import type { Json, JsonObject } from "./json.ts";

/** A member of an object, as a schema describes it. */
export interface DescribedMember {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired?: boolean;
}

/** A field of what the gateway answers, and the schema of its value. */
export interface DescribedField<Row> extends Field<Row>, DescribedMember {}

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
    properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
  };
}

/** A field that every answer has. */
export function always<Row>(
  name: string,
  schema: JsonObject,
  value: (row: Row) => Json,
): DescribedField<Row> {
  return { name, isRequired: true, schema, value };
}

/** A field that is left out where it has no value. */
export function optional<Row>(
  name: string,
  schema: JsonObject,
  value: (row: Row) => Json | undefined,
): DescribedField<Row> {
  return { name, schema, value };
}

/** A field that has the same value in every answer. */
export function constant(name: string, value: string | boolean | null): DescribedField<unknown> {
  return always(name, { const: value }, () => value);
}

/** Refers to a schema of the OpenAPI document by its name there. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** A list of values with this schema. */
export function listOf(items: JsonObject): JsonObject {
  return { type: "array", items };
}

/**
 * A field whose value is an object with fields of its own.
 *
 * @param innerOf returns what the object is made of
 * @example
 * ```ts
 * import { fieldsJson } from "./fields.ts";
 * import { always, count, objectField } from "./schemas.ts";
 * const fields = [always<number>("calls", count, (calls) => calls)];
 * const sum = objectField("sum", "A sum.", fields, ({ calls }: { calls: number }) => calls);
 * if (JSON.stringify(fieldsJson([sum], { calls: 2 })) !== '{"sum":{"calls":2}}') throw new Error("wrong");
 * ```
 */
export function objectField<Row, Inner>(
  name: string,
  description: string,
  fields: readonly DescribedField<Inner>[],
  innerOf: (row: Row) => Inner,
): DescribedField<Row> {
  const schema = objectSchema(description, fields);
  return always(name, schema, (row) => fieldsJson(fields, innerOf(row)));
}

/** Optional field of a row that is left out where `innerOf` returns `undefined`. */
export function optionalField<Row, Inner>(
  name: string,
  description: string,
  fields: readonly DescribedField<Inner>[],
  innerOf: (row: Row) => Inner | undefined,
): DescribedField<Row> {
  return optional(name, objectSchema(description, fields), (row) => {
    const inner = innerOf(row);
    return inner === undefined ? undefined : fieldsJson(fields, inner);
  });
}

/** Nullable field of a row that is `null` where `innerOf` returns `undefined`. */
export function nullableField<Row, Inner>(
  name: string,
  description: string,
  fields: readonly DescribedField<Inner>[],
  innerOf: (row: Row) => Inner | undefined,
): DescribedField<Row> {
  return always(name, orNull(objectSchema(description, fields)), (row) => {
    const inner = innerOf(row);
    return inner === undefined ? null : fieldsJson(fields, inner);
  });
}

/** A field whose value is a list of objects with fields of their own; see {@linkcode objectField}. */
export function listField<Row, Inner>(
  name: string,
  description: string,
  fields: readonly DescribedField<Inner>[],
  innersOf: (row: Row) => readonly Inner[],
): DescribedField<Row> {
  const schema = listOf(objectSchema(description, fields));
  return always(name, schema, (row) => innersOf(row).map((inner) => fieldsJson(fields, inner)));
}

/** The schemas of members that some code writes as a literal, by name. */
export type MemberSchemas = Readonly<Record<string, JsonObject>>;

/** An object of such members: a literal with a member that has no schema does not compile. */
export type Written<Members extends MemberSchemas> = { [Name in keyof Members]?: Json };

/**
 * Makes the schema of objects that are written as {@linkcode Written}.
 *
 * @param required the members that every object has
 */
export function writtenSchema<Members extends MemberSchemas>(
  description: string,
  members: Members,
  required: readonly (keyof Members & string)[],
): JsonObject {
  return { type: "object", description, required: [...required], properties: { ...members } };
}

/** Schema of a value, or of `null` where there is none. */
export function orNull(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: "null" }] };
}

/** One page of a list. */
export interface ListPage {
  readonly data: readonly JsonObject[];
  readonly firstId: string | undefined;
  /** The cursor of the next page; of the last page its last row. */
  readonly lastId: string | undefined;
  readonly hasMore: boolean;
}

/**
 * Returns the fields of a page of a list.
 *
 * @param item name of the schema of its rows
 */
export function pageFields(item: string): readonly DescribedField<ListPage>[] {
  return [
    constant("object", "list"),
    always("data", listOf(ref(item)), ({ data }) => [...data]),
    always("first_id", maybeText, ({ firstId }) => firstId ?? null),
    always("last_id", maybeText, ({ lastId }) => lastId ?? null),
    always("has_more", { type: "boolean" }, ({ hasMore }) => hasMore),
  ];
}

/** Any text. */
export const text: JsonObject = { type: "string" };
/** A text, or `null` where there is none. */
export const maybeText: JsonObject = { type: ["string", "null"] };
/** A number of things. */
export const count: JsonObject = { type: "integer", minimum: 0 };
/** A time in ISO 8601. */
export const dateTime: JsonObject = { type: "string", format: "date-time" };

/** Writes a moment as a {@linkcode dateTime}. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** An amount of money. */
export const vnd: JsonObject = {
  type: "string",
  pattern: "^-?\\d+(\\.\\d+)?$",
  description: "An exact amount in VND.",
};
