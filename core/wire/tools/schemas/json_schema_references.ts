/**
 * Adapts references (`$ref`) inside a JSON Schema when the schema moves: they point at places of their document.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { eachChild } from "./json_schema_walk.ts";

const referenceKeywords: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);
const documentKeywords: ReadonlySet<string> = new Set(["$schema", "$id", "$defs", "definitions"]);

/** Whether a member of a schema is a reference. */
export function isReference(key: string, value: Json): value is string {
  return typeof value === "string" && referenceKeywords.has(key);
}

/** Keywords that stay at the root: those about the document, and the definitions that references name. */
export function isDocumentKeyword(key: string): boolean {
  return documentKeywords.has(key);
}

/** Whether a schema is a document of its own, so that references inside it begin there. */
export function isResource(schema: JsonObject): boolean {
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
 * import { movedReference } from "./json_schema_references.ts";
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
 * import { schemaInObject } from "./json_schema_references.ts";
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
