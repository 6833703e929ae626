/**
 * Settings of calls that an organisation, its teams and its keys have: preferences of the route for calls that say none,
 * bounds that no call leaves, and what answers tell.
 *
 * All three have one form, {@linkcode CallSettings}. {@linkcode callRulesOf} merges them once, when a key is read, so that
 * a call costs no read more: of what bounds calls, everything holds; of the rest, what is nearest to the key.
 */
import { maxUnitPrices } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import type { Catalog, Model } from "../../catalog/catalog.ts";
import { defined } from "../../lib/base/defined.ts";
import type { TextRule } from "./text_rules.ts";
import {
  type MaxPrice,
  priceNames,
  pricesText,
  refuseDearer,
  type RouteDefaults,
  routesMeeting,
  type RouteSort,
  settingsPricePath,
} from "./route_preferences.ts";

/** Settings about providers, named as in requests. */
export interface ProviderSettings {
  /** Providers to try first; a request may say another order. */
  readonly order?: readonly string[];
  /** Whether others are tried; a request may say otherwise. */
  readonly allowFallbacks?: boolean;
  /** By which figure routes are ordered; a request may say another one. */
  readonly sort?: RouteSort;
  /** The only providers that may serve calls. */
  readonly only?: readonly string[];
  /** Providers that may not. */
  readonly ignore?: readonly string[];
  /** The only regions in which calls may be served. */
  readonly regions?: readonly string[];
  /** Providers must be known not to train on what they get. */
  readonly forbidsTraining?: true;
  /** Providers must be known to keep nothing. */
  readonly forbidsRetention?: true;
  /** The highest prices that calls may have. */
  readonly maxPrice?: MaxPrice;
}

/** Settings of the calls of an organisation, a team or a key. */
export interface CallSettings extends ProviderSettings {
  /** Models to try after that of a request which names no others. */
  readonly models?: readonly string[];
  /** Whether each answer of a chat call tells its cost; a request may say otherwise. */
  readonly tellsCost?: boolean;
  /** Whether the gateway places cache marks for clients that set none. */
  readonly autoCache?: boolean;
  /** The only models that may be called; a key has its own list. */
  readonly allowedModels?: readonly string[];
  /** Chat calls may have no pictures. */
  readonly noImages?: true;
  /** Chat calls may have no files: documents, sound, video. */
  readonly noFiles?: true;
  /** The only hosts of MCP servers to which the gateway may connect; empty: none. */
  readonly mcpServers?: readonly string[];
  /** Rules about the text of requests. */
  readonly rules?: readonly TextRule[];
}

/** The members of settings as logs have them, in few words. */
export function loggedCallSettings({ maxPrice, rules, ...settings }: CallSettings): object {
  return {
    ...settings,
    ...(maxPrice !== undefined && { maxPrice: pricesText(maxPrice) }),
    ...(rules !== undefined && { rules: rules.map(({ name, action }) => `${name} (${action})`) }),
  };
}

/** Bounds of routes that a request cannot widen. */
export interface RouteBounds {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly regions?: readonly string[];
  readonly forbidsTraining: boolean;
  readonly forbidsRetention: boolean;
}

/** Settings that hold for the calls of one key. */
export interface CallRules {
  /** Bounds of routes; absent: none. */
  readonly bounds?: RouteBounds;
  /** Highest prices; absent: none. */
  readonly maxPrice?: MaxPrice;
  /** Preferences of requests that do not say them; absent: none. */
  readonly defaults?: RouteDefaults;
  /** Bounds of what chat requests contain; absent: none. */
  readonly parts?: { readonly noImages: boolean; readonly noFiles: boolean };
  /** The only hosts of MCP servers; absent: any. */
  readonly mcpServers?: readonly string[];
  /** Rules about the text of requests; absent: none. */
  readonly texts?: readonly TextRule[];
  /** Whether answers tell their cost, if a request does not say otherwise. */
  readonly tellsCost?: boolean;
  /** Whether the gateway places cache marks; absent: where a route has them. */
  readonly autoCache?: boolean;
}

/** Returns the value of the nearest of several levels that has one. */
function nearest<Value>(
  levels: readonly CallSettings[],
  of: (level: CallSettings) => Value | undefined,
): Value | undefined {
  for (let i = levels.length - 1; i >= 0; i--) {
    const value = of(levels[i]!);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Names that all lists have; `undefined`: there is no list. */
function inAll(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  return lists.reduce(
    (common, list) =>
      list === undefined || common === undefined
        ? common ?? list
        : common.filter((name) => list.includes(name)),
    undefined,
  );
}

/** The lowest of several highest prices, each for itself. */
function lowest(bounds: readonly MaxPrice[]): MaxPrice | undefined {
  const all = priceNames.flatMap((name) => {
    const amounts = bounds.map((bound) => bound[name]).filter((amount) => amount !== undefined);
    if (amounts.length === 0) return [];
    return [[name, amounts.reduce((one, other) => one < other ? one : other)] as const];
  });
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

function ifAny<Members extends object>(members: Members): Members | undefined {
  return Object.keys(members).length === 0 ? undefined : members;
}

function boundsOf(levels: readonly CallSettings[]): RouteBounds | undefined {
  const only = inAll(levels.map((level) => level.only));
  const regions = inAll(levels.map((level) => level.regions));
  const ignore = [...new Set(levels.flatMap((level) => level.ignore ?? []))];
  const forbidsTraining = levels.some((level) => level.forbidsTraining === true);
  const forbidsRetention = levels.some((level) => level.forbidsRetention === true);
  const lists = defined({ only, regions, ignore: ignore.length === 0 ? undefined : ignore });
  return ifAny(lists) === undefined && !forbidsTraining && !forbidsRetention
    ? undefined
    : { ...lists, forbidsTraining, forbidsRetention };
}

function partsOf(levels: readonly CallSettings[]): CallRules["parts"] {
  const noImages = levels.some((level) => level.noImages === true);
  const noFiles = levels.some((level) => level.noFiles === true);
  return noImages || noFiles ? { noImages, noFiles } : undefined;
}

function textsOf(levels: readonly CallSettings[]): readonly TextRule[] | undefined {
  const rules = levels.flatMap((level) => level.rules ?? []);
  return rules.length === 0 ? undefined : rules;
}

/** Returns the models that every list of settings and that of a key have; `undefined`: every model. */
export function allowedModelsOf(
  ofKey: readonly string[] | undefined,
  settings: readonly (CallSettings | undefined)[],
): ReadonlySet<string> | undefined {
  const all = inAll([ofKey, ...settings.map((level) => level?.allowedModels)]);
  return all && new Set(all);
}

/**
 * Merges the settings of an organisation, a team and a key, the nearest last. `undefined` if there are none: then calls
 * are not asked about them.
 *
 * @example
 * ```ts
 * import { callRulesOf } from "./call_settings.ts";
 * const rules = callRulesOf([{ only: ["a", "b"], sort: "price" }, undefined, { only: ["b", "c"], sort: "latency" }]);
 * if (rules?.bounds?.only?.join() !== "b") throw new Error("the stricter bound holds");
 * if (rules.defaults?.sort !== "latency") throw new Error("the nearest default holds");
 * ```
 */
export function callRulesOf(
  settings: readonly (CallSettings | undefined)[],
): CallRules | undefined {
  const levels = settings.filter((level) => level !== undefined);
  if (levels.length === 0) return undefined;
  const defaults = ifAny(defined({
    models: nearest(levels, ({ models }) => models),
    order: nearest(levels, ({ order }) => order),
    sort: nearest(levels, ({ sort }) => sort),
    allowFallbacks: nearest(levels, ({ allowFallbacks }) => allowFallbacks),
  }));
  return ifAny(defined({
    bounds: boundsOf(levels),
    maxPrice: lowest(levels.flatMap(({ maxPrice }) => maxPrice ?? [])),
    defaults,
    parts: partsOf(levels),
    mcpServers: inAll(levels.map(({ mcpServers }) => mcpServers)),
    texts: textsOf(levels),
    tellsCost: nearest(levels, ({ tellsCost }) => tellsCost),
    autoCache: nearest(levels, ({ autoCache }) => autoCache),
  }));
}

/**
 * Refuses a model of media whose price is above the highest one of settings. Tokens are compared at their dearest rate,
 * whatever the length of the prompt.
 *
 * @throws {GatewayError} `invalid_request` naming the price
 */
export function refuseDearerMedia(
  model: Pick<Model, "id">,
  price: AppliedPrice,
  rules: CallRules | undefined,
): void {
  if (rules?.maxPrice === undefined) return;
  const { unit } = price;
  if (unit === "token" || unit === "request") {
    const bound = { inputTokens: Number.MAX_SAFE_INTEGER, isText: false } as const;
    refuseDearer(model, maxUnitPrices(price, bound), rules, settingsPricePath);
  }
  if (unit === "image") {
    refuseDearer(model, { image: price.perUnitMicroVnd }, rules, settingsPricePath);
  }
}

/** Returns a model with the routes that settings allow; `undefined` if they allow none. */
export function withAllowedRoutes(
  model: Model,
  rules: CallRules | undefined,
  { providers }: Pick<Catalog, "providers">,
): Model | undefined {
  const bounds = rules?.bounds;
  if (bounds === undefined) return model;
  return routesMeeting(model, { ...bounds, allowFallbacks: true }, providers);
}
