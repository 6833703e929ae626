/** Walks the schemas inside a JSON Schema, apart from data that merely looks like a schema. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";

/** Calls `visit` on every schema object inside `schema`, itself included; stops early when it returns `false`. */
export function everySchema(
  schema: Json | undefined,
  visit: (schema: JsonObject) => boolean,
  depth = 0,
): boolean {
  if (!isJsonObject(schema)) return true;
  if (depth > maxJsonDepth || !visit(schema)) return false;
  return children(schema).every((child) => everySchema(child, visit, depth + 1));
}

const schemaMaps = [
  "properties",
  "$defs",
  "definitions",
  "patternProperties",
  "dependentSchemas",
] as const;
const schemaLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
const schemaValues = [
  "items",
  "not",
  "additionalProperties",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "additionalItems",
  "unevaluatedItems",
  "unevaluatedProperties",
] as const;

function children(schema: JsonObject): Json[] {
  const found: Json[] = [];
  for (const key of schemaMaps) {
    const map = schema[key];
    if (isJsonObject(map)) { for (const child of Object.values(map)) found.push(child ?? null); }
  }
  for (const key of schemaLists) {
    const list = schema[key];
    if (Array.isArray(list)) found.push(...list);
  }
  for (const key of schemaValues) {
    const child = schema[key];
    if (isJsonObject(child)) found.push(child);
    else if (Array.isArray(child)) found.push(...child); // `items` of the older drafts
  }
  return found;
}

/**
 * Applies `change` to the schemas in a member of a schema. Data that looks like a schema (`const`, `enum`, `default`)
 * stays unchanged.
 */
export function eachChild(
  key: string,
  value: Json,
  change: (child: JsonObject) => JsonObject,
): Json {
  const changed = (child: Json | undefined): Json =>
    isJsonObject(child) ? change(child) : child ?? null;
  if (schemaMaps.some((name) => name === key) && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, changed(child)]),
    );
  }
  const isList = schemaLists.some((name) => name === key);
  if (!isList && !schemaValues.some((name) => name === key)) return value;
  return Array.isArray(value) ? value.map(changed) : isList ? value : changed(value);
}
