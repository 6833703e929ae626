/**
 * Answers what calls that were made already would have earned and cost at other prices, from their sums alone.
 *
 * Sums have tokens by kind and units, but not which prompts were long, which tier a call had, or which fees of tools it
 * paid. So nothing is computed from scratch: the difference between the two prices is added to what was charged. With an
 * unchanged price the result is exactly what was charged; the part that the rates do not explain is kept and named.
 */
import { applyPrice, type CataloguePrice, tokensPerRate } from "./price.ts";
import { costInMicroVnd, costOfUnitsAt, type ProviderUnits, type RateCard } from "./rate_card.ts";
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";

/** Use of the calls of one model, and what was charged for them. */
export interface PricedSum {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly units: number;
  readonly costMicroVnd: bigint;
}

/** Sum that calls would have earned at another price. */
interface RepricedSum {
  readonly revenueMicroVnd: bigint;
  /**
   * Charges beyond the usual rates of the former price: long prompts, tiers of service, fees of tools, and
   * other prices of these days. Below 0: less was charged. It stays as it was.
   */
  readonly unexplainedMicroVnd: bigint;
}

/** Tokens × rates of a sum, in millionths of a µVND. */
function tokensAt(rates: TokenRates, sum: PricedSum): bigint {
  return BigInt(sum.inputTokens) * rates.inputPerMtokMicroVnd +
    BigInt(sum.cacheReadTokens) * rates.cacheReadPerMtokMicroVnd +
    BigInt(sum.cacheWriteTokens) * rates.cacheWritePerMtokMicroVnd +
    BigInt(sum.outputTokens) * rates.outputPerMtokMicroVnd;
}

/** Applies a price to a sum; `undefined` if sums do not say enough: videos of several lengths have several prices. */
function appliedToSum(price: CataloguePrice): AppliedPrice | undefined {
  if (price.unit !== "video") return applyPrice(price);
  const [tier, ...others] = price.tiers;
  if (tier === undefined || others.some(({ vnd }) => String(vnd) !== String(tier.vnd))) {
    return undefined;
  }
  return applyPrice(price, tier.fromSeconds);
}

/** Computes what a sum is at a price, in millionths of a µVND. */
function sumAt(price: AppliedPrice, sum: PricedSum): bigint {
  return price.unit === "token"
    ? tokensAt(price, sum)
    : BigInt(sum.units) * price.perUnitMicroVnd * tokensPerRate;
}

/** Rounds millionths of a µVND down: also below 0. */
function wholeMicroVnd(millionths: bigint): bigint {
  const whole = millionths / tokensPerRate;
  return millionths < 0n && whole * tokensPerRate !== millionths ? whole - 1n : whole;
}

/**
 * Prices a sum of calls at another price.
 *
 * @returns `undefined` if their sum does not say what the price asks for
 *
 * @example
 * ```ts
 * import { repricedSum } from "./repricing.ts";
 * const sum = { inputTokens: 2_000_000, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, units: 0 };
 * const charged = { ...sum, costMicroVnd: 7_000_000n };
 * const found = repricedSum(charged, { unit: "token", vndPerMtok: 3 }, { unit: "token", vndPerMtok: 4 });
 * // One VND was for something else: a tool, say.
 * if (found?.revenueMicroVnd !== 9_000_000n || found.unexplainedMicroVnd !== 1_000_000n) throw new Error("wrong");
 * ```
 */
export function repricedSum(
  sum: PricedSum,
  before: CataloguePrice,
  after: CataloguePrice,
): RepricedSum | undefined {
  const [former, other] = [appliedToSum(before), appliedToSum(after)];
  if (former === undefined || other === undefined || former.unit !== other.unit) return undefined;
  const atFormer = sumAt(former, sum);
  return {
    revenueMicroVnd: sum.costMicroVnd + wholeMicroVnd(sumAt(other, sum) - atFormer),
    unexplainedMicroVnd: sum.costMicroVnd - wholeMicroVnd(atFormer),
  };
}

/**
 * Computes what units that a provider charged at one rate card cost at another; `undefined` if that card has no rate for
 * some of them.
 *
 * @param costMicroVnd what they cost
 */
export function repricedCost(
  units: ProviderUnits,
  costMicroVnd: bigint,
  before: RateCard,
  after: RateCard,
): bigint | undefined {
  if (Object.keys(units).some((bucket) => !after.rates.has(bucket))) return undefined;
  const at = (card: RateCard) => costInMicroVnd(card, costOfUnitsAt(card, units));
  return costMicroVnd + at(after) - at(before);
}
