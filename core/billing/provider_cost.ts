/** Computes what a call cost the operator at the provider that answered it. Never part of the customer's money. */
import type { CountedTool, ToolUses } from "./usage/hosted_tools.ts";
import type { ProviderCost } from "./usage/receipt.ts";
import {
  bucketName,
  costInMicroVnd,
  costOfUnitsAt,
  type RateCard,
  videoBucket,
} from "./rate_card.ts";
import { countTokens, isLong, stepOf } from "./tariff.ts";
import type { TokenUsage } from "./tokens/token_bounds.ts";

/** Use that a provider counted of a call. */
export interface ProviderUse {
  /** Tokens as the provider reported them, or as the gateway counted them where it reported none. */
  readonly usage?: TokenUsage | undefined;
  /** The tier of service that ran; absent: the usual one. */
  readonly tier?: string | undefined;
  readonly toolUses?: ToolUses | undefined;
  /** Images or searches. */
  readonly units?: number | undefined;
  /** Of sound or of a video. */
  readonly seconds?: number | undefined;
}

/** The cost of a call by a route whose rates are not known. */
export const unknownProviderCost: ProviderCost = { kind: "unknown" };

function addTokens(
  units: Record<string, number>,
  card: RateCard,
  usage: TokenUsage,
  tier: string | undefined,
): void {
  const long = isLong(usage, card.longAboveTokens);
  const own = tier !== undefined && card.tiers.has(tier) ? tier : undefined;
  countTokens(usage, (bucket) => card.tokenBuckets.has(bucket), (bucket, tokens) => {
    units[bucketName(bucket, own, long)] = tokens;
  });
}

function addTools(units: Record<string, number>, card: RateCard, uses: ToolUses): void {
  for (const [tool, unit] of card.tools) {
    const used = uses[tool satisfies CountedTool] ?? 0;
    if (used > 0) units[tool] = unit === "call" ? 1 : used;
  }
}

/**
 * Returns the units of a call in the buckets of a card.
 *
 * @example
 * ```ts
 * import { unitsOnCard } from "./provider_cost.ts";
 * import { rateCard, vnd } from "./rate_card.ts";
 * const card = rateCard({ currency: vnd, cost: { unit: "token", perMtok: 3, cacheReadPerMtok: "0.3" } });
 * const usage = { input: 5, cacheRead: 90, cacheWrite: 0, output: 7, reasoning: 2 };
 * const units = unitsOnCard(card, { usage });
 * if (JSON.stringify(units) !== '{"input":5,"cache_read":90,"output":7}') throw new Error("wrong");
 * ```
 */
export function unitsOnCard(card: RateCard, use: ProviderUse): Record<string, number> {
  const units: Record<string, number> = {};
  const { cost } = card.terms;
  switch (cost.unit) {
    case "token":
      if (use.usage !== undefined) addTokens(units, card, use.usage, use.tier);
      break;
    case "request":
      units["request"] = 1;
      break;
    case "video": {
      const tier = stepOf(cost.tiers, use.seconds ?? 0);
      if (tier !== undefined) units[videoBucket(tier)] = 1;
      break;
    }
    case "second":
      if (use.seconds !== undefined && use.seconds > 0) units["second"] = use.seconds;
      break;
    default:
      if (use.units !== undefined && use.units > 0) units[cost.unit] = use.units;
  }
  if (use.toolUses !== undefined) addTools(units, card, use.toolUses);
  return units;
}

/** Computes the cost of a call that a route answered. */
export function providerCost(card: RateCard | undefined, use: ProviderUse): ProviderCost {
  if (card === undefined) return unknownProviderCost;
  const units = unitsOnCard(card, use);
  const costMicroVnd = costInMicroVnd(card, costOfUnitsAt(card, units));
  return { kind: "known", card: card.id, units, costMicroVnd };
}
