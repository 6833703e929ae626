/** Finds which tier of service a request asks for, and whether a route gets to know. */
import { tierName, usualTier } from "../../billing/price.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import { resolveCapabilities } from "../contract/capabilities.ts";
import type { RouteCapabilities, Style } from "../contract/contract.ts";
import type { ProviderStyle } from "../contract/style.ts";
import { findBillableFeatures, mergedField } from "./asked_for.ts";
import type { AskedTool } from "../../billing/usage/hosted_tools.ts";
import { hostedToolFeatures } from "../contract/features.ts";

// Finds which hosted tools a request asks for, and how often they may run by the caller's own bounds.

/** Options of a request that make a search part of every answer; at others the model decides. */
const searchOptions: ReadonlySet<string> = new Set([
  "web_search_options",
  "enable_search",
  "search_parameters",
]);

/** Reads a bound of uses; `undefined` for anything else. */
function boundOf(value: Outline | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Returns the hosted tools of a request, each once. Tools of one kind share their fee, so their bounds add up; the bound
 * of Responses on all calls of tools holds for each kind.
 *
 * @example
 * ```ts
 * import { askedTools } from "./asked_tier.ts";
 * const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }];
 * const [search] = askedTools("messages", { model: "m", messages: [], tools });
 * if (search?.tool !== "web_search" || search.mostUses !== 3) throw new Error("not bounded");
 * ```
 */
export function askedTools(style: Style, body: OutlineObject): readonly AskedTool[] {
  const tools = new Map<string, AskedTool>();
  const bound = style === "responses" ? boundOf(body["max_tool_calls"]) : undefined;
  for (const { feature, path, mostUses } of findBillableFeatures(style, body)) {
    if (!hostedToolFeatures.has(feature)) continue;
    const own = boundOf(mostUses);
    const former = tools.get(feature);
    const sum = former === undefined
      ? own
      : own === undefined || former.mostUses === undefined
      ? undefined
      : own + former.mostUses;
    const most = bound === undefined ? sum : Math.min(bound, sum ?? bound);
    const alwaysRuns = searchOptions.has(path.replace(`${mergedField}.`, "")) ||
      former?.alwaysRuns === true;
    tools.set(feature, {
      tool: feature,
      alwaysRuns,
      ...(most === undefined ? {} : { mostUses: most }),
    });
  }
  return [...tools.values()];
}

/** Returns the tier that a request asks for; the usual one if it asks for none. */
export function askedTier(style: ProviderStyle, body: OutlineObject): string {
  const field = "service_tier";
  const merged = body[mergedField];
  const own = body["serviceTier"];
  const word = style === "gemini"
    ? own ?? body[field]
    : style === "converse"
    ? isJsonObject(own) ? own["type"] : undefined
    : body[field] ?? (isJsonObject(merged) ? merged[field] : undefined);
  return typeof word === "string" ? tierName(word) : usualTier;
}

/**
 * Whether a request for a tier is sent to a route: always unchanged, converted if the route takes the field.
 *
 * @param to the style of the route
 */
export function carriesTier(
  from: Style,
  to: string,
  capabilities: RouteCapabilities,
): boolean {
  if (from === to) return true;
  // The Messages vendor cannot be asked for a dearer tier.
  if (to !== "chat" && to !== "responses" && to !== "gemini" && to !== "converse") return false;
  const { extra_fields, shared_fields } = resolveCapabilities(to, capabilities);
  const isShared = from !== "messages" && from !== "gemini" &&
    shared_fields.includes("service_tier");
  return isShared || extra_fields.includes("service_tier");
}
