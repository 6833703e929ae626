/**
 * Writes the request for reasoning, for which each vendor behind the style has a field of its own.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-reasoning.
 */
import { defined } from "../../lib/base/defined.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { ConversionOptions } from "../contract/contract.ts";
import type { Conversation, Effort, ReasoningRequest } from "../conversation/mod.ts";
import {
  carriedBudget,
  effortOf,
  leastBudgetTokens,
  nearestEffort,
  warnOfLoweredThinking,
  warnOfReasoning,
} from "../fields/output_format.ts";
import type { Warnings } from "../contract/warnings.ts";

/** The request for reasoning in the form of one model. */
export interface EncodedReasoning {
  /** Fields of the model. */
  readonly more?: JsonObject;
  /** The level of Claude, a member of `outputConfig`. */
  readonly effort?: Effort;
  /** The model thinks in a way that takes no other sampling than its own. */
  readonly thinks?: true;
}

/** Writes the field that the route's model has; warns if it has none. */
export function encodeReasoning(
  conversation: Pick<Conversation, "reasoning" | "toolChoice" | "maxTokens">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
): EncodedReasoning {
  const { reasoning } = conversation;
  if (reasoning === undefined) return {};
  const wanted = effortOf(reasoning);
  switch (capabilities.reasoning_field) {
    case "none":
      if (wanted !== "none") warnOfReasoning(reasoning, warnings);
      return {};
    case "reasoningConfig": {
      warnOfDisplay(reasoning, warnings);
      if (wanted === undefined) return {};
      if (wanted === "none") return { more: { reasoningConfig: { type: "disabled" } } };
      const level = nearestEffort(wanted, capabilities.efforts);
      if (level === undefined) break;
      return { more: { reasoningConfig: { type: "enabled", maxReasoningEffort: level } } };
    }
    case "reasoning_effort": {
      warnOfDisplay(reasoning, warnings);
      if (wanted === undefined) return {};
      const level = nearestEffort(wanted, capabilities.efforts);
      warnOfLoweredThinking(reasoning, level, warnings);
      if (level !== undefined) return { more: { reasoning_effort: level } };
      break;
    }
    case "thinking": {
      const thinking = encodeThinking(conversation, reasoning, capabilities, options, warnings);
      if (thinking !== undefined) return thinking;
      break;
    }
  }
  warnOfReasoning(reasoning, warnings);
  return {};
}

/** Only Claude can hide what it thinks. */
function warnOfDisplay({ display }: ReasoningRequest, warnings: Warnings): void {
  if (display !== undefined) warnings.add(display.path);
}

/** Values of `display` for thinking that is not shown. */
const hidden: ReadonlySet<string> = new Set(["omitted", "none"]);

/** `undefined`: the model takes no such request beside the others. */
function encodeThinking(
  { toolChoice, maxTokens }: Pick<Conversation, "toolChoice" | "maxTokens">,
  reasoning: ReasoningRequest,
  capabilities: ResolvedCapabilities,
  { maxOutputTokens }: ConversionOptions,
  warnings: Warnings,
): EncodedReasoning | undefined {
  const { thinking, thinking_off: off, efforts } = capabilities;
  const wanted = effortOf(reasoning);
  const { display } = reasoning;
  if (wanted === "none" && off !== "no") return { more: { thinking: { type: off } } };
  if (wanted === "none") {
    warnOfReasoning(reasoning, warnings);
    return { ...defined({ effort: nearestEffort(wanted, efforts) }), thinks: true };
  }
  const isForced = toolChoice?.type === "required" || toolChoice?.type === "tool";
  if (thinking === "none" || isForced) return undefined;
  if (thinking === "adaptive") {
    const effort = wanted === undefined ? undefined : nearestEffort(wanted, efforts);
    // The vendor's own default for these models is to show nothing.
    const shows = display !== undefined && !hidden.has(display.word);
    const adaptive = { type: "adaptive", ...(shows ? { display: "summarized" } : {}) };
    return { more: { thinking: adaptive }, ...defined({ effort }), thinks: true };
  }
  const budget = Math.min(
    carriedBudget(reasoning, wanted ?? "medium", capabilities, warnings),
    (maxTokens ?? maxOutputTokens) - 1,
  );
  if (budget < leastBudgetTokens) return undefined;
  const hides = display !== undefined && hidden.has(display.word);
  const enabled = {
    type: "enabled",
    budget_tokens: budget,
    ...(hides ? { display: "omitted" } : {}),
  };
  return { more: { thinking: enabled }, thinks: true };
}
