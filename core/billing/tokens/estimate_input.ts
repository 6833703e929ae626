import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import {
  base64ImageTokens,
  base64PdfTokens,
  tokensOfUnseenImage,
  tokensOfUnseenPage,
} from "./rough_estimate.ts";
import { loadedOnce } from "../../lib/base/assert.ts";

// Splits a Messages request into what is counted as text and what has a price of its own.

/** The countable parts of a prompt. */
export interface PromptParts {
  readonly texts: string[];
  /** Tokens that do not come from text: pictures, pages, the frame around turns and tools. */
  flatTokens: number;
}

/** Tokens of the role and the separators around each message. */
const tokensPerMessage = 4;
/** Tokens of the frame of a tool definition, call or result. */
const tokensPerTool = 8;
/** Tokens that open the answer. */
const tokensOfReplyStart = 3;

/**
 * Collects the parts of a `POST /v1/messages` or `count_tokens` body. Only messages, system and
 * tools count; cache marks do not. Fields of a wrong shape count nothing: validation reports them.
 */
export function promptParts(body: JsonObject): PromptParts {
  const parts: PromptParts = { texts: [], flatTokens: tokensOfReplyStart };
  if (body["system"] !== undefined) {
    parts.flatTokens += tokensPerMessage;
    addContent(body["system"], parts, false);
  }
  const messages = list(body["messages"]);
  const thinkingFrom = messages.findLastIndex(isNewQuestion);
  for (const [at, message] of messages.entries()) {
    parts.flatTokens += tokensPerMessage;
    addContent(message["content"], parts, at > thinkingFrom);
  }
  for (const tool of list(body["tools"])) addTool(tool, parts);
  return parts;
}

function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/**
 * Whether a message is a new question. Thinking before the last one is not sent to the model again
 * (vendor's page on extended thinking).
 */
function isNewQuestion(message: JsonObject): boolean {
  if (message["role"] !== "user") return false;
  const content = message["content"];
  return typeof content === "string" ||
    list(content).some((block) => block["type"] !== "tool_result");
}

function addText(value: Json | undefined, parts: PromptParts): void {
  if (typeof value === "string" && value !== "") parts.texts.push(value);
}

function addJson(value: Json | undefined, parts: PromptParts): void {
  if (value !== undefined) parts.texts.push(stringifyExactly(value));
}

function addContent(content: Json | undefined, parts: PromptParts, withThinking: boolean): void {
  addText(content, parts);
  for (const block of list(content)) addBlock(block, parts, withThinking);
}

function addBlock(block: JsonObject, parts: PromptParts, withThinking: boolean): void {
  switch (block["type"]) {
    case "text":
      addText(block["text"], parts);
      return;
    case "image":
      parts.flatTokens += imageTokensOf(block["source"]);
      return;
    case "document":
      addText(block["title"], parts);
      addText(block["context"], parts);
      addDocument(block["source"], parts);
      return;
    case "search_result":
      addText(block["title"], parts);
      addText(block["source"], parts);
      addContent(block["content"], parts, false);
      return;
    case "thinking":
      if (withThinking) addText(block["thinking"], parts);
      return;
    case "redacted_thinking":
      return;
    case "tool_use":
    case "server_tool_use":
      parts.flatTokens += tokensPerTool;
      addText(block["name"], parts);
      addJson(block["input"], parts);
      return;
    default:
      // tool_result, and the results of tools that ran at the vendor.
      parts.flatTokens += tokensPerTool;
      addContent(block["content"], parts, false);
      for (const key of ["tool_name", "title", "url"]) addText(block[key], parts);
  }
}

function imageTokensOf(source: Json | undefined): number {
  if (!isJsonObject(source) || typeof source["data"] !== "string") return tokensOfUnseenImage;
  return base64ImageTokens(source["data"]);
}

function addDocument(source: Json | undefined, parts: PromptParts): void {
  if (!isJsonObject(source)) return;
  if (source["type"] === "text") {
    addText(source["data"], parts);
  } else if (source["type"] === "content") {
    addContent(source["content"], parts, false);
  } else if (source["type"] === "base64" && typeof source["data"] === "string") {
    parts.flatTokens += base64PdfTokens(source["data"]);
  } else {
    parts.flatTokens += tokensOfUnseenPage;
  }
}

function addTool(tool: JsonObject, parts: PromptParts): void {
  parts.flatTokens += tokensPerTool;
  addText(tool["name"], parts);
  addText(tool["description"], parts);
  addJson(tool["input_schema"], parts);
}

// Counts tokens of text with `gpt-tokenizer` (the o200k vocabulary).
//
// Its tables are 2 MB of code that take a quarter of a second to load, so they are loaded with the
// first count and never at start-up.

/**
 * Characters that one token count examines; the rest is scaled. The worst text takes 50 ms, prose
 * takes 5.
 */
export const maxTokenizedChars = 32 * 1024;

/** Characters passed to the tokenizer at once, whose time is quadratic in the length of a word. */
export const tokenizerSliceChars = 1024;

type CountText = (text: string) => number;

/** Loads the tables once per process. A failed load is repeated with the next count. */
const loadTokenizer: () => Promise<CountText> = loadedOnce(async () => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base");
  // Text of a client is never a control token: `<|endoftext|>` in a prompt is plain text.
  return (text) => countTokens(text, { disallowedSpecial: new Set() });
});

/**
 * Counts the tokens of several texts.
 *
 * Up to {@linkcode maxTokenizedChars} characters, all of it is counted; of longer text, slices that
 * are spread evenly are counted, up to the same number of characters, and the sum is scaled up.
 * Slices are short because merging is quadratic in the length of a word.
 */
export function countTexts(texts: readonly string[], countText: CountText): number {
  const totalChars = texts.reduce((sum, text) => sum + text.length, 0);
  const sliceChars = tokenizerSliceChars;
  if (totalChars <= maxTokenizedChars) {
    return texts.reduce((sum, text) => sum + countSlices(text, sliceChars, countText), 0);
  }
  const slices = Math.floor(maxTokenizedChars / sliceChars);
  const strideChars = totalChars / slices;
  let tokens = 0;
  let counted = 0;
  let textAt = 0;
  let textStart = 0;
  for (let i = 0; i < slices; i++) {
    const from = Math.floor(i * strideChars);
    while (textStart + (texts[textAt]?.length ?? 0) <= from) {
      textStart += texts[textAt]?.length ?? 0;
      textAt++;
    }
    const slice = (texts[textAt] ?? "").slice(from - textStart, from - textStart + sliceChars);
    tokens += countText(slice);
    counted += slice.length;
  }
  return Math.ceil(tokens * totalChars / Math.max(counted, 1));
}

function countSlices(text: string, sliceChars: number, countText: CountText): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at += sliceChars) {
    tokens += countText(text.slice(at, at + sliceChars));
  }
  return tokens;
}

/**
 * Estimates the input tokens of a Messages request, for `POST /v1/messages/count_tokens` if the
 * route has no counter of its own.
 *
 * The vocabulary is that of one vendor, and the model may be of another; the answer must say that
 * it is an estimate. It excludes what a vendor adds itself (the Messages vendor some 350 tokens if
 * there are tools).
 *
 * The work is bounded whatever the body: text beyond {@linkcode maxTokenizedChars} is sampled,
 * base64 is never tokenised. The body may be any JSON object; it is not validated here.
 *
 * @example
 * ```ts
 * import { estimateInputTokens } from "./estimate_input.ts";
 * const tokens = await estimateInputTokens({
 *   model: "m",
 *   messages: [{ role: "user", content: "Hello, how are you?" }],
 * });
 * if (tokens !== 13) throw new Error(String(tokens));
 * ```
 */
export async function estimateInputTokens(body: JsonObject): Promise<number> {
  const { texts, flatTokens } = promptParts(body);
  return countTexts(texts, await loadTokenizer()) + flatTokens;
}
