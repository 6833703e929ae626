/** The fields of a media request, in one form for JSON and multipart bodies. */
import { refuseOtherSpelling } from "./json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { maxModelNameChars } from "../../lib/base/limits.ts";
import { type FormPart, partText } from "./multipart.ts";
import { type MediaReference, readFile, readReference } from "./reference.ts";

type FieldValue =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "file"; readonly bytes: Uint8Array };

/**
 * All values by name. A repeated field of a form gives several values, JSON one (possibly an
 * array); `null` gives none. The spellings that SDKs use in forms (`image[]`,
 * `input_reference[image_url]`) are under the plain name.
 */
export type MediaFields = ReadonlyMap<string, readonly FieldValue[]>;

/** Refuses a field, naming it. @throws {GatewayError} `invalid_request` */
export function refuseField(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

/** Reads the fields of a JSON body. */
export function fieldsOfJson(body: JsonObject): MediaFields {
  const fields = new Map<string, readonly FieldValue[]>();
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue;
    fields.set(name, [{ kind: "json", value }]);
  }
  return fields;
}

/**
 * Reads the fields of a form.
 *
 * @throws {GatewayError} `invalid_request` for another spelling of a field that decides the cost: a
 * form is forwarded unchanged, and the provider may read `n[]` or `N` as `n`
 */
export function fieldsOfForm(parts: readonly FormPart[]): MediaFields {
  const fields = new Map<string, FieldValue[]>();
  for (const part of parts) {
    refuseOtherSpelling(part.name);
    const name = part.name.replace(/(?:\[\])?(?:\[(?:image_url|url)\])?$/, "");
    const value: FieldValue = part.fileName === undefined
      ? { kind: "text", text: partText(part) }
      : { kind: "file", bytes: part.body };
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [value]);
    else values.push(value);
  }
  return fields;
}

function singleValue(fields: MediaFields, field: string): FieldValue | undefined {
  const values = fields.get(field);
  if (values === undefined) return undefined;
  if (values.length !== 1) refuseField(field, "must be given once");
  return values[0];
}

/**
 * Reads a text field; `undefined` if it is absent.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function textField(fields: MediaFields, field: string): string | undefined {
  const value = singleValue(fields, field);
  if (value === undefined) return undefined;
  if (value.kind === "text") return value.text;
  if (value.kind === "json" && typeof value.value === "string") return value.value;
  refuseField(field, "must be a string");
}

/** Returns a field of a JSON body as it is; `undefined` if it is absent, or a file. */
export function jsonField(fields: MediaFields, field: string): Json | undefined {
  const value = singleValue(fields, field);
  return value?.kind === "json" ? value.value : value?.kind === "text" ? value.text : undefined;
}

/**
 * Reads the name of the model, which every request must have.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function modelField(fields: MediaFields): string {
  const model = textField(fields, "model");
  if (model === undefined || model === "") refuseField("model", "is required");
  if (model.length > maxModelNameChars) {
    refuseField("model", `must be at most ${maxModelNameChars} characters`);
  }
  return model;
}

/**
 * Reads a whole number of `min` or more, as a JSON number or as plain digits (forms have only text,
 * and one vendor's SDK sends `"8"`). `undefined` if it is absent, `invalid` if it is anything else.
 */
export function wholeNumberField(
  fields: MediaFields,
  field: string,
  min: 0 | 1 = 1,
): number | "invalid" | undefined {
  const value = singleValue(fields, field);
  if (value === undefined) return undefined;
  if (value.kind === "file") return "invalid";
  const raw = value.kind === "text" ? value.text : value.value;
  const number = typeof raw === "string" && /^(?:0|[1-9]\d{0,8})$/.test(raw) ? Number(raw) : raw;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= min
    ? number
    : "invalid";
}

/**
 * Reads a field that is `true` or `false`, as JSON or as text; `undefined` if it is absent.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function booleanField(fields: MediaFields, field: string): boolean | undefined {
  const value = singleValue(fields, field);
  if (value === undefined) return undefined;
  const raw = value.kind === "text" ? value.text : value.kind === "json" ? value.value : undefined;
  if (raw === true || raw === "true") return true;
  if (raw === false || raw === "false") return false;
  refuseField(field, "must be true or false");
}

/**
 * Returns the values of a field that may have several: a repeated field of a form, or an array of
 * JSON.
 */
function manyValues(fields: MediaFields, field: string): readonly FieldValue[] {
  return (fields.get(field) ?? []).flatMap((value) =>
    value.kind === "json" && Array.isArray(value.value)
      ? value.value.map((item) => ({ kind: "json" as const, value: item }))
      : [value]
  );
}

/** Counts the pictures of a field without reading them. */
export function referenceCount(fields: MediaFields, field: string): number {
  return manyValues(fields, field).length;
}

/**
 * Reads all pictures of a field, in their order.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function referenceField(fields: MediaFields, field: string): MediaReference[] {
  return manyValues(fields, field).map((value) => {
    switch (value.kind) {
      case "file":
        return readFile(value.bytes, field);
      case "text":
        return readReference(value.text, field);
      case "json":
        return readReference(value.value, field);
    }
  });
}
