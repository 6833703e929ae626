/** Finds what a Gemini request asks for beyond tokens: its tools and fields have names of their own. */
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import type { AskedFeature, BillableFeature } from "../contract/features.ts";

/** The kinds of tools in an entry of `tools`; `undefined`: the caller runs it. */
const featureOfTool: ReadonlyMap<string, BillableFeature | undefined> = new Map(
  [
    ["functionDeclarations", undefined],
    ["computerUse", undefined],
    ["googleSearch", "web_search"],
    ["googleSearchRetrieval", "web_search"],
    ["enterpriseWebSearch", "web_search"],
    ["urlContext", "web_fetch"],
    ["codeExecution", "code_execution"],
    ["fileSearch", "file_search"],
    ["retrieval", "file_search"],
    ["mcpServers", "mcp"],
  ] as const,
);

/** Tiers at the list price or below it. */
const usualTiers: ReadonlySet<string> = new Set(["", "unspecified", "standard", "flex"]);

/** Adds what a request asks for, in its order. Field names are those of the vendor's reference; unknown tools count. */
export function addGeminiFeatures(body: OutlineObject, found: AskedFeature[]): void {
  addTools(body["tools"], found);
  const { serviceTier, generationConfig: config } = body;
  if (serviceTier !== undefined && serviceTier !== null && !isUsualTier(serviceTier)) {
    found.push({ feature: "service_tier", path: "serviceTier", spare: false });
  }
  const modalities = isJsonObject(config) ? config["responseModalities"] : undefined;
  const isText = modalities === undefined || modalities === null ||
    (Array.isArray(modalities) && modalities.every(isTextModality));
  if (isText) return;
  found.push({
    feature: "media_output",
    path: "generationConfig.responseModalities",
    spare: false,
  });
}

function isTextModality(kind: Outline): boolean {
  return typeof kind === "string" && kind.toUpperCase() === "TEXT";
}

function isUsualTier(tier: Outline): boolean {
  return typeof tier === "string" && usualTiers.has(tier.toLowerCase());
}

function addTools(tools: Outline | undefined, found: AskedFeature[]): void {
  if (tools === undefined || tools === null) return;
  for (const [i, tool] of (Array.isArray(tools) ? tools : [tools]).entries()) {
    const path = `tools.${i}`;
    if (!isJsonObject(tool)) {
      found.push({ feature: "other_tools", path, spare: false });
      continue;
    }
    for (const [kind, value] of Object.entries(tool)) {
      if (value === undefined || value === null) continue;
      const isKnown = featureOfTool.has(kind);
      const feature = isKnown ? featureOfTool.get(kind) : "other_tools";
      if (feature === undefined) continue;
      found.push({ feature, path: isKnown ? `${path}.${kind}` : path, spare: false });
    }
  }
}
