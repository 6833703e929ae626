/**
 * Money in µVND (10⁻⁶ VND), a `bigint` everywhere.
 *
 * A price per million tokens is kept in µVND per million tokens, so nothing is ever rounded per
 * token.
 *
 * - Folder `core/billing/money/`: sums of money in µVND, and how people write and read them.
 * - In: texts of people and of operators, and amounts as `bigint`.
 * - Out: exact amounts, and texts for pages, files and commands.
 * - Never: passes an amount through a floating-point number, or knows what is paid for.
 */
import { invariant } from "../../lib/base/assert.ts";

/** µVND in one VND. */
export const microVndPerVnd = 1_000_000n;

/**
 * Converts whole VND to µVND.
 *
 * @example
 * ```ts
 * import { fromVnd } from "./micro_vnd.ts";
 * if (fromVnd(260) !== 260_000_000n) throw new Error("wrong");
 * ```
 *
 * @throws {InvariantError} if `vnd` is not a whole safe number
 */
export function fromVnd(vnd: number): bigint {
  invariant(Number.isSafeInteger(vnd), `An amount in VND must be a whole number: ${vnd}`);
  return BigInt(vnd) * microVndPerVnd;
}

/**
 * Writes an amount in VND as an exact decimal without trailing zeros, for JSON and headers.
 *
 * @example
 * ```ts
 * import { formatVnd } from "./micro_vnd.ts";
 * if (formatVnd(1_245_000n) !== "1.245") throw new Error(formatVnd(1_245_000n));
 * if (formatVnd(-5n) !== "-0.000005") throw new Error(formatVnd(-5n));
 * ```
 */
export function formatVnd(amountMicroVnd: bigint): string {
  const sign = amountMicroVnd < 0n ? "-" : "";
  const magnitude = amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
  const whole = magnitude / microVndPerVnd;
  const fraction = magnitude % microVndPerVnd;
  if (fraction === 0n) return `${sign}${whole}`;
  return `${sign}${whole}.${fraction.toString().padStart(6, "0").replace(/0+$/, "")}`;
}

/**
 * Parses a decimal amount in VND with at most six decimals; `undefined` for anything else.
 *
 * @example
 * ```ts
 * import { parseVnd } from "./micro_vnd.ts";
 * if (parseVnd("1.5") !== 1_500_000n) throw new Error("wrong");
 * if (parseVnd("1e9") !== undefined || parseVnd("NaN") !== undefined) throw new Error("accepted");
 * ```
 */
export function parseVnd(text: string): bigint | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole, fraction = ""] = match;
  const magnitude = BigInt(whole!) * microVndPerVnd + BigInt(fraction.padEnd(6, "0"));
  return sign === "-" ? -magnitude : magnitude;
}

/**
 * Computes the published list figure of a price: VND divided by the list rate, four decimals, half
 * up. VND is the source; this figure is only shown, never charged.
 *
 * @example
 * ```ts
 * import { listFigure } from "./micro_vnd.ts";
 * if (listFigure(8_300_000_000n, 22_000) !== "0.3773") throw new Error(listFigure(8_300_000_000n, 22_000));
 * ```
 */
export function listFigure(microVnd: bigint, listRate: number): string {
  invariant(microVnd >= 0n, `A price must not be negative: ${microVnd}`);
  invariant(
    Number.isSafeInteger(listRate) && listRate > 0,
    `A list rate must be positive: ${listRate}`,
  );
  const rate = BigInt(listRate) * microVndPerVnd;
  const tenThousandths = (microVnd * 10_000n * 2n + rate) / (2n * rate);
  const text = tenThousandths.toString().padStart(5, "0");
  return `${text.slice(0, -4)}.${text.slice(-4)}`;
}

/**
 * Converts a record for output: every `…MicroVnd` bigint becomes a `…Vnd` decimal string, at any
 * depth.
 *
 * @example
 * ```ts
 * import { inVnd } from "./micro_vnd.ts";
 * const shown = JSON.stringify(inVnd({ id: "a", costMicroVnd: 1_500_000n }));
 * if (shown !== '{"id":"a","costVnd":"1.5"}') throw new Error(shown);
 * ```
 */
export function inVnd(value: unknown): unknown {
  if (typeof value === "bigint") return formatVnd(value);
  if (Array.isArray(value)) return value.map(inVnd);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map((
      [name, item],
    ) => [typeof item === "bigint" ? name.replace(/MicroVnd$/, "Vnd") : name, inVnd(item)]),
  );
}

// Reads prices as operators write them: VND with decimals, converted exactly and never through a float.

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
 * import { isWrittenPrice } from "./micro_vnd.ts";
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
 * import { microVndOf } from "./micro_vnd.ts";
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
