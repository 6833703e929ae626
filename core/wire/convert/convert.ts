/**
 * Converts requests and whole answers from one wire style to another. If both sides have the same style, bytes pass
 * unconverted and this module is not involved. For streams see `convert_stream.ts`.
 *
 * {@linkcode AnswerRestoration} reverses in the answer what {@linkcode prepareTools} and the encoders changed in the
 * tools of the request: restores the client's names and free-text input, unwraps schemas, and turns the call of the
 * answer tool into the answer.
 *
 * A conversation is compacted by a call of the gateway's own, for models whose vendor has no such request: the model is
 * asked for a summary in words, and its answer becomes what the client's vendor would send. Only this gateway reads the
 * result, which is text for every model.
 *
 * - Folder `core/wire/convert/`: conversion between any two styles, through the typed form: requests, answers,
 *   streams, errors of providers.
 * - In: bytes and JSON in one style, and the capabilities of the route.
 * - Out: the same in another style, with every field named that could not be carried.
 * - Never: keeps anything beyond its call, or converts through a third style.
 */
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { bufferedBlockBytes } from "../contract/limits.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { takeToolAnswer, toolAnswerSink } from "../tools/answer_tool.ts";
import type {
  ConversionMemory,
  ConversionOptions,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  Style,
} from "../contract/contract.ts";
import type {
  Answer,
  AnswerBlock,
  Choice,
  Conversation,
  StreamEvent,
  ToolCallBlock,
  ToolInput,
} from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";
import { invariant } from "../../lib/base/assert.ts";
import { normalizeTurns } from "../fields/normalize_turns.ts";
import { bytesOfAnswer, type ReadableAnswer, readableAnswer } from "./lost_parts.ts";
import { estimateOutputTokens } from "../../billing/tokens/rough_estimate.ts";
import { noTokens } from "../../billing/tokens/token_bounds.ts";
import { shapeAnswer, type ShapedAnswer } from "./answer_reading.ts";
import { refuse } from "../fields/fields.ts";
import { dialectOf, providerDialectOf } from "./dialects.ts";
import { withFetchedDocuments } from "./document_urls.ts";
import { resolveCapabilities } from "../contract/capabilities.ts";
import { Warnings } from "../contract/warnings.ts";
import { echoOf } from "../responses/request/decode_request.ts";
import { splitThinking } from "./think_tags.ts";
import { withSearchOfSources } from "../tools/hosted_calls.ts";
import { checkedConversation } from "../tools/request_checks.ts";
import { prepareTools } from "../tools/tool_preparation.ts";
import { defined } from "../../lib/base/defined.ts";
import { unsealedMark, writeSealedText } from "../fields/reasoning_seal.ts";

/** Restores a whole answer, or one of its choices. */
export function restoreAnswer(given: Choice, memory: ConversionMemory): Choice {
  const { answerTool } = memory;
  const answer = answerTool === undefined ? given : takeToolAnswer(given, answerTool);
  const blocks = answer.blocks.map((block) =>
    block.type === "tool_call" ? restoreCall(block, memory) : block
  );
  const called = blocks.some((block) => block.type === "tool_call");
  const stop = answer.stop.reason === "tool_calls" && !called
    ? { ...answer.stop, reason: "end" as const }
    : answer.stop;
  return { ...answer, blocks, stop };
}

function restoreCall(call: ToolCallBlock, memory: ConversionMemory): AnswerBlock {
  const name = memory.toolNames?.get(call.name) ?? call.name;
  const renamed = name === call.name ? call : { ...call, name };
  if (memory.customTools?.has(name)) {
    return { ...renamed, input: { kind: "text", text: unwrapText(inputText(call.input)) } };
  }
  if (memory.wrappedTools?.has(name)) {
    return { ...renamed, input: { kind: "json_text", text: unwrapJson(inputText(call.input)) } };
  }
  return renamed;
}

function inputText(input: ToolInput): string {
  return input.kind === "object" ? stringifyExactly(input.value) : input.text;
}

/** Returns the property `input` of `text`, or the text itself if the model did not follow the wrapper. */
function inputOf(text: string): Json {
  const value = tryParseExactly(text);
  return isJsonObject(value) && value["input"] !== undefined ? value["input"] : text;
}

function unwrapText(text: string): string {
  const value = inputOf(text);
  return typeof value === "string" ? value : stringifyExactly(value);
}

function unwrapJson(text: string): string {
  const value = inputOf(text);
  return value === text ? text : stringifyExactly(value);
}

/** Whether the events of a stream need restoring; most streams do not. */
export function needsRestoring(memory: ConversionMemory): boolean {
  return memory.toolNames !== undefined || memory.customTools !== undefined ||
    memory.wrappedTools !== undefined || memory.answerTool !== undefined;
}

/**
 * Restores the events of one stream on their way to `emit`. Buffers the arguments of wrapped tools until their call
 * ends (at most {@linkcode bufferedBlockBytes}), and text that a structured answer may replace; everything else passes
 * at once.
 *
 * @throws {GatewayError} from the sink; `upstream_unreachable` if the arguments exceed the bound
 */
export function restoringSink(memory: ConversionMemory, emit: EventSink): EventSink {
  const restoration = new StreamRestoration(memory, emit);
  const restored: EventSink = (event) => restoration.take(event);
  return memory.answerTool === undefined ? restored : toolAnswerSink(memory.answerTool, restored);
}

class StreamRestoration {
  readonly #memory: ConversionMemory;
  readonly #emit: EventSink;
  /** Wrapped calls: the pieces of their arguments so far, as joined literals without quotes. */
  readonly #held = new Map<number, { custom: boolean; json: string }>();
  /** Characters of all wrapped calls together: a provider may leave any number of calls open. */
  #bufferedChars = 0;

  constructor(memory: ConversionMemory, emit: EventSink) {
    this.#memory = memory;
    this.#emit = emit;
  }

  take(event: StreamEvent): void {
    switch (event.type) {
      case "call":
        return this.#call(event);
      case "arguments":
        return this.#arguments(event);
      case "block_end":
        this.#release(event.block);
        return this.#emit(event);
      default:
        return this.#emit(event);
    }
  }

  #call(event: StreamEvent & { readonly type: "call" }): void {
    const name = this.#memory.toolNames?.get(event.name) ?? event.name;
    const custom = this.#memory.customTools?.has(name) ?? false;
    if (custom || this.#memory.wrappedTools?.has(name)) {
      this.#held.set(event.block, { custom, json: "" });
    }
    this.#emit({ ...event, name, ...(custom ? { custom } : {}) });
  }

  #arguments(event: StreamEvent & { readonly type: "arguments" }): void {
    const held = this.#held.get(event.block);
    if (held === undefined) return this.#emit(event);
    const piece = event.json.slice(1, -1);
    this.#bufferedChars += piece.length;
    if (this.#bufferedChars > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's tool call is too long");
    }
    held.json += piece;
  }

  #release(block: number): void {
    const held = this.#held.get(block);
    if (held === undefined) return;
    this.#held.delete(block);
    this.#bufferedChars -= held.json.length;
    const text: string = JSON.parse(`"${held.json}"`);
    const restored = held.custom ? unwrapText(text) : unwrapJson(text);
    this.#emit({ type: "arguments", block, json: stringifyExactly(restored) });
  }
}

/** A converted request, or the error for the client that sent it. */
export type RequestConversion =
  | { readonly ok: true; readonly request: ConvertedRequest }
  | { readonly ok: false; readonly error: GatewayError };

/**
 * Converts a request into the style of a route.
 *
 * `dropped` names fields that were lost or approximated. The error is `invalid_request` if the request is wrong in its
 * own style, and `conversion_refused` if a field that must not be lost cannot be carried. Both name the field.
 *
 * @param from the client's style
 * @param to the route's style; another one than `from`
 * @param body the client's request; it is not changed, and the result may share parts of it
 *
 * @example
 * ```ts
 * import { convertRequest } from "./convert.ts";
 * const conversion = convertRequest("messages", "chat", {
 *   model: "any", max_tokens: 100, top_k: 5, messages: [{ role: "user", content: "Hello" }],
 * }, { capabilities: {}, upstreamModel: "m", maxOutputTokens: 4096 });
 * if (!conversion.ok || conversion.request.dropped.join() !== "top_k") throw new Error("not converted");
 * ```
 */
export function convertRequest(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  options: ConversionOptions,
): RequestConversion {
  invariant(from !== to, "a request of the route's own style passes unconverted");
  try {
    const request = writeConversation(readConversation(from, body, options), to, options);
    const memory = { ...echoMemory(from, body), ...request.memory };
    return { ok: true, request: { ...request, memory } };
  } catch (error) {
    if (error instanceof GatewayError) return { ok: false, error };
    throw error;
  }
}

/**
 * Reads a request into the typed form, with the documents that were fetched for it.
 *
 * @throws {GatewayError} as {@linkcode convertRequest} returns
 */
export function readConversation(
  from: Style,
  body: JsonObject,
  { documents }: Pick<ConversionOptions, "documents">,
): Conversation {
  const decoded = checkedConversation(dialectOf(from).decodeRequest(body));
  return documents === undefined ? decoded : withFetchedDocuments(decoded, documents);
}

/**
 * Writes the typed form as a request of any style.
 *
 * @throws {GatewayError} as {@linkcode convertRequest} returns
 */
export function writeConversation(
  conversation: Conversation,
  to: ProviderStyle,
  options: ConversionOptions,
): ConvertedRequest {
  const normalized = normalizeTurns(conversation);
  const capabilities = resolveCapabilities(to, options.capabilities);
  const prepared = prepareTools(normalized, capabilities);
  const encoded = providerDialectOf(to).encodeRequest(prepared.conversation, options);
  refuseEmpty(conversation, encoded.body);
  const warnings = new Warnings([...prepared.conversation.warnings, ...encoded.warnings]);
  const { legacyFunctions, groupedTools, searchTool, choices } = conversation;
  const memory: ConversionMemory = {
    ...prepared.memory,
    ...defined({ legacyFunctions, groupedTools, searchTool, choices: choices?.count }),
    ...(readsSearches(conversation) ? { sourcesAsSearch: true } : {}),
    ...(capabilities.think_tags === "none" ? {} : { thinkTags: capabilities.think_tags }),
    ...encoded.memory,
  };
  return { body: encoded.body, dropped: warnings.list(), memory, betas: encoded.betas ?? [] };
}

/** Refuses a conversation of which nothing could be carried: there would be nothing to answer. */
function refuseEmpty({ turns }: Conversation, body: JsonObject): void {
  for (const list of ["messages", "input", "contents"]) {
    const written = body[list];
    if (!Array.isArray(written) || written.length > 0) continue;
    refuse(turns[0]?.path ?? list, "nothing of the conversation can be carried to this model");
  }
}

/** Whether the client asked for a web search in a style whose answers show searches with their results. */
function readsSearches({ from, tools }: Conversation): boolean {
  return (from === "messages" || from === "responses") &&
    tools.some((tool) => tool.type === "hosted" && tool.requested?.tool === "web_search");
}

/** Memory of what the answer to a request repeats of it, or has only if it was asked for. */
export function echoMemory(from: Style, body: JsonObject): ConversionMemory {
  if (from === "responses") return { echo: echoOf(body) };
  const { modalities } = body;
  const wantsSound = from === "chat" && Array.isArray(modalities) && modalities.includes("audio");
  return wantsSound ? { wantsSound: true } : {};
}

/**
 * Converts a whole answer into the client's style.
 *
 * @param memory what {@linkcode convertRequest} returned with the request that this answers
 *
 * @param onLost called with what the client's style has no place for
 *
 * @throws {GatewayError} the provider's error if its 200 holds one; `upstream_unreachable` if the body is not an answer
 * that the client can read; `conversion_refused` if it is nothing but media for which the client's style has no place
 *
 * @example
 * ```ts
 * import { convertAnswer } from "./convert.ts";
 * const context = { clientModel: "mine", requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
 * const message = convertAnswer("chat", "messages", {
 *   model: "vendor-1",
 *   choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
 * }, context, {});
 * if (message.stop_reason !== "end_turn" || message.model !== "mine") throw new Error("not converted");
 * ```
 */
export function convertAnswer(
  upstreamStyle: ProviderStyle,
  clientStyle: Style,
  body: JsonObject,
  context: PipeContext,
  memory: ConversionMemory,
  onLost: (what: string) => void = () => {},
): JsonObject {
  const shaped = shapeAnswer(upstreamStyle, body);
  const { answer } = decodeAnswer(upstreamStyle, clientStyle, shaped, memory, onLost);
  return encodeAnswer(clientStyle, answer, context, memory);
}

/** Writes an answer for a client. */
export function encodeAnswer(
  clientStyle: Style,
  answer: Answer,
  context: PipeContext,
  memory: ConversionMemory,
): JsonObject {
  return dialectOf(clientStyle).encodeAnswer(withCount(answer, context), context, memory);
}

/** Adds the gateway's own count to an answer without a report, for clients that rely on one. */
function withCount(answer: Answer, { countedInput }: PipeContext): Answer {
  if (countedInput === undefined || answer.usage !== undefined) return answer;
  const output = estimateOutputTokens(bytesOfAnswer(answer));
  return { ...answer, usage: { ...noTokens, input: countedInput, output } };
}

/** Reads a whole answer for the clients of a style, as {@linkcode convertAnswer} does, and what of its usage is charged. */
export function decodeAnswer(
  upstreamStyle: ProviderStyle,
  clientStyle: Style,
  { unknown, ...answer }: ShapedAnswer,
  memory: ConversionMemory,
  onLost: (what: string) => void,
): ReadableAnswer {
  const { error } = answer.reading;
  if (error !== undefined) throw error;
  const decoded = providerDialectOf(upstreamStyle).decodeAnswer(answer, memory);
  const { thinkTags, sourcesAsSearch } = memory;
  const restore = (choice: Choice): Choice => {
    const split = thinkTags === undefined ? choice : splitThinking(choice, thinkTags);
    const restored = restoreAnswer(split, memory);
    if (sourcesAsSearch !== true) return restored;
    return { ...restored, blocks: withSearchOfSources(restored.blocks) };
  };
  const others = decoded.others?.map(restore);
  const restored: Answer = { ...decoded, ...restore(decoded), ...defined({ others }) };
  const client = { style: clientStyle, wantsSound: memory.wantsSound === true };
  const readable = readableAnswer(restored, client, { onLost, unknown: unknown[0] });
  for (const name of unknown) onLost(`answer.${name}`);
  return readable;
}

/** The item of a Responses request that asks to compact what is before it. */
const trigger = "compaction_trigger";

const instruction =
  "Write a summary of the conversation so far. It replaces the conversation for the model that goes on " +
  "with the work, which sees nothing else of it. Keep what was asked for and decided, what was done and found, names of " +
  "files, commands, errors and values that matter, what is open, and the next step. Call no tools. Answer with the " +
  "summary alone.";

/**
 * Whether a request asks its vendor to compact the conversation: `compaction` of Messages, and an item of Responses.
 *
 * @example
 * ```ts
 * import { asksForCompaction } from "./convert.ts";
 * if (!asksForCompaction("messages", { compaction: { type: "summarize" } })) throw new Error("not seen");
 * if (asksForCompaction("chat", { compaction: { type: "summarize" } })) throw new Error("no such field");
 * ```
 */
export function asksForCompaction(style: Style, body: OutlineObject): boolean {
  if (style === "messages") return isJsonObject(body["compaction"]);
  const { input } = body;
  return style === "responses" && Array.isArray(input) &&
    input.some((item) => isJsonObject(item) && item["type"] === trigger);
}

/** Fields that an answer in words has no use for. */
const formatFields = ["compaction", "output_config", "output_format", "text", "stream"] as const;

/**
 * Returns the request for the summary, in the client's style and not streamed.
 *
 * @throws {GatewayError} `invalid_request` for another kind of compaction
 */
export function compactionRequest(style: Style, body: JsonObject): JsonObject {
  const { compaction } = body;
  const rest: JsonObject = { ...body };
  for (const name of formatFields) delete rest[name];
  if (Array.isArray(rest["tools"]) && rest["tools"].length > 0) {
    rest["tool_choice"] = style === "messages" ? { type: "none" } : "none";
  } else delete rest["tool_choice"];
  if (style === "messages") {
    const { type, instructions } = isJsonObject(compaction) ? compaction : {};
    if (type !== "summarize") {
      const param = "compaction.type";
      throw new GatewayError("invalid_request", `${param}: must be summarize`, { param });
    }
    const own = typeof instructions === "string" && instructions !== ""
      ? instructions
      : instruction;
    return { ...rest, messages: [...listOf(body["messages"]), { role: "user", content: own }] };
  }
  const items = listOf(body["input"]).filter((item) =>
    !isJsonObject(item) || item["type"] !== trigger
  );
  const given: readonly Json[] = typeof body["input"] === "string"
    ? [{ role: "user", content: body["input"] }]
    : items;
  return { ...rest, input: [...given, { role: "user", content: instruction }] };
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Turns the answer to such a request into the compacted conversation, as the client's vendor writes it.
 *
 * @throws {GatewayError} `upstream_unreachable` if the model wrote no whole summary
 */
export function compactedAnswer(style: Style, answer: JsonObject): JsonObject {
  const summary = style === "messages" ? messagesText(answer) : responsesText(answer);
  if (summary === "") {
    throw new GatewayError(
      "upstream_unreachable",
      "The model wrote no summary of the conversation",
    );
  }
  if (style === "messages") {
    const block = { type: "compaction", content: summary, signature: unsealedMark };
    return { ...answer, content: [block], stop_reason: "compaction", stop_sequence: null };
  }
  const id = `cmp_${String(answer["id"] ?? "").replace(/^resp_/, "")}`;
  const item = { type: "compaction", id, encrypted_content: writeSealedText(summary) };
  return { ...answer, output: [item] };
}

/**
 * Turns such an answer into what `/v1/responses/compact` gives: the messages of the user, and the compacted rest.
 *
 * @param asked the request for the summary, whose last item asks for it
 * @throws {GatewayError} as {@linkcode compactedAnswer}
 */
export function compactedConversation(asked: JsonObject, answer: JsonObject): JsonObject {
  const { id = null, created_at = null, usage = null, output } = compactedAnswer(
    "responses",
    answer,
  );
  const said = listOf(asked["input"]).slice(0, -1).filter((item) =>
    isJsonObject(item) && item["role"] === "user"
  );
  return {
    id,
    object: "response.compaction",
    created_at,
    output: [...said.map(asMessage), ...listOf(output)],
    usage,
  };
}

/** A message of the input as an item of an output: with its type, and parts instead of a text. */
function asMessage(item: Json): Json {
  if (!isJsonObject(item)) return item;
  const { content } = item;
  return {
    type: "message",
    status: "completed",
    ...item,
    content: typeof content === "string" ? [{ type: "input_text", text: content }] : content ?? [],
  };
}

function messagesText({ content, stop_reason: reason }: JsonObject): string {
  return reason === "end_turn" || reason === "stop_sequence" ? joinedTexts(content) : "";
}

function responsesText({ output, status }: JsonObject): string {
  if (status !== "completed") return "";
  return listOf(output).map((item) => isJsonObject(item) ? joinedTexts(item["content"]) : "").join(
    "",
  );
}

function joinedTexts(parts: Json | undefined): string {
  return listOf(parts)
    .map((part) => isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : "")
    .join("");
}
