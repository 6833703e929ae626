/**
 * Finds prices that are below what a provider charges, by comparing the rates of models and of their routes. A price per
 * call over a cost per token cannot be compared so; margins show it.
 */
import { countedTools } from "../billing/usage/hosted_tools.ts";
import { applyPrice, type CataloguePrice, toolPricesOf } from "../billing/price.ts";
import {
  bucketName,
  costInMicroVnd,
  costOfUnitsAt,
  countedBucket,
  type RateCard,
  unitsPerRate,
} from "../billing/rate_card.ts";
import { atFactor, bucketRates, rateOf, tokenBuckets, usualFactor } from "../billing/tariff.ts";
import { unitsOnCard } from "../billing/provider_cost.ts";
import type { TokenRates } from "../billing/usage/receipt.ts";
import { microVndOf } from "../billing/money/micro_vnd.ts";
import type { Catalog, Model, Route } from "./catalog.ts";

/** A rate that customers pay and the one that the provider charges: per 1,000,000 tokens, per minute or per piece. */
export interface RateComparison {
  /** The bucket of the rate card, or a tier of a price. */
  readonly bucket: string;
  readonly priceMicroVnd: bigint;
  readonly costMicroVnd: bigint;
}

/** A route that charges more than its model's customers pay; with the rate that is furthest below its cost. */
export interface Underpriced extends RateComparison {
  readonly model: string;
  readonly route: string;
  /** Number of rates of the route that are below their cost. */
  readonly rates: number;
}

function unitCost(card: RateCard, bucket: string): bigint {
  return costInMicroVnd(card, costOfUnitsAt(card, { [bucket]: unitsPerRate(bucket) }));
}

type TokenPrice = Extract<CataloguePrice, { readonly unit: "token" }>;

/** Compares the rates of tokens: short and long prompts, and each tier that customers can ask for. */
function tokenComparisons(price: TokenPrice, card: RateCard): RateComparison[] {
  const applied = applyPrice(price);
  if (applied.unit !== "token") return [];
  const { long, tiers = {}, ...short } = applied;
  const { longAboveTokens } = card;
  const pairs: (readonly [rates: TokenRates, isLong: boolean])[] = [[short, false]];
  if (longAboveTokens !== undefined) {
    pairs.push([long ?? short, true]);
    // Prompts between the two lengths cost as long ones and are paid as short ones.
    if (long !== undefined && long.aboveTokens > longAboveTokens) pairs.push([short, true]);
  }
  const factors: (readonly [string | undefined, bigint])[] = [
    [undefined, usualFactor],
    ...Object.entries(tiers),
  ];
  return pairs.flatMap(([rates, isLong]) => {
    const paid = bucketRates(rates);
    return factors.flatMap(([tier, factor]) =>
      tokenBuckets.map((bucket): RateComparison => {
        const own = tier !== undefined && card.tiers.has(tier) ? tier : undefined;
        const counted = bucketName(countedBucket(card, bucket), own, isLong);
        return {
          bucket: bucketName(bucket, tier, isLong),
          priceMicroVnd: atFactor(rateOf(paid, bucket), factor),
          costMicroVnd: unitCost(card, counted),
        };
      })
    );
  });
}

/** Compares the fees of hosted tools that a route allows. */
function toolComparisons({ price }: Model, route: Route, card: RateCard): RateComparison[] {
  const fees = toolPricesOf(price) ?? {};
  return countedTools.filter((tool) => card.tools.has(tool) && route.allow.has(tool))
    .map((tool): RateComparison => {
      const fee = fees[tool];
      const priceMicroVnd = fee === undefined
        ? 0n
        : microVndOf("vndPerUse" in fee ? fee.vndPerUse : fee.vndPerCall);
      return { bucket: tool, priceMicroVnd, costMicroVnd: unitCost(card, tool) };
    });
}

/** Compares videos by their lengths: those at which a price or a cost changes. */
function videoComparisons({ price }: Model, card: RateCard): RateComparison[] {
  if (price.unit !== "video") return [];
  const { cost } = card.terms;
  const steps = cost.unit === "video"
    ? cost.tiers.flatMap(({ fromSeconds, toSeconds }) => [fromSeconds, toSeconds])
    : [];
  return price.tiers.flatMap(({ fromSeconds, toSeconds, vnd }) =>
    [fromSeconds, toSeconds, ...steps.filter((at) => at > fromSeconds && at < toSeconds)]
      .map((seconds): RateComparison => ({
        bucket: `video.${seconds}`,
        priceMicroVnd: microVndOf(vnd),
        costMicroVnd: costInMicroVnd(card, costOfUnitsAt(card, unitsOnCard(card, { seconds }))),
      }))
  );
}

function comparisons(model: Model, route: Route, card: RateCard): RateComparison[] {
  const { price } = model;
  const tools = toolComparisons(model, route, card);
  if (price.unit === "video") return videoComparisons(model, card);
  if (price.unit === "token") {
    return card.terms.cost.unit === "token" ? [...tokenComparisons(price, card), ...tools] : tools;
  }
  const { unit } = card.terms.cost;
  if (unit !== price.unit && unit !== "request") return tools;
  const priceMicroVnd = microVndOf(price.unit === "second" ? price.vndPerMinute : price.vnd);
  return [{ bucket: unit, priceMicroVnd, costMicroVnd: unitCost(card, unit) }, ...tools];
}

/** Whether one rate is further below its cost than another, by its share of the cost. */
function isWorse(one: RateComparison, other: RateComparison): boolean {
  return one.priceMicroVnd * other.costMicroVnd < other.priceMicroVnd * one.costMicroVnd;
}

/** Compares all rates of a route with what its model's customers pay; none where the cost is not known. */
export function comparedRates(model: Model, route: Route): RateComparison[] {
  return route.rateCard === undefined ? [] : comparisons(model, route, route.rateCard);
}

/** Lists the routes that charge more than their model's customers pay. */
export function underpricedRoutes({ models }: Pick<Catalog, "models">): Underpriced[] {
  return models.flatMap((model) => {
    const seen = new Set<string>();
    return model.routes.flatMap((route): Underpriced[] => {
      const { rateCard } = route;
      // A provider that speaks several styles is one route of the file.
      const name = `${route.provider}/${route.upstreamModel}`;
      if (seen.has(name)) return [];
      seen.add(name);
      if (rateCard === undefined) return [];
      const below = comparisons(model, route, rateCard)
        .filter(({ priceMicroVnd, costMicroVnd }) => priceMicroVnd < costMicroVnd);
      const [first, ...rest] = below;
      if (first === undefined) return [];
      const worst = rest.reduce((found, one) => isWorse(one, found) ? one : found, first);
      return [{ model: model.id, route: name, ...worst, rates: below.length }];
    });
  });
}
