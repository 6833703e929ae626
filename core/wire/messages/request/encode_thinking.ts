/** Writes thinking and sampling as Messages fields, including what thinking forbids elsewhere. */
import { noneLeft } from "../../../lib/base/every_member.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { Conversation } from "../../conversation/mod.ts";
import {
  budgetOf,
  effortOf,
  leastBudgetTokens,
  nearestEffort,
  warnOfReasoning,
} from "../../fields/effort.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { samplingPath, stopPath } from "../../fields/extras.ts";
import { withoutLoopThinking } from "./tool_loop.ts";

/** The vendor's value of `display` for thinking that is not shown. */
const hidden = "omitted";

/**
 * Adds `thinking` and the effort to the body. Thinking is switched on only at the client's request. A budget must stay
 * below `max_tokens`, the client's own cap, which is not raised because it bounds the cost of the call.
 *
 * @returns whether the model will think
 */
export function encodeThinking(
  conversation: Pick<Conversation, "reasoning" | "toolChoice">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
  maxTokens: number,
): boolean {
  const requested = conversation.reasoning;
  if (requested === undefined) return false;
  const wanted = effortOf(requested);
  if (wanted === "none") {
    if (capabilities.thinking !== "none") body.thinking = { type: "disabled" };
    return false;
  }
  if (capabilities.thinking === "none") {
    warnOfReasoning(requested, warnings);
    return false;
  }
  if (capabilities.thinking === "adaptive") {
    // The vendor's own default for these models is to show nothing.
    const shows = requested.display !== undefined && requested.display.word !== hidden;
    body.thinking = { type: "adaptive", ...(shows ? { display: "summarized" } : {}) };
    const effort = wanted === undefined ? undefined : nearestEffort(wanted, capabilities.efforts);
    if (effort !== undefined) body.output_config = { effort };
    return true;
  }
  const forced = conversation.toolChoice?.type === "required" ||
    conversation.toolChoice?.type === "tool";
  const budget = Math.min(
    requested.budgetTokens ?? budgetOf(wanted ?? "medium"),
    maxTokens - 1,
  );
  // The vendor refuses thinking beside a forced tool, budgets that are too small to think in, and a tool loop whose
  // running turn does not begin with the thinking that led to it.
  const { messages } = body;
  if (forced || budget < leastBudgetTokens || isLoopWithoutThinking(messages)) {
    // Nor does it take thinking in the running turn of a request that does not think.
    if (Array.isArray(messages)) body.messages = [...withoutLoopThinking(messages)];
    warnOfReasoning(requested, warnings);
    return false;
  }
  // These models show their thinking by default.
  const hides = requested.display?.word === hidden;
  body.thinking = {
    type: "enabled",
    budget_tokens: budget,
    ...(hides ? { display: hidden } : {}),
  };
  return true;
}

/** Whether the last turn answers calls of a turn that does not begin with signed thinking. */
function isLoopWithoutThinking(messages: Json | undefined): boolean {
  const turns = Array.isArray(messages) ? messages : [];
  const last = turns.findLastIndex((turn) => isJsonObject(turn) && turn.role === "user");
  return startsWith(turns[last], ["tool_result"]) &&
    !startsWith(turns[last - 1], ["thinking", "redacted_thinking"]);
}

function startsWith(message: Json | undefined, types: readonly string[]): boolean {
  const content = isJsonObject(message) ? message.content : undefined;
  const first = Array.isArray(content) ? content[0] : undefined;
  return isJsonObject(first) && types.some((type) => type === first.type);
}

/** Adds temperature, top_p, top_k and the stop sequences, as far as the model takes them. */
export function encodeMessagesSampling(
  conversation: Pick<Conversation, "from" | "sampling">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
  thinks: boolean,
): void {
  const { temperature, topP, topK, stop, ...rest } = conversation.sampling;
  noneLeft(rest);
  const fixed = capabilities.sampling === "fixed" || thinks;
  if (temperature !== undefined) {
    if (!fixed) body.temperature = Math.min(temperature, 1);
    if (temperature > 1 || (fixed && temperature !== 1)) {
      warnings.add(samplingPath(conversation, "temperature"));
    }
  }
  if (topP !== undefined) {
    const excluded = capabilities.temp_top_p_exclusive && body.temperature !== undefined;
    const tooLow = (thinks && topP < 0.95) || (capabilities.sampling === "fixed" && topP < 0.99);
    if (!excluded && !tooLow) body.top_p = topP;
    else if (topP !== 1) warnings.add(samplingPath(conversation, "top_p"));
  }
  if (topK !== undefined) {
    if (!fixed) body.top_k = topK;
    else warnings.add(samplingPath(conversation, "top_k"));
  }
  const real = stop?.filter((text) => text.trim() !== "") ?? [];
  if (stop !== undefined && real.length < stop.length) warnings.add(stopPath(conversation));
  if (real.length > 0) body.stop_sequences = real;
}
