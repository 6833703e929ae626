/**
 * Factors on the rates of tokens for tiers of service, such as `flex` and `priority`.
 *
 * A call reserves at the highest factor that it may get: a provider may run a call at its usual tier instead of the
 * requested one. It is charged by the tier that the provider reports, but never more than was reserved: a caller that
 * asks for no tier does not pay for one.
 */
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";
import { appliedRates, atFactor, bucketRates, readRates, usualFactor } from "./tariff.ts";

/** The tier of a call that asks for none, at the rates of the price itself. */
export const usualTier = "default";

/** Most decimals of a factor: with those of a price, within the six that are exact. */
export const factorDecimals = 2;

/** Names of the usual tier. What `auto` means is the operator's own setting at the provider. */
const usualNames: ReadonlySet<string> = new Set([
  "",
  "auto",
  "standard",
  "standard_only",
  "on_demand",
  "unspecified",
  "provisioned",
  "provisioned_throughput",
  "batch",
]);

/**
 * Returns one name for what vendors call a tier.
 *
 * @example
 * ```ts
 * import { tierName } from "./service_tiers.ts";
 * const names = ["SERVICE_TIER_PRIORITY", "ON_DEMAND_FLEX", "performance", "standard", "ultra"].map(tierName);
 * if (names.join() !== "priority,flex,priority,default,ultra") throw new Error(names.join());
 * ```
 */
export function tierName(word: string): string {
  const name = word.toLowerCase().replace(/^service_tier_/, "").replace(/^on_demand_/, "");
  if (usualNames.has(name)) return usualTier;
  return name === "performance" ? "priority" : name;
}

function factorOf(price: AppliedPrice, tier: string): bigint {
  const tiers = price.unit === "token" ? price.tiers : undefined;
  return tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier]! : usualFactor;
}

/** Computes the highest factor of a call that asks for a tier, in hundredths. */
function maxFactor(price: AppliedPrice, asked: string): bigint {
  const factor = factorOf(price, asked);
  return factor > usualFactor ? factor : usualFactor;
}

/** Returns the price at which a call reserves money that asks for a tier. */
export function reservedPrice(price: AppliedPrice, asked: string): AppliedPrice {
  return withFactor(price, maxFactor(price, asked));
}

/** What is known of the tier of an ended call. */
export interface TierOfCall {
  readonly asked: string;
  /** As the provider calls it; absent if it reported none. */
  readonly reported?: string | undefined;
  /** Whether the provider got the request for the tier. */
  readonly isCarried: boolean;
}

/** A price without factors, and the tier whose factor it contains; absent: the usual one. */
export interface ChargedTier {
  readonly price: AppliedPrice;
  readonly serviceTier?: string;
}

/**
 * Returns the price that a call is charged by. A provider that reports no tier is taken to have run a dearer one that it
 * was asked for, and the usual one instead of a cheaper one.
 *
 * @example
 * ```ts
 * import { applyPrice } from "./price.ts";
 * import { chargedTier } from "./service_tiers.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 100, serviceTiers: { priority: 2 } });
 * const charged = chargedTier(price, { asked: "priority", reported: "default", isCarried: true });
 * if (charged.serviceTier !== undefined) throw new Error("charged for a tier that was not given");
 * ```
 */
export function chargedTier(
  price: AppliedPrice,
  { asked, reported, isCarried }: TierOfCall,
): ChargedTier {
  if (price.unit !== "token" || price.tiers === undefined) return { price };
  const most = maxFactor(price, asked);
  const known = reported === undefined || reported === "" ? undefined : tierName(reported);
  const assumed = isCarried && factorOf(price, asked) > usualFactor ? asked : usualTier;
  const tier = known ?? assumed;
  const factor = factorOf(price, tier);
  // The operator's own setting, or the provider's choice: not what the caller asked for.
  if (factor > most) return { price: withFactor(price, usualFactor) };
  const charged = withFactor(price, factor);
  return factor === usualFactor ? { price: charged } : { price: charged, serviceTier: tier };
}

function withFactor(price: AppliedPrice, factor: bigint): AppliedPrice {
  if (price.unit !== "token" || price.tiers === undefined) return price;
  const { tiers: _, long, ...rates } = price;
  if (factor === usualFactor) return long === undefined ? rates : { ...rates, long };
  return {
    unit: "token",
    ...scaled(rates, factor),
    ...(long !== undefined && {
      long: { ...scaled(long, factor), aboveTokens: long.aboveTokens },
    }),
  };
}

/** Multiplies all rates. */
function scaled(rates: TokenRates, factor: bigint): TokenRates {
  const own = bucketRates(rates);
  return appliedRates(
    readRates(atFactor(own.input, factor), (bucket) => {
      const rate = own[bucket];
      return rate === undefined ? undefined : atFactor(rate, factor);
    }),
  );
}
