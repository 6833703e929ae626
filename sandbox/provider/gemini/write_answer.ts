import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId, type StopCause } from "../base/compose.ts";
import type { StreamEvent } from "../base/reply.ts";
import { reported } from "../base/reported_usage.ts";
import type { SandboxRequest } from "../base/request.ts";
import { cutIntoPieces } from "../base/tokens.ts";

/** Tokens per chunk. */
const pieceTokens = 3;

const finishReasons: Readonly<Record<StopCause, string>> = {
  end: "STOP",
  length: "MAX_TOKENS",
  stop_sequence: "STOP",
  calls: "STOP",
  refusal: "SAFETY",
};

/** Writes a whole answer with its candidates. */
export function geminiAnswer(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
): JsonObject {
  return {
    candidates: answers.map((answer, index) => ({
      content: { parts: partsOf(request, answer).map(({ part }) => part), role: "model" },
      finishReason: finishReasons[answer.stop],
      index,
    })),
    ...usageOf(request, answers),
    ...frame(request),
  };
}

/** Writes the chunks of a stream. Candidates follow one another; the last chunk of each has its finish reason. */
export function* geminiEvents(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
): Generator<StreamEvent> {
  for (const [index, answer] of answers.entries()) {
    const chunk = (parts: readonly Json[], more: JsonObject, usage: JsonObject = {}) =>
      JSON.stringify({
        candidates: [{ content: { parts: [...parts], role: "model" }, index, ...more }],
        ...usage,
        ...frame(request),
      });
    for (const piece of partsOf(request, answer).flatMap(piecesOf)) {
      yield { data: chunk([piece], {}), delta: true };
    }
    const usage = index === answers.length - 1 ? usageOf(request, answers) : {};
    const end = { finishReason: finishReasons[answer.stop] };
    yield { data: chunk([{ text: "" }], end, usage), delta: false };
  }
}

function piecesOf({ part, text }: WrittenPart): JsonObject[] {
  if (text === undefined) return [part];
  return [...cutIntoPieces(text, pieceTokens)].map((piece) => ({ ...part, text: piece }));
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

function usageOf(request: SandboxRequest, answers: readonly SandboxAnswer[]): JsonObject {
  const { triggers, prompt } = request;
  if (triggers.usage === "none") return {};
  const outputTokens = answers.reduce((sum, answer) => sum + answer.outputTokens, 0);
  const reasoningTokens = answers.reduce((sum, answer) => sum + answer.reasoningTokens, 0);
  return {
    usageMetadata: {
      promptTokenCount: reported(prompt.input, triggers),
      candidatesTokenCount: reported(outputTokens - reasoningTokens, triggers),
      totalTokenCount: reported(prompt.input + outputTokens, triggers),
      ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    },
  };
}
