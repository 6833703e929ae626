/**
 * Keeps a Messages request legal if routes of several styles answered its running tool loop.
 *
 * With a thinking budget the vendor demands that the assistant turn before the last tool results begins with the
 * thinking that led to it. A turn that another style answered has none that the vendor signed. The vendor's own way out
 * is to switch thinking off until the loop ends; then no turn of the loop may hold thinking.
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking)
 */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../../lib/json/json.ts";
import { beginningOf } from "../../../lib/json/outline.ts";
import { sealPrefix } from "../../fields/reasoning_seal.ts";

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
export function withoutLoopThinking(messages: readonly Json[]): readonly Json[] {
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
 * import { thinkingOffInMixedLoop } from "./tool_loop.ts";
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
