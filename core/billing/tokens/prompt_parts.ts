/** Splits a Messages request into what is counted as text and what has a price of its own. */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import {
  base64ImageTokens,
  base64PdfTokens,
  tokensOfUnseenImage,
  tokensOfUnseenPage,
} from "./media_tokens.ts";

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
