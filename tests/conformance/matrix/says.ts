/** What a model may answer, written as the stream of each style by hand. */
import type { ProviderStyle } from "../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { ScriptedEvent } from "../../agents/scripted_turn.ts";

/** An answer, in no style. */
export interface Say {
  readonly thinking?: string;
  readonly signature?: string;
  readonly text?: string;
  /** The names of called tools; the arguments are their places. */
  readonly calls?: readonly string[];
  readonly stop: "end" | "length" | "calls";
}

/** Tokens of every answer: 30 of the prompt, 10 of them cached; 12 of output, 5 of them thinking. */
export const tokens = { input: 30, cached: 10, output: 12, thinking: 5 };

const id = (at: number) => `call_${at}`;
const args = (at: number) => JSON.stringify({ a: at });
const named = (name: string, rest: JsonObject): ScriptedEvent => ({
  name,
  value: { type: name, ...rest },
});

function* messages({ thinking, signature = "sig", text, calls = [], stop }: Say) {
  const usage = {
    input_tokens: tokens.input - tokens.cached,
    cache_read_input_tokens: tokens.cached,
    cache_creation_input_tokens: 0,
  };
  yield named("message_start", {
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  let index = 0;
  function* block(content_block: JsonObject, deltas: readonly JsonObject[]) {
    yield named("content_block_start", { index, content_block });
    for (const delta of deltas) yield named("content_block_delta", { index, delta });
    yield named("content_block_stop", { index: index++ });
  }
  if (thinking !== undefined) {
    yield* block({ type: "thinking", thinking: "", signature: "" }, [
      { type: "thinking_delta", thinking },
      { type: "signature_delta", signature },
    ]);
  }
  if (text !== undefined) yield* block({ type: "text", text: "" }, [{ type: "text_delta", text }]);
  for (const [at, name] of calls.entries()) {
    yield* block({ type: "tool_use", id: id(at), name, input: {} }, [
      { type: "input_json_delta", partial_json: args(at) },
    ]);
  }
  const reasons = { end: "end_turn", length: "max_tokens", calls: "tool_use" };
  yield named("message_delta", {
    delta: { stop_reason: reasons[stop], stop_sequence: null },
    usage: { ...usage, output_tokens: tokens.output },
  });
  yield named("message_stop", {});
}

function* chat({ thinking, signature, text, calls = [], stop }: Say): Generator<ScriptedEvent> {
  const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
    value: { ...frame, choices: [{ index: 0, delta, finish_reason }] },
  });
  yield chunk({ role: "assistant", content: "" });
  if (thinking !== undefined) {
    yield chunk({
      reasoning: thinking,
      reasoning_details: [{
        type: "reasoning.text",
        text: thinking,
        index: 0,
        format: "unknown",
        ...(signature === undefined ? {} : { signature }),
      }],
    });
  }
  if (text !== undefined) yield chunk({ content: text });
  for (const [index, name] of calls.entries()) {
    const call = { index, id: id(index), type: "function" };
    yield chunk({ tool_calls: [{ ...call, function: { name, arguments: args(index) } }] });
  }
  yield chunk({}, { end: "stop", length: "length", calls: "tool_calls" }[stop]);
  yield {
    value: {
      ...frame,
      choices: [],
      usage: {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        total_tokens: tokens.input + tokens.output,
        prompt_tokens_details: { cached_tokens: tokens.cached },
        completion_tokens_details: { reasoning_tokens: tokens.thinking },
      },
    },
  };
}

function responsesItems({ thinking, signature = "gAAA", text, calls = [] }: Say): JsonObject[] {
  return [
    ...thinking === undefined ? [] : [{
      id: "rs_1",
      type: "reasoning",
      summary: [{ type: "summary_text", text: thinking }],
      encrypted_content: signature,
    }],
    ...text === undefined ? [] : [{
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
    }],
    ...calls.map((name, at) => ({
      id: `fc_${at}`,
      type: "function_call",
      status: "completed",
      call_id: id(at),
      name,
      arguments: args(at),
    })),
  ];
}

function* responses(say: Say): Generator<ScriptedEvent> {
  let sequence_number = 0;
  const event = (type: string, rest: JsonObject) =>
    named(type, { sequence_number: sequence_number++, ...rest });
  const output = responsesItems(say);
  const isCut = say.stop === "length";
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "in_progress",
    model: "m",
    output: [],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: "auto",
    tools: [],
    usage: null,
  };
  yield event("response.created", { response });
  for (const [output_index, item] of output.entries()) {
    const at = { output_index, item_id: String(item["id"]) };
    const begun = item["type"] === "message"
      ? { ...item, status: "in_progress", content: [] }
      : item["type"] === "reasoning"
      ? { ...item, summary: [] }
      : { ...item, status: "in_progress", arguments: "" };
    yield event("response.output_item.added", { output_index, item: begun });
    if (item["type"] === "message") {
      const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
      const place = { ...at, content_index: 0 };
      yield event("response.content_part.added", { ...place, part });
      yield event("response.output_text.delta", { ...place, delta: say.text ?? "", logprobs: [] });
      yield event("response.output_text.done", { ...place, text: say.text ?? "", logprobs: [] });
      yield event("response.content_part.done", {
        ...place,
        part: { ...part, text: say.text ?? "" },
      });
    } else if (item["type"] === "reasoning") {
      const place = { ...at, summary_index: 0 };
      const text = say.thinking ?? "";
      yield event("response.reasoning_summary_part.added", {
        ...place,
        part: { type: "summary_text", text: "" },
      });
      yield event("response.reasoning_summary_text.delta", { ...place, delta: text });
      yield event("response.reasoning_summary_text.done", { ...place, text });
      yield event("response.reasoning_summary_part.done", {
        ...place,
        part: { type: "summary_text", text },
      });
    } else {
      const whole = String(item["arguments"]);
      yield event("response.function_call_arguments.delta", { ...at, delta: whole });
      yield event("response.function_call_arguments.done", { ...at, arguments: whole });
    }
    yield event("response.output_item.done", { output_index, item });
  }
  yield event(isCut ? "response.incomplete" : "response.completed", {
    response: {
      ...response,
      status: isCut ? "incomplete" : "completed",
      incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
      output,
      usage: {
        input_tokens: tokens.input,
        input_tokens_details: { cached_tokens: tokens.cached },
        output_tokens: tokens.output,
        output_tokens_details: { reasoning_tokens: tokens.thinking },
        total_tokens: tokens.input + tokens.output,
      },
    },
  });
}

function* gemini(say: Say): Generator<ScriptedEvent> {
  const { thinking, signature, text, calls = [], stop } = say;
  const chunk = (part: JsonObject, more: JsonObject = {}): ScriptedEvent => ({
    value: {
      candidates: [{ content: { parts: [part], role: "model" }, index: 0, ...more }],
      usageMetadata: {
        promptTokenCount: tokens.input,
        cachedContentTokenCount: tokens.cached,
        candidatesTokenCount: tokens.output - tokens.thinking,
        thoughtsTokenCount: tokens.thinking,
        totalTokenCount: tokens.input + tokens.output,
      },
      modelVersion: "m",
      responseId: "r",
    },
  });
  if (thinking !== undefined) yield chunk({ text: thinking, thought: true });
  if (text !== undefined) yield chunk({ text });
  for (const [at, name] of calls.entries()) {
    const signed = at === 0 && signature !== undefined ? { thoughtSignature: signature } : {};
    yield chunk({ functionCall: { id: id(at), name, args: { a: at } }, ...signed });
  }
  yield chunk({ text: "" }, { finishReason: stop === "length" ? "MAX_TOKENS" : "STOP" });
}

const converseUsage = {
  inputTokens: tokens.input - tokens.cached,
  cacheReadInputTokens: tokens.cached,
  cacheWriteInputTokens: 0,
  outputTokens: tokens.output,
  totalTokens: tokens.input + tokens.output,
};
const converseReasons = { end: "end_turn", length: "max_tokens", calls: "tool_use" };

function* converse({ thinking, signature, text, calls = [], stop }: Say): Generator<ScriptedEvent> {
  let contentBlockIndex = 0;
  const event = (name: string, value: JsonObject): ScriptedEvent => ({ name, value });
  const delta = (value: JsonObject) =>
    event("contentBlockDelta", { contentBlockIndex, delta: value });
  const end = () => event("contentBlockStop", { contentBlockIndex: contentBlockIndex++ });
  yield event("messageStart", { role: "assistant" });
  if (thinking !== undefined) {
    yield delta({ reasoningContent: { text: thinking } });
    if (signature !== undefined) yield delta({ reasoningContent: { signature } });
    yield end();
  }
  if (text !== undefined) {
    yield delta({ text });
    yield end();
  }
  for (const [at, name] of calls.entries()) {
    const start = { toolUse: { toolUseId: id(at), name } };
    yield event("contentBlockStart", { contentBlockIndex, start });
    yield delta({ toolUse: { input: args(at) } });
    yield end();
  }
  yield event("messageStop", { stopReason: converseReasons[stop] });
  yield event("metadata", { usage: converseUsage, metrics: { latencyMs: 1 } });
}

/** Writes a whole answer of Converse, whose form is not that of its stream. */
export function wholeConverse({ thinking, signature, text, calls = [], stop }: Say): JsonObject {
  const content = [
    ...thinking === undefined ? [] : [{
      reasoningContent: {
        reasoningText: { text: thinking, ...(signature === undefined ? {} : { signature }) },
      },
    }],
    ...text === undefined ? [] : [{ text }],
    ...calls.map((name, at) => ({ toolUse: { toolUseId: id(at), name, input: { a: at } } })),
  ];
  return {
    output: { message: { role: "assistant", content } },
    stopReason: converseReasons[stop],
    usage: converseUsage,
    metrics: { latencyMs: 1 },
  };
}

/** Writes the events of an answer in each style that providers speak. */
export const streams: Readonly<Record<ProviderStyle, (say: Say) => Iterable<ScriptedEvent>>> = {
  messages,
  chat,
  responses,
  gemini,
  converse,
};
