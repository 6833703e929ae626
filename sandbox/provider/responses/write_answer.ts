import { defined } from "../../../core/lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { type AnswerPart, type SandboxAnswer, stableId } from "../base/compose.ts";
import { objects, type SandboxRequest } from "../base/request.ts";
import type { StreamEvent } from "../base/reply.ts";
import { cutIntoPieces, reported } from "../base/tokens.ts";

/** Tokens per delta. */
const pieceTokens = 3;

/** Writes a whole response. */
export function responsesAnswer(
  request: SandboxRequest,
  answer: SandboxAnswer,
  createdSeconds: number,
): JsonObject {
  const cut = answer.stop === "length";
  return {
    ...envelope(request, createdSeconds),
    status: cut ? "incomplete" : "completed",
    completed_at: cut ? null : createdSeconds,
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    output: answer.parts.map((part, index) => itemOf(request, part, index, cut)),
    usage: request.triggers.usage === "none" ? null : usageOf(request, answer),
  };
}

/** Whether an item is a message of the user in a form that a vendor takes. */
function isUserMessage({ role, id, content }: JsonObject): boolean {
  const isContent = typeof content === "string" ||
    (Array.isArray(content) && content.every((part) => isJsonObject(part)));
  return role === "user" && isContent && (id === undefined || typeof id === "string");
}

/** Writes a compacted conversation: the user's messages, and the answer as its sealed summary. */
export function compactedAnswer(
  request: SandboxRequest,
  answer: SandboxAnswer,
  input: Json | undefined,
  createdSeconds: number,
): JsonObject {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : objects(input);
  const id = stableId(request.seed, "compaction");
  return {
    id: `resp_${id}`,
    object: "response.compaction",
    created_at: createdSeconds,
    output: [
      ...items.filter(isUserMessage)
        .map((item) => ({ ...item, type: "message", status: "completed" })),
      {
        id: `cmp_${id}`,
        type: "compaction",
        // As opaque as that of a vendor.
        encrypted_content: new TextEncoder().encode(JSON.stringify(answer.parts)).toBase64(),
      },
    ],
    usage: request.triggers.usage === "none" ? null : usageOf(request, answer),
  };
}

/** Writes the events of a streamed response. */
export function* responsesEvents(
  request: SandboxRequest,
  answer: SandboxAnswer,
  createdSeconds: number,
): Generator<StreamEvent> {
  let number = 0;
  const event = (name: string, rest: JsonObject, delta = false): StreamEvent => ({
    event: name,
    data: JSON.stringify({ type: name, sequence_number: number++, ...rest }),
    delta,
  });
  const open = {
    ...envelope(request, createdSeconds),
    status: "in_progress",
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  yield event("response.created", { response: open });
  yield event("response.in_progress", { response: open });
  const cut = answer.stop === "length";
  for (const [output_index, part] of answer.parts.entries()) {
    const item = itemOf(request, part, output_index, cut);
    yield event("response.output_item.added", { output_index, item: emptyItem(part, item) });
    for (const inner of itemEvents(part, { item_id: item["id"] ?? null, output_index })) {
      yield event(inner.name, inner.rest, inner.delta);
    }
    yield event("response.output_item.done", { output_index, item });
  }
  const response = responsesAnswer(request, answer, createdSeconds);
  yield event(cut ? "response.incomplete" : "response.completed", { response });
}

interface InnerEvent {
  readonly name: string;
  readonly rest: JsonObject;
  readonly delta: boolean;
}

function* itemEvents(part: AnswerPart, place: JsonObject): Generator<InnerEvent> {
  const inner = (name: string, rest: JsonObject, delta = false): InnerEvent => ({
    name,
    rest: { ...place, ...rest },
    delta,
  });
  if (part.kind === "call") {
    const [stem, field] = part.tool.custom
      ? ["response.custom_tool_call_input", "input"]
      : ["response.function_call_arguments", "arguments"];
    for (const delta of cutIntoPieces(part.arguments, pieceTokens)) {
      yield inner(`${stem}.delta`, { delta }, true);
    }
    yield inner(`${stem}.done`, { [field]: part.arguments });
    return;
  }
  const { index, added, done, stem, field } = partNames(part.kind);
  const extra = part.kind === "text" ? { logprobs: [] } : {};
  yield inner(added, { ...index, part: contentPart(part.kind, "") });
  for (const delta of cutIntoPieces(part.text, pieceTokens)) {
    yield inner(`${stem}.delta`, { ...index, delta, ...extra }, true);
  }
  yield inner(`${stem}.done`, { ...index, [field]: part.text, ...extra });
  yield inner(done, { ...index, part: contentPart(part.kind, part.text) });
}

function partNames(kind: "text" | "reasoning" | "refusal") {
  if (kind === "reasoning") {
    return {
      index: { summary_index: 0 },
      added: "response.reasoning_summary_part.added",
      done: "response.reasoning_summary_part.done",
      stem: "response.reasoning_summary_text",
      field: "text",
    };
  }
  return {
    index: { content_index: 0 },
    added: "response.content_part.added",
    done: "response.content_part.done",
    stem: kind === "text" ? "response.output_text" : "response.refusal",
    field: kind === "text" ? "text" : "refusal",
  };
}

function contentPart(kind: "text" | "reasoning" | "refusal", text: string): JsonObject {
  if (kind === "reasoning") return { type: "summary_text", text };
  if (kind === "refusal") return { type: "refusal", refusal: text };
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function itemOf(
  request: SandboxRequest,
  part: AnswerPart,
  index: number,
  cut: boolean,
): JsonObject {
  const id = stableId(request.seed, `item ${index}`);
  const status = cut ? "incomplete" : "completed";
  switch (part.kind) {
    case "reasoning":
      return { id: `rs_${id}`, type: "reasoning", summary: [contentPart("reasoning", part.text)] };
    case "call": {
      const { name, namespace } = part.tool;
      const head = { status, call_id: `call_${part.id}`, name, ...defined({ namespace }) };
      return part.tool.custom
        ? { id: `ctc_${id}`, type: "custom_tool_call", ...head, input: part.arguments }
        : { id: `fc_${id}`, type: "function_call", ...head, arguments: part.arguments };
    }
    default:
      return {
        id: `msg_${id}`,
        type: "message",
        status,
        role: "assistant",
        content: [contentPart(part.kind, part.text)],
      };
  }
}

/** Returns an item as it is announced before its first delta. */
function emptyItem(part: AnswerPart, item: JsonObject): JsonObject {
  const open = item["status"] === undefined ? item : { ...item, status: "in_progress" };
  if (part.kind === "reasoning") return { ...open, summary: [] };
  if (part.kind !== "call") return { ...open, content: [] };
  return part.tool.custom ? { ...open, input: "" } : { ...open, arguments: "" };
}

function envelope(request: SandboxRequest, createdSeconds: number): JsonObject {
  return {
    id: `resp_${stableId(request.seed, "response")}`,
    object: "response",
    created_at: createdSeconds,
    background: false,
    error: null,
    instructions: null,
    max_output_tokens: request.maxTokens === Infinity ? null : request.maxTokens,
    metadata: {},
    model: request.model,
    parallel_tool_calls: request.parallelTools,
    previous_response_id: null,
    store: false,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    user: null,
  };
}

function usageOf(request: SandboxRequest, answer: SandboxAnswer): JsonObject {
  const { prompt, triggers } = request;
  const inputTokens = prompt.input + prompt.cacheRead + prompt.cacheWrite;
  return {
    input_tokens: reported(inputTokens, triggers),
    input_tokens_details: {
      cached_tokens: prompt.cacheRead,
      cache_write_tokens: prompt.cacheWrite,
    },
    output_tokens: reported(answer.outputTokens, triggers),
    output_tokens_details: { reasoning_tokens: answer.reasoningTokens },
    total_tokens: reported(inputTokens + answer.outputTokens, triggers),
  };
}
