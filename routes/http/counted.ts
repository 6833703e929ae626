/** Writes counts in messages of the API. */

/**
 * Writes a whole number with commas between thousands, as messages of the API have it in every language.
 *
 * @example
 * ```ts
 * import { counted } from "./counted.ts";
 * if (counted(1234567) !== "1,234,567") throw new Error(counted(1234567));
 * ```
 */
export function counted(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}
