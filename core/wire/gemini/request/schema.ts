/**
 * Adapts JSON Schemas to the part of the standard that this vendor takes, and reads its own older form of a schema.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-schemas.
 */
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { eachChild } from "../../tools/schemas/json_schema_walk.ts";

/** Keywords that the vendor takes. */
const taken: ReadonlySet<string> = new Set([
  "$id",
  "$defs",
  "$ref",
  "$anchor",
  "type",
  "format",
  "title",
  "description",
  "enum",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "pattern",
  "minLength",
  "maxLength",
  "uniqueItems",
  "anyOf",
  "oneOf",
  "properties",
  "additionalProperties",
  "required",
  "propertyOrdering",
]);

/** Keywords without which a schema accepts the same values, and the model knows the same. */
const meaningless: ReadonlySet<string> = new Set(["$schema", "$comment"]);

/** Keywords that restrict nothing: the description says the same to the model. */
const advice: ReadonlySet<string> = new Set(["default", "examples"]);

/** A schema that the vendor takes. */
export interface CarriedSchema {
  readonly schema: JsonObject;
  /** Whether it keeps less than the client's: the rest is told to the model in descriptions. */
  readonly isLoose: boolean;
}

/**
 * Adapts a schema: keywords that the vendor does not take move into the description, which the model reads.
 *
 * @example
 * ```ts
 * import { carriedSchema } from "./schema.ts";
 * const { schema, isLoose } = carriedSchema({ type: "string", not: {}, const: "ab" });
 * if (!isLoose || JSON.stringify(schema) !== '{"type":"string","enum":["ab"],"description":"not: {}"}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function carriedSchema(schema: JsonObject): CarriedSchema {
  const state = { isLoose: false };
  const adapted = adapt(schema, state, 0);
  return { schema: adapted, isLoose: state.isLoose };
}

function adapt(schema: JsonObject, state: { isLoose: boolean }, depth: number): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const out: JsonObject = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || meaningless.has(key)) continue;
    if (key === "definitions") {
      out["$defs"] = eachChild(key, value, (child) => adapt(child, state, depth + 1));
    } else if (key === "$ref" && typeof value === "string") {
      out[key] = value.replace(/^#\/definitions\//, "#/$defs/");
    } else if (key === "const" && (typeof value === "string" || typeof value === "number")) {
      out["enum"] = [value];
    } else if (!taken.has(key)) {
      told.push(`${key}: ${stringifyExactly(value)}`);
      if (!advice.has(key)) state.isLoose = true;
    } else out[key] = eachChild(key, value, (child) => adapt(child, state, depth + 1));
  }
  if (told.length === 0) return out;
  const { description } = schema;
  const before = typeof description === "string" && description !== "" ? [description] : [];
  return { ...out, description: [...before, told.join(", ")].join("\n") };
}

/**
 * Reads the vendor's own form of a schema as a JSON Schema: its types are upper case, bounds are texts, and `nullable`
 * is a member.
 *
 * @example
 * ```ts
 * import { jsonSchemaOf } from "./schema.ts";
 * const schema = jsonSchemaOf({ type: "OBJECT", properties: { a: { type: "STRING", nullable: true, maxLength: "3" } } });
 * if (JSON.stringify(schema) !== '{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":3}}}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function jsonSchemaOf(schema: JsonObject, depth = 0): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined || key === "nullable" || key === "propertyOrdering") continue;
    if (key === "type") out[key] = typeOf(value, schema["nullable"] === true);
    else if (key === "example") out["examples"] = [value];
    else if (counts.has(key)) out[key] = countOf(value);
    else out[key] = eachChild(key, value, (child) => jsonSchemaOf(child, depth + 1));
  }
  return out;
}

const counts: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

function countOf(value: Json): Json {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

function typeOf(type: Json, nullable: boolean): Json {
  if (typeof type !== "string") return type;
  const name = type.toLowerCase();
  return nullable ? [name, "null"] : name;
}
