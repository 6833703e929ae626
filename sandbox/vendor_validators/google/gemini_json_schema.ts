/** Rules of the Gemini vendor for JSON Schemas of tools and answers: only a part of the standard is known. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { maxJsonDepth } from "../../../core/lib/json/scan/limits.ts";

const known: ReadonlySet<string> = new Set([
  // The vendor's own agent sends it with its tools.
  "$schema",
  ...["$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum"],
  ...["items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf"],
  ...["pattern", "minLength", "maxLength", "uniqueItems"],
  ...["properties", "additionalProperties", "required", "propertyOrdering"],
]);

/** Finds the first keyword that the vendor does not know; `undefined` if it takes the schema. */
export function schemaProblem(schema: Json | undefined, depth = 0): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  if (depth > maxJsonDepth) return "schema is nested too deeply";
  for (const key of Object.keys(schema)) {
    if (!known.has(key)) return `Unknown name "${key}" in a JSON schema`;
  }
  const { type } = schema;
  if (typeof type === "string" && type !== type.toLowerCase()) return `Unknown type "${type}"`;
  for (const child of childrenOf(schema)) {
    const problem = schemaProblem(child, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function childrenOf(schema: JsonObject): (Json | undefined)[] {
  const lists = [schema["anyOf"], schema["oneOf"], schema["prefixItems"]];
  const maps = [schema["properties"], schema["$defs"]];
  return [
    schema["items"],
    schema["additionalProperties"],
    ...lists.flatMap((list) => Array.isArray(list) ? list : []),
    ...maps.flatMap((map) => isJsonObject(map) ? Object.values(map) : []),
  ];
}
