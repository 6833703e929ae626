/** The fields of a media request, the same whether they came as JSON or as a form. */
import { refuseOtherSpelling } from "../calls/request/decisive_fields.ts";
import { GatewayError } from "../errors.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { maxModelNameChars } from "../limits.ts";
import { type FormPart, partText } from "./multipart.ts";
import { type MediaReference, readFile, readReference } from "./reference.ts";

type FieldValue =
  | { readonly kind: "json"; readonly value: Json }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "file"; readonly bytes: Uint8Array };

/**
 * All values by name. A repeated field of a form gives several, JSON one (maybe an array); `null` gives none.
 * The spellings that SDKs use in forms (`image[]`, `input_reference[image_url]`) lie under the plain name.
 */
export type MediaFields = ReadonlyMap<string, readonly FieldValue[]>;

function refuse(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

/** Fields of a JSON body. */
export function fieldsOfJson(body: JsonObject): MediaFields {
  const fields = new Map<string, readonly FieldValue[]>();
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue;
    fields.set(name, [{ kind: "json", value }]);
  }
  return fields;
}

/**
 * Fields of a form.
 *
 * @throws {GatewayError} `invalid_request` for another spelling of a field that decides the cost: a form goes on to the
 * provider as it came, and that may read `n[]` or `N` as `n`
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
  if (values.length !== 1) refuse(field, "must be given once");
  return values[0];
}

/**
 * A field that is text. `undefined` if it is absent.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function textField(fields: MediaFields, field: string): string | undefined {
  const value = singleValue(fields, field);
  if (value === undefined) return undefined;
  if (value.kind === "text") return value.text;
  if (value.kind === "json" && typeof value.value === "string") return value.value;
  refuse(field, "must be a string");
}

/**
 * The name of the model, which every request must have.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function modelField(fields: MediaFields): string {
  const model = textField(fields, "model");
  if (model === undefined || model === "") refuse("model", "is required");
  if (model.length > maxModelNameChars) {
    refuse("model", `must be at most ${maxModelNameChars} characters`);
  }
  return model;
}

/**
 * A field that is a whole number of `min` or more, as a JSON number or as its plain digits (forms have only text, and
 * one vendor's SDK sends `"8"`). `undefined` if it is absent, `invalid` if it is anything else.
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
 * A field that is `true` or `false`, as JSON or as its word. `undefined` if it is absent.
 *
 * @throws {GatewayError} `invalid_request` that names the field
 */
export function booleanField(fields: MediaFields, field: string): boolean | undefined {
  const value = singleValue(fields, field);
  if (value === undefined) return undefined;
  const raw = value.kind === "text" ? value.text : value.kind === "json" ? value.value : undefined;
  if (raw === true || raw === "true") return true;
  if (raw === false || raw === "false") return false;
  refuse(field, "must be true or false");
}

/** The values of a field that may have several: a repeated field of a form, or an array of JSON. */
function manyValues(fields: MediaFields, field: string): readonly FieldValue[] {
  return (fields.get(field) ?? []).flatMap((value) =>
    value.kind === "json" && Array.isArray(value.value)
      ? value.value.map((item) => ({ kind: "json" as const, value: item }))
      : [value]
  );
}

/** How many pictures a field has, before any of them is looked at. */
export function referenceCount(fields: MediaFields, field: string): number {
  return manyValues(fields, field).length;
}

/**
 * All pictures of a field, in their order.
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
