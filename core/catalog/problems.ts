/** Checks a catalogue beyond the shape of its parts: names, references, prices that do not fit. */
import { type CataloguePrice, toolPricesOf } from "../billing/price.ts";
import { type RouteCost, vnd } from "../billing/rate_card.ts";
import { videoModelProblems } from "./entries/video_rules.ts";
import type { Model, ModelKind, RouteStyle } from "./entries/model.ts";
import { searchesWeb } from "./model_abilities.ts";
import type { ProviderEntry } from "./schema.ts";

/**
 * A model whose shape is wrong: only the names that it claims and the providers that it refers to
 * are known.
 */
export interface UnreadModel {
  readonly names: readonly string[];
  readonly routeProviders: readonly string[];
}

/**
 * A catalogue as far as it could be read. Undefined parts are not checked: their wrong shape is
 * reported already.
 */
export interface CatalogParts {
  readonly providerNames: ReadonlySet<string> | undefined;
  readonly providers?: Readonly<Record<string, ProviderEntry>>;
  /** By code; absent: not known. */
  readonly currencies?: Readonly<Record<string, unknown>>;
  /** In the order of the file. */
  readonly models: readonly (Model | UnreadModel)[];
  readonly defaultModel: string | undefined;
  readonly webSearchModel?: string | undefined;
}

/** The kind of models that a style serves. */
export const kindOfStyle: Readonly<Record<RouteStyle, ModelKind>> = {
  messages: "chat",
  chat: "chat",
  responses: "chat",
  gemini: "chat",
  converse: "chat",
  images: "image",
  speech: "speech",
  videos: "video",
  embeddings: "embedding",
  transcriptions: "transcription",
  rerank: "rerank",
  moderations: "moderation",
  completions: "completion",
};

const unitsOfKind: Record<ModelKind, readonly CataloguePrice["unit"][]> = {
  chat: ["token", "request"],
  image: ["image", "request"],
  speech: ["request"],
  video: ["video", "request"],
  embedding: ["token", "request"],
  transcription: ["second", "request"],
  rerank: ["search", "token", "request"],
  moderation: ["request"],
  completion: ["token", "request"],
};

/** The units in which the gateway measures calls of each kind, so that their cost can be computed. */
const costUnitsOfKind: Record<ModelKind, readonly RouteCost["unit"][]> = {
  chat: ["token", "request"],
  image: ["image", "request"],
  speech: ["request"],
  video: ["video", "second", "request"],
  embedding: ["token", "request"],
  transcription: ["second", "request"],
  rerank: ["search", "token", "request"],
  moderation: ["request"],
  completion: ["token", "request"],
};

function costProblems({ routes, kind, price }: Model, path: string): string[] {
  return routes.flatMap(({ rateCard }) => {
    if (rateCard === undefined) return [];
    const { unit } = rateCard.terms.cost;
    // Searches and tokens of a rerank, and images, are counted only where they are what customers pay for.
    const isMeasured = kind !== "rerank" && kind !== "image" || unit === "request" ||
      unit === price.unit || (unit === "token" && price.unit !== "search");
    return costUnitsOfKind[kind].includes(unit) && isMeasured
      ? []
      : [`${path}.routes: the cost of this model cannot be per ${unit}`];
  });
}

function currencyProblems({ providers = {}, currencies }: CatalogParts): string[] {
  if (currencies === undefined) return [];
  return Object.entries(providers).flatMap(([name, { currency }]) =>
    currency === undefined || currency === vnd.code || Object.hasOwn(currencies, currency)
      ? []
      : [`providers.${name}.currency: "${currency}" is not in currencies`]
  );
}

function missingProviders(
  names: readonly string[],
  path: string,
  providerNames: CatalogParts["providerNames"],
): string[] {
  return [...new Set(names)]
    .filter((name) => providerNames?.has(name) === false)
    .map((name) => `${path}.routes: provider "${name}" is not in providers`);
}

function modelProblems(model: Model, path: string): string[] {
  const problems = videoModelProblems(model).map((problem) => `${path}.${problem}`);
  problems.push(...costProblems(model, path));
  const routeIds = new Set<string>();
  const hasToolFees = toolPricesOf(model.price) !== undefined;
  const hasTiers = model.price.unit === "token" && model.price.serviceTiers !== undefined;
  for (const route of model.routes) {
    if (kindOfStyle[route.style] !== model.kind) {
      problems.push(
        `${path}.routes: style "${route.style}" does not serve models of kind ${model.kind}`,
      );
    }
    if (model.kind !== "chat" && route.allow.size > 0 && !hasToolFees && !hasTiers) {
      problems.push(`${path}.routes: "allow" has no meaning for models of kind ${model.kind}`);
    }
    if (routeIds.has(route.id)) problems.push(`${path}.routes: "${route.id}" appears twice`);
    routeIds.add(route.id);
  }
  if (!unitsOfKind[model.kind].includes(model.price.unit)) {
    problems.push(
      `${path}.price: models of kind ${model.kind} cannot be priced per ${model.price.unit}`,
    );
  }
  if (model.kind !== "chat" && hasTiers) {
    problems.push(`${path}.price: "serviceTiers" has no meaning for models of kind ${model.kind}`);
  }
  if (model.kind !== "chat" && hasToolFees) {
    problems.push(`${path}.price: "hostedTools" has no meaning for models of kind ${model.kind}`);
  }
  if (model.price.unit === "video") {
    for (const [i, tier] of model.price.tiers.entries()) {
      if (tier.toSeconds < tier.fromSeconds) {
        problems.push(`${path}.price.tiers.${i}: toSeconds is below fromSeconds`);
      }
    }
  }
  // A route with several styles is several routes with the same mistake.
  return [...new Set(problems)];
}

/** Finds routes of Converse to providers whose streams are not framed as those of Bedrock. */
function unframedProblems(
  { routes }: Model,
  path: string,
  providers: CatalogParts["providers"] = {},
): string[] {
  return routes.flatMap(({ provider: name, style }) => {
    const provider = providers[name];
    const isFramed = provider?.kind !== "http" || provider.cloud?.name === "bedrock";
    return style !== "converse" || isFramed ? [] : [
      `${path}.routes: style "converse" needs \`"cloud": { "name": "bedrock" }\` of provider "${name}"`,
    ];
  });
}

/** Finds what keeps the model that searches for others from doing so. */
function searchModelProblems({ models, webSearchModel: name }: CatalogParts): string[] {
  if (name === undefined) return [];
  const found = models.find((model) =>
    "id" in model ? model.id === name || model.aliases.includes(name) : model.names.includes(name)
  );
  if (found !== undefined && !("id" in found)) return [];
  if (found?.kind !== "chat") return [`webSearchModel: "${name}" is not a chat model of this file`];
  if (searchesWeb(found)) return [];
  return [
    `webSearchModel: no route of "${name}" can search the web: it needs "allow": ["web_search"], a route of style ` +
    '"chat" also "extra_fields": ["web_search_options"] in its capabilities',
  ];
}

/** Lists all problems, one line each, with the place in the file. */
export function catalogProblems(parts: CatalogParts): string[] {
  const problems: string[] = currencyProblems(parts);
  const kinds = new Map<string, ModelKind | "unread">();
  for (const [i, model] of parts.models.entries()) {
    const isRead = "id" in model;
    const names = isRead ? [model.id, ...model.aliases] : model.names;
    const path = `models.${i} (${names[0] ?? "no id"})`;
    const routeProviders = isRead
      ? model.routes.map(({ provider }) => provider)
      : model.routeProviders;
    problems.push(...missingProviders(routeProviders, path, parts.providerNames));
    if (isRead) {
      problems.push(
        ...modelProblems(model, path),
        ...unframedProblems(model, path, parts.providers),
      );
    }
    for (const name of names) {
      if (kinds.has(name)) problems.push(`${path}: the name "${name}" is taken`);
      kinds.set(name, isRead ? model.kind : "unread");
    }
  }
  const { defaultModel } = parts;
  const kind = defaultModel === undefined ? "unread" : kinds.get(defaultModel);
  if (kind !== "chat" && kind !== "unread") {
    problems.push(`defaultModel: "${defaultModel}" is not a chat model of this file`);
  }
  problems.push(...searchModelProblems(parts));
  return problems;
}
