/**
 * Numbers that keep their text: `JSON.rawJSON` where the runtime has it (Deno, Node 21, Chromium 114 and
 * later), portable code elsewhere.
 *
 * `JSON.stringify` of an older runtime cannot write such a number. {@linkcode stringifyExactly} can, on every
 * runtime; `JSON.stringify` then throws rather than write another value.
 */
import {
  type ExactNumber,
  type ExactNumbers,
  portableExactNumbers,
} from "./portable_exact_numbers.ts";

export type { ExactNumber };

interface JsonWithRawText {
  readonly stringify: (value: unknown) => string;
  readonly rawJSON?: (text: string) => ExactNumber;
  readonly isRawJSON?: (value: unknown) => value is ExactNumber;
}

function builtInExactNumbers(): ExactNumbers | undefined {
  const { stringify, rawJSON, isRawJSON }: JsonWithRawText = JSON;
  if (rawJSON === undefined || isRawJSON === undefined) return undefined;
  return { create: rawJSON, has: isRawJSON, stringify };
}

const { create, has, stringify } = builtInExactNumbers() ?? portableExactNumbers;

/**
 * Creates a number that {@linkcode stringifyExactly} writes as `text`.
 *
 * @throws {SyntaxError} if `text` is not a number of JSON
 */
export function exactNumber(text: string): ExactNumber {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text)) {
    throw new SyntaxError("Not a number of JSON");
  }
  return create(text);
}

/** Tells an {@linkcode ExactNumber} from an object with the same property. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return has(value);
}

/**
 * Writes JSON as `JSON.stringify` does, and exact numbers as their text.
 *
 * @example
 * ```ts
 * import { exactNumber, stringifyExactly } from "./exact_numbers.ts";
 * const text = stringifyExactly({ id: exactNumber("12345678901234567890") });
 * if (text !== '{"id":12345678901234567890}') throw new Error(text);
 * ```
 */
export function stringifyExactly(value: unknown): string {
  return stringify(value);
}
