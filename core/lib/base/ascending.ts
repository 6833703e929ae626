/**
 * Compares two values for a sort in rising order. Texts compare by UTF-16 code units.
 *
 * @example
 * ```ts
 * import { ascending } from "./ascending.ts";
 * const sorted = [3n, 1n, 2n].sort(ascending);
 * if (sorted.join() !== "1,2,3") throw new Error(sorted.join());
 * ```
 */
export function ascending<Value extends number | bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
