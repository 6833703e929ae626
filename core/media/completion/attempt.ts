/** One attempt on a route that completes texts: a whole answer, or a stream up to its first text. */
import { reportedUsageSchema } from "../base/json_call.ts";
import {
  count,
  listOf,
  maybeText,
  orNull,
  text,
  type Written,
  writtenSchema,
} from "../../lib/json/schemas.ts";
import {
  isEventStream,
  type StartedStream,
  startStream,
  wholeAsStream,
} from "../../calls/attempts/attempt.ts";
import { type JsonBody, withFields } from "../../calls/body/json_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import type { Route } from "../../catalog/catalog.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { readChatAnswer } from "../../wire/chat/answer/answer_reading.ts";
import { createChatNativePipe } from "../../wire/chat/stream/meter.ts";
import { streamFailure } from "../../wire/stream/answer_gate.ts";
import { readNoAnswer } from "../../wire/errors/provider_error.ts";
import type { AnswerReading } from "../../wire/contract/contract.ts";
import { ClientModel } from "../../wire/stream/client_model.ts";
import { type MediaExchange, type MediaWork, parseJson, readNoResult } from "../base/exchange.ts";
import { refuseField } from "../../calls/body/fields.ts";
import type { CompletionRequest } from "./request.ts";
import type { ByteSink, ByteSource } from "../../lib/bytes/byte_parts.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type SseFrame, SseSplitter } from "../../lib/sse/frame.ts";
import { keepAliveComment, sseEventText } from "../../lib/sse/writer.ts";
import { maxSseEventBytes } from "../../wire/contract/limits.ts";

// Completions by chat models: the request as a chat request, and the chat answer as a completion.

/** Tokens of a completion whose request sets no bound, as vendors have it. */
const defaultMaxTokens = 16;

/** Fields that a chat model cannot carry, unless they have a value that asks for nothing. */
const uncarried: readonly (readonly [field: string, asksNothing: (value: Json) => boolean])[] = [
  ["suffix", (value) => value === ""],
  ["echo", (value) => value === false],
  ["logprobs", () => false],
  ["best_of", (value) => value === 1],
];

const encoder = new TextEncoder();

function promptOf(prompt: Json | undefined): string {
  const only = Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  if (typeof only === "string" && only !== "") return only;
  if (only === undefined || only === null || only === "") refuseField("prompt", "is required");
  refuseField("prompt", "this model answers chats: it takes one text, no tokens and no list");
}

/**
 * Writes the body of the chat request: the prompt becomes a message of the user, and the other fields stay.
 *
 * @throws {GatewayError} `invalid_request` naming a field that a chat model cannot carry
 */
export function chatBodyOf({ value }: JsonBody): Uint8Array {
  const { prompt, ...rest } = value;
  const body: JsonObject = { ...rest };
  for (const [field, asksNothing] of uncarried) {
    const given = body[field];
    if (given !== undefined && given !== null && !asksNothing(given)) {
      refuseField(
        field,
        "this model answers chats, which cannot carry it; use a model of kind completion",
      );
    }
    delete body[field];
  }
  if (body["messages"] !== undefined) refuseField("messages", "belongs to /v1/chat/completions");
  body["messages"] = [{ role: "user", content: promptOf(prompt) }];
  if (body["max_completion_tokens"] === undefined) body["max_tokens"] ??= defaultMaxTokens;
  return encoder.encode(stringifyExactly(body));
}

function textOf(value: Json | undefined): string {
  if (!isJsonObject(value)) return "";
  const { content, refusal } = value;
  return (typeof content === "string" ? content : "") +
    (typeof refusal === "string" ? refusal : "");
}

const choiceMembers = {
  text,
  index: count,
  logprobs: orNull({ type: "object" }),
  finish_reason: maybeText,
};

const completionMembers = {
  id: text,
  object: { const: "text_completion" },
  created: { type: "integer" },
  model: text,
  choices: listOf(writtenSchema("A continuation.", choiceMembers, ["text", "index"])),
  usage: reportedUsageSchema,
};

/** The schema of an answer: the provider's, or one made of a chat answer. */
export const completionAnswerSchema: JsonObject = writtenSchema(
  "The continued text.",
  completionMembers,
  ["object", "model", "choices"],
);

function choiceOf(choice: Json, place: number): Written<typeof choiceMembers> {
  if (!isJsonObject(choice)) return { index: place, text: "", logprobs: null, finish_reason: null };
  return {
    text: textOf(choice["message"] ?? choice["delta"]),
    index: choice["index"] ?? place,
    logprobs: null,
    finish_reason: choice["finish_reason"] ?? null,
  };
}

/** Converts an answer or a chunk; what is none, such as an error, stays as it is. */
function completionOf(value: Json | undefined): Json | undefined {
  if (!isJsonObject(value) || !Array.isArray(value["choices"])) return value;
  const { id, created, model, usage, choices } = value;
  const written: Written<typeof completionMembers> = {
    id: typeof id === "string" ? id.replace(/^chatcmpl-/, "cmpl-") : "cmpl-",
    object: "text_completion",
    created: created ?? 0,
    model: model ?? "",
    choices: choices.map(choiceOf),
    ...(usage !== undefined && { usage }),
  };
  return written;
}

/**
 * Converts a whole chat answer.
 *
 * @example
 * ```ts
 * import { completionAnswer } from "./attempt.ts";
 * const chat = '{"id":"chatcmpl-1","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}';
 * const answer = JSON.parse(new TextDecoder().decode(completionAnswer(new TextEncoder().encode(chat))));
 * if (answer.object !== "text_completion" || answer.choices[0].text !== "hi") throw new Error("not converted");
 * ```
 */
export function completionAnswer(bytes: Uint8Array): Uint8Array {
  const value = completionOf(tryParseExactly(new TextDecoder().decode(bytes)));
  return value === undefined ? bytes : encoder.encode(stringifyExactly(value));
}

function eventOf(frame: SseFrame): Uint8Array {
  if (!frame.hasPayload) return keepAliveComment;
  const { data } = frame;
  const value = completionOf(tryParseExactly(data));
  return encoder.encode(sseEventText(value === undefined ? data.trim() : stringifyExactly(value)));
}

/** Converts the stream of a chat answer, chunk by chunk. */
export class CompletionSource implements ByteSource {
  readonly #chat: ByteSource;
  readonly #splitter = new SseSplitter(maxSseEventBytes);
  /** Whether the reader got something since its last pull. */
  #isServed = false;
  #isOver = false;

  constructor(chat: ByteSource) {
    this.#chat = chat;
  }

  start(sink: ByteSink): void {
    this.#chat.start?.(this.#converting(sink));
  }

  async pull(sink: ByteSink): Promise<void> {
    const converting = this.#converting(sink);
    this.#isServed = false;
    // A pull that enqueues nothing is not repeated by the reader.
    while (!this.#isServed && !this.#isOver) await this.#chat.pull(converting);
  }

  cancel(): Promise<void> | void {
    this.#isOver = true;
    return this.#chat.cancel();
  }

  #converting(sink: ByteSink): ByteSink {
    const over = () => {
      this.#isOver = true;
    };
    return {
      get desiredSize() {
        return sink.desiredSize;
      },
      enqueue: (bytes) => {
        this.#splitter.push(bytes, (frame) => {
          this.#isServed = true;
          sink.enqueue(eventOf(frame));
          return true;
        });
      },
      close: () => {
        over();
        sink.close();
      },
      error: (reason) => {
        over();
        sink.error(reason);
      },
    };
  }
}

/** Reads a whole answer like one of the Chat style, whose choices have their text in a message. */
function readCompletionAnswer(body: JsonObject): AnswerReading {
  const { choices } = body;
  const messages = (Array.isArray(choices) ? choices : []).flatMap((choice) => {
    if (!isJsonObject(choice)) return [];
    const { text, message: _, ...rest } = choice;
    return typeof text === "string" ? [{ ...rest, message: { content: text } }] : [];
  });
  const reading = readChatAnswer({ ...body, choices: messages });
  const isAnswer = messages.length > 0 || reading.error !== undefined;
  return isAnswer ? reading : { ...reading, error: readNoAnswer(body) };
}

/** Writes a whole answer as a stream: events have the members of whole answers. */
function completionFrames(body: JsonObject): Uint8Array {
  return encoder.encode(sseEventText(stringifyExactly(body)) + sseEventText("[DONE]"));
}

/** The answer of a route: whole, or a stream that has begun. */
export type CompletionResult =
  | { readonly kind: "answer"; readonly bytes: Uint8Array; readonly reading: AnswerReading }
  | { readonly kind: "stream"; readonly started: StartedStream };

/** Needs of an attempt. */
export interface CompletionWorkInput {
  readonly request: CompletionRequest;
  readonly requestId: string;
  readonly nowSeconds: number;
  readonly maxAnswerBytes: number;
  /** The limit that the provider gets because no more is paid for; known once money is reserved. */
  readonly outputLimit: () => number | undefined;
}

/** Whether usage has to be requested for the client, so that a stream reports it. */
function injectsUsage({ bounds }: CompletionRequest, route: Route): boolean {
  return bounds.stream && !bounds.wantsUsage && route.capabilities["include_usage"] !== false;
}

/** Describes a call for its routes. */
export function completionWork(input: CompletionWorkInput): MediaWork<CompletionResult> {
  const { body, bounds } = input.request;
  return {
    prepare(route) {
      const changes = {
        ...(bounds.model !== route.upstreamModel && { model: route.upstreamModel }),
        ...defined({ max_tokens: input.outputLimit() }),
        ...(injectsUsage(input.request, route) && {
          stream_options: { ...objectOf(body.value["stream_options"]), include_usage: true },
        }),
      };
      const bytes = withFields(body, changes);
      return Promise.resolve(({ provider, secret }) =>
        providerRequest({
          provider,
          style: "completions",
          secret,
          body: bytes,
          stream: bounds.stream,
          clientHeader: () => undefined,
        })
      );
    },
    receive: (asked) => bounds.stream ? receiveStream(input, asked) : receiveAnswer(input, asked),
  };
}

const objectOf = (value: unknown) => isJsonObject(value) ? value : {};

async function receiveStream(
  { request, requestId, nowSeconds }: CompletionWorkInput,
  asked: MediaExchange,
): Promise<CompletionResult> {
  const { exchange, route } = asked;
  const answer = await asked.answered();
  const response = isEventStream(answer)
    ? answer
    : await wholeAsStream(answer, { asStream: completionFrames, readAnswer: readCompletionAnswer });
  const pipe = createChatNativePipe({
    clientModel: request.bounds.model,
    upstreamModel: route.upstreamModel,
    requestId,
    nowSeconds,
    clientWantsUsage: request.bounds.wantsUsage,
    injectedUsage: injectsUsage(request, route),
    readsText: true,
  });
  const started = await startStream(exchange, response, pipe);
  if (!pipe.reading.sawOutput) {
    const failure = streamFailure(pipe.reading);
    if (failure !== undefined) throw failure;
  }
  return { kind: "stream", started };
}

async function receiveAnswer(
  { request, maxAnswerBytes }: CompletionWorkInput,
  asked: MediaExchange,
): Promise<CompletionResult> {
  const response = await asked.answered();
  const bytes = await readWhole(response, maxAnswerBytes, asked.counter);
  const value = parseJson(bytes);
  if (!isJsonObject(value)) throw readNoResult(bytes, "no completion");
  const reading = readCompletionAnswer(value);
  if (reading.error !== undefined) throw reading.error;
  return {
    kind: "answer",
    bytes: ClientModel.of(request.bounds.model).inAnswer(bytes),
    reading,
  };
}
