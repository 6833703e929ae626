/**
 * A Chat Completions client that forgives nothing: the shape of an answer, and the order of a stream
 * (docs/internals/WIRE_FORMATS.md#chat-answer, docs/internals/WIRE_FORMATS.md#chat-stream). What it
 * accumulates from a stream has the shape of a whole answer's choice.
 */
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { z } from "zod";
import { accept, parseData, readEvents, StrictClientError } from "./strict_client.ts";

const count = z.int().min(0);

const usage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count }).nullable().optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count }).nullable().optional(),
});

type StrictChatUsage = z.infer<typeof usage>;

const toolCall = z.discriminatedUnion("type", [
  z.strictObject({
    id: z.string().min(1),
    type: z.literal("function"),
    function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
    index: count.optional(),
  }),
  z.strictObject({
    id: z.string().min(1),
    type: z.literal("custom"),
    custom: z.strictObject({ name: z.string().min(1), input: z.string() }),
    index: count.optional(),
  }),
]);

type StrictToolCall = z.infer<typeof toolCall>;

const finishReason = z.enum(["stop", "length", "tool_calls", "content_filter", "function_call"]);

const reasoningFields = {
  reasoning_content: z.string().nullable().optional(),
  reasoning: z.string().nullable().optional(),
  reasoning_details: z.array(z.looseObject({ type: z.string() })).nullable().optional(),
};

const annotation = z.strictObject({
  type: z.literal("url_citation"),
  url_citation: z.strictObject({
    start_index: count,
    end_index: count,
    title: z.string(),
    url: z.string().min(1),
  }),
});

const message = z.strictObject({
  role: z.literal("assistant"),
  content: z.string().nullable(),
  refusal: z.string().nullable().optional(),
  annotations: z.array(annotation).optional(),
  tool_calls: z.array(toolCall).min(1).optional(),
  function_call: z.strictObject({ name: z.string(), arguments: z.string() }).nullable().optional(),
  audio: z.looseObject({}).nullable().optional(),
  ...reasoningFields,
});

const choice = z.looseObject({
  index: count,
  message,
  finish_reason: finishReason,
  logprobs: z.looseObject({}).nullable().optional(),
});

type StrictChoice = z.infer<typeof choice>;

const completion = z.looseObject({
  id: z.string().min(1),
  object: z.literal("chat.completion"),
  created: count,
  model: z.string().min(1),
  choices: z.array(choice).min(1),
  usage: usage.optional(),
  service_tier: z.string().nullable().optional(),
});

export type StrictCompletion = z.infer<typeof completion>;

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new StrictClientError(`${z.prettifyError(parsed.error)}\nin ${JSON.stringify(value)}`);
  }
  return parsed.data;
}

function checkChoice(one: StrictChoice): void {
  const calls = one.message.tool_calls ?? [];
  if (one.finish_reason === "tool_calls") accept(calls.length > 0, "tool_calls without a call");
  if (one.finish_reason === "stop") accept(calls.length === 0, "calls under finish_reason stop");
  for (const call of calls) {
    if (call.type !== "function" || one.finish_reason === "length") continue;
    try {
      JSON.parse(call.function.arguments);
    } catch {
      throw new StrictClientError(`the arguments are not JSON: ${call.function.arguments}`);
    }
  }
  const ids = calls.map((call) => call.id);
  accept(new Set(ids).size === ids.length, "two calls with one id");
}

function checkUsage(report: StrictChatUsage | undefined): void {
  if (report === undefined) return;
  accept(
    report.total_tokens === report.prompt_tokens + report.completion_tokens,
    "total_tokens is not the sum",
  );
}

/**
 * Reads a whole answer.
 *
 * @throws {StrictClientError} when it is not what the client accepts
 */
export function readChatAnswer(body: unknown): StrictCompletion {
  const answer = parse(completion, body);
  answer.choices.forEach((one, i) => accept(one.index === i, "choices out of order"));
  answer.choices.forEach(checkChoice);
  checkUsage(answer.usage);
  return answer;
}

const toolDelta = z.strictObject({
  index: count,
  id: z.string().min(1).optional(),
  type: z.enum(["function", "custom"]).optional(),
  function: z.strictObject({ name: z.string().min(1).optional(), arguments: z.string().optional() })
    .optional(),
  custom: z.strictObject({ name: z.string().min(1).optional(), input: z.string().optional() })
    .optional(),
});

const chunk = z.looseObject({
  id: z.string().min(1),
  object: z.literal("chat.completion.chunk"),
  created: count,
  model: z.string().min(1),
  choices: z.array(z.looseObject({
    index: count,
    delta: z.strictObject({
      role: z.literal("assistant").optional(),
      content: z.string().nullable().optional(),
      refusal: z.string().nullable().optional(),
      tool_calls: z.array(toolDelta).optional(),
      function_call: z.strictObject({ name: z.string().optional(), arguments: z.string() })
        .optional(),
      annotations: z.array(annotation).optional(),
      ...reasoningFields,
    }),
    finish_reason: finishReason.nullable(),
    logprobs: z.looseObject({}).nullable().optional(),
  })),
  usage: usage.nullable().optional(),
  service_tier: z.string().nullable().optional(),
  moderation: z.looseObject({}).nullable().optional(),
});

type Chunk = z.infer<typeof chunk>;
type ChunkChoice = Chunk["choices"][number];

const errorChunk = z.looseObject({
  error: z.looseObject({ message: z.string().min(1), type: z.string().min(1) }),
});

/** How a stream ended for the client. */
export type ChatOutcome =
  | { readonly kind: "completion"; readonly completion: StrictCompletion }
  | { readonly kind: "error"; readonly type: string; readonly text: string };

/**
 * Reads a whole stream. `wantsUsage`: whether the client asked for `stream_options.include_usage`.
 *
 * @throws {StrictClientError} when a chunk is malformed, out of order, or missing
 */
export function readChatStream(bytes: Uint8Array, wantsUsage: boolean): ChatOutcome {
  const reader = new StreamReader(wantsUsage);
  for (const event of readEvents(bytes)) {
    accept(event.name === undefined, "a Chat stream has no event lines");
    if (event.data === "[DONE]") {
      reader.finish();
      continue;
    }
    const data = parseData(event);
    const error = errorChunk.safeParse(data);
    if (error.success) reader.fail(error.data.error.type, error.data.error.message);
    else reader.take(parse(chunk, data));
  }
  return reader.outcome();
}

interface OpenChoice {
  role: boolean;
  content: string | null;
  refusal: string | null;
  reasoning: string | undefined;
  details: { type: string }[];
  annotations: { type: string }[];
  calls: StrictToolCall[];
  /** A call of the old form, of which a choice has one. */
  legacy: { readonly name: string; arguments: string } | undefined;
  finish: StrictChoice["finish_reason"] | undefined;
}

class StreamReader {
  readonly #wantsUsage: boolean;
  readonly #choices: OpenChoice[] = [];
  #first: Chunk | undefined;
  #usage: StrictChatUsage | undefined;
  #tier: string | undefined;
  #done: ChatOutcome | undefined;

  constructor(wantsUsage: boolean) {
    this.#wantsUsage = wantsUsage;
  }

  take(data: Chunk): void {
    accept(this.#done === undefined, "a chunk behind the end");
    const first = this.#first ??= data;
    accept(data.id === first.id, "the id changes within the stream");
    accept(data.model === first.model, "the model changes within the stream");
    accept(data.created === first.created, "the time changes within the stream");
    accept(this.#usage === undefined, "a chunk behind the usage chunk");
    if (typeof data.service_tier === "string") this.#tier = data.service_tier;
    if (data.usage) {
      accept(this.#wantsUsage, "usage that the client did not ask for");
      accept(data.choices.length === 0, "usage in a chunk with choices");
      accept(this.#choices.every((open) => open.finish !== undefined), "usage before the finish");
      this.#usage = data.usage;
      return;
    }
    accept(data.choices.length > 0 || isJsonObject(data.moderation), "a chunk with nothing in it");
    for (const one of data.choices) this.#takeChoice(one);
  }

  finish(): void {
    accept(this.#done === undefined, "[DONE] behind the end");
    accept(this.#first !== undefined && this.#choices.length > 0, "[DONE] without a choice");
    if (this.#wantsUsage) accept(this.#usage !== undefined, "the usage chunk is missing");
    const { id, created, model } = this.#first;
    const whole = {
      id,
      object: "chat.completion",
      created,
      model,
      choices: this.#choices.map(closeChoice),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...(this.#tier !== undefined && { service_tier: this.#tier }),
    };
    this.#done = { kind: "completion", completion: readChatAnswer(whole) };
  }

  fail(type: string, text: string): void {
    accept(this.#done === undefined, "an error behind the end");
    this.#done = { kind: "error", type, text };
  }

  outcome(): ChatOutcome {
    accept(this.#done !== undefined, "the stream ends without [DONE] or error");
    return this.#done;
  }

  #takeChoice({ index, delta, finish_reason }: ChunkChoice): void {
    accept(index <= this.#choices.length, "a choice is skipped");
    const open = this.#choices[index] ??= {
      role: false,
      content: null,
      refusal: null,
      reasoning: undefined,
      details: [],
      annotations: [],
      calls: [],
      legacy: undefined,
      finish: undefined,
    };
    accept(open.finish === undefined, "a delta behind finish_reason");
    accept(open.role || delta.role === "assistant", "the first delta has no role");
    accept(!open.role || delta.role === undefined, "the role is told twice");
    open.role = true;
    if (typeof delta.content === "string") open.content = (open.content ?? "") + delta.content;
    if (typeof delta.refusal === "string") open.refusal = (open.refusal ?? "") + delta.refusal;
    const thought = delta.reasoning_content ?? delta.reasoning;
    if (typeof thought === "string") open.reasoning = (open.reasoning ?? "") + thought;
    open.details.push(...delta.reasoning_details ?? []);
    // The official library knows no such member of a delta: what comes later replaces what was there.
    open.annotations = delta.annotations ?? open.annotations;
    for (const piece of delta.tool_calls ?? []) takeToolDelta(open.calls, piece);
    const { function_call: legacy } = delta;
    if (legacy !== undefined && open.legacy === undefined) {
      accept(legacy.name !== undefined, "the first piece of a function call has no name");
      open.legacy = { name: legacy.name, arguments: legacy.arguments };
    } else if (legacy !== undefined && open.legacy !== undefined) {
      accept(legacy.name === undefined, "the name of a function call is told twice");
      open.legacy.arguments += legacy.arguments;
    }
    open.finish = finish_reason ?? undefined;
  }
}

function takeToolDelta(calls: StrictToolCall[], piece: z.infer<typeof toolDelta>): void {
  if (piece.index === calls.length) {
    const started = {
      id: piece.id,
      type: piece.type,
      ...(piece.function && { function: { arguments: "", ...piece.function } }),
      ...(piece.custom && { custom: { input: "", ...piece.custom } }),
    };
    calls.push(parse(toolCall, started));
    return;
  }
  const open = calls.at(-1);
  accept(open !== undefined && piece.index === calls.length - 1, `tool index ${piece.index}`);
  const again = piece.id ?? piece.type ?? piece.function?.name ?? piece.custom?.name;
  accept(again === undefined, "id, type or name of a call is told twice");
  if (open.type === "function") open.function.arguments += piece.function?.arguments ?? "";
  else open.custom.input += piece.custom?.input ?? "";
}

function closeChoice(open: OpenChoice, index: number): Record<string, unknown> {
  accept(open.finish !== undefined, "a choice without finish_reason");
  return {
    index,
    finish_reason: open.finish,
    message: {
      role: "assistant",
      // The first chunk says content "" also where no text follows.
      content: open.content === "" &&
          (open.calls.length > 0 || open.legacy !== undefined || open.refusal !== null)
        ? null
        : open.content,
      refusal: open.refusal,
      ...(open.calls.length > 0 && { tool_calls: open.calls }),
      ...(open.legacy !== undefined && { function_call: open.legacy }),
      ...(open.annotations.length > 0 && { annotations: open.annotations }),
      ...(open.reasoning !== undefined && { reasoning_content: open.reasoning }),
      ...(open.details.length > 0 && { reasoning_details: open.details }),
    },
  };
}
