/** Tokens of the sandbox, which has no tokenizer. */
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import type { PromptTokens } from "./request.ts";
import type { Triggers } from "./triggers.ts";

const encoder = new TextEncoder();

/** Maximum UTF-8 bytes of a token. */
const tokenBytes = 4;

/**
 * Counts tokens as the sandbox defines them: a token is as many whole characters as fit into 4 bytes of UTF-8. For
 * ASCII that is a quarter of the length, rounded up.
 *
 * @example
 * ```ts
 * import { countTokens } from "./tokens.ts";
 * if (countTokens("hello") !== 2 || countTokens("") !== 0 || countTokens("chào") !== 2) throw new Error("wrong");
 * ```
 */
export function countTokens(text: string): number {
  // Prompts are long and mostly ASCII, for which the length is enough.
  if (encoder.encode(text).length === text.length) return Math.ceil(text.length / tokenBytes);
  let count = 0;
  for (const _ of tokensOf(text)) count++;
  return count;
}

/** Splits a text into tokens; joined, they are the text again. */
export function* tokensOf(text: string): Generator<string> {
  let token = "";
  let bytes = 0;
  for (const character of text) {
    const more = utf8Length(character.codePointAt(0) ?? 0);
    if (bytes + more > tokenBytes) {
      yield token;
      token = "";
      bytes = 0;
    }
    token += character;
    bytes += more;
  }
  if (token !== "") yield token;
}

/** Returns the first `limit` tokens of a text. */
export function takeTokens(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let taken = "";
  let count = 0;
  for (const token of tokensOf(text)) {
    if (count++ >= limit) break;
    taken += token;
  }
  return taken;
}

/** Splits a text into pieces of `size` tokens, as a streaming model does. */
export function* cutIntoPieces(text: string, size: number): Generator<string> {
  let piece = "";
  let count = 0;
  for (const token of tokensOf(text)) {
    piece += token;
    if (++count === size) {
      yield piece;
      piece = "";
      count = 0;
    }
  }
  if (piece !== "") yield piece;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

// Counts prompt tokens in the sandbox.

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

// Usage numbers that triggers falsify.

/** Returns a count as the triggers want it reported: unchanged, negative, or beyond every limit. */
export function reported(count: number, triggers: Triggers): number {
  if (triggers.usage === "absurd") return -count - 1;
  return triggers.usage === "huge" ? count + 1_000_000_000_000 : count;
}
