/**
 * The types of JSON values as parsed, before validation.
 *
 * - Folder `core/lib/json/`: JSON beyond `JSON.parse`: exact numbers, bounds, one scanner for the
 *   tokens of a text (`json_scanner.ts`), and a cursor to single members of a stream's frames
 *   (`json_cursor.ts`).
 * - In: JSON as text or bytes, whole or in pieces.
 * - Out: typed values, positions of literals, counts.
 * - Never: names a field of a wire style.
 */
import { type ExactNumber, isExactNumber } from "../runtime/mod.ts";

export { type ExactNumber, isExactNumber };

/** A value of JSON; {@linkcode ExactNumber}s are numbers outside double precision. */
export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject;
/** An object of JSON. */
export interface JsonObject {
  [key: string]: Json | undefined;
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
 * Whether a value is an object of JSON: not null, a list or an exact number.
 *
 * @example
 * ```ts
 * import { isJsonObject } from "./json.ts";
 * if (isJsonObject([])) throw new Error("an array is not an object");
 * ```
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !isExactNumber(value);
}
