/**
 * Computes what a change of prices or costs does: the margin of each route, and what the last days would have been.
 *
 * - Folder `routes/operator/pages/catalogue/effect/`: what a change of the catalogue does to money, before it is made.
 * - In: the catalogue in force, a changed one, sums of the last days.
 * - Out: margins, sums at the new prices, and what needs a second confirmation.
 * - Never: applies a change.
 */
import type { Catalog, Model } from "../../../../../core/catalog/catalog.ts";
import { comparedRates, type RateComparison } from "../../../../../core/catalog/underpriced.ts";
import { repricedCost, repricedSum } from "../../../../../core/billing/repricing.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { readModelSums } from "../../../../../kv/money/costs/model_sums.ts";
import type { DayRange, UsageSum } from "../../../../../kv/money/receipts/day_sums.ts";
import { providerCellOf } from "../../../../../kv/money/receipts/provider_sums.ts";

/** Most models that a preview computes: a page of them; the rest is counted. */
const maxEffects = 20;

/** Most rates of a route that a preview lists; the rest is counted. */
export const maxRateLines = 8;

/** A rate of a route, before and after. */
export interface RateLine {
  /** Buckets with the same rates. */
  readonly buckets: readonly string[];
  readonly before: RateComparison | undefined;
  readonly after: RateComparison;
}

/** The rates of a route. */
export interface RouteEffect {
  readonly route: string;
  readonly lines: readonly RateLine[];
}

/** Earnings and cost of calls, as they were or would have been. */
export interface WeekSum {
  readonly revenueMicroVnd: bigint;
  readonly costMicroVnd: bigint;
  /** `undefined`: the cost of some calls is not known. */
  readonly marginMicroVnd: bigint | undefined;
}

/** Effect on the last days: as they were, and as they would have been. */
export interface WeekEffect {
  readonly calls: number;
  readonly recorded: WeekSum;
  /** `undefined`: their sums do not say what the price asks for. */
  readonly repriced: WeekSum | undefined;
  /** Charges beyond the usual rates, which stay as they were. */
  readonly unexplainedMicroVnd: bigint;
  /** Calls whose cost is not known. */
  readonly unknownCalls: number;
  /** Calls whose cost stays as it was, since their rates were others, or are no longer there. */
  readonly keptCostCalls: number;
}

/** Effect of a change on one model. */
export interface ModelEffect {
  readonly model: string;
  readonly routes: readonly RouteEffect[];
  /** `undefined`: it had no calls. */
  readonly week: WeekEffect | undefined;
}

/** Effect of a change. */
export interface PriceEffect {
  readonly models: readonly ModelEffect[];
  /** Models beyond the bound. */
  readonly more: number;
  /** There were more sums than are read: those of the last days are too low. */
  readonly isPartial: boolean;
}

/** The rates of a model's price and of its routes as one text, to see a change. */
function ratesText({ price, routes }: Model): string {
  return JSON.stringify([price, routes.map(({ id, rateCard }) => [id, rateCard?.id])]);
}

function routeName({ provider, upstreamModel }: Model["routes"][number]): string {
  return `${provider}/${upstreamModel}`;
}

/** Whether two rates are the same before and after, so that one line is for both. */
function isSameLine(line: RateLine, { before, after }: RateLine): boolean {
  const isSame = (one: RateComparison | undefined, other: RateComparison | undefined) =>
    one?.priceMicroVnd === other?.priceMicroVnd && one?.costMicroVnd === other?.costMicroVnd;
  return isSame(line.before, before) && isSame(line.after, after);
}

function rateLines(before: readonly RateComparison[], after: readonly RateComparison[]) {
  const lines: RateLine[] = [];
  for (const rate of after) {
    const former = before.find(({ bucket }) => bucket === rate.bucket);
    const line = { buckets: [rate.bucket], before: former, after: rate };
    const at = lines.findIndex((one) => isSameLine(one, line));
    const same = lines[at];
    if (same === undefined) lines.push(line);
    else lines[at] = { ...same, buckets: [...same.buckets, rate.bucket] };
  }
  return lines;
}

function routeEffects(before: Model | undefined, after: Model): RouteEffect[] {
  const seen = new Set<string>();
  return after.routes.flatMap((route): RouteEffect[] => {
    // A provider that speaks several styles is one route of the file.
    const name = routeName(route);
    if (seen.has(name)) return [];
    seen.add(name);
    const former = before?.routes.find((one) => routeName(one) === name);
    const formerRates = before === undefined || former === undefined
      ? []
      : comparedRates(before, former);
    const lines = rateLines(formerRates, comparedRates(after, route));
    return lines.length === 0 ? [] : [{ route: name, lines }];
  });
}

interface WeekCosts {
  readonly recorded: bigint;
  readonly repriced: bigint;
  readonly knownCalls: number;
  readonly keptCalls: number;
}

/** Costs of the calls of a sum, as they were and as they would have been. */
function weekCosts(usage: UsageSum, before: Model, after: Model): WeekCosts {
  const sum = { recorded: 0n, repriced: 0n, knownCalls: 0, keptCalls: 0 };
  for (const [id, cell] of Object.entries(usage.providers ?? {})) {
    const { card, route } = providerCellOf(id);
    if (card === undefined) continue;
    const at = (model: Model) => model.routes.find((one) => one.id === route)?.rateCard;
    const [former, other] = [at(before), at(after)];
    const isOwn = former !== undefined && other !== undefined && former.id === card;
    const cost = isOwn ? repricedCost(cell.units, cell.costMicroVnd, former, other) : undefined;
    sum.knownCalls += cell.calls;
    sum.recorded += cell.costMicroVnd;
    sum.repriced += cost ?? cell.costMicroVnd;
    if (cost === undefined && other?.id !== card) sum.keptCalls += cell.calls;
  }
  return sum;
}

/** Computes what the last days of a model were and would have been. */
function weekEffect(usage: UsageSum, before: Model, after: Model): WeekEffect {
  const calls = usage.calls - usage.failedCalls;
  const costs = weekCosts(usage, before, after);
  const unknownCalls = Math.max(0, calls - costs.knownCalls);
  const priced = repricedSum(usage, before.price, after.price);
  const sumOf = (revenueMicroVnd: bigint, costMicroVnd: bigint): WeekSum => ({
    revenueMicroVnd,
    costMicroVnd,
    marginMicroVnd: unknownCalls > 0 ? undefined : revenueMicroVnd - costMicroVnd,
  });
  return {
    calls,
    recorded: sumOf(usage.costMicroVnd, costs.recorded),
    repriced: priced && sumOf(priced.revenueMicroVnd, costs.repriced),
    unexplainedMicroVnd: priced?.unexplainedMicroVnd ?? 0n,
    unknownCalls,
    keptCostCalls: costs.keptCalls,
  };
}

/** Computes what a change does to the models whose price or costs differ. */
export async function priceEffect(
  kv: KeyValueStore,
  before: Pick<Catalog, "find">,
  after: Pick<Catalog, "models">,
  days: DayRange,
): Promise<PriceEffect> {
  const changed = after.models.flatMap((model) => {
    const found = before.find(model.id);
    const former = found?.id === model.id ? found : undefined;
    return former !== undefined && ratesText(former) === ratesText(model)
      ? []
      : [{ model, former }];
  });
  const shown = changed.slice(0, maxEffects);
  if (shown.length === 0) return { models: [], more: 0, isPartial: false };
  const ids = new Set(shown.map(({ model }) => model.id));
  const { byModel, isPartial } = await readModelSums(kv, days, ids);
  const models = shown.map(({ model, former }): ModelEffect => {
    const usage = byModel.get(model.id);
    return {
      model: model.id,
      routes: routeEffects(former, model),
      week: usage === undefined || former === undefined
        ? undefined
        : weekEffect(usage, former, model),
    };
  });
  return { models, more: changed.length - shown.length, isPartial };
}
