/**
 * Checks that a client's JSON Schema is one. Vendors refuse a whole request for a schema that is not, each in words of
 * its own; what serializers write without meaning (`null`, an empty list of properties) is left out.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { schemaLists, schemaMaps, schemaValues } from "./json_schema.ts";

/** The types of JSON Schema, for which every vendor has a place. */
const types: ReadonlySet<Json> = new Set([
  "object",
  "array",
  "string",
  "number",
  "integer",
  "boolean",
  "null",
]);

const maps: ReadonlySet<string> = new Set(schemaMaps);
const lists: ReadonlySet<string> = new Set(schemaLists);
const values: ReadonlySet<string> = new Set(schemaValues);

/** Keywords for which `null` is a value. */
const data: ReadonlySet<string> = new Set(["const", "default", "example", "examples", "enum"]);

/** Tells the place of what is wrong, below the schema, and why. */
type Refuse = (path: string, why: string) => never;

/**
 * Returns the schema, or the same without what means nothing.
 *
 * @param refuse called with the place of what makes it no JSON Schema
 *
 * @example
 * ```ts
 * import { wellFormed } from "./well_formed.ts";
 * const refuse = (path: string, why: string): never => {
 *   throw new Error(`${path} ${why}`);
 * };
 * const kept = wellFormed({ type: "object", properties: [], required: null }, refuse);
 * if (JSON.stringify(kept) !== '{"type":"object","properties":{}}') throw new Error(JSON.stringify(kept));
 * let refusal = "";
 * try {
 *   wellFormed({ properties: { a: { type: "text" } } }, refuse);
 * } catch (error) {
 *   refusal = String(error);
 * }
 * if (!refusal.includes("properties.a.type is no type")) throw new Error(refusal);
 * ```
 */
export function wellFormed(schema: JsonObject, refuse: Refuse): JsonObject {
  return checked(schema, "", refuse, 0);
}

function checked(schema: JsonObject, at: string, refuse: Refuse, depth: number): JsonObject {
  if (depth > maxJsonDepth) return schema;
  let out = schema;
  for (const key in schema) {
    const value = schema[key];
    if (value === undefined) continue;
    const kept = value === null && !data.has(key)
      ? undefined
      : keyword(key, value, `${at}${key}`, refuse, depth);
    if (kept === value) continue;
    if (out === schema) out = { ...schema };
    if (kept === undefined) delete out[key];
    else out[key] = kept;
  }
  return out;
}

/** Checks the value of one keyword; `undefined` leaves it out. */
function keyword(
  key: string,
  value: Json,
  at: string,
  refuse: Refuse,
  depth: number,
): Json | undefined {
  if (key === "type") {
    const isType = Array.isArray(value)
      ? value.length > 0 && value.every((one) => types.has(one))
      : types.has(value);
    return isType ? value : refuse(at, "is no type");
  }
  if (key === "required") return requiredNames(value, at, refuse);
  if (key === "description" || key === "$ref") {
    return typeof value === "string" ? value : refuse(at, "is no text");
  }
  if (key === "enum" && !Array.isArray(value)) return refuse(at, "is no list");
  if (maps.has(key)) return checkedMap(value, at, refuse, depth);
  if (lists.has(key)) {
    return Array.isArray(value) ? checkedList(value, at, refuse, depth) : refuse(at, "is no list");
  }
  if (!values.has(key)) return value;
  // `items` of the older drafts is a list.
  if (Array.isArray(value)) return checkedList(value, at, refuse, depth);
  return child(value, at, refuse, depth);
}

function requiredNames(value: Json, at: string, refuse: Refuse): Json {
  if (!Array.isArray(value) || !value.every((name) => typeof name === "string")) {
    return refuse(at, "is no list of names");
  }
  const names = new Set(value);
  return names.size === value.length ? value : [...names];
}

/** Some languages write an empty map as an empty list. */
function checkedMap(value: Json, at: string, refuse: Refuse, depth: number): Json {
  if (Array.isArray(value) && value.length === 0) return {};
  if (!isJsonObject(value)) return refuse(at, "is no object");
  let out = value;
  for (const name in value) {
    const one = value[name];
    if (one === undefined) continue;
    const kept = child(one, `${at}.${name}`, refuse, depth);
    if (kept === one) continue;
    if (out === value) out = { ...value };
    out[name] = kept;
  }
  return out;
}

function checkedList(value: Json[], at: string, refuse: Refuse, depth: number): Json[] {
  const kept = value.map((one, i) => child(one, `${at}.${i}`, refuse, depth));
  return kept.every((one, i) => one === value[i]) ? value : kept;
}

function child(value: Json, at: string, refuse: Refuse, depth: number): Json {
  if (isJsonObject(value)) return checked(value, `${at}.`, refuse, depth + 1);
  return typeof value === "boolean" ? value : refuse(at, "is no schema");
}
