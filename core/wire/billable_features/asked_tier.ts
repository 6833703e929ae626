/** Finds which tier of service a request asks for, and whether a route gets to know. */
import { tierName, usualTier } from "../../billing/service_tiers.ts";
import { isJsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { resolveCapabilities } from "../contract/capabilities.ts";
import type { RouteCapabilities, Style } from "../contract/contract.ts";
import type { ProviderStyle } from "../contract/style.ts";
import { mergedField } from "./asked_for.ts";

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
