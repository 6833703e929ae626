/** Abilities of a chat model that callers may ask of it, over all of its routes. */
import type { ProviderStyle, Style } from "../wire/contract/contract.ts";
import { resolveCapabilities } from "../wire/contract/capabilities.ts";
import { takesHostedTools } from "../wire/tools/tool_fields.ts";
import type { Model, RouteStyle } from "./entries/model.ts";

/** The abilities of a chat model. */
export interface ModelAbilities {
  /** Levels of reasoning effort that a route takes, in the order of the first route that has them. */
  readonly efforts: readonly string[];
  /** A route takes a temperature. */
  readonly takesTemperature: boolean;
}

const chatStyles: ReadonlySet<RouteStyle> = new Set<ProviderStyle>([
  "messages",
  "chat",
  "responses",
  "gemini",
  "converse",
]);

function isChatStyle(style: RouteStyle): style is ProviderStyle {
  return chatStyles.has(style);
}

/**
 * Unites what the routes of a model take.
 *
 * @example
 * ```ts
 * import { buildModel } from "./catalog.ts";
 * import { modelAbilities } from "./model_abilities.ts";
 * const model = buildModel({
 *   id: "m",
 *   kind: "chat",
 *   family: "f",
 *   vision: false,
 *   aliases: [],
 *   hedge: false,
 *   price: { unit: "token", vndPerMtok: 1 },
 *   routes: [{ provider: "p", priority: 0, weight: 1, facts: { efforts: [], sampling: "fixed" } }],
 * });
 * const { efforts, takesTemperature } = modelAbilities(model);
 * if (efforts.length > 0 || takesTemperature) throw new Error("more than its route takes");
 * ```
 */
export function modelAbilities({ routes }: Pick<Model, "routes">): ModelAbilities {
  const taken = routes.flatMap(({ style, capabilities }) =>
    isChatStyle(style) ? [resolveCapabilities(style, capabilities)] : []
  );
  return {
    efforts: [...new Set(taken.flatMap(({ efforts }) => efforts))],
    takesTemperature: taken.some(({ sampling }) => sampling === "full"),
  };
}

/**
 * Whether a route of a chat model may search the web.
 *
 * @param from the style of the caller, whose requests pass unchanged to routes of the same style; absent: any
 *
 * @example
 * ```ts
 * import { buildModel } from "./catalog.ts";
 * import { searchesWeb } from "./model_abilities.ts";
 * const model = buildModel({
 *   id: "m",
 *   kind: "chat",
 *   family: "f",
 *   vision: false,
 *   aliases: [],
 *   hedge: false,
 *   price: { unit: "token", vndPerMtok: 1 },
 *   routes: [{ provider: "p", priority: 0, weight: 1, style: "chat", allow: ["web_search"] }],
 * });
 * if (!searchesWeb(model, "chat") || searchesWeb(model, "messages")) throw new Error("no such option");
 * ```
 */
export function searchesWeb({ routes }: Pick<Model, "routes">, from?: Style): boolean {
  return routes.some(({ style, allow, capabilities }) =>
    isChatStyle(style) && allow.has("web_search") &&
    (style === from || takesHostedTools(style, capabilities))
  );
}

/** Abilities that a request needs of one route of its model. */
export interface RouteNeeds {
  readonly hasImages: boolean;
  /** The answer has to follow a schema. */
  readonly hasSchema: boolean;
  /** A tool has to be called. */
  readonly forcesTool: boolean;
}

/** Ways of structured output that hold a schema. */
const schemaWays: ReadonlySet<string> = new Set(["format", "tool"]);

/**
 * Whether a route of a chat model meets all needs at once.
 *
 * @example
 * ```ts
 * import { buildModel } from "./catalog.ts";
 * import { meetsNeeds } from "./model_abilities.ts";
 * const model = buildModel({
 *   id: "m",
 *   kind: "chat",
 *   family: "f",
 *   vision: false,
 *   aliases: [],
 *   hedge: false,
 *   price: { unit: "token", vndPerMtok: 1 },
 *   routes: [{ provider: "p", priority: 0, weight: 1, style: "chat", facts: { structured: "none" } }],
 * });
 * const needs = { hasImages: false, hasSchema: false, forcesTool: false };
 * if (!meetsNeeds(model, needs) || meetsNeeds(model, { ...needs, hasSchema: true })) throw new Error("a schema");
 * if (meetsNeeds(model, { ...needs, hasImages: true })) throw new Error("no vision");
 * ```
 */
export function meetsNeeds(
  { vision, routes }: Pick<Model, "vision" | "routes">,
  { hasImages, hasSchema, forcesTool }: RouteNeeds,
): boolean {
  if (hasImages && !vision) return false;
  return routes.some(({ style, capabilities }) => {
    if (!isChatStyle(style)) return false;
    const { images, structured, tool_choice_required: takesForce } = resolveCapabilities(
      style,
      capabilities,
    );
    return (!hasImages || images !== "none") && (!hasSchema || schemaWays.has(structured)) &&
      (!forcesTool || takesForce);
  });
}
