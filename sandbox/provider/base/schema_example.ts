/** Makes example values from JSON Schemas, for structured answers and arguments of tools. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";

/** Maximum number of values in an example, since a recursive schema would never end. */
const maxSchemaNodes = 10_000;

/** Maximum nesting of an example: deeper than usual schemas, and an end for recursive ones. */
const maxDepth = 12;

/**
 * Makes a value that fits a JSON Schema, always the same: from `const` and `enum`, then `default`, then the simplest
 * value within the bounds. It ignores `pattern`. Optional members are included, so that clients see every field.
 *
 * @example
 * ```ts
 * import { exampleOf } from "./schema_example.ts";
 * const example = exampleOf({ type: "object", properties: { unit: { enum: ["C", "F"] }, days: { type: "integer", minimum: 3 } } });
 * if (JSON.stringify(example) !== '{"unit":"C","days":3}') throw new Error(JSON.stringify(example));
 * ```
 */
export function exampleOf(schema: JsonObject): Json {
  return example(schema, { root: schema, nodesLeft: maxSchemaNodes }, "value", 0);
}

interface Walk {
  /** The schema that a `$ref` starts from. */
  readonly root: JsonObject;
  nodesLeft: number;
}

function example(schema: Json | undefined, walk: Walk, name: string, depth: number): Json {
  if (walk.nodesLeft-- <= 0 || !isJsonObject(schema) || depth > maxDepth) {
    return schema === true ? name : null;
  }
  const target = resolve(schema, walk);
  if (target !== undefined) return example(target, walk, name, depth + 1);
  if (typeof schema["$ref"] === "string") return null;
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return schema["enum"][0] ?? null;
  if (schema["default"] !== undefined) return schema["default"];
  for (const word of ["anyOf", "oneOf"]) {
    const options = schema[word];
    if (Array.isArray(options)) {
      return example(withBase(schema, simplest(options), word), walk, name, depth + 1);
    }
  }
  const all = schema["allOf"];
  if (Array.isArray(all)) return example(merged(schema, all, walk), walk, name, depth + 1);
  switch (typeOf(schema)) {
    case "object":
      return exampleObject(schema, walk, depth);
    case "array":
      return exampleArray(schema, walk, name, depth);
    case "string":
      return exampleString(schema, name);
    case "integer":
    case "number":
      return exampleNumber(schema);
    case "boolean":
      return true;
    default:
      return null;
  }
}

function resolve(schema: JsonObject, walk: Walk): JsonObject | undefined {
  const reference = schema["$ref"];
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  let at: Json | undefined = walk.root;
  for (const step of reference.slice(1).split("/").filter((step) => step !== "")) {
    at = isJsonObject(at) ? at[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return isJsonObject(at) ? at : undefined;
}

/** Prefers an option with a plain type, so that recursion ends sooner. */
function simplest(options: readonly Json[]): Json {
  const plain = options.find((option) =>
    isJsonObject(option) && typeof option["type"] === "string"
  );
  return plain ?? options[0] ?? null;
}

function withBase(schema: JsonObject, option: Json, word: string): JsonObject {
  const { [word]: _, ...base } = schema;
  return isJsonObject(option) ? { ...base, ...option } : base;
}

function merged(schema: JsonObject, all: readonly Json[], walk: Walk): JsonObject {
  const { allOf: _, ...base } = schema;
  let result: JsonObject = base;
  for (const part of all) {
    if (!isJsonObject(part)) continue;
    const resolved = resolve(part, walk) ?? part;
    const properties = { ...object(result["properties"]), ...object(resolved["properties"]) };
    result = { ...result, ...resolved, properties };
  }
  return result;
}

function object(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function typeOf(schema: JsonObject): Json | undefined {
  const type = schema["type"];
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? "null";
  if (type !== undefined) return type;
  if (isJsonObject(schema["properties"])) return "object";
  return schema["items"] !== undefined ? "array" : "string";
}

function exampleObject(schema: JsonObject, walk: Walk, depth: number): JsonObject {
  const properties = object(schema["properties"]);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const result: JsonObject = {};
  for (const [name, member] of Object.entries(properties)) {
    if (walk.nodesLeft <= 0) return result;
    // Deeper optional members are left out, so that recursive schemas end.
    if (depth > 3 && !required.includes(name)) continue;
    result[name] = example(member, walk, name, depth + 1);
  }
  for (const name of required) {
    if (typeof name === "string" && !Object.hasOwn(properties, name)) result[name] = name;
  }
  return result;
}

function exampleArray(schema: JsonObject, walk: Walk, name: string, depth: number): Json[] {
  const fixed = schema["prefixItems"];
  if (Array.isArray(fixed)) return fixed.map((item) => example(item, walk, name, depth + 1));
  const least = number(schema["minItems"]) ?? 1;
  const most = number(schema["maxItems"]) ?? Infinity;
  const length = Math.min(
    depth > 3 ? (number(schema["minItems"]) ?? 0) : Math.max(1, least),
    most,
    32,
  );
  return Array.from({ length }, () => example(schema["items"] ?? {}, walk, name, depth + 1));
}

const formats: Readonly<Record<string, string>> = {
  "date": "2026-01-02",
  "time": "03:04:05Z",
  "date-time": "2026-01-02T03:04:05Z",
  "email": "someone@example.com",
  "uri": "https://example.com/",
  "hostname": "example.com",
  "ipv4": "192.0.2.1",
  "ipv6": "2001:db8::1",
  "uuid": "00000000-0000-4000-8000-000000000000",
};

function exampleString(schema: JsonObject, name: string): string {
  const format = schema["format"];
  const known = typeof format === "string" && Object.hasOwn(formats, format)
    ? formats[format]
    : undefined;
  const text = known ?? name;
  const least = Math.min(number(schema["minLength"]) ?? 0, 10_000);
  const most = number(schema["maxLength"]) ?? Infinity;
  return text.padEnd(least, "x").slice(0, most);
}

function exampleNumber(schema: JsonObject): number {
  const step = number(schema["multipleOf"]) ?? (schema["type"] === "integer" ? 1 : 0);
  const above = number(schema["exclusiveMinimum"]);
  const below = number(schema["exclusiveMaximum"]);
  const nudge = step > 0 ? step : 0.5;
  const least = number(schema["minimum"]) ?? (above === undefined ? -Infinity : above + nudge);
  const most = number(schema["maximum"]) ?? (below === undefined ? Infinity : below - nudge);
  const wanted = Math.min(Math.max(1, least), most);
  if (step <= 0) return wanted;
  const up = Math.ceil(wanted / step) * step;
  return up <= most ? up : Math.floor(wanted / step) * step;
}

function number(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
