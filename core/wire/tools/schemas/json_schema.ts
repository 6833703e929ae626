/**
 * Examines a client's JSON Schema, and makes the few changes that vendors require. Everything else in a schema passes
 * unchanged.
 *
 * - Folder `core/wire/tools/schemas/`: JSON Schemas of tools and of structured answers.
 * - In: the schema of a client.
 * - Out: the same schema in the form that a vendor takes, and verdicts on strict modes.
 * - Never: validates a value against a schema, or fetches what a reference names.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";

// Walks the schemas inside a JSON Schema, apart from data that merely looks like a schema.

/** Calls `visit` on every schema object inside `schema`, itself included; stops early when it returns `false`. */
function everySchema(
  schema: Json | undefined,
  visit: (schema: JsonObject) => boolean,
  depth = 0,
): boolean {
  if (!isJsonObject(schema)) return true;
  if (depth > maxJsonDepth || !visit(schema)) return false;
  return children(schema).every((child) => everySchema(child, visit, depth + 1));
}

/** Keywords that hold schemas by name. */
export const schemaMaps = [
  "properties",
  "$defs",
  "definitions",
  "patternProperties",
  "dependentSchemas",
] as const;
/** Keywords that hold a list of schemas. */
export const schemaLists = ["anyOf", "oneOf", "allOf", "prefixItems"] as const;
/** Keywords whose value is a schema. */
export const schemaValues = [
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

// Adapts references (`$ref`) inside a JSON Schema when the schema moves: they point at places of their document.

const referenceKeywords: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);
const documentKeywords: ReadonlySet<string> = new Set(["$schema", "$id", "$defs", "definitions"]);

/** Whether a member of a schema is a reference. */
function isReference(key: string, value: Json): value is string {
  return typeof value === "string" && referenceKeywords.has(key);
}

/** Keywords that stay at the root: those about the document, and the definitions that references name. */
function isDocumentKeyword(key: string): boolean {
  return documentKeywords.has(key);
}

/** Whether a schema is a document of its own, so that references inside it begin there. */
function isResource(schema: JsonObject): boolean {
  const id = schema["$id"];
  return typeof id === "string" && !id.startsWith("#");
}

/**
 * Changes a reference for the moves on its path. References to anchors and other documents stay unchanged.
 *
 * @param root the document before the move
 * @param detour what now lies between a schema and the next step from it, as a pointer; empty: nothing
 *
 * @example
 * ```ts
 * import { movedReference } from "./json_schema.ts";
 * const root = { properties: { a: { items: {} } } };
 * const moved = movedReference(root, "#/properties/a/items", (schema) => schema === root ? "/not" : "");
 * if (moved !== "#/not/properties/a/items") throw new Error(moved);
 * ```
 */
export function movedReference(
  root: JsonObject,
  reference: string,
  detour: (schema: JsonObject, step: string) => string,
): string {
  if (!reference.startsWith("#/")) return reference;
  let moved = "#";
  let at: Json | undefined = root;
  for (const written of reference.slice(2).split("/")) {
    const step = readStep(written);
    if (isJsonObject(at)) moved += detour(at, step);
    moved += `/${written}`;
    at = isJsonObject(at) ? at[step] : Array.isArray(at) ? at[Number(step)] : undefined;
  }
  return moved;
}

/**
 * Wraps a schema in an object with one property. Definitions stay at the root, and references keep their meaning.
 *
 * @example
 * ```ts
 * import { schemaInObject } from "./json_schema.ts";
 * const list = { anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }], $defs: { a: { items: { $ref: "#" } } } };
 * const { properties, $defs } = schemaInObject(list, "input");
 * const text = JSON.stringify([properties, $defs]);
 * if (!text.includes('{"$ref":"#/$defs/a"}') || !text.includes('{"$ref":"#/properties/input"}')) throw new Error(text);
 * ```
 */
export function schemaInObject(schema: JsonObject, property: string): JsonObject {
  const document: JsonObject = {};
  const inner: JsonObject = {};
  const place = `#/properties/${property}`;
  for (const [key, value] of Object.entries(withPlace(schema, schema, place, 0))) {
    (isDocumentKeyword(key) ? document : inner)[key] = value;
  }
  return {
    type: "object",
    properties: { [property]: inner },
    required: [property],
    additionalProperties: false,
    ...document,
  };
}

/** Adapts the references of a schema whose root moves to `place`. */
function withPlace(
  schema: JsonObject,
  root: JsonObject,
  place: string,
  depth: number,
): JsonObject {
  if (depth > maxJsonDepth || (depth > 0 && isResource(schema))) return schema;
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    out[key] = isReference(key, value)
      ? referenceAfterMove(root, value, place)
      : eachChild(key, value, (child) => withPlace(child, root, place, depth + 1));
  }
  return out;
}

function referenceAfterMove(root: JsonObject, reference: string, place: string): string {
  if (reference === "#") return place;
  return movedReference(
    root,
    reference,
    (schema, step) => schema === root && !isDocumentKeyword(step) ? place.slice(1) : "",
  );
}

/** Decodes one step of a pointer into the key that it names. */
function readStep(written: string): string {
  let key = written;
  try {
    key = decodeURIComponent(written);
  } catch {
    // A lone `%` is not an escape, so it is taken literally.
  }
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object" || isJsonObject(schema["properties"]) ||
    (Array.isArray(schema["type"]) && schema["type"].includes("object"));
}

/** Keywords that Chat and Responses cannot compile into a grammar. */
const refusedByChat = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
] as const;

/**
 * Whether Chat and Responses accept the schema as `strict`.
 *
 * They require an object at the root, every object closed and with all its properties required,
 * every list with its items, and none of the keywords that they refuse.
 *
 * @example
 * ```ts
 * import { allowsStrictChat } from "./json_schema.ts";
 * const open = { type: "object", properties: { a: { type: "string" } } };
 * if (allowsStrictChat(open)) throw new Error("an open object cannot be strict");
 * if (!allowsStrictChat({ ...open, required: ["a"], additionalProperties: false })) throw new Error("closed");
 * ```
 */
export function allowsStrictChat(schema: JsonObject): boolean {
  return schema["type"] === "object" && everySchema(schema, (inner) => {
    if (refusedByChat.some((key) => inner[key] !== undefined)) return false;
    if (isList(inner) && inner["items"] === undefined) return false;
    if (!isObjectSchema(inner)) return true;
    if (inner["additionalProperties"] !== false) return false;
    const required = inner["required"];
    const listed = Array.isArray(required) ? required : [];
    const properties = inner["properties"];
    return !isJsonObject(properties) ||
      Object.keys(properties).every((key) => listed.includes(key));
  });
}

/** Keywords that Messages cannot compile into a grammar. */
const refusedKeywords = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
] as const;

/** Whether Messages takes the schema as `strict` (it compiles it into a grammar). */
export function allowsStrictMessages(schema: JsonObject): boolean {
  return everySchema(
    schema,
    (inner) =>
      (!isObjectSchema(inner) || inner["additionalProperties"] === false) &&
      !Array.isArray(inner["type"]) && inner["oneOf"] === undefined &&
      inner["patternProperties"] === undefined &&
      refusedKeywords.every((key) => inner[key] === undefined),
  );
}

/**
 * Adapts a schema for structured output of Messages: keywords that its grammar refuses move into the description, which
 * the model reads; objects are closed.
 *
 * @example
 * ```ts
 * import { messagesFormatSchema } from "./json_schema.ts";
 * const schema = messagesFormatSchema({ type: "object", properties: { n: { type: "integer", minimum: 1 } } });
 * if (JSON.stringify(schema["properties"]) !== '{"n":{"type":"integer","description":"minimum: 1"}}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function messagesFormatSchema(schema: JsonObject): JsonObject {
  return allowsStrictMessages(schema) ? schema : closed(schema, schema, 0);
}

/** Adapts one schema; `root` is where the references inside it begin. */
function closed(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const from = isResource(schema) ? schema : root;
  const out: JsonObject = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    if (refusedKeywords.some((refused) => refused === key)) {
      told.push(`${key}: ${stringifyExactly(value)}`);
    } else if (isReference(key, value)) {
      out[key] = referenceAfterSplit(from, value);
    } else {
      out[key] = eachChild(key, value, (child) => closed(child, from, depth + 1));
    }
  }
  if (isObjectSchema(schema)) out["additionalProperties"] = false;
  if (told.length > 0) {
    const description = schema["description"];
    const before = typeof description === "string" && description !== "" ? [description] : [];
    out["description"] = [...before, told.join(", ")].join("\n");
  }
  return Array.isArray(schema["type"]) ? splitTypes(out, schema["type"]) : out;
}

/** Writes a list of types such as `["string", "null"]`, which is refused, as `anyOf`. */
function splitTypes(schema: JsonObject, types: readonly Json[]): JsonObject {
  if (schema["anyOf"] !== undefined) return schema;
  const shared: JsonObject = {};
  const rest: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "description" || isDocumentKeyword(key)) shared[key] = value;
    else rest[key] = value;
  }
  const variants = types.map((type) => type === "null" ? { type } : { ...rest, type });
  return { ...shared, anyOf: variants };
}

/** Adapts a pointer through a schema whose list of types was split: its content is in the variants now. */
function referenceAfterSplit(root: JsonObject, reference: string): string {
  return movedReference(root, reference, (schema, step) => {
    const types = schema["type"];
    if (!Array.isArray(types) || schema["anyOf"] !== undefined) return "";
    if (step === "description" || isDocumentKeyword(step)) return "";
    return `/anyOf/${types.findIndex((type) => type !== "null")}`;
  });
}

/** Whether a schema is an object without a union at its top, as vendors require of tools. */
export function hasObjectRoot(schema: JsonObject): boolean {
  const type = schema["type"];
  return (type === undefined || type === "object") &&
    ["anyOf", "oneOf", "allOf"].every((key) => schema[key] === undefined);
}

/**
 * Completes the schema of a function's arguments as Chat and Responses require: an object with `properties`, and lists
 * with `items`. A schema that lacks nothing is returned as the same object.
 *
 * @example
 * ```ts
 * import { functionParameters } from "./json_schema.ts";
 * const schema = functionParameters({ type: "object", properties: { a: { type: "array" } } });
 * if (JSON.stringify(schema["properties"]) !== '{"a":{"type":"array","items":{}}}') {
 *   throw new Error(JSON.stringify(schema));
 * }
 * ```
 */
export function functionParameters(schema: JsonObject | undefined): JsonObject {
  const { type = "object", properties = {}, ...rest } = schema ?? {};
  const whole = schema !== undefined && schema["properties"] !== undefined &&
      schema["type"] !== undefined
    ? schema
    : { type, properties, ...rest };
  return everySchema(whole, (inner) => !isBareList(inner)) ? whole : withItems(whole, 0);
}

function isList(schema: JsonObject): boolean {
  const type = schema["type"];
  return type === "array" || (Array.isArray(type) && type.includes("array"));
}

function isBareList(schema: JsonObject): boolean {
  return isList(schema) && schema["items"] === undefined && schema["prefixItems"] === undefined;
}

function withItems(schema: JsonObject, depth: number): JsonObject {
  if (depth > maxJsonDepth) return schema;
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (value !== undefined) {
      out[key] = eachChild(key, value, (child) => withItems(child, depth + 1));
    }
  }
  if (isBareList(schema)) out["items"] = {};
  return out;
}
