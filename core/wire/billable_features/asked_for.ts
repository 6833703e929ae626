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
import type { ProviderStyle } from "../contract/contract.ts";
import { hasBillableBeta } from "./betas.ts";
import type { BillableFeature } from "../contract/features.ts";
import { addConverseFeatures } from "./converse.ts";
import { addGeminiFeatures } from "./gemini.ts";
import type { AskedFeature } from "../contract/features.ts";
import { billableFeatureOfTool } from "./tools.ts";

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
