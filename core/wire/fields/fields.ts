/**
 * Reads single fields of a client's JSON. `null` counts as absent: SDKs send it for fields that were not set.
 * A wrong field throws a {@linkcode GatewayError} `invalid_request` that names it.
 *
 * - Folder `core/wire/fields/`: fields that several styles share: read, written and checked once.
 * - In: single fields of a client's JSON, or of the conversation.
 * - Out: typed values, the same fields for another style, warnings for what is lost.
 * - Never: imports the folder of a style.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isExactNumber, isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/** Refuses a field that is wrong in its own style. */
export function invalid(path: string, why: string): never {
  throw new GatewayError("invalid_request", `${path}: ${why}`, { param: path });
}

/** Refuses a field that is right in its style but cannot be carried to the model's. */
export function refuse(path: string, why: string): never {
  throw new GatewayError("conversion_refused", `${path}: ${why}`, { param: path });
}

/**
 * Reads an optional string.
 *
 * @example
 * ```ts
 * import { optionalString } from "./fields.ts";
 * if (optionalString({ a: null }, "a", "a") !== undefined) throw new Error("null is absent");
 * ```
 */
export function optionalString(from: JsonObject, key: string, path: string): string | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : invalid(path, "must be a string");
}

/** Reads a required string. */
export function requiredString(from: JsonObject, key: string, path: string): string {
  return optionalString(from, key, path) ?? invalid(path, "is required");
}

/** Reads an optional number. */
export function optionalNumber(from: JsonObject, key: string, path: string): number | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return value;
  return invalid(path, isExactNumber(value) ? "is too large a number" : "must be a number");
}

/** Reads a whole number of at least `least`. */
export function optionalCount(
  from: JsonObject,
  key: string,
  path: string,
  least = 0,
): number | undefined {
  const value = optionalNumber(from, key, path);
  if (value === undefined) return undefined;
  return Number.isSafeInteger(value) && value >= least
    ? value
    : invalid(path, `must be a whole number of at least ${least}`);
}

/** Reads an optional boolean. */
export function optionalBoolean(from: JsonObject, key: string, path: string): boolean | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return typeof value === "boolean" ? value : invalid(path, "must be true or false");
}

/** Reads an optional object. */
export function optionalObject(
  from: JsonObject,
  key: string,
  path: string,
): JsonObject | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return isJsonObject(value) ? value : invalid(path, "must be an object");
}

/** Reads a required object. */
export function requiredObject(value: Json | undefined, path: string): JsonObject {
  return isJsonObject(value) ? value : invalid(path, "must be an object");
}

/** Reads an optional list. */
export function optionalList(
  from: JsonObject,
  key: string,
  path: string,
): readonly Json[] | undefined {
  const value = from[key];
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value : invalid(path, "must be a list");
}

/** Whether a value is an empty list or object. */
export function isEmpty(value: Json): boolean {
  return isJsonObject(value)
    ? Object.keys(value).length === 0
    : Array.isArray(value) && value.length === 0;
}

/** Checks that a value is one of a closed set of words. */
export function oneOf<Word extends string>(
  value: string,
  words: readonly Word[],
  path: string,
): Word {
  return words.find((word) => word === value) ??
    invalid(path, `must be one of ${words.join(", ")}`);
}
