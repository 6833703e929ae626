/** Answers of the mock upstream in the Chat and the Messages style, in the form that providers use. */
import { stamp } from "./wall_clock.ts";

export type MockStyle = "chat" | "messages";

const filler = "lorem ipsum dolor sit amet consectetur ";

const sse = (data: unknown, event?: string) =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

/** A whole answer of about 1 KB. */
export function wholeAnswer(style: MockStyle): string {
  const text = filler.repeat(16);
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
