/**
 * One version of the catalogue in memory: immutable, read on every call. A change makes another one.
 *
 * - Folder `core/catalog/`: the catalogue: providers, models, aliases, prices and routes of
 *   `gateway.json`.
 * - In: the contents of `gateway.json`, or of a version in the store.
 * - Out: a `Catalog`, or every problem of the file at once; what differs between two.
 * - Never: reads a file or the network, or holds a secret in its schema: the file names environment
 *   variables.
 */
import { countedTools } from "../billing/usage/hosted_tools.ts";
import { feeOfPercent } from "../billing/own_key_fee.ts";
import { toolPricesOf } from "../billing/price.ts";
import {
  type CostCurrency,
  type RateCard,
  rateCard,
  type RouteCost,
  vnd,
} from "../billing/rate_card.ts";
import type { DefaultRateLimits } from "../limits/rate_limits.ts";
import {
  defaultFirstOutputMs,
  type Model,
  type ModelKind,
  type Route,
  type RouteStyle,
} from "./entries/model.ts";
import type { BillableFeature } from "../wire/contract/features.ts";
import type { RouteCapabilities } from "../wire/contract/contract.ts";
import { withoutKeys } from "../lib/base/key_forms.ts";
import { modelFacts } from "./presets/model_facts.ts";
import { presetOf } from "./presets/presets.ts";
import type { Preset } from "./presets/preset.ts";
import { catalogProblems, kindOfStyle } from "./problems.ts";
import type { GatewayFile, ModelEntry, ProviderEntry, WalletRules } from "./schema.ts";

// Takes over the providers and routes of the former catalogue that a new one has unchanged.
//
// Routing keeps what it learned (breakers, speed, resting keys) by these objects, so what is the same keeps its object,
// and what was changed begins without a history. A route is the same only if its provider is.

type Providers = Readonly<Record<string, ProviderEntry>>;

/** Parts that are taken over of the catalogue before. */
export interface FormerCatalog {
  readonly providers: Providers;
  find(name: string): Model | undefined;
}

/** Writes what JSON has no form for: amounts, rates by name, sets of features. */
function written(_member: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, written) === JSON.stringify(other, written);
}

/** Returns the providers, those that are as before with the objects of the former catalogue. */
function keptProviders(providers: Providers, former: FormerCatalog | undefined): Providers {
  if (former === undefined) return providers;
  return Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => {
      const before = Object.hasOwn(former.providers, name) ? former.providers[name] : undefined;
      return [name, before !== undefined && isSame(before, provider) ? before : provider];
    }),
  );
}

/** Returns the model, those of its routes that are as before with the objects of the former catalogue. */
function withKeptRoutes(
  model: Model,
  providers: Providers,
  former: FormerCatalog | undefined,
): Model {
  const before = former?.find(model.id);
  if (former === undefined || before?.id !== model.id) return model;
  const routes = model.routes.map((route) => {
    const same = before.routes.find(({ id }) => id === route.id);
    return same !== undefined && providers[route.provider] === former.providers[route.provider] &&
        isSame(same, route)
      ? same
      : route;
  });
  return { ...model, routes };
}

export type { Model, ModelKind, Route, RouteStyle };

/**
 * A wish for the route, as clients of aggregators write it behind a name. The model is the one that is named, not the
 * default one at another price.
 */
const variantSuffix = /:[a-z]{1,20}$/;

/** The wishes that order the routes of the model. Others say nothing about them, such as `:latest`. */
const suffixSorts: Readonly<Record<string, RouteOrder>> = {
  ":floor": "price",
  ":nitro": "throughput",
};

/** Wishes for another offer than the model at its price: serving the model all the same would be a guess. */
const refusedSuffixes: ReadonlySet<string> = new Set([":free", ":online"]);

/** The order of routes that the suffix of a name asks for. */
export type RouteOrder = "price" | "throughput";

/** Part of the names of stored prompts at aggregators. A model without that prompt would answer another question. */
export const presetMark = "@preset/";

/** Names by which aggregators choose a model for the request. */
const routerNames: ReadonlySet<string> = new Set(["auto", "openrouter/auto"]);

/** Whether a name asks for more than a model: for one that is chosen, a stored prompt, or another offer. */
export function asksForMore(name: string): boolean {
  const [suffix = ""] = variantSuffix.exec(name) ?? [];
  return automaticOrder(name) !== undefined || name.includes(presetMark) ||
    refusedSuffixes.has(suffix);
}

/**
 * Returns the order of a name by which the gateway chooses among models, such as `auto:nitro`; `undefined`: the name is
 * not one of these. Without a suffix the cheapest model is chosen.
 */
export function automaticOrder(name: string): RouteOrder | undefined {
  if (!name.includes("auto")) return undefined;
  const [suffix = ""] = variantSuffix.exec(name) ?? [];
  const isAutomatic = routerNames.has(suffix === "" ? name : name.slice(0, -suffix.length));
  return !isAutomatic ? undefined : suffix === "" ? "price" : suffixSorts[suffix];
}

/**
 * The model that a name selects. `mappedFrom` is the name that was sent if it is not the model's
 * id.
 */
export type Resolution =
  | {
    readonly found: true;
    readonly model: Model;
    readonly mappedFrom: string | undefined;
    /** The name is neither an id nor an alias, with or without a suffix. */
    readonly isDefault?: true;
    /** The order of routes that its suffix asks for. */
    readonly sort?: RouteOrder;
  }
  | { readonly found: false };

/** The catalogue: every model by its names, every provider, and the rules of wallets. */
export interface Catalog {
  /** Its number in the store, which receipts name; `undefined`: it was not read from a store. */
  readonly version: number | undefined;
  readonly models: readonly Model[];
  readonly providers: Readonly<Record<string, ProviderEntry>>;
  readonly listRate: number;
  readonly defaultModel: Model;
  /** Searches the web for models without a search of their own; absent: none does. */
  readonly webSearchModel?: Model | undefined;
  /** Whether the gateway calls the MCP servers of requests for models whose routes do not; absent: it does. */
  readonly mcpTools?: "on" | "off";
  readonly wallet: WalletRules;
  /** Fee of calls with own keys, in hundredths of a per cent; absent: there are no such keys. */
  readonly ownKeyFee?: number | undefined;
  /** Whether a route has a cost: then every call notes its own, or that it is not known. */
  readonly hasCosts: boolean;
  /** Rate limits of every account and key; absent: none. */
  readonly rateLimits?: DefaultRateLimits | undefined;
  /** Finds a model of any kind by its id or an alias. */
  find(name: string): Model | undefined;
  /**
   * Selects the model for a name sent to an endpoint of `kind`, with a wish for the route behind it or without. An
   * unknown name selects the default premium model on chat endpoints and nothing elsewhere, one that asks for more than a
   * model nothing anywhere. A known model of another kind is returned as it is.
   */
  resolve(name: string, kind: ModelKind): Resolution;
}

/** The bounds for models that name none: what current chat models have. */
const defaultContextWindow = 128_000;
const defaultMaxOutputTokens = 16_384;

const defaultStyles: Record<ModelKind, RouteStyle> = {
  chat: "chat",
  image: "images",
  speech: "speech",
  video: "videos",
  embedding: "embeddings",
  transcription: "transcriptions",
  rerank: "rerank",
  moderation: "moderations",
  completion: "completions",
};

/** The style of routes that name none: the first of the preset that serves models of the kind. */
function defaultStyle(kind: ModelKind, preset: Preset | undefined): RouteStyle {
  return preset?.styles.find((style) => kindOfStyle[style] === kind) ?? defaultStyles[kind];
}

/** VND for one unit of each currency of invoices, as written. */
type Currencies = GatewayFile["currencies"];

/** Returns the currency of a provider; `undefined` if the file has no rate for it, which is a problem of the file. */
function currencyOf(code: string | undefined, currencies: Currencies): CostCurrency | undefined {
  if (code === undefined || code === vnd.code) return vnd;
  return Object.hasOwn(currencies, code) ? { code, vndPerUnit: currencies[code]! } : undefined;
}

function cardOf(
  cost: RouteCost | undefined,
  code: string | undefined,
  currencies: Currencies,
): RateCard | undefined {
  const currency = cost === undefined ? undefined : currencyOf(code, currencies);
  return cost === undefined || currency === undefined ? undefined : rateCard({ currency, cost });
}

function buildRoutes(entry: ModelEntry, providers: Providers, currencies: Currencies): Route[] {
  return entry.routes.flatMap((route) => {
    const provider = providers[route.provider];
    const preset = knownProvider(provider);
    const styles = route.style === undefined
      ? [defaultStyle(entry.kind, preset)]
      : Array.isArray(route.style)
      ? route.style
      : [route.style];
    const upstreamModel = route.model ?? entry.id;
    const card = cardOf(route.cost, providers[route.provider]?.currency, currencies);
    return styles.map((style): Route => ({
      id: `${route.provider}/${upstreamModel}${styles.length > 1 ? `#${style}` : ""}`,
      provider: route.provider,
      upstreamModel,
      style,
      region: route.region,
      priority: route.priority,
      weight: route.weight,
      countTokens: route.countTokens ?? preset?.countTokens ?? false,
      compactsResponses: style === "responses" &&
        (route.compactResponses ?? preset?.compactResponses ?? provider?.kind === "sandbox"),
      allow: new Set(route.allow ?? pricedFeatures(entry)),
      capabilities: {
        ...factsOf(preset, style),
        ...modelFacts(style, upstreamModel),
        ...(isVertex(provider) && style === "gemini" ? { mixed_tools: "plain" } : {}),
        ...(route.capabilities ?? route.facts),
      },
      ...(card !== undefined && { rateCard: card }),
    }));
  });
}

/** The features that routes allow by default: those that customers pay for. */
function pricedFeatures({ price }: ModelEntry): BillableFeature[] {
  const prices = toolPricesOf(price) ?? {};
  const tools = countedTools.filter((tool) => prices[tool] !== undefined);
  const hasTiers = price.unit === "token" && price.serviceTiers !== undefined;
  return hasTiers ? [...tools, "service_tier"] : tools;
}

function knownProvider(provider: ProviderEntry | undefined): Preset | undefined {
  return provider?.kind === "http" && provider.preset !== undefined
    ? presetOf(provider.preset)
    : undefined;
}

function isVertex(provider: ProviderEntry | undefined): boolean {
  return provider?.kind === "http" && provider.cloud?.name === "vertex";
}

function factsOf(preset: Preset | undefined, style: RouteStyle): RouteCapabilities {
  const facts: Partial<Record<RouteStyle, RouteCapabilities>> = preset?.facts ?? {};
  return facts[style] ?? {};
}

/**
 * Builds a model of the file, with one route for each style.
 *
 * @param providers the providers as far as they are known: their presets have defaults of routes
 * @param currencies the currencies in which they charge
 */
export function buildModel(
  entry: ModelEntry,
  providers: Providers = {},
  currencies: Currencies = {},
): Model {
  return {
    id: entry.id,
    kind: entry.kind,
    family: entry.family,
    displayName: entry.displayName ?? entry.id,
    contextWindow: entry.contextWindow ?? defaultContextWindow,
    maxOutputTokens: entry.maxOutputTokens ?? defaultMaxOutputTokens,
    vision: entry.vision,
    aliases: entry.aliases,
    price: entry.price,
    routes: buildRoutes(entry, providers, currencies),
    hedge: entry.hedge,
    // Chat begins within seconds; the time of a picture is not known beforehand.
    slowAfterMs: entry.slowAfterMs ?? (entry.kind === "chat" ? defaultFirstOutputMs : undefined),
    videoRules: entry.videoRules,
    rateLimits: entry.rateLimits,
  };
}

/**
 * Whether an organisation can have a key of its own at a provider: where the key is all that differs. A cloud has the
 * operator's project in its addresses, and signs.
 */
export function takesOwnKeys(provider: ProviderEntry | undefined): boolean {
  return provider?.kind === "sandbox" ||
    provider?.kind === "http" && provider.cloud === undefined && typeof provider.auth === "string";
}

/** Parts that a catalogue takes over. */
export interface BuildCatalogOptions {
  /** Its number in the store. */
  readonly version?: number | undefined;
  /** The catalogue before it: providers and routes that are the same keep their objects. */
  readonly former?: FormerCatalog | undefined;
}

/**
 * Builds the catalogue, or returns everything that is wrong with the file.
 *
 * @param file parsed by `gatewayFileSchema`
 */
export function buildCatalog(
  file: GatewayFile,
  { version, former }: BuildCatalogOptions = {},
): { ok: true; catalog: Catalog } | { ok: false; problems: string[] } {
  const providers = keptProviders(file.providers, former);
  const models = file.models.map((entry) =>
    withKeptRoutes(buildModel(entry, providers, file.currencies), providers, former)
  );
  const problems = catalogProblems({
    models,
    providerNames: new Set(Object.keys(providers)),
    providers,
    currencies: file.currencies,
    defaultModel: file.defaultModel,
    webSearchModel: file.webSearchModel,
  });
  const byName = new Map(
    models.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)),
  );
  const defaultModel = byName.get(file.defaultModel);
  if (defaultModel === undefined || problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    catalog: {
      version,
      models,
      providers,
      listRate: file.listRate,
      defaultModel,
      webSearchModel: file.webSearchModel === undefined
        ? undefined
        : byName.get(file.webSearchModel),
      mcpTools: file.mcpTools,
      wallet: file.wallet,
      ownKeyFee: file.ownKeys && feeOfPercent(file.ownKeys.feePercent),
      hasCosts: models.some(({ routes }) => routes.some((route) => route.rateCard !== undefined)),
      rateLimits: file.rateLimits,
      find: (name) => byName.get(name),
      resolve(name, kind) {
        const exact = byName.get(name);
        if (exact !== undefined) {
          return { found: true, model: exact, mappedFrom: exact.id === name ? undefined : name };
        }
        if (asksForMore(name)) return { found: false };
        const [suffix = ""] = variantSuffix.exec(name) ?? [];
        const model = suffix === "" ? undefined : byName.get(name.slice(0, -suffix.length));
        if (model !== undefined) {
          const sort = suffixSorts[suffix];
          return { found: true, model, mappedFrom: name, ...(sort !== undefined && { sort }) };
        }
        if (kind !== "chat") return { found: false };
        // Receipts keep the name: a key that was put in its place by mistake must not get there.
        return { found: true, model: defaultModel, mappedFrom: withoutKeys(name), isDefault: true };
      },
    },
  };
}
