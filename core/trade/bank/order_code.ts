/**
 * The code of a top-up order: `ST`, seven random symbols and one check symbol.
 *
 * The alphabet leaves out what people and banks confuse (0 O, 1 I L, 5 S, B, Z) and vowels with Y,
 * so that no words appear. It has no `S`, so "ST" cannot occur inside a code and scanning a memo is
 * unambiguous. 23 is prime: a weighted sum modulo 23 detects every single wrong symbol and every
 * swap of two symbols.
 */
import { invariant } from "../../lib/base/assert.ts";

/**
 * Folds Vietnamese text to the plain capitals that banks make of it: no accents, Đ as D, upper
 * case. Other characters stay, so the positions of digits and separators are kept.
 *
 * @example
 * ```ts
 * import { foldVietnamese } from "./order_code.ts";
 * if (foldVietnamese("Nguyễn Văn Đức") !== "NGUYEN VAN DUC") throw new Error("not folded");
 * ```
 */
export function foldVietnamese(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").replace(/[đĐ]/g, "D").toUpperCase();
}

declare const brand: unique symbol;
/** A well-formed code with a correct check symbol. It need not belong to an order. */
export type OrderCode = string & { readonly [brand]: "OrderCode" };

/** The 23 symbols after `ST`, in the order of their values. */
export const orderCodeAlphabet = "2346789CDFGHJKMNPQRTVWX";

const radix = orderCodeAlphabet.length;
const randomSymbols = 7;
/** `ST` + 7 + 1. */
export const orderCodeLength = 2 + randomSymbols + 1;

/** Converts the symbols after `ST` to values; `undefined` if one is not in the alphabet. */
function symbolValues(symbols: string): number[] | undefined {
  const values: number[] = [];
  for (const symbol of symbols) {
    const value = orderCodeAlphabet.indexOf(symbol);
    if (value < 0) return undefined;
    values.push(value);
  }
  return values;
}

/**
 * Computes the check value: weights 2..8 for the random symbols, 1 for the check symbol, so that
 * the whole sum is 0 modulo 23.
 */
function checkValue(values: readonly number[]): number {
  const sum = values.reduce((total, value, index) => total + (index + 2) * value, 0);
  return (radix - sum % radix) % radix;
}

/**
 * Parses a code exactly as it is printed; `undefined` for a wrong form or a wrong check symbol.
 *
 * @example
 * ```ts
 * import { parseOrderCode } from "./order_code.ts";
 * if (parseOrderCode("ST7K2M9QXJ") === undefined) throw new Error("a valid code was refused");
 * if (parseOrderCode("ST7K2M9QXK") !== undefined) throw new Error("a typo was accepted");
 * ```
 */
export function parseOrderCode(text: string): OrderCode | undefined {
  if (text.length !== orderCodeLength || !text.startsWith("ST")) return undefined;
  const values = symbolValues(text.slice(2));
  if (values === undefined) return undefined;
  const check = values[randomSymbols];
  return checkValue(values.slice(0, randomSymbols)) === check ? text as OrderCode : undefined;
}

/**
 * Creates a code from random bytes. The caller must still store it on condition that it is unused.
 *
 * Bytes of 230 and above are skipped (230 = 10 × 23), so every symbol is equally likely.
 *
 * @param randomBytes fills the array it is given, like `crypto.getRandomValues`
 */
export function newOrderCode(randomBytes: (into: Uint8Array<ArrayBuffer>) => void): OrderCode {
  const values: number[] = [];
  const buffer = new Uint8Array(32);
  // 16 refills of 32 bytes cannot all be 230 or above unless the source is broken.
  for (let refill = 0; refill < 16 && values.length < randomSymbols; refill++) {
    randomBytes(buffer);
    for (const byte of buffer) {
      if (byte < 10 * radix && values.length < randomSymbols) values.push(byte % radix);
    }
  }
  invariant(values.length === randomSymbols, "the random source yields usable bytes");
  const symbols = [...values, checkValue(values)].map((value) => orderCodeAlphabet[value]);
  const code = parseOrderCode(`ST${symbols.join("")}`);
  invariant(code !== undefined, "a new order code is valid");
  return code;
}
