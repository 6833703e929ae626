/**
 * Built-ins that some runtimes lack: the runtime's own where it has them, portable code elsewhere.
 *
 * - Folder `core/lib/runtime/`: what ES2024 and later added and `core` uses. `deno task check`
 *   type-checks `core` with the types of ES2023, so that a newer built-in used anywhere else does
 *   not compile.
 * - In: what the built-in takes.
 * - Out: the same result on Deno, Node 20 and later, and browsers.
 * - Never: changes a global, or gives an approximate result where the built-in is missing.
 */

// Base64 for runtimes without `Uint8Array.fromBase64`; accepts and refuses the same texts.

/** The 64 characters in use; `base64url` has `-` and `_` for `+` and `/`. */
type Alphabet = "base64" | "base64url";

const shared = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const characters: Readonly<Record<Alphabet, string>> = {
  base64: `${shared}+/`,
  base64url: `${shared}-_`,
};

/** Code units turned into text in one call: engines bound the number of arguments. */
const unitsPerCall = 8_192;

/** Writes bytes as `Uint8Array.prototype.toBase64` does. */
export function encodePortably(
  bytes: Uint8Array,
  alphabet: Alphabet,
  omitPadding: boolean,
): string {
  const units = new TextEncoder().encode(characters[alphabet]);
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(0x3d);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const [first = 0, second, third] = bytes.subarray(at, at + 3);
    const group = first << 16 | (second ?? 0) << 8 | (third ?? 0);
    const digits = second === undefined ? 2 : third === undefined ? 3 : 4;
    for (let digit = 0; digit < digits; digit++) {
      out[length++] = units[group >> (18 - 6 * digit) & 63] ?? 0;
    }
  }
  return latin1(omitPadding ? out.subarray(0, length) : out);
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += unitsPerCall) {
    text += String.fromCharCode(...bytes.subarray(at, at + unitsPerCall));
  }
  return text;
}

/** Reads text as `Uint8Array.fromBase64` does; `undefined` where that throws. */
export function decodePortably(
  text: string,
  alphabet: Alphabet,
): Uint8Array<ArrayBuffer> | undefined {
  const compact = text.replace(/[\t\n\f\r ]+/g, "");
  const padding = compact.endsWith("==") ? 2 : compact.endsWith("=") ? 1 : 0;
  if (padding > 0 && compact.length % 4 !== 0) return undefined;
  const digits = compact.length - padding;
  if (digits % 4 === 1) return undefined;
  const values = valuesOf(alphabet);
  const bytes = new Uint8Array(Math.floor(digits * 3 / 4));
  let bits = 0;
  let length = 0;
  for (let at = 0; at < digits; at++) {
    const value = values[compact.charCodeAt(at)];
    if (value === undefined || value < 0) return undefined;
    bits = bits << 6 | value;
    if (at % 4 > 0) bytes[length++] = bits >> (6 - 2 * (at % 4)) & 255;
  }
  return bytes;
}

/** By code unit: the value of a character, or -1. */
function valuesOf(alphabet: Alphabet): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let value = 0; value < 64; value++) values[characters[alphabet].charCodeAt(value)] = value;
  return values;
}

interface ByteArrays {
  readonly fromBase64?: (
    text: string,
    options: { readonly alphabet: Alphabet },
  ) => Uint8Array<ArrayBuffer>;
  readonly prototype: {
    readonly length: number;
    toBase64?(options: { readonly alphabet: Alphabet; readonly omitPadding: boolean }): string;
  };
}

const { fromBase64, prototype: { toBase64 } }: ByteArrays = Uint8Array;

/** Writes bytes as base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return encode(bytes, "base64", false);
}

/** Writes bytes as base64url without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encode(bytes, "base64url", true);
}

function encode(bytes: Uint8Array, alphabet: Alphabet, omitPadding: boolean): string {
  return toBase64 === undefined
    ? encodePortably(bytes, alphabet, omitPadding)
    : toBase64.call(bytes, { alphabet, omitPadding });
}

/**
 * Reads base64 with or without padding; white space may be between the characters. `undefined` for any other text.
 *
 * @example
 * ```ts
 * import { decodeBase64 } from "./built_ins.ts";
 * if (decodeBase64("aGk=")?.join() !== "104,105") throw new Error("wrong");
 * if (decodeBase64("a") !== undefined) throw new Error("too short");
 * ```
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  return decode(text, "base64");
}

/** Reads base64url as {@linkcode decodeBase64} reads base64. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return decode(text, "base64url");
}

function decode(text: string, alphabet: Alphabet): Uint8Array<ArrayBuffer> | undefined {
  if (fromBase64 === undefined) return decodePortably(text, alphabet);
  try {
    return fromBase64.call(Uint8Array, text, { alphabet });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Writes bytes as lower-case hexadecimal digits. */
export function encodeHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Reads pairs of hexadecimal digits of either case; `undefined` for any other text. */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[0-9a-fA-F]{2})*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16);
  }
  return bytes;
}

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
interface ExactNumbers {
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
 * import { exactNumber, stringifyExactly } from "./built_ins.ts";
 * const text = stringifyExactly({ id: exactNumber("12345678901234567890") });
 * if (text !== '{"id":12345678901234567890}') throw new Error(text);
 * ```
 */
export function stringifyExactly(value: unknown): string {
  return stringify(value);
}

/** A promise with the functions that settle it. */
interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

/** Creates a promise together with the functions that settle it. */
export function withResolvers<T>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] | undefined;
  let reject: Deferred<T>["reject"] | undefined;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  if (resolve === undefined || reject === undefined) throw new Error("The executor did not run");
  return { promise, resolve, reject };
}

/** Calls a function at once; what it throws rejects the promise. */
export function startPromise<Arguments extends unknown[], T>(
  run: (...given: Arguments) => T | PromiseLike<T>,
  ...given: Arguments
): Promise<T> {
  return new Promise((resolve) => resolve(run(...given)));
}

/** The URL that a text is, alone or relative to `base`, or `null`. */
export function parseUrl(text: string, base?: URL): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}
