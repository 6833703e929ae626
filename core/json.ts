/** JSON as it comes off the wire, before anyone has looked at it. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

/**
 * Tells an object from every other JSON value.
 *
 * @example
 * ```ts
 * import { isJsonObject } from "./json.ts";
 * if (isJsonObject([])) throw new Error("an array is not an object");
 * ```
 */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
