/**
 * The types of JSON values as parsed, before validation.
 *
 * - Folder `core/lib/json/`: JSON beyond `JSON.parse`: exact numbers, outlines without long texts, one scanner for
 *   the tokens of a text (`exact_json.ts`), and a cursor to single members of a stream's frames (`json_cursor.ts`).
 * - In: JSON as text or bytes, whole or in pieces.
 * - Out: typed values, outlines, positions of literals.
 * - Never: names a field of a wire style.
 */
import { type ExactNumber, isExactNumber } from "../runtime/built_ins.ts";
import { LongText } from "./scan/long_text.ts";

export { type ExactNumber, isExactNumber };

/** A value of JSON; {@linkcode ExactNumber}s are numbers outside double precision. */
export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject;
/** An object of JSON. */
export interface JsonObject {
  [key: string]: Json | undefined;
}

/** A value of JSON in which long strings may be {@linkcode LongText}s: see `outline.ts`. */
export type Outline =
  | null
  | boolean
  | number
  | string
  | ExactNumber
  | LongText
  | Outline[]
  | OutlineObject;
/** An object of JSON in which long strings may be {@linkcode LongText}s. */
export interface OutlineObject {
  [key: string]: Outline | undefined;
}

/**
 * Returns the text of an identifier; `undefined` for what is neither string nor number. Some
 * servers number their calls and tasks.
 *
 * @example
 * ```ts
 * import { idText } from "./json.ts";
 * if (idText(7) !== "7" || idText("a") !== "a" || idText(null) !== undefined) throw new Error("wrong");
 * ```
 */
export function idText(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
}

/**
 * Whether a value is an object of JSON: not null, a list, an exact number or a long string.
 *
 * @example
 * ```ts
 * import { isJsonObject } from "./json.ts";
 * if (isJsonObject([])) throw new Error("an array is not an object");
 * ```
 */
export function isJsonObject(value: Json | undefined): value is JsonObject;
/** Whether a value of an outline is an object. */
export function isJsonObject(value: Outline | undefined): value is OutlineObject;
/** Whether anything is an object of JSON. */
export function isJsonObject(value: unknown): value is JsonObject;
/** Whether anything is an object of JSON, whole or in outline. */
export function isJsonObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !isExactNumber(value) && !(value instanceof LongText);
}
