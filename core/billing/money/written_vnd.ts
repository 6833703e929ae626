/** Reads prices as operators write them: VND with decimals, converted exactly and never through a float. */
import { invariant } from "../../lib/base/assert.ts";
import { microVndPerVnd, parseVnd } from "./micro_vnd.ts";

/** VND as written in `gateway.json`: a number, or a decimal text such as `"0.75"`. */
export type WrittenVnd = number | string;

/**
 * Most decimals of a written price. Vendors publish prices to a tenth of a cent per million tokens, which is more
 * than a VND; four decimals also leave room for the two of a factor within the six that are exact.
 */
export const priceDecimals = 4;

/** Largest written price, in VND: anything above it is a slip of the keyboard. */
export const maxPriceVnd = 1_000_000_000_000;

/** The form of a price that is written as a text. */
export const writtenPrice = new RegExp(`^\\d{1,13}(?:\\.\\d{1,${priceDecimals}})?$`);

/**
 * Whether a value is a price: not negative, not too large, and with few enough decimals. The decimals of a number are
 * those of its shortest text, which are the written ones.
 *
 * @example
 * ```ts
 * import { isWrittenPrice } from "./written_vnd.ts";
 * if (![0, 8_300, 0.75, "1.5"].every(isWrittenPrice)) throw new Error("refused");
 * if ([-1, 1e-7, 0.00001, "1e3", ".5", NaN].some(isWrittenPrice)) throw new Error("accepted");
 * ```
 */
export function isWrittenPrice(written: WrittenVnd): boolean {
  return writtenPrice.test(String(written)) && Number(written) <= maxPriceVnd;
}

/**
 * Converts a written price to µVND. Of a price per 1,000,000 tokens this is µVND per 1,000,000 tokens.
 *
 * @example
 * ```ts
 * import { microVndOf } from "./written_vnd.ts";
 * if (microVndOf(0.75) !== 750_000n || microVndOf("8300") !== 8_300_000_000n) throw new Error("wrong");
 * ```
 *
 * @throws {InvariantError} if it is no price: the schema of the file should have refused it
 */
export function microVndOf(written: WrittenVnd): bigint {
  if (Number.isSafeInteger(written) && Number(written) >= 0) {
    return BigInt(written) * microVndPerVnd;
  }
  const microVnd = isWrittenPrice(written) ? parseVnd(String(written)) : undefined;
  invariant(microVnd !== undefined, `Not a price in VND: ${written}`);
  return microVnd;
}
