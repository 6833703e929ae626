/** Answers of the mock upstream in the Chat and the Messages style, in the form that providers use. */
import { stamp } from "./wall_clock.ts";

export type MockStyle = "chat" | "messages";

/** Styles of answers that do not stream. */
export type WholeStyle = MockStyle | "gemini" | "embeddings";

/** Inputs of an embeddings request, and the numbers of each vector, as a common model has them. */
export const embeddedInputs = 16;
const vectorLength = 1_536;

const filler = "lorem ipsum dolor sit amet consectetur ";

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

function vectors(): string {
  const embedding = Array.from({ length: vectorLength }, (_, at) => Math.sin(at + 1) / 40);
  const data = Array.from(
    { length: embeddedInputs },
    (_, index) => ({ object: "embedding", index, embedding }),
  );
  const usage = { prompt_tokens: 180, total_tokens: 180 };
  return JSON.stringify({ object: "list", data, model: "bench", usage });
}

/** A whole answer: about 1 KB, and of embeddings about 540 KB. */
export function wholeAnswer(style: WholeStyle): string {
  if (style === "embeddings") return vectors();
  const text = filler.repeat(16);
  if (style === "gemini") {
    return JSON.stringify({
      candidates: [{
        content: { parts: [{ text }], role: "model" },
        finishReason: "STOP",
        index: 0,
      }],
      usageMetadata: { promptTokenCount: 180, candidatesTokenCount: 128, totalTokenCount: 308 },
      modelVersion: "bench",
      responseId: "bench",
    });
  }
  if (style === "messages") {
    return JSON.stringify({
      id: "msg_bench",
      type: "message",
      role: "assistant",
      model: "bench",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 180, output_tokens: 128 },
    });
  }
  return JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1_790_000_000,
    model: "bench",
    choices: [{
      index: 0,
      message: { role: "assistant", content: text, refusal: null },
      logprobs: null,
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 180, completion_tokens: 128, total_tokens: 308 },
    system_fingerprint: "fp_bench",
  });
}

function chatChunk(delta: unknown, finishReason: string | null): string {
  return sse({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "bench",
    system_fingerprint: "fp_bench",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  });
}

export interface StreamScript {
  readonly opening: string;
  /** One event that contains its time of creation. */
  readonly event: () => string;
  readonly closing: string;
}

/** The parts of a stream; `withUsage` adds the usage chunk of the Chat style. */
export function streamScript(style: MockStyle, withUsage: boolean): StreamScript {
  if (style === "messages") return messagesScript();
  const usage = sse({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: "bench",
    choices: [],
    usage: { prompt_tokens: 180, completion_tokens: 800, total_tokens: 980 },
  });
  // Cut at the stamp once, so that an event costs one concatenation.
  const [before = "", after = ""] = chatChunk({ content: `@ ${filler}` }, null).split("@");
  return {
    opening: chatChunk({ role: "assistant", content: "", refusal: null }, null),
    event: () => before + stamp() + after,
    closing: chatChunk({}, "stop") + (withUsage ? usage : "") + "data: [DONE]\n\n",
  };
}

function messagesScript(): StreamScript {
  const delta = { type: "content_block_delta", index: 0 };
  const [before = "", after = ""] = sse(
    { ...delta, delta: { type: "text_delta", text: `@ ${filler}${filler}${filler}` } },
    "content_block_delta",
  ).split("@");
  const message = {
    id: "msg_bench",
    type: "message",
    role: "assistant",
    model: "bench",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 180, output_tokens: 1 },
  };
  return {
    opening: sse({ type: "message_start", message }, "message_start") +
      sse(
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        "content_block_start",
      ),
    event: () => before + stamp() + after,
    closing: sse({ type: "content_block_stop", index: 0 }, "content_block_stop") +
      sse({
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 800 },
      }, "message_delta") +
      sse({ type: "message_stop" }, "message_stop"),
  };
}
