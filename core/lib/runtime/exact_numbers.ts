/**
 * Numbers that keep their text: `JSON.rawJSON` where the runtime has it (Deno, Node 21, Chromium 114 and
 * later), portable code elsewhere.
 *
 * `JSON.stringify` of an older runtime cannot write such a number. {@linkcode stringifyExactly} can, on every
 * runtime; `JSON.stringify` then throws rather than write another value.
 */
import { encodeHex } from "./hex.ts";

// Exact numbers for runtimes without `JSON.rawJSON`.
//
// `JSON.stringify` writes each such number as a string that begins with a random mark; the mark and the quotes are
// then removed. The mark has 128 random bits and never leaves the process, so no input can contain it.

/**
 * A number outside double precision, kept as its text.
 *
 * Code that computes with a value checks `typeof value === "number"`, and so refuses it.
 */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** The operations on exact numbers, as a runtime implements them. */
export interface ExactNumbers {
  create(text: string): ExactNumber;
  has(value: unknown): value is ExactNumber;
  stringify(value: unknown): string;
}

const mark = encodeHex(crypto.getRandomValues(new Uint8Array(16)));
const marked = new RegExp(`"${mark}([^"]+)"`, "g");

let isWriting = false;
let hasMarks = false;

class PortableExactNumber implements ExactNumber {
  readonly rawJSON: string;

  constructor(text: string) {
    this.rawJSON = text;
  }

  toJSON(): string {
    if (!isWriting) throw new TypeError("Write exact numbers with stringifyExactly");
    hasMarks = true;
    return mark + this.rawJSON;
  }
}

/** The operations in portable code. `stringify` must not be called by a `toJSON` method of a value. */
export const portableExactNumbers: ExactNumbers = {
  create: (text) => Object.freeze(new PortableExactNumber(text)),

  has: (value): value is ExactNumber => value instanceof PortableExactNumber,

  stringify(value) {
    isWriting = true;
    hasMarks = false;
    try {
      const text = JSON.stringify(value);
      return hasMarks ? text.replace(marked, "$1") : text;
    } finally {
      isWriting = false;
    }
  },
};

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
