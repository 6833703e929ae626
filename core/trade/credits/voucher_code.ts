/**
 * The code of a voucher: 15 random symbols and a check symbol, in groups of four.
 *
 * The alphabet leaves out what people confuse: 0 O, 1 I L. It has 31 symbols, a prime: a weighted sum
 * modulo 31 detects every single wrong symbol and every swap of two. 15 random symbols are 74 bits, too
 * many to guess even from stolen hashes.
 */
import { invariant } from "../../lib/base/assert.ts";

declare const brand: unique symbol;
/** A well-formed code with a correct check symbol, without its hyphens. It need not exist. */
export type VoucherCode = string & { readonly [brand]: "VoucherCode" };

const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const radix = alphabet.length;
const randomSymbols = 15;
const groupSymbols = 4;

/** Characters of a code as it is printed. */
export const voucherCodeChars = 19;

/** Computes the check value: weights 2..16 for the random symbols, 1 for the check symbol. */
function checkValue(values: readonly number[]): number {
  const sum = values.reduce((total, value, index) => total + (index + 2) * value, 0);
  return (radix - sum % radix) % radix;
}

/**
 * Parses a code as people type it: in any case, with or without hyphens and spaces; `undefined` for a
 * wrong form or a wrong check symbol.
 *
 * @example
 * ```ts
 * import { newVoucherCode, parseVoucherCode, printedVoucherCode } from "./voucher_code.ts";
 * const code = newVoucherCode((into) => crypto.getRandomValues(into));
 * const typed = printedVoucherCode(code).toLowerCase().replaceAll("-", " ");
 * if (parseVoucherCode(typed) !== code) throw new Error("a valid code was refused");
 * const typo = (code.startsWith("A") ? "B" : "A") + code.slice(1);
 * if (parseVoucherCode(typo) !== undefined) throw new Error("a typo was accepted");
 * ```
 */
export function parseVoucherCode(text: string): VoucherCode | undefined {
  const symbols = text.toUpperCase().replace(/[\s\-–]/g, "");
  if (symbols.length !== randomSymbols + 1) return undefined;
  const values = [...symbols].map((symbol) => alphabet.indexOf(symbol));
  if (values.includes(-1)) return undefined;
  const isRight = checkValue(values.slice(0, randomSymbols)) === values[randomSymbols];
  return isRight ? symbols as VoucherCode : undefined;
}

/** Writes a code in groups of four. */
export function printedVoucherCode(code: VoucherCode): string {
  return code.match(new RegExp(`.{${groupSymbols}}`, "g"))?.join("-") ?? code;
}

/**
 * Creates a code from random bytes. Bytes of 248 and above are skipped (248 = 8 × 31), so every symbol
 * is equally likely.
 *
 * @param randomBytes fills the array it is given, like `crypto.getRandomValues`
 */
export function newVoucherCode(
  randomBytes: (into: Uint8Array<ArrayBuffer>) => void,
): VoucherCode {
  const values: number[] = [];
  const buffer = new Uint8Array(32);
  // 16 refills of 32 bytes cannot all be 248 or above unless the source is broken.
  for (let refill = 0; refill < 16 && values.length < randomSymbols; refill++) {
    randomBytes(buffer);
    for (const byte of buffer) {
      if (byte < 8 * radix && values.length < randomSymbols) values.push(byte % radix);
    }
  }
  invariant(values.length === randomSymbols, "the random source yields usable bytes");
  const symbols = [...values, checkValue(values)].map((value) => alphabet[value]);
  const code = parseVoucherCode(symbols.join(""));
  invariant(code !== undefined, "a new voucher code is valid");
  return code;
}
