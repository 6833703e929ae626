/** Finds what a Converse request asks for beyond tokens. Fields of the model are judged like those of other styles. */
import { isJsonObject, type OutlineObject } from "../../lib/json/json.ts";
import type { AskedFeature } from "../contract/features.ts";

/** Tiers at the list price or below it. */
const usualTiers: ReadonlySet<unknown> = new Set(["default", "flex"]);

/** Adds what a request asks for, in its order. Field names are those of the vendor's reference. */
export function addConverseFeatures(body: OutlineObject, found: AskedFeature[]): void {
  const { serviceTier, performanceConfig, toolConfig } = body;
  if (isJsonObject(serviceTier) && !usualTiers.has(serviceTier["type"])) {
    found.push({ feature: "service_tier", path: "serviceTier", spare: false });
  }
  if (isJsonObject(performanceConfig) && performanceConfig["latency"] === "optimized") {
    found.push({ feature: "fast_mode", path: "performanceConfig", spare: false });
  }
  const tools = isJsonObject(toolConfig) ? toolConfig["tools"] : undefined;
  for (const [i, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    if (isJsonObject(tool) && tool["systemTool"] === undefined) continue;
    found.push({ feature: "other_tools", path: `toolConfig.tools.${i}`, spare: false });
  }
}
