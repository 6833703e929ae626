/**
 * Exact numbers for runtimes without `JSON.rawJSON`.
 *
 * `JSON.stringify` writes each such number as a string that begins with a random mark; the mark and the quotes are
 * then removed. The mark has 128 random bits and never leaves the process, so no input can contain it.
 */
import { encodeHex } from "./hex.ts";

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
