/**
 * Rules of the vendors for JSON Schemas of tools and structured answers. Each rule is a refusal seen in practice, with
 * the same meaning and a similar wording.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { maxJsonDepth } from "../../../core/lib/json/scan/limits.ts";

/** A problem inside a schema: its path and message. */
export interface SchemaProblem {
  readonly path: readonly string[];
  readonly message: string;
}

type Visit = (schema: JsonObject, path: readonly string[]) => SchemaProblem | undefined;

const childSchemas = ["items", "additionalProperties", "not", "contains", "propertyNames"] as const;
const childLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
const childMaps = ["properties", "$defs", "definitions", "patternProperties"] as const;

/** Calls `visit` for a schema and everything below it, outermost first, until one reports a problem. */
function walk(
  schema: Json | undefined,
  path: readonly string[],
  visit: Visit,
): SchemaProblem | undefined {
  if (!isJsonObject(schema)) return undefined;
  if (path.length > maxJsonDepth) return { path, message: "nested too deeply" };
  const own = visit(schema, path);
  if (own !== undefined) return own;
  for (const [key, child] of children(schema)) {
    const below = walk(child, [...path, ...key], visit);
    if (below !== undefined) return below;
  }
  return undefined;
}

function children(schema: JsonObject): [string[], Json | undefined][] {
  const found: [string[], Json | undefined][] = [];
  for (const key of childSchemas) found.push([[key], schema[key]]);
  for (const key of childLists) {
    const list = schema[key];
    if (Array.isArray(list)) list.forEach((item, i) => found.push([[key, String(i)], item]));
  }
  for (const key of childMaps) {
    const map = schema[key];
    if (!isJsonObject(map)) continue;
    for (const [name, item] of Object.entries(map)) found.push([[key, name], item]);
  }
  return found;
}

function isType(schema: JsonObject, type: string): boolean {
  const own = schema["type"];
  return own === type || (Array.isArray(own) && own.includes(type));
}

const jsonTypes = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

function checkWellFormed(schema: JsonObject, path: readonly string[]): SchemaProblem | undefined {
  const type = schema["type"];
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (!types.every((one) => typeof one === "string" && jsonTypes.has(one))) {
    return { path: [...path, "type"], message: "JSON schema is invalid: unknown type" };
  }
  const required = schema["required"];
  if (required !== undefined && !isUniqueStrings(required)) {
    return { path: [...path, "required"], message: "JSON schema is invalid: not unique strings" };
  }
  const properties = schema["properties"];
  if (properties !== undefined && !isJsonObject(properties)) {
    return { path: [...path, "properties"], message: "JSON schema is invalid: not an object" };
  }
  return undefined;
}

function isUniqueStrings(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string") &&
    new Set(value).size === value.length;
}

/** Checks the `input_schema` of a custom Messages tool. */
export function messagesToolSchemaProblem(schema: JsonObject): SchemaProblem | undefined {
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    if (schema[key] !== undefined) {
      return {
        path: [],
        message: "input_schema does not support oneOf, allOf, or anyOf at the top level",
      };
    }
  }
  const properties = schema["properties"];
  if (isJsonObject(properties)) {
    const odd = Object.keys(properties).find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
    if (odd !== undefined) {
      return {
        path: ["properties"],
        message: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
      };
    }
  }
  return walk(schema, [], checkWellFormed);
}

const notInMessagesGrammar = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "oneOf",
  "patternProperties",
] as const;

/** Checks a schema that the Messages vendor compiles to a grammar: of strict tools and `output_config.format`. */
export function messagesGrammarProblem(schema: JsonObject): SchemaProblem | undefined {
  return walk(schema, [], (part, path) => {
    const malformed = checkWellFormed(part, path);
    if (malformed !== undefined) return malformed;
    const refused = notInMessagesGrammar.find((key) => part[key] !== undefined);
    if (refused !== undefined) {
      return {
        path,
        message: `For '${String(part["type"])}' type, property '${refused}' is not supported`,
      };
    }
    if (Array.isArray(part["type"])) return { path, message: "type lists are not supported" };
    if (isType(part, "object") && part["additionalProperties"] !== false) {
      return {
        path,
        message: "For 'object' type, 'additionalProperties' must be explicitly set to false",
      };
    }
    return undefined;
  });
}

/** Checks the `parameters` of a Chat or Responses function that is not strict. */
export function functionSchemaProblem(schema: JsonObject): SchemaProblem | undefined {
  if (schema["type"] !== "object") {
    return { path: [], message: `schema must be a JSON Schema of 'type: "object"'` };
  }
  if (!isJsonObject(schema["properties"])) {
    return { path: [], message: "object schema missing properties" };
  }
  return walk(schema, [], (part, path) => {
    const malformed = checkWellFormed(part, path);
    if (malformed !== undefined) return malformed;
    if (isType(part, "array") && part["items"] === undefined && part["prefixItems"] === undefined) {
      return { path, message: "array schema missing items" };
    }
    return undefined;
  });
}

const notInFunctionGrammar = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
] as const;

/** Checks a strict schema of Chat or Responses: of a function, or of `json_schema` output. */
export function strictSchemaProblem(schema: JsonObject): SchemaProblem | undefined {
  if (schema["type"] !== "object") {
    return { path: [], message: `schema must be a JSON Schema of 'type: "object"'` };
  }
  return walk(schema, [], (part, path) => {
    const malformed = checkWellFormed(part, path);
    if (malformed !== undefined) return malformed;
    const refused = notInFunctionGrammar.find((key) => part[key] !== undefined);
    if (refused !== undefined) return { path, message: `'${refused}' is not permitted` };
    if (isType(part, "array") && part["items"] === undefined) {
      return { path, message: "array schema missing items" };
    }
    return isType(part, "object") ? closedObjectProblem(part, path) : undefined;
  });
}

function closedObjectProblem(part: JsonObject, path: readonly string[]): SchemaProblem | undefined {
  if (part["additionalProperties"] !== false) {
    return { path, message: "'additionalProperties' is required to be supplied and to be false" };
  }
  const properties = isJsonObject(part["properties"]) ? Object.keys(part["properties"]) : [];
  const required = Array.isArray(part["required"]) ? part["required"] : [];
  const missing = properties.find((name) => !required.includes(name));
  if (missing === undefined) return undefined;
  return {
    path,
    message: "'required' is required to be supplied and to be an array including every key in " +
      `properties. Missing '${missing}'`,
  };
}
