/**
 * Writes a whole answer as the stream that the same provider would have sent, for servers that answer a stream request
 * with a whole answer. Nothing of the answer is left out; pipes read the frames like any others.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { sseEventText } from "../../lib/sse/writer.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ProviderStyle } from "../contract/contract.ts";

/**
 * Returns the frames of a whole answer of a provider's style.
 *
 * @example
 * ```ts
 * import { answerFrames } from "./answer_frames.ts";
 * const frames = answerFrames("chat", {
 *   choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
 * });
 * if (!frames.includes('"delta":{"role":"assistant","content":"Hi"}')) throw new Error(frames);
 * if (!frames.endsWith("data: [DONE]\n\n")) throw new Error("no end");
 * ```
 */
export function answerFrames(style: ProviderStyle, body: JsonObject): string {
  switch (style) {
    case "chat":
      return chatFrames(body);
    case "messages":
      return messagesFrames(body);
    case "responses":
      return responsesFrames(body);
    case "gemini":
      // Each event of the style is an answer.
      return sseEventText(stringifyExactly(body));
    case "converse":
      return converseFrames(body);
  }
}

function objects(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function chatFrames(body: JsonObject): string {
  const { choices, usage, object: _whole, ...head } = body;
  const chunk = (more: JsonObject) =>
    sseEventText(stringifyExactly({ ...head, object: "chat.completion.chunk", ...more }));
  const frames = objects(choices).flatMap((choice, place) => {
    const { message, finish_reason: reason = null, index = place, ...rest } = choice;
    return [
      chunk({ choices: [{ ...rest, index, delta: deltaOf(message), finish_reason: null }] }),
      chunk({ choices: [{ index, delta: {}, finish_reason: reason }] }),
    ];
  });
  if (usage !== undefined) frames.push(chunk({ choices: [], usage }));
  return frames.join("") + sseEventText("[DONE]");
}

/** The delta of a whole message; in streams, calls have an index. */
function deltaOf(message: Json | undefined): JsonObject {
  if (!isJsonObject(message)) return {};
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls)) return rest;
  const indexed = calls.map((call, index) => isJsonObject(call) ? { index, ...call } : call);
  return { ...rest, tool_calls: indexed };
}

function named(type: string, members: JsonObject): string {
  return sseEventText(stringifyExactly({ type, ...members }), type);
}

function messagesFrames(body: JsonObject): string {
  const { content, stop_reason = null, stop_sequence = null, stop_details, usage } = body;
  const message = { ...body, content: [], stop_reason: null, stop_sequence: null };
  const details = stop_details === undefined ? {} : { stop_details };
  return [
    named("message_start", { message }),
    ...objects(content).map(messagesBlock),
    named("message_delta", {
      delta: { stop_reason, stop_sequence, ...details },
      ...(usage === undefined ? {} : { usage }),
    }),
    named("message_stop", {}),
  ].join("");
}

/** A block whose text comes in deltas begins empty; every other one is complete at its start. */
function messagesBlock(block: JsonObject, index: number): string {
  const { start, deltas } = messagesParts(block);
  return [
    named("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => named("content_block_delta", { index, delta })),
    named("content_block_stop", { index }),
  ].join("");
}

function messagesParts(
  block: JsonObject,
): { readonly start: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { type, text, thinking, signature, input, citations } = block;
  if (type === "text" && typeof text === "string") {
    const cited = objects(citations).map((citation) => ({ type: "citations_delta", citation }));
    const { citations: _later, ...rest } = block;
    return {
      start: { ...rest, text: "" },
      deltas: [{ type: "text_delta", text }, ...cited],
    };
  }
  if (type === "thinking" && typeof thinking === "string") {
    const signed = typeof signature === "string" ? [{ type: "signature_delta", signature }] : [];
    return {
      start: { ...block, thinking: "", signature: "" },
      deltas: [{ type: "thinking_delta", thinking }, ...signed],
    };
  }
  if ((type === "tool_use" || type === "server_tool_use") && isJsonObject(input)) {
    const partial_json = stringifyExactly(input);
    return {
      start: { ...block, input: {} },
      deltas: [{ type: "input_json_delta", partial_json }],
    };
  }
  return { start: block, deltas: [] };
}

function responsesFrames(response: JsonObject): string {
  const open = { ...response, status: "in_progress", output: [], usage: null };
  let sequence = 0;
  const event = (type: string, members: JsonObject) =>
    named(type, { sequence_number: sequence++, ...members });
  const isFailed = response["status"] === "failed";
  const closing = isFailed
    ? "failed"
    : response["status"] === "incomplete"
    ? "incomplete"
    : "completed";
  const frames = [event("response.created", { response: open })];
  objects(response["output"]).forEach((item, output_index) => {
    frames.push(event("response.output_item.added", { output_index, item: emptied(item) }));
    const parts = objects(item["type"] === "message" ? item["content"] : undefined);
    parts.forEach((part, content_index) => {
      frames.push(...textEvents(part, { output_index, content_index, item }, event));
    });
    frames.push(event("response.output_item.done", { output_index, item }));
  });
  frames.push(event(`response.${closing}`, { response }));
  return frames.join("");
}

/** A message begins without its parts, which follow as events. */
function emptied(item: JsonObject): JsonObject {
  return item["type"] === "message" ? { ...item, status: "in_progress", content: [] } : item;
}

function textEvents(
  part: JsonObject,
  { output_index, content_index, item }: {
    readonly output_index: number;
    readonly content_index: number;
    readonly item: JsonObject;
  },
  event: (type: string, members: JsonObject) => string,
): string[] {
  const place = { item_id: item["id"] ?? "", output_index, content_index };
  const { text, type } = part;
  const start = typeof text === "string" ? { ...part, text: "", annotations: [] } : part;
  // In the order in which they are sent: each event takes the next sequence number.
  const events = [event("response.content_part.added", { ...place, part: start })];
  if (type === "output_text" && typeof text === "string" && text !== "") {
    events.push(
      event("response.output_text.delta", { ...place, delta: text, logprobs: [] }),
      event("response.output_text.done", { ...place, text, logprobs: [] }),
    );
  }
  events.push(event("response.content_part.done", { ...place, part }));
  return events;
}

function converseFrames(body: JsonObject): string {
  const { output, stopReason, ...rest } = body;
  const event = (name: string, members: JsonObject) =>
    sseEventText(stringifyExactly(members), name);
  const message = isJsonObject(output) ? output["message"] : undefined;
  const content = isJsonObject(message) ? objects(message["content"]) : [];
  return [
    event("messageStart", { role: "assistant" }),
    ...content.flatMap((block, contentBlockIndex) => [
      ...converseParts(block).map(([name, members]) =>
        event(name, { contentBlockIndex, ...members })
      ),
      event("contentBlockStop", { contentBlockIndex }),
    ]),
    event("messageStop", { stopReason: stopReason ?? null }),
    event("metadata", rest),
  ].join("");
}

function converseParts(block: JsonObject): (readonly [event: string, members: JsonObject])[] {
  const delta = (members: JsonObject) => ["contentBlockDelta", { delta: members }] as const;
  const { toolUse, reasoningContent, citationsContent } = block;
  if (isJsonObject(toolUse)) {
    const { input = {}, ...start } = toolUse;
    return [
      ["contentBlockStart", { start: { toolUse: start } }],
      delta({ toolUse: { input: typeof input === "string" ? input : stringifyExactly(input) } }),
    ];
  }
  if (isJsonObject(reasoningContent)) {
    const { reasoningText, ...others } = reasoningContent;
    const pieces = isJsonObject(reasoningText) ? { ...others, ...reasoningText } : others;
    return [delta({ reasoningContent: pieces })];
  }
  if (isJsonObject(citationsContent)) {
    return [
      ...objects(citationsContent["content"]).map(delta),
      ...objects(citationsContent["citations"]).map((citation) => delta({ citation })),
    ];
  }
  return [delta(block)];
}
