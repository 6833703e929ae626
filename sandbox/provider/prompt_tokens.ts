import { isJsonObject, type Json } from "../../core/lib/json/json.ts";
import type { PromptTokens } from "./request.ts";
import { countTokens } from "./tokens.ts";

/** Any picture or file counts as this many tokens. */
const attachmentTokens = 85;

const attachmentTypes: ReadonlySet<unknown> = new Set([
  ...["image", "document", "image_url", "file", "input_audio", "input_image", "input_file"],
]);

/** Members that say how, not what: they are no part of the prompt. */
const silentMembers: ReadonlySet<string> = new Set([
  ...["type", "role", "cache_control", "prompt_cache_breakpoint", "signature"],
  ...["id", "call_id", "tool_call_id", "tool_use_id", "encrypted_content"],
]);

/**
 * Counts the prompt: every text, name and number in tools, system and messages.
 *
 * Caching: what is marked inside `tools` and `system` (up to the last mark) counts as read from the cache, what comes
 * after it up to the last mark inside `messages` as written to it, the rest is plain input.
 */
export function countPrompt(tools: Json, system: Json, messages: Json): PromptTokens {
  const counter = { total: 0, marked: 0 };
  count(tools, counter);
  count(system, counter);
  const cacheRead = counter.marked;
  count(messages, counter);
  const cached = counter.marked;
  return { input: counter.total - cached, cacheRead, cacheWrite: cached - cacheRead };
}

/** Walks in order; a cache mark covers everything up to and including the block it stands on. */
function count(value: Json | undefined, into: { total: number; marked: number }): void {
  if (typeof value === "string") {
    into.total += countTokens(value);
  } else if (typeof value === "number") {
    into.total++;
  } else if (Array.isArray(value)) {
    for (const element of value) count(element, into);
  } else if (isJsonObject(value)) {
    if (attachmentTypes.has(value["type"])) into.total += attachmentTokens;
    else {
      for (const [name, member] of Object.entries(value)) {
        if (!silentMembers.has(name)) count(member, into);
      }
    }
    if (isJsonObject(value["cache_control"]) || isJsonObject(value["prompt_cache_breakpoint"])) {
      into.marked = into.total;
    }
  }
}
