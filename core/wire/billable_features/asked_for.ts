/**
 * Finds what a request asks for beyond tokens at the model's own rate: hosted tools that the provider charges for, more
 * expensive tiers, other models. Customers pay by the token or by the call, so each of these is a loss of the operator
 * unless a route allows it (`routes[].allow`, see docs/operations/hosted-tools.md).
 *
 * Names mean the same in all styles, since servers that speak several accept each other's fields. Unknown fields pass;
 * unknown kinds of tools do not.
 *
 * - Folder `core/wire/billable_features/`: features of a request that providers charge for beyond
 *   tokens.
 * - In: the parsed request and the header of betas.
 * - Out: the billable features that were asked for, and where.
 * - Never: decides whether they are allowed: the route does, and `core/calls/request/` applies it.
 */
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import type { ProviderStyle, RouteCapabilities, Style } from "../contract/contract.ts";
import {
  type AskedFeature,
  type BillableFeature,
  hostedToolFeatures,
} from "../contract/features.ts";
import { tierName, usualTier } from "../../billing/price.ts";
import { resolveCapabilities } from "../contract/capabilities.ts";
import type { AskedTool } from "../../billing/usage/hosted_tools.ts";

// Finds values of the header `anthropic-beta` that raise the price of tokens. All others only unlock fields, which are
// judged as fields; agents send many of them with every call.

/** Prompts beyond 200,000 tokens at up to twice the rate. Models that charge the normal rate for them need no beta. */
const longContext = /^context-1m(?:-|$)/i;
const feature: BillableFeature = "long_context";

function isBillable(beta: string): boolean {
  return longContext.test(beta.trim());
}

/** Whether a body has such a value, where some hosts accept them: a list, or a string with commas. */
export function hasBillableBeta(value: Outline): boolean {
  if (typeof value === "string") return value.split(",").some(isBillable);
  return Array.isArray(value) && value.some(hasBillableBeta);
}

/** Values of `anthropic-beta`, sorted by whether a route may get them. */
export interface SortedBetas {
  /** The header for the provider; `undefined`: none. */
  readonly kept: string | undefined;
  /** Names of dropped values, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
}

/**
 * Removes the values that a route does not allow from the header. The provider then enforces its normal limits, with
 * errors that agents can handle.
 *
 * @example
 * ```ts
 * import { sortBetas } from "./asked_for.ts";
 * const { kept, dropped } = sortBetas("a-2025-01-01, context-1m-2025-08-07", new Set());
 * if (kept !== "a-2025-01-01" || dropped[0] !== "anthropic-beta.context-1m") throw new Error(kept);
 * ```
 */
export function sortBetas(header: string, allow: ReadonlySet<BillableFeature>): SortedBetas {
  if (allow.has(feature) || !hasBillableBeta(header)) return { kept: header, dropped: [] };
  const kept = header.split(",").map((beta) => beta.trim()).filter((beta) => !isBillable(beta));
  return {
    kept: kept.length === 0 ? undefined : kept.join(","),
    dropped: ["anthropic-beta.context-1m"],
  };
}

// Finds what a Converse request asks for beyond tokens. Fields of the model are judged like those of other styles.

/** Tiers at the list price or below it. */
const usualConverseTiers: ReadonlySet<unknown> = new Set(["default", "flex"]);

/** Adds what a request asks for, in its order. Field names are those of the vendor's reference. */
function addConverseFeatures(body: OutlineObject, found: AskedFeature[]): void {
  const { serviceTier, performanceConfig, toolConfig } = body;
  if (isJsonObject(serviceTier) && !usualConverseTiers.has(serviceTier["type"])) {
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

// Finds what a Gemini request asks for beyond tokens: its tools and fields have names of their own.

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
const usualGeminiTiers: ReadonlySet<string> = new Set(["", "unspecified", "standard", "flex"]);

/** Adds what a request asks for, in its order. Field names are those of the vendor's reference; unknown tools count. */
function addGeminiFeatures(body: OutlineObject, found: AskedFeature[]): void {
  addGeminiTools(body["tools"], found);
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
  return typeof tier === "string" && usualGeminiTiers.has(tier.toLowerCase());
}

function addGeminiTools(tools: Outline | undefined, found: AskedFeature[]): void {
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

// Separates tools that the provider runs and charges for from those that the caller runs, which cost only tokens.

/** Types of tools that the caller runs. */
const runByCaller: ReadonlySet<string> = new Set([
  "function",
  "custom",
  "local_shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
  "tool_search",
  // A group: its tools are judged one by one.
  "namespace",
]);
/** Types of Messages tools that the caller runs, and the vendor's search among the caller's tools, which is free. */
const runByCallerDated =
  /^(?:(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8}|tool_search_tool_\w+)$/;

/** Dates and versions follow the name; aggregators put their own name before it. */
const runByProvider: readonly (readonly [RegExp, BillableFeature])[] = [
  [/^(?:\w+:)?(?:web_search|x_search|live_search|google_search)/, "web_search"],
  [/^(?:\w+:)?(?:web_fetch|url_context)/, "web_fetch"],
  [/^(?:\w+:)?(?:code_execution|code_interpreter|programmatic_tool_calling)/, "code_execution"],
  [/^(?:\w+:)?file_search/, "file_search"],
  [/^(?:\w+:)?image_generation/, "image_generation"],
  [/^mcp(?:_toolset)?$/, "mcp"],
];

/** Whether a tool without a type is a function, in the form of any style. */
function isPlainFunction(tool: OutlineObject): boolean {
  return typeof tool["name"] === "string" || isJsonObject(tool["function"]);
}

/** Some servers match names without regard to case: `Type` would win over `type` there. */
function hidesType(tool: OutlineObject): boolean {
  for (const key in tool) {
    if (key.length === 4 && key !== "type" && key.toLowerCase() === "type") return true;
  }
  return false;
}

/**
 * Returns the feature that the provider charges for if it gets this entry of `tools`; `undefined`: none. An unknown kind
 * counts as one that the provider runs.
 *
 * @example
 * ```ts
 * import { billableFeatureOfTool } from "./asked_for.ts";
 * if (billableFeatureOfTool({ type: "web_search_20250305", name: "s" }) !== "web_search") throw new Error("free");
 * if (billableFeatureOfTool({ type: "bash_20250124", name: "bash" }) !== undefined) throw new Error("billable");
 * ```
 */
export function billableFeatureOfTool(tool: Outline): BillableFeature | undefined {
  if (!isJsonObject(tool)) return "other_tools";
  if (hidesType(tool)) return "other_tools";
  const type = tool["type"];
  if (type === undefined || type === null) return isPlainFunction(tool) ? undefined : "other_tools";
  if (typeof type !== "string") return "other_tools";
  if (runByCaller.has(type) || runByCallerDated.test(type)) return undefined;
  if (type === "shell") return isLocalShell(tool["environment"]) ? undefined : "code_execution";
  return runByProvider.find(([kind]) => kind.test(type))?.[1] ?? "other_tools";
}

/** Whether a shell runs at the caller: it does, unless a container of the provider is requested. */
function isLocalShell(environment: Outline | undefined): boolean {
  if (environment === undefined || environment === null) return true;
  return isJsonObject(environment) && environment["type"] === "local";
}

export type { AskedFeature };

interface BillableField {
  readonly feature: BillableFeature;
  /** Values that cost nothing. `null` never does. */
  readonly harmless: (value: Outline) => boolean;
}

const never = () => false;
const oneOf = (...values: readonly Outline[]) => (value: Outline) => values.includes(value);

function isEmpty(value: Outline): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Top-level fields, of whichever vendor or aggregator. */
const billableFields: ReadonlyMap<string, BillableField> = new Map<string, BillableField>([
  // Tiers at the list price or below it. What `auto` means is the operator's own setting at the provider.
  ["service_tier", {
    feature: "service_tier",
    harmless: oneOf("", "auto", "default", "standard", "standard_only", "flex", "on_demand"),
  }],
  ["speed", { feature: "fast_mode", harmless: oneOf("standard") }],
  ["inference_geo", { feature: "inference_geo", harmless: oneOf("global") }],
  ["web_search_options", { feature: "web_search", harmless: never }],
  ["enable_search", { feature: "web_search", harmless: oneOf(false) }],
  ["search_parameters", {
    feature: "web_search",
    harmless: (value) => isJsonObject(value) && value["mode"] === "off",
  }],
  ["container", { feature: "code_execution", harmless: never }],
  ["mcp_servers", { feature: "mcp", harmless: isEmpty }],
  ["plugins", { feature: "plugins", harmless: isEmpty }],
  ["models", { feature: "other_models", harmless: isEmpty }],
  ["provider", { feature: "other_models", harmless: isEmpty }],
  ["providerOptions", { feature: "other_models", harmless: isEmpty }],
  ["preset", { feature: "other_models", harmless: never }],
  ["fallbacks", { feature: "fallbacks", harmless: isEmpty }],
  ["modalities", {
    feature: "media_output",
    harmless: (value) => Array.isArray(value) && value.every((kind) => kind === "text"),
  }],
  ["audio", { feature: "media_output", harmless: never }],
  ["betas", { feature: "long_context", harmless: (value) => !hasBillableBeta(value) }],
  ["anthropic_beta", { feature: "long_context", harmless: (value) => !hasBillableBeta(value) }],
]);

/** Some servers merge this object into the request. */
export const mergedField = "extra_body";

/** Fields that are judged by their value, at the top level and inside the merged object. */
export const judgedFieldNames: readonly string[] = [...billableFields.keys(), "tools"];

/** Fields that decide the operator's cost of a call: variants of their names in another letter case are refused. */
export const billableFieldNames: readonly string[] = [
  ...judgedFieldNames,
  "max_tool_calls",
  mergedField,
  "messages",
  "input",
];

/**
 * Returns everything in a request that may cost the operator more than tokens, in the order of the request. Makes one
 * pass over the top-level fields and the tools, and over the outer level of the conversation if the style allows tools
 * there.
 *
 * @example
 * ```ts
 * import { findBillableFeatures } from "./asked_for.ts";
 * const [found] = findBillableFeatures("chat", { model: "m", messages: [], service_tier: "priority" });
 * if (found?.path !== "service_tier") throw new Error("not found");
 * if (findBillableFeatures("chat", { model: "m", messages: [], service_tier: "auto" }).length > 0) throw new Error("found");
 * ```
 */
export function findBillableFeatures(
  style: ProviderStyle,
  body: OutlineObject,
): readonly AskedFeature[] {
  const found: AskedFeature[] = [];
  if (style === "gemini") {
    addGeminiFeatures(body, found);
    return found;
  }
  if (style === "converse") {
    addConverseFeatures(body, found);
    addMerged(body["additionalModelRequestFields"], "additionalModelRequestFields.", found);
    return found;
  }
  addFields(body, "", found);
  if (style === "messages") addAddedTools(body["messages"], found);
  if (style === "responses") addInputTools(body["input"], found);
  return found;
}

function addFields(body: OutlineObject, prefix: string, found: AskedFeature[]): void {
  for (const name in body) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    if (name === "tools") addTools(value, `${prefix}tools`, found);
    else if (name === mergedField && prefix === "") {
      addMerged(value, `${mergedField}.`, found);
    } else {
      const field = billableFields.get(name);
      if (field === undefined || field.harmless(value)) continue;
      const spare = field.feature === "fallbacks" && prefix === "";
      found.push({ feature: field.feature, path: `${prefix}${name}`, spare });
    }
  }
}

/** Adds what an object asks for that the server merges into the request. */
function addMerged(fields: Outline | undefined, prefix: string, found: AskedFeature[]): void {
  if (isJsonObject(fields)) addFields(fields, prefix, found);
}

function addTools(tools: Outline | undefined, path: string, found: AskedFeature[]): void {
  if (!Array.isArray(tools)) return;
  for (const [i, tool] of tools.entries()) addTool(tool, found, () => `${path}.${i}`);
}

function addTool(tool: Outline, found: AskedFeature[], path: () => string): void {
  const feature = billableFeatureOfTool(tool);
  if (feature !== undefined) {
    const mostUses = isJsonObject(tool) ? tool["max_uses"] : undefined;
    found.push({
      feature,
      path: path(),
      spare: false,
      ...(mostUses !== undefined && { mostUses }),
    });
  } else if (isJsonObject(tool) && tool["type"] === "namespace") {
    addTools(tool["tools"], `${path()}.tools`, found);
  }
}

/** Responses: finds tools in items that add them to the conversation. */
function addInputTools(input: Outline | undefined, found: AskedFeature[]): void {
  if (!Array.isArray(input)) return;
  for (const [i, item] of input.entries()) {
    if (isJsonObject(item) && item["tools"] !== undefined) {
      addTools(item["tools"], `input.${i}.tools`, found);
    }
  }
}

/** Messages: finds tools in blocks that define them within the conversation, or repeat them after a compaction. */
function addAddedTools(messages: Outline | undefined, found: AskedFeature[]): void {
  if (!Array.isArray(messages)) return;
  for (const [i, message] of messages.entries()) {
    const content = isJsonObject(message) ? message["content"] : undefined;
    if (!Array.isArray(content)) continue;
    for (const [j, block] of content.entries()) {
      if (!isJsonObject(block)) continue;
      const path = () => `messages.${i}.content.${j}`;
      if (block["type"] === "tool_addition") addDefinition(block, found, path);
      else if (block["type"] === "compaction" && Array.isArray(block["tool_changes"])) {
        for (const change of block["tool_changes"]) addDefinition(change, found, path);
      }
    }
  }
}

function addDefinition(change: Outline, found: AskedFeature[], path: () => string): void {
  const tool = isJsonObject(change) ? change["tool"] : undefined;
  const definition = isJsonObject(tool) ? tool["definition"] : undefined;
  if (definition !== undefined) addTool(definition, found, path);
}

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
 * import { askedTools } from "./asked_for.ts";
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
