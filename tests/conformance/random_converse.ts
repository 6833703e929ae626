/** Answers and streams of Converse with a given content, as the vendor sends them. */
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import type { TokenUsage } from "../../core/billing/tokens/token_bounds.ts";
import type { Answer, AnswerBlock, StreamEvent } from "../../core/wire/conversation/mod.ts";

const stopReasons = {
  end: "end_turn",
  length: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  refusal: "content_filtered",
  pause: "end_turn",
  unknown: "a_new_reason",
} as const;

function usageOf(usage: TokenUsage | undefined): JsonObject {
  if (usage === undefined) return {};
  const { input, output, cacheRead, cacheWrite } = usage;
  return {
    usage: {
      inputTokens: input,
      outputTokens: output,
      totalTokens: input + output + cacheRead + cacheWrite,
      cacheReadInputTokens: cacheRead,
      cacheWriteInputTokens: cacheWrite,
    },
    metrics: { latencyMs: 9 },
  };
}

function blockOf(block: AnswerBlock): JsonObject[] {
  switch (block.type) {
    case "text":
      return [{ text: block.text }];
    case "reasoning": {
      const signature = block.proof?.kind === "signature"
        ? { signature: block.proof.signature }
        : {};
      if (block.text === "" && block.proof?.kind !== "signature") return [];
      return [{ reasoningContent: { reasoningText: { text: block.text, ...signature } } }];
    }
    case "tool_call": {
      const { id: toolUseId, name, input } = block;
      const value: Json = input.kind === "object" ? input.value : JSON.parse(input.text || "{}");
      return [{ toolUse: { toolUseId, name, input: value } }];
    }
    default:
      return [];
  }
}

/** A whole answer. */
export function converseAnswer({ blocks, stop, usage }: Answer): JsonObject {
  return {
    output: { message: { role: "assistant", content: blocks.flatMap(blockOf) } },
    stopReason: stopReasons[stop.reason],
    ...usageOf(usage),
  };
}

/** The vendor sends one block after another. */
function inSequence(events: readonly StreamEvent[]): readonly StreamEvent[] {
  const blockOf = (event: StreamEvent) => "block" in event ? event.block : undefined;
  const first = events.findIndex((event) => blockOf(event) !== undefined);
  const blocks = events.filter((event) => blockOf(event) !== undefined)
    .toSorted((a, b) => (blockOf(a) ?? 0) - (blockOf(b) ?? 0));
  const rest = events.filter((event) => blockOf(event) === undefined);
  return first < 0 ? events : rest.toSpliced(first, 0, ...blocks);
}

/** The text of a stream: server-sent events, as the transport makes them of frames. */
export function converseStream(given: readonly StreamEvent[]): string {
  const events = inSequence(given);
  const write = (kind: string, payload: JsonObject) =>
    `event: ${kind}\ndata: ${JSON.stringify({ ...payload, p: "abcd" })}\n\n`;
  let usage: TokenUsage | undefined;
  let text = "";
  for (const event of events) {
    const at = "block" in event ? { contentBlockIndex: event.block } : {};
    const delta = (delta: JsonObject) => write("contentBlockDelta", { ...at, delta });
    switch (event.type) {
      case "start":
        text += write("messageStart", { role: "assistant" });
        break;
      case "text":
        text += delta({ text: JSON.parse(event.json) });
        break;
      case "reasoning":
        text += delta({ reasoningContent: { text: JSON.parse(event.json) } });
        break;
      case "reasoning_proof":
        if (event.proof.kind !== "signature") break;
        text += delta({ reasoningContent: { signature: event.proof.signature } });
        break;
      case "call": {
        const toolUse = { toolUseId: event.id, name: event.name };
        text += write("contentBlockStart", { ...at, start: { toolUse } });
        break;
      }
      case "arguments":
        text += delta({ toolUse: { input: JSON.parse(event.json) } });
        break;
      case "block_end":
        text += write("contentBlockStop", at);
        break;
      case "usage":
        usage = event.usage;
        break;
      case "stop":
        text += write("messageStop", { stopReason: stopReasons[event.stop.reason] });
        break;
      case "end":
        text += write("metadata", usageOf(usage));
        break;
    }
  }
  return text;
}
