import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId, type StopCause } from "../compose.ts";
import type { StreamEvent } from "../reply.ts";
import { reported } from "../reported_usage.ts";
import type { SandboxRequest } from "../request.ts";
import { cutIntoPieces } from "../tokens.ts";

/** Tokens per chunk. */
const pieceTokens = 3;

const finishReasons: Readonly<Record<StopCause, string>> = {
  end: "STOP",
  length: "MAX_TOKENS",
  stop_sequence: "STOP",
  calls: "STOP",
  refusal: "SAFETY",
};

/** Writes a whole answer. */
export function geminiAnswer(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  return {
    candidates: [{
      content: { parts: partsOf(request, answer).map(({ part }) => part), role: "model" },
      finishReason: finishReasons[answer.stop],
      index: 0,
    }],
    ...usageOf(request, answer),
    ...frame(request),
  };
}

/** Writes the chunks of a stream; the last one has the finish reason. */
export function* geminiEvents(
  request: SandboxRequest,
  answer: SandboxAnswer,
): Generator<StreamEvent> {
  const chunk = (parts: readonly Json[], delta: boolean, more: JsonObject = {}): StreamEvent => ({
    data: JSON.stringify({
      candidates: [{ content: { parts: [...parts], role: "model" }, index: 0, ...more }],
      ...(delta ? {} : usageOf(request, answer)),
      ...frame(request),
    }),
    delta,
  });
  for (const { part, text } of partsOf(request, answer)) {
    if (text === undefined) yield chunk([part], true);
    else {for (const piece of cutIntoPieces(text, pieceTokens)) {
        yield chunk([{ ...part, text: piece }], true);
      }}
  }
  yield chunk([{ text: "" }], false, { finishReason: finishReasons[answer.stop] });
}

interface WrittenPart {
  readonly part: JsonObject;
  /** The text of a part that may be cut into pieces. */
  readonly text?: string;
}

/** Writes the parts; the first call has a signature, as at the vendor. */
function partsOf(request: SandboxRequest, answer: SandboxAnswer): WrittenPart[] {
  let signed = false;
  return answer.parts.flatMap((part): WrittenPart[] => {
    if (part.kind === "reasoning") {
      return [{ part: { text: part.text, thought: true }, text: part.text }];
    }
    if (part.kind === "text") return [{ part: { text: part.text }, text: part.text }];
    if (part.kind !== "call") return [];
    const signature = signed ? {} : { thoughtSignature: btoa(stableId(request.seed, "signature")) };
    signed = true;
    return [{ part: { functionCall: callOf(part), ...signature } }];
  });
}

function callOf(part: AnswerPart & { kind: "call" }): JsonObject {
  let args: JsonObject = {};
  try {
    args = JSON.parse(part.arguments);
  } catch {
    // Cut by the limit on tokens.
  }
  return { id: part.id.slice(0, 8), name: part.tool.name, args };
}

function frame(request: SandboxRequest): JsonObject {
  return { modelVersion: request.model, responseId: stableId(request.seed, "response") };
}

function usageOf(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  const { triggers, prompt } = request;
  if (triggers.usage === "none") return {};
  const { outputTokens, reasoningTokens } = answer;
  return {
    usageMetadata: {
      promptTokenCount: reported(prompt.input, triggers),
      candidatesTokenCount: reported(outputTokens - reasoningTokens, triggers),
      totalTokenCount: reported(prompt.input + outputTokens, triggers),
      ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    },
  };
}
