/**
 * Converts requests and whole answers from one wire style to another. If both sides have the same style, bytes pass
 * unconverted and this module is not involved. For streams see `convert_stream.ts`.
 *
 * - Folder `core/wire/convert/`: conversion between any two styles, through the typed form: requests, answers,
 *   streams, errors of providers.
 * - In: bytes and JSON in one style, and the capabilities of the route.
 * - Out: the same in another style, with every field named that could not be carried.
 * - Never: keeps anything beyond its call, or converts through a third style.
 */
import { invariant } from "../../lib/base/assert.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { restoreAnswer } from "./answer_restoration.ts";
import { normalizeTurns } from "../fields/normalize_turns.ts";
import type {
  ConversionMemory,
  ConversionOptions,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  Style,
} from "../contract/contract.ts";
import type { Answer, Choice, Conversation } from "../conversation/mod.ts";
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

/** What the answer to a request repeats of it, or has only if it was asked for. */
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
  { body, unknown }: ShapedAnswer,
  memory: ConversionMemory,
  onLost: (what: string) => void,
): ReadableAnswer {
  const decoded = providerDialectOf(upstreamStyle).decodeAnswer(body, memory);
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
