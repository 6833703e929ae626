/** Base64 (RFC 4648), by `Uint8Array.fromBase64` and `toBase64` where the runtime has them. */
import { type Alphabet, decodePortably, encodePortably } from "./portable_base64.ts";

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
