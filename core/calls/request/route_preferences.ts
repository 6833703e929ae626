/**
 * The caller's say in the route of a call: other models to try, and which providers may serve it, in which order and up
 * to which price.
 *
 * Clients of aggregators say it in several forms: OpenRouter's `models` and `provider`, `providerOptions.gateway` of
 * Vercel's clients, LiteLLM's `fallbacks`, and the header `x-gateway-route` where a body must stay clean. All of them are
 * read into one {@linkcode RoutePreferences}, by one table of members. They are the gateway's own: no provider gets them,
 * and every other byte of the body stays as it was. What the gateway cannot do is refused by name, never ignored.
 */
import type { Catalog, Model, Route } from "../../catalog/catalog.ts";
import { dataPolicyOf } from "../../catalog/data_policy.ts";
import { formatVnd, parseVnd } from "../../billing/money/micro_vnd.ts";
import type { MaxUnitPrices } from "../../billing/price.ts";
import { maxModelNameChars } from "../../lib/base/limits.ts";
import { defined } from "../../lib/base/defined.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import type { Style } from "../../wire/contract/contract.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import { type JsonBody, parseJsonBody, withFields, withoutMembers } from "../body/json_body.ts";
import { mayPreferRoutes, preferenceFields, routeHeader } from "./chat_request.ts";

/** Most models of one request, and most providers of one list: far above what a call may try. */
export const maxPreferredNames = 16;

/** By which figure routes are ordered. */
export const routeSorts = ["price", "throughput", "latency"] as const;
/** By which figure routes are ordered. */
export type RouteSort = typeof routeSorts[number];
/** An order by figures that differ among the routes of a model; their price is one. */
export type MeasuredSort = Exclude<RouteSort, "price">;

/** A model to try, and where the request names it. */
export interface NamedModel {
  readonly name: string;
  readonly path: string;
  /** The request does not name it, a setting does: where the call may not use it, it is left out. */
  readonly isDefault?: true;
}

/** The highest unit prices that a caller accepts, in µVND; an absent one is not bounded. */
export type MaxPrice = Readonly<Partial<MaxUnitPrices & { readonly image: bigint }>>;

/** The preferences of one call, whatever form they were sent in. */
export interface RoutePreferences {
  /** Models in the order to try; empty: that of the request alone. */
  readonly models: readonly NamedModel[];
  /** Providers to try first, in this order, by their names in the catalogue. */
  readonly order?: readonly string[];
  /** The only providers that may serve the call. */
  readonly only?: readonly string[];
  /** Providers that may not. */
  readonly ignore?: readonly string[];
  /** Whether another route may be tried: of other providers than those of `order`, or than the first. */
  readonly allowFallbacks: boolean;
  /** Whether a route that would drop a field of the request is left out. */
  readonly requireParameters: boolean;
  /** Whether the provider must be known not to train on what it gets. */
  readonly forbidsTraining: boolean;
  /** Whether the provider must be known to keep nothing. */
  readonly forbidsRetention: boolean;
  /** The regions in which the call may be served, as the catalogue names them. */
  readonly regions?: readonly string[];
  readonly sort?: RouteSort;
  /** The order where neither the request nor the name of its model says one. */
  readonly defaultSort?: RouteSort;
  readonly maxPrice?: MaxPrice;
}

/** Preferences that hold where a request does not say them. */
export type RouteDefaults =
  & Pick<RoutePreferences, "order" | "sort">
  & Partial<Pick<RoutePreferences, "allowFallbacks">>
  & { readonly models?: readonly string[] };

/** Preferences of the route that a preset may have; settings of calls have them under the same names. */
export type PresetCalls =
  & RouteDefaults
  & Pick<RoutePreferences, "only" | "ignore" | "regions" | "maxPrice">
  & { readonly forbidsTraining?: true; readonly forbidsRetention?: true };

/** Order of routes that the router makes of preferences. */
export interface RouteWish {
  readonly order?: readonly string[];
  readonly sort?: RouteSort;
  /** Only the first route is tried. */
  readonly isSingle?: boolean;
}

function refuse(path: string, problem: string): never {
  throw new GatewayError("invalid_request", `${path}: ${problem}`, { param: path });
}

/** Preferences of a caller for the providers of a call, under the names of the wire. */
interface ProviderPreferences {
  readonly order: readonly string[];
  readonly only: readonly string[];
  readonly ignore: readonly string[];
  readonly allow_fallbacks: boolean;
  readonly require_parameters: boolean;
  readonly data_collection: boolean;
  readonly zdr: boolean;
  readonly regions: readonly string[];
  readonly sort: RouteSort;
  readonly max_price: MaxPrice;
}

type MemberName = keyof ProviderPreferences;

/** Reads one member. */
interface Member<Value> {
  readonly schema: JsonObject;
  readonly read: (value: Outline, path: string, providers: ReadonlySet<string>) => Value;
}

const nameSchema: JsonObject = { type: "string", minLength: 1, maxLength: maxModelNameChars };

/** The schema of the models of a request. */
export const modelsSchema: JsonObject = {
  type: "array",
  maxItems: maxPreferredNames,
  items: nameSchema,
  description: "Models to try in this order if those before them fail before their first output.",
};

function names(value: Outline, path: string): NamedModel[] {
  if (!Array.isArray(value)) refuse(path, "must be a list of names");
  if (value.length > maxPreferredNames) {
    refuse(path, `must have at most ${maxPreferredNames} names`);
  }
  return value.map((name, i) => named(name, `${path}.${i}`));
}

function named(name: Outline, path: string): NamedModel {
  if (typeof name !== "string" || name === "" || name.length > maxModelNameChars) {
    refuse(path, `must be a name of at most ${maxModelNameChars} characters`);
  }
  return { name, path };
}

/** Finds providers by their names in the catalogue, in any letter case: aggregators write them with capitals. */
function providerList(description: string): Member<readonly string[]> {
  return {
    schema: { type: "array", maxItems: maxPreferredNames, items: nameSchema, description },
    read: (value, path, providers) =>
      names(value, path).map(({ name, path }) => {
        const known = providers.has(name)
          ? name
          : [...providers].find((one) => one.toLowerCase() === name.toLowerCase());
        if (known !== undefined) return known;
        refuse(path, `there is no provider of this name; there are ${inWords(providers)}`);
      }),
  };
}

/** Names that an error lists. */
const maxNamed = 10;

function inWords(list: Iterable<string>): string {
  const all = [...list].sort();
  return all.slice(0, maxNamed).join(", ") + (all.length > maxNamed ? ", …" : "");
}

function flag(description: string): Member<boolean> {
  return {
    schema: { type: "boolean", description },
    read: (value, path) =>
      typeof value === "boolean" ? value : refuse(path, "must be true or false"),
  };
}

function isSort(value: Outline | undefined): value is RouteSort {
  return routeSorts.some((sort) => sort === value);
}

const sort: Member<RouteSort> = {
  schema: {
    enum: [...routeSorts],
    description: "Orders the routes of a model by this figure. All of them have one price.",
  },
  read(value, path) {
    // The longer form of the aggregator; across models the caller's own order holds.
    if (isJsonObject(value)) {
      onlyMembers(value, path, ["by", "partition"]);
      const { by, partition } = value;
      if (partition !== undefined && partition !== null && partition !== "model") {
        refuse(
          `${path}.partition`,
          'must be "model"; models are tried in the order of the request',
        );
      }
      return this.read(by ?? null, `${path}.by`, new Set());
    }
    return isSort(value) ? value : refuse(path, `must be one of ${routeSorts.join(", ")}`);
  },
};

/** The members of the highest prices, as requests and settings name them. */
export const priceNames = ["prompt", "completion", "request", "image"] as const;

const price: JsonObject = { type: ["number", "string"] };

const maxPrice: Member<MaxPrice> = {
  schema: {
    type: "object",
    description:
      "The highest prices of a route, in VND: of 1,000,000 tokens of the prompt and of the completion, of a " +
      "call, and of an image. Compared with the highest rate by which the call may be charged.",
    properties: Object.fromEntries(priceNames.map((name) => [name, price])),
  },
  read(value, path) {
    if (!isJsonObject(value)) refuse(path, "must be an object");
    onlyMembers(value, path, priceNames);
    const read = (name: typeof priceNames[number]) => {
      const written = value[name];
      return written === undefined || written === null
        ? undefined
        : amountOf(written, `${path}.${name}`);
    };
    return defined({
      prompt: read("prompt"),
      completion: read("completion"),
      request: read("request"),
      image: read("image"),
    });
  },
};

function amountOf(value: Outline, path: string): bigint {
  const text = typeof value === "number" || typeof value === "string" ? String(value) : "";
  const amount = parseVnd(text);
  if (amount === undefined || amount < 0n) {
    refuse(path, "must be an amount of VND of 0 or more, with at most six decimals");
  }
  return amount;
}

/** The members of `provider`; the header has the same. */
const providerMembers: {
  readonly [Name in MemberName]: Member<ProviderPreferences[Name]>;
} = {
  order: providerList("Providers to try first, in this order."),
  only: providerList("The only providers that may serve the call."),
  ignore: providerList("Providers that may not serve the call."),
  allow_fallbacks: flag(
    "`false`: no other providers than those of `order` are tried, and without it only one route.",
  ),
  require_parameters: flag("`true`: routes that would drop a field of the request are left out."),
  data_collection: {
    schema: {
      enum: ["allow", "deny"],
      description: "`deny`: only providers that are known not to train on prompts and answers.",
    },
    // Whether it is denied.
    read: (value, path) =>
      value === "deny" || (value === "allow" ? false : refuse(path, "must be allow or deny")),
  },
  zdr: flag("`true`: only providers that are known to keep nothing after the call."),
  regions: {
    schema: {
      type: "array",
      maxItems: maxPreferredNames,
      items: nameSchema,
      description: "Only routes in these regions, as the operator names them.",
    },
    read: (value, path) => names(value, path).map(({ name }) => name),
  },
  sort,
  max_price: maxPrice,
};

function isMember(name: string): name is MemberName {
  return Object.hasOwn(providerMembers, name);
}

/** The schemas of the members of `provider`. */
export const providerSchemas: JsonObject = Object.fromEntries(
  Object.entries(providerMembers).map(([name, { schema }]) => [name, schema]),
);

const gatewaySorts: Readonly<Record<string, RouteSort>> = {
  cost: "price",
  ttft: "latency",
  tps: "throughput",
};

/** The members of `providerOptions.gateway`, and what each of them is in `provider`. */
const gatewayMembers: Readonly<
  Record<string, { readonly name: MemberName; readonly value: (sent: Outline) => Outline }>
> = {
  order: { name: "order", value: (sent) => sent },
  only: { name: "only", value: (sent) => sent },
  sort: {
    name: "sort",
    value: (sent) => typeof sent === "string" ? gatewaySorts[sent] ?? sent : sent,
  },
  zeroDataRetention: { name: "zdr", value: (sent) => sent },
  disallowPromptTraining: {
    name: "data_collection",
    value: (sent) => sent === true ? "deny" : sent === false ? "allow" : sent,
  },
};

/** The schemas of the members of `providerOptions.gateway` beside `models`. */
export const gatewaySchemas: JsonObject = {
  order: providerMembers.order.schema,
  only: providerMembers.only.schema,
  sort: { enum: Object.keys(gatewaySorts) },
  zeroDataRetention: providerMembers.zdr.schema,
  disallowPromptTraining: { type: "boolean", description: "`true`: as `data_collection: deny`." },
};

function onlyMembers(object: OutlineObject, path: string, known: readonly string[]): void {
  for (const name in object) {
    if (object[name] === undefined || known.includes(name)) continue;
    refuse(`${path}.${name}`, `is not known here; known are ${known.join(", ")}`);
  }
}

/** Preferences that were read so far, and where they were. */
class Gathered {
  #values: { [Name in MemberName]?: ProviderPreferences[Name] | undefined } = {};
  readonly #places = new Map<string, string>();
  readonly #providers: ReadonlySet<string>;
  readonly #defaults: RouteDefaults;
  #models: readonly NamedModel[] = [];

  constructor(providers: ReadonlySet<string>, defaults: RouteDefaults) {
    this.#providers = providers;
    this.#defaults = defaults;
  }

  /** Refuses what two places of a request say: which of them counts would be a guess. */
  #claim(what: string, path: string): void {
    const earlier = this.#places.get(what);
    if (earlier !== undefined) refuse(path, `${earlier} says this already; send one of them`);
    this.#places.set(what, path);
  }

  /** Takes those of the preset that a request calls: what the request says itself replaces them. */
  preset({ models = [], ...calls }: PresetCalls): void {
    const { order, only, ignore, regions, sort } = calls;
    this.#models = models.map((name) => ({ name, path: "preset" }));
    this.#values = {
      ...defined({ order, only, ignore, regions, sort, max_price: calls.maxPrice }),
      ...defined({ allow_fallbacks: calls.allowFallbacks }),
      ...defined({ data_collection: calls.forbidsTraining, zdr: calls.forbidsRetention }),
    };
  }

  /** Takes models in the order to try. */
  models(models: readonly NamedModel[], path: string): void {
    if (models.length === 0) return;
    this.#claim("models", path);
    this.#models = models;
  }

  #set<Name extends MemberName>(name: Name, value: Outline, path: string): void {
    this.#claim(name, path);
    this.#values[name] = providerMembers[name].read(value, path, this.#providers);
  }

  /** Takes a preference of providers. */
  take(name: MemberName, value: Outline | undefined, path: string): void {
    if (value === undefined || value === null) return;
    // Forms of clients send empty lists for what was not chosen.
    if (Array.isArray(value) && value.length === 0) return;
    this.#set(name, value, path);
  }

  /** Takes the members of an object that are preferences of providers. */
  members(object: OutlineObject, path: string): void {
    for (const name in object) if (isMember(name)) this.take(name, object[name], `${path}.${name}`);
  }

  get preferences(): RoutePreferences {
    const { only, ignore, regions, sort, max_price: maxPrice } = this.#values;
    const { models = [], order: usual, sort: defaultSort, allowFallbacks = true } = this.#defaults;
    const order = this.#values.order ?? usual;
    return {
      models: this.#models.length > 0
        ? this.#models
        : models.map((name) => ({ name, path: "models", isDefault: true })),
      ...defined({ order, only, ignore, regions, sort, defaultSort, maxPrice }),
      forbidsTraining: this.#values.data_collection ?? false,
      forbidsRetention: this.#values.zdr ?? false,
      allowFallbacks: this.#values.allow_fallbacks ?? allowFallbacks,
      requireParameters: this.#values.require_parameters ?? false,
    };
  }
}

function objectAt(value: Outline, path: string): OutlineObject {
  return isJsonObject(value) ? value : refuse(path, "must be an object");
}

/** Reads LiteLLM's list: names, or objects with nothing but a name. */
function fallbackNames(value: Outline, path: string): NamedModel[] {
  if (!Array.isArray(value)) refuse(path, "must be a list of models");
  if (value.length > maxPreferredNames) {
    refuse(path, `must have at most ${maxPreferredNames} models`);
  }
  return value.map((item, i) => {
    const at = `${path}.${i}`;
    if (!isJsonObject(item)) return named(item, at);
    onlyMembers(item, at, ["model"]);
    return named(item["model"] ?? null, `${at}.model`);
  });
}

/** Reads one field of the body that holds preferences. */
const readers: Readonly<Record<string, (gathered: Gathered, value: Outline) => void>> = {
  models: (gathered, value) => gathered.models(names(value, "models"), "models"),
  fallbacks: (gathered, value) => gathered.models(fallbackNames(value, "fallbacks"), "fallbacks"),
  provider(gathered, value) {
    const object = objectAt(value, "provider");
    onlyMembers(object, "provider", Object.keys(providerMembers));
    gathered.members(object, "provider");
  },
  providerOptions(gathered, value) {
    const path = "providerOptions.gateway";
    const options = objectAt(value, "providerOptions");
    onlyMembers(options, "providerOptions", ["gateway"]);
    const gateway = objectAt(options["gateway"] ?? {}, path);
    onlyMembers(gateway, path, ["models", ...Object.keys(gatewayMembers)]);
    gathered.models(names(gateway["models"] ?? [], `${path}.models`), `${path}.models`);
    for (const [member, { name, value }] of Object.entries(gatewayMembers)) {
      gathered.take(name, value(gateway[member] ?? null), `${path}.${member}`);
    }
  },
};

/** Members of the header whose value is a list. */
const listNames: ReadonlySet<string> = new Set(["models", "order", "only", "ignore", "regions"]);

/**
 * Reads the header into the form of the body: `only=a,b; allow_fallbacks=false; max_price.prompt=9000`.
 *
 * @example
 * ```ts
 * import { headerPreferences } from "./route_preferences.ts";
 * const read = headerPreferences("models=a,b; sort=latency; max_price.prompt=90");
 * const expected = '{"models":["a","b"],"sort":"latency","max_price":{"prompt":"90"}}';
 * if (JSON.stringify(read) !== expected) throw new Error(JSON.stringify(read));
 * ```
 *
 * @throws {GatewayError} `invalid_request` for what is no pair, or a name that is there twice
 */
export function headerPreferences(header: string): OutlineObject {
  const read: OutlineObject = {};
  for (const pair of header.split(";")) {
    if (pair.trim() === "") continue;
    const at = pair.indexOf("=");
    if (at < 0) refuse(routeHeader, 'must be pairs such as "only=a,b; sort=latency"');
    const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    const part = name.startsWith(priceMark) ? name.slice(priceMark.length) : undefined;
    const outer = part === undefined ? name : "max_price";
    if (outer !== "models" && !isMember(outer)) {
      refuse(routeHeader, `${name} is not known here; known are ${headerNames.join(", ")}`);
    }
    const parent = part === undefined ? read : read[outer] ??= {};
    const key = part ?? outer;
    if (!isJsonObject(parent) || Object.hasOwn(parent, key)) {
      refuse(routeHeader, `names ${name} twice`);
    }
    parent[key] = headerValue(name, value);
  }
  return read;
}

const priceMark = "max_price.";
const headerNames = [
  "models",
  ...Object.keys(providerMembers).filter((name) => name !== "max_price"),
  ...priceNames.map((name) => `${priceMark}${name}`),
];

function headerValue(name: string, value: string): Outline {
  if (listNames.has(name)) return value.split(",").map((part) => part.trim());
  return value === "true" || value === "false" ? value === "true" : value;
}

/** The prices of preferences, as the header names them. */
export function pricesText(maxPrice: MaxPrice): string[] {
  return priceNames.flatMap((name) => {
    const amount = maxPrice[name];
    return amount === undefined ? [] : [`${priceMark}${name}=${formatVnd(amount)}`];
  });
}

/**
 * Writes what preferences say of providers and prices as the header does, for the calls that are part of one.
 *
 * @example
 * ```ts
 * import { providerText } from "./route_preferences.ts";
 * const text = providerText({
 *   models: [],
 *   only: ["a", "b"],
 *   allowFallbacks: false,
 *   requireParameters: false,
 *   forbidsTraining: false,
 *   forbidsRetention: false,
 *   maxPrice: { prompt: 1_500_000n },
 * });
 * if (text !== "only=a,b; allow_fallbacks=false; max_price.prompt=1.5") throw new Error(text);
 * ```
 */
export function providerText(
  preferences: RoutePreferences,
): string {
  const { order, only, ignore, regions, allowFallbacks, maxPrice = {} } = preferences;
  const { forbidsTraining, forbidsRetention } = preferences;
  const lists = Object.entries({ order, only, ignore, regions })
    .flatMap(([name, list]) => list === undefined ? [] : [`${name}=${list.join(",")}`]);
  const flags = [
    ...(allowFallbacks ? [] : ["allow_fallbacks=false"]),
    ...(forbidsTraining ? ["data_collection=deny"] : []),
    ...(forbidsRetention ? ["zdr=true"] : []),
  ];
  return [...lists, ...flags, ...pricesText(maxPrice)].join("; ");
}

/** Writes all of the preferences of a call: two calls with the same text want the same. */
export function preferencesText(preferences: RoutePreferences): string {
  const { models, sort = "", requireParameters } = preferences;
  const names = models.map(({ name }) => name);
  return JSON.stringify([names, sort, requireParameters, providerText(preferences)]);
}

/** The request from which preferences are read. */
export interface PreferringRequest {
  readonly style: Style;
  readonly body: JsonBody;
  readonly header: string | null;
  /** The providers of the catalogue, by name. */
  readonly providers: Providers;
  /** Preferences of the caller's settings, where the request does not say them. */
  readonly defaults?: RouteDefaults | undefined;
  /** Preferences of the preset that it calls. */
  readonly preset?: PresetCalls | undefined;
}

/**
 * Reads the preferences of a request, and takes them out of its body. The model of a body that names none is the first
 * of its `models`.
 *
 * @throws {GatewayError} `invalid_request` naming the member
 */
export function takePreferences(
  { style, body, header, providers, defaults = {}, preset }: PreferringRequest,
): { readonly preferences: RoutePreferences; readonly sent: JsonBody } {
  const gathered = new Gathered(new Set(Object.keys(providers)), defaults);
  if (preset !== undefined) gathered.preset(preset);
  const taken = preferenceFields[style].filter((name) => body.fields.has(name));
  for (const name of taken) {
    const value = body.outline[name];
    if (value !== undefined && value !== null) readers[name]?.(gathered, value);
  }
  if (header !== null) {
    const { models, ...members } = headerPreferences(header);
    gathered.models(names(models ?? [], `${routeHeader}.models`), `${routeHeader}.models`);
    gathered.members(members, routeHeader);
  }
  const { preferences } = gathered;
  const reduced = taken.length === 0 ? body : withoutMembers(body, taken);
  const [first] = preferences.models;
  // A Gemini request names its model in the path.
  const isNamed = style === "gemini" || body.fields.has("model") || first === undefined ||
    first.isDefault === true;
  return { preferences, sent: isNamed ? reduced : withModel(reduced, first.name) };
}

/** Leaves preferences of the route out of a body that is only counted. */
export function withoutPreferences(style: Style, body: JsonBody): JsonBody {
  return mayPreferRoutes(style, body) ? withoutMembers(body, preferenceFields[style]) : body;
}

function withModel(body: JsonBody, model: string): JsonBody {
  return parseJsonBody(joined(withFields(body, { model })));
}

/** The providers of a catalogue, by name. */
type Providers = Catalog["providers"];

/** Preferences that leave routes out. */
type AskedOfProviders = Pick<
  RoutePreferences,
  | "order"
  | "only"
  | "ignore"
  | "regions"
  | "allowFallbacks"
  | "forbidsTraining"
  | "forbidsRetention"
>;

/** Finds the preference of providers that a route does not meet; `undefined`: it meets all. */
function unmet(
  { provider, region }: Route,
  preferences: AskedOfProviders,
  providers: Providers,
): string | undefined {
  const { order = [], only, ignore, regions, allowFallbacks } = preferences;
  const entry = providers[provider];
  const { trains, retains } = entry === undefined ? {} : dataPolicyOf(entry);
  if (only?.includes(provider) === false) return "only";
  if (ignore?.includes(provider) === true) return "ignore";
  if (!allowFallbacks && order.length > 0 && !order.includes(provider)) return "order";
  // What is not known is not "no".
  if (preferences.forbidsTraining && trains !== false) return "data_collection";
  if (preferences.forbidsRetention && retains !== false) return "zdr";
  if (regions !== undefined && (region === undefined || !regions.includes(region))) {
    return "regions";
  }
  return undefined;
}

/**
 * Returns a model with the routes that meet what is asked of providers, the model itself if all do; `undefined` if none
 * does.
 *
 * @param missed gets the names of what a route did not meet
 */
export function routesMeeting(
  model: Model,
  asked: AskedOfProviders,
  providers: Providers,
  missed?: Set<string>,
): Model | undefined {
  const routes = model.routes.filter((route) => {
    const name = unmet(route, asked, providers);
    if (name !== undefined) missed?.add(name);
    return name === undefined;
  });
  if (routes.length === model.routes.length) return model;
  return routes.length === 0 ? undefined : { ...model, routes };
}

/**
 * Returns a model with the routes that meet the preferences; the model itself if all do.
 *
 * @throws {GatewayError} `invalid_request` naming the preferences, if no route meets them
 */
export function withPreferredRoutes(
  model: Model,
  preferences: RoutePreferences,
  providers: Providers,
): Model {
  const missed = new Set<string>();
  const preferred = routesMeeting(model, preferences, providers, missed);
  if (preferred !== undefined) return preferred;
  const names = inWords(new Set(model.routes.map(({ provider }) => provider)));
  refuse(
    "provider",
    `no route of the model ${model.id} meets ${inWords(missed)}; its providers are ${names}`,
  );
}

/** Path of the highest price of settings, in errors. */
export const settingsPricePath = "call_settings.max_price";

/**
 * Refuses a model whose price is above the highest one that the caller accepts.
 *
 * @param highest the highest unit prices by which the call may be charged
 * @param path where the highest price stands
 * @throws {GatewayError} `invalid_request` naming the price
 */
export function refuseDearer(
  { id }: Pick<Model, "id">,
  highest: Partial<MaxUnitPrices & { readonly image: bigint }>,
  { maxPrice }: Pick<RoutePreferences, "maxPrice">,
  path = "provider.max_price",
): void {
  if (maxPrice === undefined) return;
  for (const [name, of] of Object.entries(priceWords)) {
    const [most, price] = [maxPrice[of.member], highest[of.member]];
    if (most === undefined || price === undefined || price <= most) continue;
    refuse(
      `${path}.${name}`,
      `${of.words} may cost ${formatVnd(price)} VND with the model ${id}, more than ${
        formatVnd(most)
      }`,
    );
  }
}

const priceWords = {
  prompt: { member: "prompt", words: "1,000,000 tokens of the prompt" },
  completion: { member: "completion", words: "1,000,000 tokens of the completion" },
  request: { member: "request", words: "a call" },
  image: { member: "image", words: "an image" },
} as const;

/**
 * Returns what the router needs of preferences.
 *
 * @param suffixSort the order that the name of the model asks for, where the preferences say none
 */
export function wishOf(
  { order, sort, defaultSort, allowFallbacks }: RoutePreferences,
  suffixSort: RouteSort | undefined,
): RouteWish {
  return {
    ...defined({ order, sort: sort ?? suffixSort ?? defaultSort }),
    ...(!allowFallbacks && order === undefined && { isSingle: true }),
  };
}
