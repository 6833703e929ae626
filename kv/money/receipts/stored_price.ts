/** The element of a stored receipt that says at which prices it was charged. */
import { defined } from "../../../core/lib/base/defined.ts";
import { tokensPerRate } from "../../../core/billing/price.ts";
import type { AppliedPrice, TokenRates } from "../../../core/billing/usage/receipt.ts";

/**
 * Rates are µVND per token. Earlier releases read the first six elements as whole numbers, so a rate with a fraction is
 * rounded up there. `exact` has all rates if one of them has a fraction, or if there are more than these releases know.
 */
export type StoredPrice =
  | [
    unit: "token",
    in_: string,
    out: string,
    read: string,
    write: string,
    writeHour?: string,
    exact?: ExactRates,
  ]
  | [unit: "request" | "image" | "video" | "second" | "search", perUnit: string];

/** Rates in µVND per 1,000,000 tokens. */
interface ExactRates {
  readonly in: string;
  readonly out: string;
  readonly read: string;
  readonly write: string;
  readonly hour?: string;
  readonly inAudio?: string;
  readonly inImage?: string;
  readonly outAudio?: string;
  readonly outImage?: string;
  /** The tier of service that the rates are of. */
  readonly tier?: string;
}

/** A rate in whole µVND per token, rounded up. */
function perToken(perMtokMicroVnd: bigint): string {
  return ((perMtokMicroVnd + tokensPerRate - 1n) / tokensPerRate).toString();
}

function exactRates(price: TokenRates): ExactRates {
  return {
    in: price.inputPerMtokMicroVnd.toString(),
    out: price.outputPerMtokMicroVnd.toString(),
    read: price.cacheReadPerMtokMicroVnd.toString(),
    write: price.cacheWritePerMtokMicroVnd.toString(),
    ...defined({
      hour: price.cacheWriteHourPerMtokMicroVnd?.toString(),
      inAudio: price.inputAudioPerMtokMicroVnd?.toString(),
      inImage: price.inputImagePerMtokMicroVnd?.toString(),
      outAudio: price.outputAudioPerMtokMicroVnd?.toString(),
      outImage: price.outputImagePerMtokMicroVnd?.toString(),
    }),
  };
}

/** Whether earlier releases know all rates, and exactly. */
function isPlain(price: TokenRates): boolean {
  return price.inputAudioPerMtokMicroVnd === undefined &&
    price.inputImagePerMtokMicroVnd === undefined &&
    price.outputAudioPerMtokMicroVnd === undefined &&
    price.outputImagePerMtokMicroVnd === undefined &&
    price.inputPerMtokMicroVnd % tokensPerRate === 0n &&
    price.outputPerMtokMicroVnd % tokensPerRate === 0n &&
    price.cacheReadPerMtokMicroVnd % tokensPerRate === 0n &&
    price.cacheWritePerMtokMicroVnd % tokensPerRate === 0n &&
    (price.cacheWriteHourPerMtokMicroVnd ?? 0n) % tokensPerRate === 0n;
}

/** Encodes the price of a receipt. Only prices of tokens have tiers. */
export function storedPrice(price: AppliedPrice, tier?: string): StoredPrice {
  if (price.unit !== "token") return [price.unit, price.perUnitMicroVnd.toString()];
  const { cacheWritePerMtokMicroVnd: write, cacheWriteHourPerMtokMicroVnd: hour } = price;
  const stored: StoredPrice = [
    "token",
    perToken(price.inputPerMtokMicroVnd),
    perToken(price.outputPerMtokMicroVnd),
    perToken(price.cacheReadPerMtokMicroVnd),
    perToken(write),
  ];
  if (tier !== undefined || !isPlain(price)) {
    stored.push(perToken(hour ?? write), { ...exactRates(price), ...defined({ tier }) });
  } else if (hour !== undefined) stored.push(perToken(hour));
  return stored;
}

/** Decodes the tier of service of a receipt; `undefined`: the usual one. */
export function storedTier(stored: StoredPrice): string | undefined {
  return stored[0] === "token" ? stored[6]?.tier : undefined;
}

/** Decodes the price of a receipt. */
export function appliedPrice(stored: StoredPrice): AppliedPrice {
  if (stored[0] !== "token") return { unit: stored[0], perUnitMicroVnd: BigInt(stored[1]) };
  const [, input, output, read, write, hour, exact] = stored;
  if (exact !== undefined) return { unit: "token", ...ratesOf(exact) };
  const rate = (perToken: string) => BigInt(perToken) * tokensPerRate;
  return {
    unit: "token",
    inputPerMtokMicroVnd: rate(input),
    outputPerMtokMicroVnd: rate(output),
    cacheReadPerMtokMicroVnd: rate(read),
    cacheWritePerMtokMicroVnd: rate(write),
    ...(hour !== undefined && { cacheWriteHourPerMtokMicroVnd: rate(hour) }),
  };
}

function ratesOf(exact: ExactRates): TokenRates {
  const rateOf = (rate: string | undefined) => rate === undefined ? undefined : BigInt(rate);
  return {
    inputPerMtokMicroVnd: BigInt(exact.in),
    outputPerMtokMicroVnd: BigInt(exact.out),
    cacheReadPerMtokMicroVnd: BigInt(exact.read),
    cacheWritePerMtokMicroVnd: BigInt(exact.write),
    ...defined({
      cacheWriteHourPerMtokMicroVnd: rateOf(exact.hour),
      inputAudioPerMtokMicroVnd: rateOf(exact.inAudio),
      inputImagePerMtokMicroVnd: rateOf(exact.inImage),
      outputAudioPerMtokMicroVnd: rateOf(exact.outAudio),
      outputImagePerMtokMicroVnd: rateOf(exact.outImage),
    }),
  };
}
