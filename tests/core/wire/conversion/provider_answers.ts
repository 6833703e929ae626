/** Answers with a text, a reason and counts, as providers of each style write them, whole and streamed. */
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

export const clientStyles: readonly Style[] = ["chat", "messages", "responses", "gemini"];
export const providerStyles: readonly ProviderStyle[] = [...clientStyles, "converse"];

/** Counts of a report; an absent one is left out. */
export interface Counts {
  /** All tokens of the prompt, cached ones among them. */
  readonly prompt?: number;
  readonly cached?: number;
  readonly output?: number;
}

export interface ProviderAnswer {
  /** Empty: no text, and no block for it. */
  readonly text: string;
  /** As the style writes it; absent: its own word for the plain end. */
  readonly reason?: Json;
  readonly usage?: Counts;
}

const plainEnds: Readonly<Record<ProviderStyle, string>> = {
  chat: "stop",
  messages: "end_turn",
  responses: "completed",
  gemini: "STOP",
  converse: "end_turn",
};

const usages: Readonly<Record<ProviderStyle, (counts: Counts) => JsonObject>> = {
  chat: ({ prompt, cached, output }) => ({
    ...(prompt === undefined ? {} : { prompt_tokens: prompt }),
    ...(output === undefined ? {} : { completion_tokens: output }),
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  }),
  messages: ({ prompt, cached, output }) => ({
    ...(prompt === undefined ? {} : { input_tokens: prompt - (cached ?? 0) }),
    ...(cached === undefined ? {} : { cache_read_input_tokens: cached }),
    ...(output === undefined ? {} : { output_tokens: output }),
  }),
  responses: ({ prompt, cached, output }) => ({
    ...(prompt === undefined ? {} : { input_tokens: prompt }),
    ...(cached === undefined ? {} : { input_tokens_details: { cached_tokens: cached } }),
    ...(output === undefined ? {} : { output_tokens: output }),
  }),
  gemini: ({ prompt, cached, output }) => ({
    ...(prompt === undefined ? {} : { promptTokenCount: prompt }),
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
    ...(output === undefined ? {} : { candidatesTokenCount: output }),
  }),
  converse: ({ prompt, cached, output }) => ({
    ...(prompt === undefined ? {} : { inputTokens: prompt - (cached ?? 0) }),
    ...(cached === undefined ? {} : { cacheReadInputTokens: cached }),
    ...(output === undefined ? {} : { outputTokens: output }),
  }),
};

/** A report of usage, as the style writes it. */
export function usageOf(style: ProviderStyle, counts: Counts): JsonObject {
  return usages[style](counts);
}

const completeStatuses: ReadonlySet<Json> = new Set([
  "completed",
  "cancelled",
  "queued",
  "in_progress",
  "failed",
]);

/** The members of a response for how it ended: a status, or the reason of an incomplete one. */
function responseEnd(reason: Json): JsonObject {
  return completeStatuses.has(reason)
    ? { status: reason, incomplete_details: null }
    : { status: "incomplete", incomplete_details: { reason } };
}

/** A whole answer. */
export function wholeAnswer(
  style: ProviderStyle,
  { text, reason = plainEnds[style], usage = { prompt: 10, output: 5 } }: ProviderAnswer,
): JsonObject {
  const counts = usageOf(style, usage);
  switch (style) {
    case "chat": {
      const message = { role: "assistant", content: text === "" ? null : text };
      return {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [{ index: 0, message, finish_reason: reason }],
        usage: counts,
      };
    }
    case "messages":
      return {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: text === "" ? [] : [{ type: "text", text }],
        stop_reason: reason,
        stop_sequence: null,
        usage: counts,
      };
    case "responses": {
      const content = [{ type: "output_text", text, annotations: [] }];
      return {
        id: "resp_1",
        object: "response",
        created_at: 1,
        model: "m",
        error: null,
        ...responseEnd(reason),
        output: text === ""
          ? []
          : [{ type: "message", id: "m_1", role: "assistant", status: "completed", content }],
        usage: counts,
      };
    }
    case "gemini":
      return {
        candidates: [{
          content: { role: "model", parts: text === "" ? [] : [{ text }] },
          finishReason: reason,
          index: 0,
        }],
        usageMetadata: counts,
        modelVersion: "m",
      };
    case "converse":
      return {
        output: { message: { role: "assistant", content: text === "" ? [] : [{ text }] } },
        stopReason: reason,
        usage: counts,
      };
  }
}

const named = (name: string, body: JsonObject) =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`;
const data = (body: Json) => `data: ${JSON.stringify(body)}\n\n`;

/** The frames of a stream, each with the members that the style's client libraries require. */
export function streamedAnswer(style: ProviderStyle, answer: ProviderAnswer): string[] {
  const { text, reason = plainEnds[style], usage = { prompt: 10, output: 5 } } = answer;
  const counts = usageOf(style, usage);
  switch (style) {
    case "chat": {
      const chunk = (more: JsonObject) =>
        data({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...more });
      const choice = (delta: JsonObject, finish_reason: Json) =>
        chunk({ choices: [{ index: 0, delta, finish_reason }] });
      return [
        choice({ role: "assistant", content: "" }, null),
        ...text === "" ? [] : [choice({ content: text }, null)],
        choice({}, reason),
        chunk({ choices: [], usage: counts }),
        "data: [DONE]\n\n",
      ];
    }
    case "messages": {
      const { input_tokens = 10 } = counts;
      const message = {
        ...wholeAnswer(style, { text: "" }),
        stop_reason: null,
        usage: { ...counts, input_tokens, output_tokens: 1 },
      };
      return [
        named("message_start", { message }),
        ...text === "" ? [] : [
          named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
          named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
          named("content_block_stop", { index: 0 }),
        ],
        named("message_delta", {
          delta: { stop_reason: reason, stop_sequence: null },
          usage: counts,
        }),
        named("message_stop", {}),
      ];
    }
    case "responses": {
      const response = wholeAnswer(style, answer);
      const open = { ...response, status: "in_progress", output: [], usage: null };
      const [item] = Array.isArray(response["output"]) ? response["output"] : [];
      const place = { output_index: 0, content_index: 0, item_id: "m_1" };
      const last = response["status"] === "incomplete" ? "incomplete" : "completed";
      return [
        named("response.created", { sequence_number: 0, response: open }),
        ...item === undefined ? [] : [
          named("response.output_item.added", { sequence_number: 1, output_index: 0, item }),
          named("response.output_text.delta", { sequence_number: 2, ...place, delta: text }),
          named("response.output_item.done", { sequence_number: 3, output_index: 0, item }),
        ],
        named(`response.${last}`, { sequence_number: 4, response }),
      ];
    }
    case "gemini": {
      const part = (parts: Json[], more: JsonObject) =>
        data({
          candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
          usageMetadata: counts,
          modelVersion: "m",
        });
      return [
        ...text === "" ? [] : [part([{ text }], {})],
        part([], { finishReason: reason }),
      ];
    }
    case "converse": {
      const event = (name: string, body: JsonObject) =>
        `event: ${name}\ndata: ${JSON.stringify(body)}\n\n`;
      return [
        event("messageStart", { role: "assistant" }),
        ...text === "" ? [] : [
          event("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
          event("contentBlockStop", { contentBlockIndex: 0 }),
        ],
        event("messageStop", { stopReason: reason }),
        event("metadata", { usage: counts }),
      ];
    }
  }
}
