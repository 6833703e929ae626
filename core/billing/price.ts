/** Prices as the operator writes them, and the cost of a call under them: pure and exact. */
import { invariant } from "../lib/assert.ts";
import { maxReportedTokens } from "./limits.ts";
import type { AppliedPrice, TokenRates } from "./receipt.ts";
import { fromVnd } from "./micro_vnd.ts";
import { billedInputTokens, type TokenUsage } from "./token_usage.ts";

/** One step of a price by length, in whole seconds, both ends included. */
export interface VideoPriceTier {
  readonly fromSeconds: number;
  readonly toSeconds: number;
  readonly vnd: number;
}

/** Prices of tokens in the catalogue. */
interface CatalogueRates {
  /** Per 1,000,000 tokens, input and output alike unless the next fields differ. */
  readonly vndPerMtok: number;
  readonly outputVndPerMtok?: number | undefined;
  readonly cacheReadVndPerMtok?: number | undefined;
  readonly cacheWriteVndPerMtok?: number | undefined;
  /** Prompt tokens that a cache keeps for an hour; absent: as other cache writes. */
  readonly cacheWriteHourVndPerMtok?: number | undefined;
}

/** A price in the catalogue. Whole VND; the list figure is derived, never stored. */
export type CataloguePrice =
  | CatalogueRates & {
    readonly unit: "token";
    /** The rates of a whole call that is billed for more input than `aboveTokens`. */
    readonly longPrompt?: CatalogueRates & { readonly aboveTokens: number } | undefined;
  }
  | { readonly unit: "request"; readonly vnd: number }
  | { readonly unit: "image"; readonly vnd: number }
  /** Searches of some documents each. */
  | { readonly unit: "search"; readonly vnd: number }
  /** Audio, billed by the second. */
  | { readonly unit: "second"; readonly vndPerMinute: number }
  | { readonly unit: "video"; readonly tiers: readonly VideoPriceTier[] };

/**
 * Fixes the unit prices at admission. A video price needs the seconds of the request.
 *
 * @throws {InvariantError} if a video length has no tier: the request should have been refused
 * before
 */
export function applyPrice(price: CataloguePrice, seconds?: number): AppliedPrice {
  switch (price.unit) {
    case "token": {
      const { longPrompt } = price;
      return {
        unit: "token",
        ...ratesOf(price),
        ...(longPrompt && {
          long: { ...ratesOf(longPrompt), aboveTokens: longPrompt.aboveTokens },
        }),
      };
    }
    case "request":
    case "image":
    case "search":
      return { unit: price.unit, perUnitMicroVnd: fromVnd(price.vnd) };
    case "second":
      return { unit: "second", perUnitMicroVnd: perSecond(price.vndPerMinute) };
    case "video": {
      const tier = price.tiers.find((t) =>
        seconds !== undefined && seconds >= t.fromSeconds && seconds <= t.toSeconds
      );
      invariant(tier !== undefined, `No price for a video of ${seconds} seconds`);
      return { unit: "video", perUnitMicroVnd: fromVnd(tier.vnd) };
    }
  }
}

function ratesOf(price: CatalogueRates): TokenRates {
  const { vndPerMtok, cacheWriteHourVndPerMtok } = price;
  // VND per million tokens equals µVND per token.
  return {
    inputMicroVnd: BigInt(vndPerMtok),
    outputMicroVnd: BigInt(price.outputVndPerMtok ?? vndPerMtok),
    cacheReadMicroVnd: BigInt(price.cacheReadVndPerMtok ?? vndPerMtok),
    cacheWriteMicroVnd: BigInt(price.cacheWriteVndPerMtok ?? vndPerMtok),
    ...(cacheWriteHourVndPerMtok !== undefined && {
      cacheWriteHourMicroVnd: BigInt(cacheWriteHourVndPerMtok),
    }),
  };
}

/** Whether no rate is lower than the same one of another price. */
export function isNowhereCheaper(price: CatalogueRates, other: CatalogueRates): boolean {
  const [rates, others] = [ratesOf(price), ratesOf(other)];
  const hour = (of: TokenRates) => of.cacheWriteHourMicroVnd ?? of.cacheWriteMicroVnd;
  return rates.inputMicroVnd >= others.inputMicroVnd &&
    rates.outputMicroVnd >= others.outputMicroVnd &&
    rates.cacheReadMicroVnd >= others.cacheReadMicroVnd &&
    rates.cacheWriteMicroVnd >= others.cacheWriteMicroVnd && hour(rates) >= hour(others);
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
 * if (charged.unit !== "token" || charged.outputMicroVnd !== 6n) throw new Error("the rates of a short prompt");
 * ```
 */
export function chargedRates(price: AppliedPrice, usage: TokenUsage | undefined): AppliedPrice {
  if (price.unit !== "token" || price.long === undefined) return price;
  const { long, ...short } = price;
  if (usage === undefined || ratesFor(price, usage) !== long) return short;
  const { aboveTokens: _, ...rates } = long;
  return { unit: "token", ...rates };
}

function isFree({ vndPerMtok, outputVndPerMtok }: CatalogueRates): boolean {
  return vndPerMtok === 0 || outputVndPerMtok === 0;
}

const secondsPerMinute = 60n;

/** Returns µVND, rounded up so that a minute costs no less than its price. */
function perSecond(vndPerMinute: number): bigint {
  return (fromVnd(vndPerMinute) + secondsPerMinute - 1n) / secondsPerMinute;
}

/** Whether a call under a price may cost nothing. */
export function mayBeFree(price: CataloguePrice): boolean {
  switch (price.unit) {
    case "token":
      return isFree(price) || price.longPrompt !== undefined && isFree(price.longPrompt);
    case "request":
    case "image":
    case "search":
      return price.vnd === 0;
    case "second":
      return price.vndPerMinute === 0;
    case "video":
      return price.tiers.some(({ vnd }) => vnd === 0);
  }
}

/**
 * Computes the cost of usage in tokens.
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
  invariant(price.unit === "token", `Cannot price tokens per ${price.unit}`);
  const { input, cacheRead, cacheWrite, cacheWriteHour = 0, output } = usage;
  for (const count of [input, cacheRead, cacheWrite, cacheWriteHour, output]) {
    invariant(
      Number.isSafeInteger(count) && count >= 0 && count <= maxReportedTokens,
      `A token count is out of bounds: ${count}`,
    );
  }
  invariant(cacheWriteHour <= cacheWrite, "A part of the cache writes is larger than all of them");
  const rates = ratesFor(price, usage);
  const { cacheWriteHourMicroVnd = rates.cacheWriteMicroVnd } = rates;
  return BigInt(input) * rates.inputMicroVnd + BigInt(cacheRead) * rates.cacheReadMicroVnd +
    BigInt(cacheWrite - cacheWriteHour) * rates.cacheWriteMicroVnd +
    BigInt(cacheWriteHour) * cacheWriteHourMicroVnd + BigInt(output) * rates.outputMicroVnd;
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
  invariant(Number.isSafeInteger(units) && units >= 0, `Units are out of bounds: ${units}`);
  return BigInt(units) * price.perUnitMicroVnd;
}

/**
 * Computes the most that a chat call can cost, which is reserved before it is admitted. Input is
 * priced at the most expensive input bucket, since the effect of the provider's cache is not known
 * yet.
 */
export function worstCaseCost(
  price: AppliedPrice,
  bound: { readonly inputTokens: number; readonly outputTokens: number },
): bigint {
  if (price.unit !== "token") return price.perUnitMicroVnd;
  invariant(Number.isSafeInteger(bound.inputTokens) && bound.inputTokens >= 0, "Input bound");
  invariant(Number.isSafeInteger(bound.outputTokens) && bound.outputTokens >= 0, "Output bound");
  const rates = ratesAt(price, bound.inputTokens);
  let dearest = rates.inputMicroVnd;
  if (rates.cacheReadMicroVnd > dearest) dearest = rates.cacheReadMicroVnd;
  if (rates.cacheWriteMicroVnd > dearest) dearest = rates.cacheWriteMicroVnd;
  const { cacheWriteHourMicroVnd = 0n } = rates;
  if (cacheWriteHourMicroVnd > dearest) dearest = cacheWriteHourMicroVnd;
  return BigInt(bound.inputTokens) * dearest + BigInt(bound.outputTokens) * rates.outputMicroVnd;
}

/**
 * Computes the most that a token of output can cost, in µVND, by which the reservation of a stream grows; 0 for prices
 * of another unit.
 */
export function mostPerOutputToken(price: AppliedPrice, inputTokens: number): bigint {
  return price.unit === "token" ? ratesAt(price, inputTokens).outputMicroVnd : 0n;
}
