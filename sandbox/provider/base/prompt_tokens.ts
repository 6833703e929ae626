/** Counts prompt tokens in the sandbox. */
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import type { PromptTokens } from "./request.ts";
import { countTokens } from "./tokens.ts";

/** Tokens that a picture or file counts as, whatever its size. */
const attachmentTokens = 85;

const attachmentTypes: ReadonlySet<unknown> = new Set([
  ...["image", "document", "image_url", "file", "input_audio", "input_image", "input_file"],
]);

/** Members that hold a picture or a file, in styles whose blocks have no type. */
const fileMembers = ["inlineData", "fileData", "image", "document"] as const;

/** Members that are not part of the prompt: structure, ids and settings. */
const silentMembers: ReadonlySet<string> = new Set([
  ...["type", "role", "cache_control", "prompt_cache_breakpoint", "signature"],
  ...["thoughtSignature", "mimeType", "toolUseId", "cachePoint"],
  ...["id", "call_id", "tool_call_id", "tool_use_id", "encrypted_content"],
]);

/**
 * Counts the tokens of the prompt: every text and number in tools, system and messages.
 *
 * Everything up to the last cache mark in `tools` and `system` counts as read from the cache, everything from there to
 * the last mark in `messages` as written to it, and the rest as plain input.
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

/** Adds the tokens of a value. A cache mark covers everything up to and including its block. */
function count(value: Json | undefined, into: { total: number; marked: number }): void {
  if (typeof value === "string") {
    into.total += countTokens(value);
  } else if (typeof value === "number") {
    into.total++;
  } else if (Array.isArray(value)) {
    for (const element of value) count(element, into);
  } else if (isJsonObject(value)) {
    const isFile = fileMembers.some((name) => value[name] !== undefined);
    if (isFile || attachmentTypes.has(value["type"])) into.total += attachmentTokens;
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
