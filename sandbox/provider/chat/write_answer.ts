import type { JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId, type StopCause } from "../base/compose.ts";
import type { StreamEvent } from "../base/reply.ts";
import type { SandboxRequest } from "../base/request.ts";
import { cutIntoPieces, reported } from "../base/tokens.ts";

/** Tokens per delta. */
const pieceTokens = 3;

const finishReasons: Readonly<Record<StopCause, string>> = {
  end: "stop",
  length: "length",
  stop_sequence: "stop",
  calls: "tool_calls",
  refusal: "stop",
};

/** Writes a completion with one answer per choice. */
export function chatAnswer(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
  createdSeconds: number,
): JsonObject {
  return {
    ...envelope(request, "chat.completion", createdSeconds),
    choices: answers.map((answer, index) => ({
      index,
      message: message(answer),
      logprobs: null,
      finish_reason: finishReasons[answer.stop],
    })),
    ...(request.triggers.usage !== "none" && { usage: usageOf(request, answers) }),
  };
}

/** Writes the chunks of a streamed completion and `[DONE]`; choices follow one another. */
export function* chatEvents(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
  createdSeconds: number,
): Generator<StreamEvent> {
  const head = envelope(request, "chat.completion.chunk", createdSeconds);
  const withUsage = request.includeUsage && request.triggers.usage !== "none";
  const chunk = (choices: JsonObject[], delta: boolean): StreamEvent => ({
    data: JSON.stringify({ ...head, choices, ...(withUsage && { usage: null }) }),
    delta,
  });
  const choice = (index: number, delta: JsonObject, finish: string | null = null) => ({
    index,
    delta,
    logprobs: null,
    finish_reason: finish,
  });
  for (const [index, answer] of answers.entries()) {
    yield chunk([choice(index, { role: "assistant", content: "", refusal: null })], false);
    for (const delta of deltas(answer)) yield chunk([choice(index, delta)], true);
    yield chunk([choice(index, {}, finishReasons[answer.stop])], false);
  }
  if (withUsage) {
    const usage = usageOf(request, answers);
    yield { data: JSON.stringify({ ...head, choices: [], usage }), delta: false };
  }
  yield { data: "[DONE]", delta: false };
}

function* deltas(answer: SandboxAnswer): Generator<JsonObject> {
  let call = 0;
  for (const part of answer.parts) {
    if (part.kind === "call") {
      yield { tool_calls: [{ index: call, ...callOf(part, "") }] };
      for (const piece of cutIntoPieces(part.arguments, pieceTokens)) {
        const said = part.tool.custom
          ? { custom: { input: piece } }
          : { function: { arguments: piece } };
        yield { tool_calls: [{ index: call, ...said }] };
      }
      call++;
      continue;
    }
    const field = fieldOf(part.kind);
    for (const piece of cutIntoPieces(part.text, pieceTokens)) yield { [field]: piece };
  }
}

function fieldOf(kind: "text" | "reasoning" | "refusal"): string {
  if (kind === "text") return "content";
  return kind === "refusal" ? "refusal" : "reasoning_content";
}

function callOf(part: AnswerPart & { kind: "call" }, said: string): JsonObject {
  const id = `call_${part.id}`;
  return part.tool.custom
    ? { id, type: "custom", custom: { name: part.tool.name, input: said } }
    : { id, type: "function", function: { name: part.tool.name, arguments: said } };
}

function message(answer: SandboxAnswer): JsonObject {
  const textOf = (kind: AnswerPart["kind"]) => {
    const texts = answer.parts.flatMap((part) =>
      part.kind === kind && part.kind !== "call" ? [part.text] : []
    );
    return texts.length === 0 ? null : texts.join("");
  };
  const calls = answer.parts.flatMap((part) =>
    part.kind === "call" ? [callOf(part, part.arguments)] : []
  );
  const reasoning = textOf("reasoning");
  // Content is "" if the answer ended before any text, and null if it is only calls or a refusal.
  const isSilent = calls.length > 0 || answer.stop === "refusal";
  return {
    role: "assistant",
    content: textOf("text") ?? (isSilent ? null : ""),
    refusal: textOf("refusal"),
    annotations: [],
    ...(reasoning !== null && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function envelope(request: SandboxRequest, object: string, createdSeconds: number): JsonObject {
  return {
    id: `chatcmpl-${stableId(request.seed, "completion")}`,
    object,
    created: createdSeconds,
    model: request.model,
    service_tier: "default",
    system_fingerprint: "fp_sandbox",
  };
}

function usageOf(request: SandboxRequest, answers: readonly SandboxAnswer[]): JsonObject {
  const { prompt, triggers } = request;
  const promptTokens = prompt.input + prompt.cacheRead + prompt.cacheWrite;
  const outputTokens = answers.reduce((sum, answer) => sum + answer.outputTokens, 0);
  const reasoningTokens = answers.reduce((sum, answer) => sum + answer.reasoningTokens, 0);
  return {
    prompt_tokens: reported(promptTokens, triggers),
    completion_tokens: reported(outputTokens, triggers),
    total_tokens: reported(promptTokens + outputTokens, triggers),
    prompt_tokens_details: {
      cached_tokens: prompt.cacheRead,
      ...(prompt.cacheWrite > 0 && { cache_write_tokens: prompt.cacheWrite }),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
