import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId } from "../base/compose.ts";
import type { StreamEvent } from "../base/reply.ts";
import type { SandboxRequest } from "../base/request.ts";
import { cutIntoPieces, reported } from "../base/tokens.ts";

/** Tokens per delta. */
const pieceTokens = 3;

/** Writes a whole message. */
export function messagesAnswer(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  return {
    ...envelope(request),
    content: answer.parts.flatMap((part) => wholeBlock(request, part)),
    ...stopFields(answer),
    ...(request.triggers.usage !== "none" && { usage: finalUsage(request, answer) }),
  };
}

/** Writes the events of a streamed message. */
export function* messagesEvents(
  request: SandboxRequest,
  answer: SandboxAnswer,
): Generator<StreamEvent> {
  const usage = finalUsage(request, answer);
  yield event("message_start", {
    message: {
      ...envelope(request),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(request.triggers.usage !== "none" && {
        usage: { ...usage, output_tokens: reported(1, request.triggers) },
      }),
    },
  });
  let index = 0;
  for (const part of answer.parts) {
    if (part.kind === "refusal") continue;
    yield event("content_block_start", { index, content_block: openBlock(part) });
    if (index === 0) yield event("ping", {});
    yield* deltas(request, part, index);
    yield event("content_block_stop", { index });
    index++;
  }
  yield event("message_delta", {
    delta: stopFields(answer),
    ...(request.triggers.usage !== "none" && { usage }),
  });
  yield event("message_stop", {});
}

function* deltas(
  request: SandboxRequest,
  part: AnswerPart,
  index: number,
): Generator<StreamEvent> {
  if (part.kind === "call") {
    yield delta(index, { type: "input_json_delta", partial_json: "" });
    // A tool without arguments sends nothing more.
    if (part.arguments === "{}") return;
    for (const partial_json of cutIntoPieces(part.arguments, pieceTokens)) {
      yield delta(index, { type: "input_json_delta", partial_json });
    }
    return;
  }
  for (const piece of cutIntoPieces(part.text, pieceTokens)) {
    yield part.kind === "reasoning"
      ? delta(index, { type: "thinking_delta", thinking: piece })
      : delta(index, { type: "text_delta", text: piece });
  }
  if (part.kind === "reasoning") {
    yield event("content_block_delta", {
      index,
      delta: { type: "signature_delta", signature: signature(request) },
    });
  }
}

function event(name: string, rest: JsonObject): StreamEvent {
  return { event: name, data: JSON.stringify({ type: name, ...rest }), delta: false };
}

function delta(index: number, delta: JsonObject): StreamEvent {
  return { ...event("content_block_delta", { index, delta }), delta: true };
}

function envelope(request: SandboxRequest): JsonObject {
  return {
    id: `msg_${stableId(request.seed, "message")}`,
    type: "message",
    role: "assistant",
    model: request.model,
  };
}

function stopFields(answer: SandboxAnswer): JsonObject {
  const reasons = {
    end: "end_turn",
    length: "max_tokens",
    stop_sequence: "stop_sequence",
    calls: "tool_use",
    refusal: "refusal",
  };
  return {
    stop_reason: reasons[answer.stop],
    stop_sequence: answer.stopSequence ?? null,
    ...(answer.stop === "refusal" && {
      stop_details: {
        type: "refusal",
        category: null,
        explanation: answer.parts.map((part) => part.kind === "call" ? "" : part.text).join(""),
      },
    }),
  };
}

function finalUsage(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  const { prompt, triggers } = request;
  return {
    input_tokens: reported(prompt.input, triggers),
    cache_creation_input_tokens: reported(prompt.cacheWrite, triggers),
    cache_read_input_tokens: reported(prompt.cacheRead, triggers),
    output_tokens: reported(answer.outputTokens, triggers),
    ...(answer.reasoningTokens > 0 && {
      output_tokens_details: { thinking_tokens: answer.reasoningTokens },
    }),
    service_tier: "standard",
  };
}

/** Derives an opaque signature, in the alphabet of base64, from the request. */
function signature(request: SandboxRequest): string {
  return `${stableId(request.seed, "signature")}${stableId(request.seed, "signed")}`;
}

function openBlock(part: AnswerPart): JsonObject {
  if (part.kind === "call") {
    return { type: "tool_use", id: `toolu_${part.id}`, name: part.tool.name, input: {} };
  }
  return part.kind === "reasoning"
    ? { type: "thinking", thinking: "", signature: "" }
    : { type: "text", text: "" };
}

function wholeBlock(request: SandboxRequest, part: AnswerPart): JsonObject[] {
  switch (part.kind) {
    // A refusal has no block; the stop reason reports it.
    case "refusal":
      return [];
    case "text":
      return [{ type: "text", text: part.text }];
    case "reasoning":
      return [{ type: "thinking", thinking: part.text, signature: signature(request) }];
    case "call":
      return [{
        type: "tool_use",
        id: `toolu_${part.id}`,
        name: part.tool.name,
        input: inputOf(part.arguments),
      }];
  }
}

/** Parses arguments; the token limit may have cut them, so that they are not JSON. */
function inputOf(text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
