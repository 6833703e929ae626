/**
 * One interface to the strict clients of all styles, and the part of an answer that conversion must preserve.
 */
import { assert } from "../support/assert.ts";
import type { PipeContext, Style } from "../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import {
  readChatAnswer,
  readChatStream,
  type StrictCompletion,
} from "../support/strict_client/strict_client_chat.ts";
import {
  readGeminiAnswer,
  readGeminiStream,
  type StrictContent,
} from "../support/strict_client/strict_client_gemini.ts";
import {
  readMessagesAnswer,
  readMessagesStream,
  type StrictMessage,
} from "../support/strict_client/strict_client_messages.ts";
import {
  readResponsesAnswer,
  readResponsesStream,
  type StrictResponse,
} from "../support/strict_client/strict_client_responses.ts";

export const context: PipeContext = {
  clientModel: "premium-chat",
  requestId: "req_0abc",
  clientWantsUsage: true,
  nowSeconds: 1_700_000_000,
};

/** What a client has at the end of an answer. */
export type Outcome =
  | { readonly kind: "answer"; readonly answer: JsonObject }
  | { readonly kind: "error"; readonly text: string };

/** Reads a stream as a strict client of `style` does. */
export function readStream(style: Style, bytes: Uint8Array): Outcome {
  const outcome = outcomeOf(style, bytes);
  if (outcome.kind === "error") return { kind: "error", text: outcome.text };
  return { kind: "answer", answer: plain(outcome.answer) };
}

function outcomeOf(
  style: Style,
  bytes: Uint8Array,
):
  | { readonly kind: "error"; readonly text: string }
  | {
    readonly kind: "answer";
    readonly answer: StrictMessage | StrictCompletion | StrictResponse | StrictContent;
  } {
  switch (style) {
    case "messages": {
      const outcome = readMessagesStream(bytes);
      return outcome.kind === "error" ? outcome : { kind: "answer", answer: outcome.message };
    }
    case "chat": {
      const outcome = readChatStream(bytes, context.clientWantsUsage);
      return outcome.kind === "error" ? outcome : { kind: "answer", answer: outcome.completion };
    }
    case "responses": {
      const outcome = readResponsesStream(bytes);
      return outcome.kind === "error" ? outcome : { kind: "answer", answer: outcome.response };
    }
    case "gemini": {
      const outcome = readGeminiStream(bytes);
      return outcome.kind === "error" ? outcome : { kind: "answer", answer: outcome.content };
    }
  }
}

/** Reads a whole answer as a strict client of `style` does. */
export function readWhole(style: Style, body: JsonObject): JsonObject {
  const read = {
    messages: readMessagesAnswer,
    chat: readChatAnswer,
    responses: readResponsesAnswer,
    gemini: readGeminiAnswer,
  };
  return plain(read[style](body));
}

function plain(value: unknown): JsonObject {
  const json: Json = JSON.parse(JSON.stringify(value));
  assert(isJsonObject(json));
  return json;
}

/**
 * Returns the part of an answer that a stream and a whole answer share. It leaves out members that only one of the two
 * forms has at the vendor itself.
 */
export function essence(style: Style, answer: JsonObject): JsonObject {
  switch (style) {
    case "messages": {
      const { id, model, content, stop_reason, stop_sequence, stop_details, usage } = answer;
      const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } =
        isJsonObject(usage) ? usage : {};
      const counts = {
        input_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
        output_tokens,
      };
      return {
        id,
        model,
        content: joinTexts(list(content)),
        stop_reason,
        stop_sequence,
        stop_details,
        usage: counts,
      };
    }
    case "chat": {
      const { id, model, created, usage, choices } = answer;
      return { id, model, created, usage, choices: list(choices).map(choiceEssence) };
    }
    case "responses":
      return { ...answer, output: list(answer["output"]).map(compactArguments) };
    case "gemini":
      return { ...answer, candidates: list(answer["candidates"]).map(joinedParts) };
  }
}

/**
 * Neighbouring texts as one: in a stream a source may come when its text has gone by, and then its block is a longer one.
 */
function joinTexts(content: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = [];
  for (const block of content) {
    const before = joined.at(-1);
    if (block["type"] !== "text" || before?.["type"] !== "text") {
      joined.push({ ...block });
      continue;
    }
    const citations = [...list(before["citations"]), ...list(block["citations"])];
    before["text"] = `${before["text"]}${block["text"]}`;
    if (citations.length > 0) before["citations"] = citations;
  }
  return joined;
}

/** Neighbouring texts of a candidate as one: a stream cuts them anywhere. */
function joinedParts(candidate: JsonObject): JsonObject {
  const content = isJsonObject(candidate["content"]) ? candidate["content"] : {};
  const joined: JsonObject[] = [];
  for (const part of list(content["parts"])) {
    const before = joined.at(-1);
    const { text, thought, thoughtSignature } = part;
    if (text === "" && thoughtSignature === undefined) continue;
    const joins = before !== undefined && typeof text === "string" &&
      typeof before["text"] === "string" && before["thought"] === thought &&
      thoughtSignature === undefined && before["thoughtSignature"] === undefined;
    if (joins) before["text"] = `${before["text"]}${text}`;
    else joined.push({ ...part });
  }
  return { ...candidate, content: { ...content, parts: joined } };
}

/** Removes optional white space from the arguments of a call, since vendors stream it differently. */
function compactArguments(call: JsonObject): JsonObject {
  const text = call["arguments"];
  if (typeof text !== "string") return call;
  try {
    return { ...call, arguments: JSON.stringify(JSON.parse(text)) };
  } catch {
    return call;
  }
}

function compactCall(call: JsonObject): JsonObject {
  const inner = call["function"];
  return isJsonObject(inner) ? { ...call, function: compactArguments(inner) } : call;
}

function choiceEssence(choice: JsonObject): JsonObject {
  const message = isJsonObject(choice["message"]) ? choice["message"] : {};
  const { content, refusal, tool_calls, reasoning_content, annotations } = message;
  return {
    finish_reason: choice["finish_reason"],
    content: content === "" ? null : content,
    refusal: refusal ?? null,
    tool_calls: list(tool_calls).map(compactCall),
    annotations: annotations ?? [],
    reasoning_content: reasoning_content ?? "",
    reasoning_details: mergeDetails(list(message["reasoning_details"])),
  };
}

/** Pieces of one detail have one index; a client joins their texts and keeps the proof. */
function mergeDetails(details: readonly JsonObject[]): JsonObject[] {
  const merged: JsonObject[] = [];
  for (const detail of details) {
    const earlier = merged.find((other) => other["index"] === detail["index"]);
    if (earlier === undefined) merged.push({ ...detail });
    else {
      Object.assign(earlier, detail, {
        text: String(earlier["text"] ?? "") + String(detail["text"] ?? ""),
      });
    }
  }
  return merged;
}

export function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
