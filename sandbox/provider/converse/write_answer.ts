import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId, type StopCause } from "../base/compose.ts";
import type { StreamEvent } from "../base/reply.ts";
import { cutIntoPieces, reported } from "../base/tokens.ts";
import type { SandboxRequest } from "../base/request.ts";

/** Tokens per delta. */
const pieceTokens = 3;

const stopReasons: Readonly<Record<StopCause, string>> = {
  end: "end_turn",
  length: "max_tokens",
  stop_sequence: "stop_sequence",
  calls: "tool_use",
  refusal: "content_filtered",
};

/** Writes a whole answer. */
export function converseAnswer(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  return {
    metrics: { latencyMs: 1 },
    output: {
      message: {
        content: shown(answer).map((part) => wholeBlock(request, part)),
        role: "assistant",
      },
    },
    stopReason: stopReasons[answer.stop],
    ...usageOf(request, answer),
  };
}

/** Writes the events of a stream; the usage comes last. */
export function* converseEvents(
  request: SandboxRequest,
  answer: SandboxAnswer,
): Generator<StreamEvent> {
  const event = (kind: string, payload: JsonObject, delta = false): StreamEvent => ({
    event: kind,
    data: JSON.stringify(payload),
    delta,
  });
  yield event("messageStart", { role: "assistant" });
  for (const [contentBlockIndex, part] of shown(answer).entries()) {
    const delta = (delta: JsonObject) =>
      event("contentBlockDelta", { contentBlockIndex, delta }, true);
    if (part.kind === "call") {
      const toolUse = { toolUseId: `tooluse_${part.id}`, name: part.tool.name };
      yield event("contentBlockStart", { contentBlockIndex, start: { toolUse } });
      for (const input of cutIntoPieces(part.arguments, pieceTokens)) {
        yield delta({ toolUse: { input } });
      }
    } else {
      for (const text of cutIntoPieces(part.text, pieceTokens)) {
        yield delta(part.kind === "reasoning" ? { reasoningContent: { text } } : { text });
      }
      if (part.kind === "reasoning") {
        yield delta({ reasoningContent: { signature: stableId(request.seed, "signature") } });
      }
    }
    yield event("contentBlockStop", { contentBlockIndex });
  }
  yield event("messageStop", { stopReason: stopReasons[answer.stop] });
  yield event("metadata", { metrics: { latencyMs: 1 }, ...usageOf(request, answer) });
}

/** A refusal has no block; the stop reason reports it. */
function shown(answer: SandboxAnswer): AnswerPart[] {
  return answer.parts.filter(({ kind }) => kind !== "refusal");
}

function wholeBlock(request: SandboxRequest, part: AnswerPart): JsonObject {
  switch (part.kind) {
    case "reasoning": {
      const signature = stableId(request.seed, "signature");
      return { reasoningContent: { reasoningText: { text: part.text, signature } } };
    }
    case "call":
      return {
        toolUse: {
          toolUseId: `tooluse_${part.id}`,
          name: part.tool.name,
          input: inputOf(part.arguments),
        },
      };
    default:
      return { text: part.text };
  }
}

/** Parses arguments; the token limit may have cut them, so that they are not JSON. */
function inputOf(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return {};
  }
}

function usageOf(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  const { triggers, prompt } = request;
  if (triggers.usage === "none") return {};
  const { outputTokens } = answer;
  return {
    usage: {
      inputTokens: reported(prompt.input, triggers),
      outputTokens: reported(outputTokens, triggers),
      totalTokens: reported(prompt.input + outputTokens, triggers),
      cacheReadInputTokens: 0,
      cacheWriteInputTokens: 0,
    },
  };
}
