/**
 * Assertions about the program's own state.
 *
 * - Folder `core/lib/base/`: small helpers that every layer uses: assertions, exhaustive tables, CSV, error lines,
 *   histograms, shared bounds.
 * - In: values of the language.
 * - Out: values, texts and types.
 * - Never: imports anything.
 */

/** The error for a bug in the program. Never used for bad input or a failing provider. */
export class InvariantError extends Error {
  override name = "InvariantError";
}

/**
 * Asserts a condition that only a bug can make false.
 *
 * @example
 * ```ts
 * import { invariant } from "./assert.ts";
 * const remainingMicroVnd = 5n;
 * invariant(remainingMicroVnd >= 0n, "a lease is never negative");
 * ```
 *
 * @param message a function where it is put together from values and calls pass here: that would cost each of them more
 * than the assertion
 *
 * @throws {InvariantError} if `condition` is false
 */
export function invariant(
  condition: boolean,
  message: string | (() => string),
): asserts condition {
  if (!condition) throw new InvariantError(typeof message === "string" ? message : message());
}
