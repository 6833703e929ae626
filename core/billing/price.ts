/** Customers' prices as the operator writes them, and what a call costs its customer under them: pure and exact. */
import { invariant } from "../lib/base/assert.ts";
import { maxRate } from "./usage/media_parts.ts";
import type { ToolPrices } from "./usage/hosted_tools.ts";
import { maxReportedTokens } from "./tokens/limits.ts";
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";
import { billedInputTokens, type TokenUsage } from "./tokens/token_bounds.ts";
import {
  type AmountReader,
  appliedRate,
  appliedRates,
  compileTariff,
  countTokens,
  priceMembers,
  rateOf,
  readRates,
  stepOf,
  type Tariff,
  tokenBuckets,
  type WrittenRates,
  type WrittenTariff,
} from "./tariff.ts";
import { microVndOf, type WrittenVnd } from "./money/micro_vnd.ts";

type PriceMembers = typeof priceMembers;

/** Prices of tokens in the catalogue: VND per 1,000,000. */
type CatalogueRates = WrittenRates<PriceMembers, WrittenVnd>;

/** A price in the catalogue, as written; the list figure is derived, never stored. */
export type CataloguePrice = WrittenTariff<
  PriceMembers,
  "vnd",
  "vndPerMinute",
  WrittenVnd,
  ToolPrices
>;

/** Reads a customers' price in µVND. */
const inMicroVnd: AmountReader<PriceMembers, "vnd", "vndPerMinute", WrittenVnd> = {
  rates: (rates) =>
    readRates(microVndOf(rates.vndPerMtok), (bucket) => {
      const written = rates[priceMembers[bucket]];
      return written === undefined ? undefined : microVndOf(written);
    }),
  piece: ({ vnd }) => microVndOf(vnd),
  minute: ({ vndPerMinute }) => microVndOf(vndPerMinute),
};

/** The prices that were read; a catalogue lives as long as its calls, and each call applies one. */
const read = new WeakMap<CataloguePrice, Tariff>();

function tariffOf(price: CataloguePrice): Tariff {
  let tariff = read.get(price);
  if (tariff === undefined) read.set(price, tariff = compileTariff(price, inMicroVnd));
  return tariff;
}

/**
 * Fixes the unit prices at admission. A video price needs the seconds of the request.
 *
 * @throws {InvariantError} if a video length has no tier: the request should have been refused
 * before
 */
export function applyPrice(price: CataloguePrice, seconds?: number): AppliedPrice {
  const tariff = tariffOf(price);
  switch (tariff.unit) {
    case "token": {
      const { rates, long, tiers } = tariff;
      return {
        unit: "token",
        ...appliedRates(rates),
        ...(long && { long: { ...appliedRates(long.rates), aboveTokens: long.aboveTokens } }),
        ...(tiers && { tiers }),
      };
    }
    case "video": {
      const step = seconds === undefined ? undefined : stepOf(tariff.tiers, seconds);
      invariant(step !== undefined, `No price for a video of ${seconds} seconds`);
      return { unit: "video", perUnitMicroVnd: step.amount };
    }
    case "second":
      return { unit: "second", perUnitMicroVnd: perSecond(tariff.amount) };
    default:
      return { unit: tariff.unit, perUnitMicroVnd: tariff.amount };
  }
}

/** Whether no rate is lower than the same one of another price. */
export function isNowhereCheaper(price: CatalogueRates, other: CatalogueRates): boolean {
  const [rates, others] = [inMicroVnd.rates(price), inMicroVnd.rates(other)];
  return tokenBuckets.every((bucket) => rateOf(rates, bucket) >= rateOf(others, bucket));
}

/**
 * Returns the rates at which usage is charged, as a price without `long`: which of them apply is known only from the
 * tokens that are billed as input.
 *
 * @example
 * ```ts
 * import { applyPrice, chargedRates } from "./price.ts";
 * const longPrompt = { aboveTokens: 200_000, vndPerMtok: 6 };
 * const price = applyPrice({ unit: "token", vndPerMtok: 3, longPrompt });
 * const usage = { input: 200_001, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
 * const charged = chargedRates(price, usage);
 * if (charged.unit !== "token" || charged.outputPerMtokMicroVnd !== 6_000_000n) throw new Error("the rates of a short prompt");
 * ```
 */
export function chargedRates(price: AppliedPrice, usage: TokenUsage | undefined): AppliedPrice {
  if (price.unit !== "token" || price.long === undefined) return price;
  const { long, ...short } = price;
  if (usage === undefined || ratesFor(price, usage) !== long) return short;
  const { aboveTokens: _, ...rates } = long;
  return { unit: "token", ...rates };
}

/** Whether input from a provider's cache is cheaper than other input. */
export function hasCachePrice(price: AppliedPrice): boolean {
  return price.unit === "token" && price.cacheReadPerMtokMicroVnd < price.inputPerMtokMicroVnd;
}

/** Returns the fees of a model's hosted tools. */
export function toolPricesOf(price: CataloguePrice): ToolPrices | undefined {
  return price.unit === "token" || price.unit === "request" ? price.hostedTools : undefined;
}

const secondsPerMinute = 60n;

/** Returns µVND, rounded up so that a minute costs no less than its price. */
function perSecond(perMinuteMicroVnd: bigint): bigint {
  return (perMinuteMicroVnd + secondsPerMinute - 1n) / secondsPerMinute;
}

/** Whether a call under a price may cost nothing. */
export function mayBeFree(price: CataloguePrice): boolean {
  const tariff = tariffOf(price);
  switch (tariff.unit) {
    case "token":
      return [tariff.rates, tariff.long?.rates].some((rates) =>
        rates !== undefined && (rates.input === 0n || rates.output === 0n)
      );
    case "video":
      return tariff.tiers.some(({ amount }) => amount === 0n);
    default:
      return tariff.amount === 0n;
  }
}

/** Tokens that the rates of a price are for. */
export const tokensPerRate = 1_000_000n;

/**
 * Rounds the sum of tokens × rates of a call to µVND: up, and once per call, so that no fraction of a price is given
 * away and nothing is rounded per token.
 */
function roundedUp(tokenRates: bigint): bigint {
  return (tokenRates + tokensPerRate - 1n) / tokensPerRate;
}

/**
 * Computes the cost of usage in tokens, rounded up to a µVND once for all of them.
 *
 * @example
 * ```ts
 * import { applyPrice, costOfTokens } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const cost = costOfTokens(price, { input: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 });
 * if (cost !== 1_245_000n) throw new Error(String(cost)); // 1.245 VND
 * ```
 *
 * @throws {InvariantError} if the price is not per token or a bucket is no whole number of 0 or
 * more
 */
export function costOfTokens(price: AppliedPrice, usage: TokenUsage): bigint {
  invariant(price.unit === "token", () => `Cannot price tokens per ${price.unit}`);
  const { input, cacheRead, cacheWrite, cacheWriteHour = 0, output } = usage;
  for (const count of [input, cacheRead, cacheWrite, cacheWriteHour, output]) {
    invariant(
      Number.isSafeInteger(count) && count >= 0 && count <= maxReportedTokens,
      () => `A token count is out of bounds: ${count}`,
    );
  }
  invariant(cacheWriteHour <= cacheWrite, "A part of the cache writes is larger than all of them");
  const { inputAudio = 0, inputImage = 0, outputAudio = 0, outputImage = 0 } = usage;
  invariant(
    inputAudio + inputImage <= input && outputAudio + outputImage <= output,
    "Parts of the tokens are larger than all of them",
  );
  const rates = ratesFor(price, usage);
  let tokenRates = 0n;
  countTokens(usage, (bucket) => appliedRate(rates, bucket) !== undefined, (bucket, tokens) => {
    const rate = appliedRate(rates, bucket);
    invariant(rate !== undefined, "Tokens were counted in a kind that has no rate");
    tokenRates += BigInt(tokens) * rate;
  });
  return roundedUp(tokenRates);
}

type TokenPrice = AppliedPrice & { readonly unit: "token" };

/** Returns the rates that apply to usage. */
export function ratesFor(price: TokenPrice, usage: TokenUsage): TokenRates {
  return ratesAt(price, billedInputTokens(usage));
}

/** Returns the rates of a call that is billed for so much input. Those of long prompts are nowhere cheaper. */
function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  const { long } = price;
  return long !== undefined && inputTokens > long.aboveTokens ? long : price;
}

/** Computes the cost of `units` calls, images, videos, seconds or searches. */
export function costOfUnits(price: AppliedPrice, units: number): bigint {
  invariant(price.unit !== "token", "Cannot price units per token");
  invariant(Number.isSafeInteger(units) && units >= 0, () => `Units are out of bounds: ${units}`);
  return BigInt(units) * price.perUnitMicroVnd;
}

/** The most tokens of a call. */
export interface MostTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the prompt has text only; absent: it may have sound and pictures. */
  readonly isText?: boolean;
}

/**
 * Computes the most that a chat call can cost, which is reserved before it is admitted. Input is
 * priced at the most expensive input bucket, since the effect of the provider's cache is not known
 * yet, and output at its most expensive kind: some models draw and speak unasked.
 */
export function worstCaseCost(price: AppliedPrice, bound: MostTokens): bigint {
  if (price.unit !== "token") return price.perUnitMicroVnd;
  invariant(Number.isSafeInteger(bound.inputTokens) && bound.inputTokens >= 0, "Input bound");
  invariant(Number.isSafeInteger(bound.outputTokens) && bound.outputTokens >= 0, "Output bound");
  const rates = ratesAt(price, bound.inputTokens);
  const cached = maxRate(
    rates.inputPerMtokMicroVnd,
    rates.cacheReadPerMtokMicroVnd,
    rates.cacheWritePerMtokMicroVnd,
    rates.cacheWriteHourPerMtokMicroVnd,
  );
  const maxInputRate = bound.isText === true
    ? cached
    : maxRate(cached, rates.inputAudioPerMtokMicroVnd, rates.inputImagePerMtokMicroVnd);
  return roundedUp(
    BigInt(bound.inputTokens) * maxInputRate + BigInt(bound.outputTokens) * maxOutputRate(rates),
  );
}

function maxOutputRate(rates: TokenRates): bigint {
  return maxRate(
    rates.outputPerMtokMicroVnd,
    rates.outputAudioPerMtokMicroVnd,
    rates.outputImagePerMtokMicroVnd,
  );
}

/**
 * Computes the most that a token of output can cost, in µVND rounded up, by which the reservation of a stream grows;
 * 0 for prices of another unit.
 */
export function maxPerOutputToken(price: AppliedPrice, inputTokens: number): bigint {
  if (price.unit !== "token") return 0n;
  return roundedUp(maxOutputRate(ratesAt(price, inputTokens)));
}
