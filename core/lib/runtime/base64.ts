/** Base64 (RFC 4648), by `Uint8Array.fromBase64` and `toBase64` where the runtime has them. */

// Base64 for runtimes without `Uint8Array.fromBase64`; accepts and refuses the same texts.

/** The 64 characters in use; `base64url` has `-` and `_` for `+` and `/`. */
export type Alphabet = "base64" | "base64url";

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
 * import { decodeBase64 } from "./base64.ts";
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
