/** Writes thinking and sampling as Messages fields, including what thinking forbids elsewhere. */
import { noneLeft } from "../../../lib/base/assert.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../../lib/json/json.ts";
import type { Conversation, ReasoningRequest } from "../../conversation/mod.ts";
import {
  carriedBudget,
  effortOf,
  leastBudgetTokens,
  nearestEffort,
  warnOfReasoning,
} from "../../fields/output_format.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { samplingPath, stopPath } from "../../fields/field_table.ts";
import { beginningOf } from "../../../lib/json/outline.ts";
import { sealPrefix } from "../../fields/reasoning_seal.ts";

// Keeps a Messages request legal if routes of several styles answered its running tool loop.
//
// With a thinking budget the vendor demands that the assistant turn before the last tool results begins with the
// thinking that led to it. A turn that another style answered has none that the vendor signed. The vendor's own way out
// is to switch thinking off until the loop ends; then no turn of the loop may hold thinking.
// (https://platform.claude.com/docs/en/build-with-claude/extended-thinking)

/** The form of the vendor's call ids, on all its platforms. */
const vendorCallPrefix = "toolu_";

/** Returns the index of the first message of the tool loop at the end of a history; its length if there is none. */
function loopStart(messages: readonly Outline[]): number {
  if (!holdsResults(messages.at(-1))) return messages.length;
  const lastAsked = messages.findLastIndex((message) =>
    isJsonObject(message) && message["role"] === "user" && !holdsResults(message)
  );
  return lastAsked + 1;
}

function holdsResults(message: Outline | undefined): boolean {
  return isUser(message) && blocksOf(message).some((block) => block["type"] === "tool_result");
}

function isUser(message: Outline | undefined): boolean {
  return isJsonObject(message) && message["role"] === "user";
}

function blocksOf(message: Outline | undefined): OutlineObject[] {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function isThinking(block: OutlineObject): boolean {
  return block["type"] === "thinking" || block["type"] === "redacted_thinking";
}

function isSealed({ type, signature }: OutlineObject): boolean {
  return type === "thinking" && beginningOf(signature).startsWith(sealPrefix);
}

function leadsWithOwnThinking(blocks: readonly OutlineObject[]): boolean {
  const first = blocks.find((block) => !isSealed(block));
  return first !== undefined && isThinking(first);
}

function hasForeignCall(blocks: readonly OutlineObject[]): boolean {
  return blocks.some(({ type, id }) =>
    type === "tool_use" && typeof id === "string" && !id.startsWith(vendorCallPrefix)
  );
}

/**
 * Whether a native request asks for a thinking budget in a tool loop whose last turn came from another style. A turn of
 * the vendor itself may lack thinking, so a sign of the other style is needed: reasoning that the gateway sealed, or ids
 * of calls in a form that the vendor does not write.
 */
function isMixedLoop(messages: readonly Outline[], start: number): boolean {
  const turns = messages.slice(start).filter((message) => !isUser(message)).map(blocksOf);
  const last = turns.at(-1);
  if (last === undefined || leadsWithOwnThinking(last)) return false;
  const ownIdsDiffer = turns.some((blocks) =>
    leadsWithOwnThinking(blocks) && hasForeignCall(blocks)
  );
  if (ownIdsDiffer) return turns.some((blocks) => blocks.some(isSealed));
  return turns.some((blocks) => hasForeignCall(blocks) || blocks.some(isSealed));
}

/** Removes thinking from the tool loop at the end of a history; returns the same list if there is none. */
function withoutLoopThinking(messages: readonly Json[]): readonly Json[] {
  const start = loopStart(messages);
  if (!messages.some((message, at) => at >= start && blocksOf(message).some(isThinking))) {
    return messages;
  }
  return messages.map((message, at) => {
    if (at < start || !isJsonObject(message)) return message;
    const { content } = message;
    if (!Array.isArray(content)) return message;
    return {
      ...message,
      content: content.filter((block) => !isJsonObject(block) || !isThinking(block)),
    };
  });
}

/** Context edits that the vendor takes only together with thinking. */
const thinkingEdits = "clear_thinking_";

/** Whether {@linkcode thinkingOffInMixedLoop} has something to replace. */
export function mixesStylesInLoop({ thinking, messages }: OutlineObject): boolean {
  return isJsonObject(thinking) && thinking["type"] === "enabled" && Array.isArray(messages) &&
    isMixedLoop(messages, loopStart(messages));
}

/**
 * Returns the fields to replace in a native body whose tool loop mixes styles: they switch thinking off until the loop
 * ends. `undefined` if the request is legal as it is.
 *
 * @example
 * ```ts
 * import { thinkingOffInMixedLoop } from "./encode_thinking.ts";
 * const changes = thinkingOffInMixedLoop({
 *   thinking: { type: "enabled", budget_tokens: 2048 },
 *   messages: [
 *     { role: "user", content: "Read it" },
 *     { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "read", input: {} }] },
 *     { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "text" }] },
 *   ],
 * });
 * if (JSON.stringify(changes?.["thinking"]) !== '{"type":"disabled"}') throw new Error("still thinks");
 * ```
 */
export function thinkingOffInMixedLoop(body: JsonObject): JsonObject | undefined {
  const { messages, context_management: management } = body;
  if (!Array.isArray(messages) || !mixesStylesInLoop(body)) return undefined;
  const changes: JsonObject = { thinking: { type: "disabled" } };
  const kept = withoutLoopThinking(messages);
  if (kept !== messages) changes["messages"] = [...kept];
  const edits = isJsonObject(management) ? management["edits"] : undefined;
  if (isJsonObject(management) && Array.isArray(edits)) {
    const rest = edits.filter((edit) =>
      !isJsonObject(edit) || !String(edit["type"]).startsWith(thinkingEdits)
    );
    if (rest.length < edits.length) {
      changes["context_management"] = rest.length === 0 ? null : { ...management, edits: rest };
    }
  }
  return changes;
}

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
  if (wanted === "none") return encodeThinkingOff(requested, capabilities, warnings, body);
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
    carriedBudget(requested, wanted ?? "medium", capabilities, warnings),
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

/** Switches thinking off, or writes the lowest effort of a model that always thinks; returns whether it will. */
function encodeThinkingOff(
  requested: ReasoningRequest,
  { thinking, thinking_off: form, efforts }: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): boolean {
  if (thinking === "none") return false;
  if (form !== "no") {
    body.thinking = { type: form };
    return false;
  }
  const effort = nearestEffort("none", efforts);
  if (effort !== undefined) body.output_config = { effort };
  warnOfReasoning(requested, warnings);
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
