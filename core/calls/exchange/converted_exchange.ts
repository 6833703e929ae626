/**
 * A chat call on a route of another style: request, answer and stream are converted.
 *
 * The first part is what native calls have in common with converted ones: how a request goes out, how what comes back
 * is told to the client, and a lower limit of output in place of the client's, because no more is paid for.
 */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { Route } from "../../catalog/catalog.ts";
import { inClientTerms } from "../../wire/stream/client_model.ts";
import type {
  AnswerReading,
  ConversionMemory,
  ConversionOptions,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  Style,
} from "../../wire/contract/contract.ts";
import type { BillableFeature } from "../../wire/contract/features.ts";
import { collectAnswer } from "../../wire/convert/collected_answer.ts";
import { sortBetas, type SortedBetas } from "../../wire/billable_features/asked_for.ts";
import { decodeProviderError } from "../../wire/convert/provider_errors.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { AttemptHandlers, WholeAnswer } from "../attempts/attempt.ts";
import { type CloudBodyChanges, cloudBodyChanges } from "../../clouds/request_form.ts";
import { providerRequest } from "./provider_request.ts";
import { defined } from "../../lib/base/defined.ts";
import type { ChatCall, ChatExchange, ChatRouteAccess } from "./chat_call.ts";
import { isJsonObject, type JsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import { shapeAnswer, type ShapedAnswer } from "../../wire/convert/answer_reading.ts";
import type { ReadableAnswer } from "../../wire/convert/lost_parts.ts";
import { roughPromptTokens } from "../../billing/tokens/rough_estimate.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import {
  asksForCompaction,
  compactedAnswer,
  compactedConversation,
  compactionRequest,
  convertRequest,
  decodeAnswer,
  encodeAnswer,
  readConversation,
  writeConversation,
} from "../../wire/convert/convert.ts";
import { createNativePipe } from "../../wire/convert/dialects.ts";
import { createConvertingPipe } from "../../wire/convert/converting_pipe.ts";
import { takesHostedTools } from "../../wire/tools/tool_fields.ts";
import { hasPathMembers, withoutPathMembers } from "../../wire/mod.ts";
import { fieldsLeftOut, hostedToolsAskedFor, type StyledRequest } from "../request/chat_request.ts";

/** Encodes bodies and answers. */
export const encoder = new TextEncoder();

/** Follows the path of Responses calls. */
const compactPath = "/compact";

/** Facts of its call that the pipe of an answer needs. */
export function pipeContext(call: ChatCall, route: Route): PipeContext {
  return {
    clientModel: call.request.model,
    upstreamModel: route.upstreamModel,
    requestId: call.requestId,
    clientWantsUsage: call.request.wantsUsage,
    nowSeconds: call.nowSeconds,
  };
}

/** Reads refusals of a provider: in the words of the client's own style (`native`) or of another one. */
export function refusalReader(
  style: ProviderStyle,
  context: PipeContext,
  native: boolean,
): AttemptHandlers["decodeError"] {
  return (status, text, waitSeconds) => {
    const options = { native, ...defined({ retryAfterSeconds: waitSeconds }) };
    return inClientTerms(decodeProviderError(style, status, text, options), context);
  };
}

/** Puts the client's name of the model into the error of a reading, if there is one. */
export function clientReading(reading: AnswerReading, context: PipeContext): AnswerReading {
  const { error } = reading;
  return error === undefined ? reading : { ...reading, error: inClientTerms(error, context) };
}

/** Way in which answers of a provider become those of the client. */
interface AnswerWay {
  readonly style: ProviderStyle;
  readonly clientStyle: Style;
  readonly context: PipeContext;
  readonly memory: ConversionMemory;
  readonly onLost?: (what: string) => void;
}

/** Collects a stream to the whole answer that the client asked for. */
export function collected(
  { style, clientStyle, context, memory, onLost }: AnswerWay,
  bytes: Uint8Array,
): Omit<WholeAnswer, "kind"> {
  const { body, reading } = collectAnswer(style, clientStyle, bytes, context, memory, onLost);
  return { clientBytes: encoder.encode(stringifyExactly(body)), reading };
}

/** Selects the client's betas that a route of the Messages style gets. */
export function betasFor(call: ChatCall, route: Route, style: ProviderStyle): SortedBetas {
  const header = style === "messages" ? call.clientHeader("anthropic-beta") : undefined;
  return header === undefined ? { kept: undefined, dropped: [] } : sortBetas(header, route.allow);
}

/**
 * Refuses a call whose client wants no field dropped, if one would be.
 *
 * @throws {GatewayError} `conversion_refused`, naming the fields
 */
export function refuseDropping(
  { strict }: Pick<ChatCall, "strict">,
  dropped: readonly string[],
): void {
  if (!strict || dropped.length === 0) return;
  throw new GatewayError(
    "conversion_refused",
    `This model cannot carry: ${dropped.join(", ")}. Leave x-gateway-strict out to drop them`,
    { param: dropped[0] ?? "" },
  );
}

/** Changes of the cloud of a provider to a body that is otherwise in the plain form of its style. */
export function cloudChanges(
  { provider }: ChatRouteAccess,
  style: ProviderStyle,
  betas: SortedBetas,
): CloudBodyChanges | undefined {
  const cloud = provider.kind === "http" ? provider.cloud : undefined;
  return cloudBodyChanges(cloud, style, betas.kept);
}

/** Sends the request to the provider. */
export function open(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
  { body, betas }: { readonly body: ByteParts; readonly betas: SortedBetas },
) {
  return access.transport.open(providerRequest({
    provider: access.provider,
    style,
    model: route.upstreamModel,
    secret: access.secret,
    body,
    ...(call.request.compacts === true && { subpath: compactPath }),
    stream: call.request.stream,
    clientHeader: (name) => name === "anthropic-beta" ? betas.kept : call.clientHeader(name),
    onSentAgain: access.onSentAgain,
  }));
}

/** The fields of the Chat style for the limit, of which a request may have both. */
const chatFields = ["max_completion_tokens", "max_tokens"] as const;

/**
 * Returns the fields to replace or add in a request of a style so that an answer has at most `limit` tokens.
 *
 * @param chatField the field for a Chat request that has none
 *
 * @example
 * ```ts
 * import { loweredLimit } from "./converted_exchange.ts";
 * const fields = loweredLimit("gemini", { generationConfig: { topK: 4 } }, 100);
 * if (JSON.stringify(fields) !== '{"generationConfig":{"topK":4,"maxOutputTokens":100}}') {
 *   throw new Error(JSON.stringify(fields));
 * }
 * ```
 */
export function loweredLimit(
  style: Style,
  body: OutlineObject,
  limit: number,
  chatField: typeof chatFields[number] = "max_completion_tokens",
): JsonObject {
  switch (style) {
    case "messages":
      return { max_tokens: limit };
    case "responses":
      return { max_output_tokens: limit };
    case "chat": {
      const sent = chatFields.filter((field) => typeof body[field] === "number");
      const fields = sent.length > 0 ? sent : [chatField];
      return Object.fromEntries(fields.map((field) => [field, Math.min(limit, own(body, field))]));
    }
    case "gemini": {
      const config = wholeOf(body["generationConfig"] ?? {});
      return {
        generationConfig: { ...(isJsonObject(config) ? config : {}), maxOutputTokens: limit },
      };
    }
  }
}

function own(body: OutlineObject, field: string): number {
  const value = body[field];
  return typeof value === "number" ? value : Infinity;
}

/** The style of a route of a chat model. */
export function chatStyle(route: Route): ProviderStyle {
  switch (route.style) {
    case "messages":
    case "chat":
    case "responses":
    case "gemini":
    case "converse":
      return route.style;
  }
  throw new GatewayError("internal_error", "A chat model has a route of another kind");
}

/** Adds the betas that a converted body needs. */
function withBetas({ kept, dropped }: SortedBetas, needed: readonly string[]): SortedBetas {
  if (needed.length === 0) return { kept, dropped };
  return { kept: [...kept === undefined ? [] : [kept], ...needed].join(","), dropped };
}

/** Starts a call on a route of another style. */
export function startConverted(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
): ChatExchange {
  const clientStyle = call.request.style;
  refuseLosing(call, route);
  const options = conversionOptions(call, route);
  const converted = convertRequest(clientStyle, style, limitedBody(call), options);
  if (!converted.ok) throw converted.error;
  const { memory } = converted.request;
  const { dropped, ...sent } = outgoing(call, route, style, access, converted.request);
  refuseDropping(call, dropped);
  const context: PipeContext = {
    ...pipeContext(call, route),
    ...(clientStyle === "gemini" && { countedInput: roughPromptTokens(call.body.outline) }),
  };
  const onLost = lossTeller(call, dropped);
  const way = { style, clientStyle, context, memory, onLost };
  const answers = wholeAnswers(way);
  return {
    exchange: open(call, route, style, access, sent),
    createPipe: () => createConvertingPipe(style, clientStyle, context, memory, onLost),
    readAnswer: answers.read,
    asStream: (body) => encoder.encode(answerFrames(style, body)),
    fromStream: (bytes) => collected(way, bytes),
    decodeError: refusalReader(style, context, false),
    onStatus: access.onStatus,
    mayRepeat: access.mayRepeat,
    toClient: ({ value }) => encoder.encode(stringifyExactly(answers.written(value))),
    dropped,
  };
}

/**
 * Names what the client does not get, or refuses it. An open stream keeps what its closures name: the call would bring the
 * body of the request with it.
 */
function lossTeller(
  { strict }: Pick<ChatCall, "strict">,
  dropped: string[],
): (lost: string) => void {
  return (lost) => {
    if (!dropped.includes(lost)) dropped.push(lost);
    refuseDropping({ strict }, [lost]);
  };
}

/** Whole answers of one exchange: each is decoded once, to be charged and to be written. */
interface WholeAnswers {
  /** Reads what is charged of an answer, or why it is none. */
  readonly read: (value: JsonObject) => AnswerReading;
  /** Writes an answer in the client's style. */
  readonly written: (value: JsonObject) => JsonObject;
}

function wholeAnswers(
  { style, clientStyle, context, memory, onLost }: Required<AnswerWay>,
): WholeAnswers {
  const decoded = (shaped: ShapedAnswer) =>
    decodeAnswer(style, clientStyle, shaped, memory, onLost);
  let last: { readonly value: JsonObject; readonly readable: ReadableAnswer } | undefined;
  return {
    read: (value) => {
      const shaped = shapeAnswer(style, value);
      const reading = clientReading(shaped.reading, context);
      if (reading.error !== undefined) return reading;
      const readable = decoded(shaped);
      last = { value, readable };
      return readable.charged(reading);
    },
    written: (value) => {
      const { answer } = last?.value === value ? last.readable : decoded(shapeAnswer(style, value));
      return encodeAnswer(clientStyle, answer, context, memory);
    },
  };
}

/** Whether a call compacts the conversation on a route whose vendor has no such request. */
export function compactsHere(
  { request, body }: ChatCall,
  route: Route,
  style: ProviderStyle,
): boolean {
  if (request.compacts === true) return route.compactsResponses !== true;
  return style !== request.style && asksForCompaction(request.style, body.outline);
}

/**
 * Starts a call that compacts the conversation on a route whose vendor has no such request. The model is asked for a
 * summary, always as a whole; the client gets what its own vendor would send, in the form that it asked for.
 */
export function startCompacting(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
): ChatExchange {
  const { compacts, ...request } = call.request;
  refuseLosing(call, route);
  const options = conversionOptions(call, route);
  const asked = compactionRequest(request.style, limitedBody(call));
  const conversation = readConversation(request.style, asked, options);
  const converted = writeConversation(conversation, style, options);
  const { memory } = converted;
  const { dropped, ...sent } = outgoing(call, route, style, access, converted);
  refuseDropping(call, dropped);
  const context = pipeContext(call, route);
  const whole = { ...call, request: { ...request, stream: false } };
  const onLost = lossTeller(call, dropped);
  const answers = wholeAnswers({ style, clientStyle: request.style, context, memory, onLost });
  const compacted = (value: JsonObject) => {
    const written = answers.written(value);
    return compacts === true
      ? compactedConversation(asked, written)
      : compactedAnswer(request.style, written);
  };
  return {
    exchange: open(whole, route, style, access, sent),
    createPipe: () => createNativePipe(request.style, { ...context, injectedUsage: false }),
    readAnswer: answers.read,
    asStream: (answer) => encoder.encode(answerFrames(request.style, compacted(answer))),
    fromStream: () => {
      throw new GatewayError("upstream_unreachable", "The provider sent events for a whole answer");
    },
    decodeError: refusalReader(style, context, false),
    onStatus: access.onStatus,
    mayRepeat: access.mayRepeat,
    toClient: ({ value }) => encoder.encode(stringifyExactly(compacted(value))),
    dropped,
  };
}

/** The client's body, with the limit of output that is paid for. */
export function limitedBody({ request: { style }, body, outputLimit }: ChatCall): JsonObject {
  if (outputLimit === undefined) return body.value;
  return { ...body.value, ...loweredLimit(style, body.outline, outputLimit) };
}

/** Facts of the route that a conversion needs. */
export function conversionOptions(
  { model, documents, noAutoCache }: ChatCall,
  { capabilities, upstreamModel, allow }: Route,
): ConversionOptions {
  return {
    capabilities: noAutoCache === true ? { ...capabilities, auto_cache: false } : capabilities,
    upstreamModel,
    maxOutputTokens: model.maxOutputTokens,
    allow,
    ...defined({ documents }),
  };
}

/** A converted request as it goes out. */
interface OutgoingRequest {
  readonly body: ByteParts;
  readonly betas: SortedBetas;
  readonly dropped: string[];
}

/** Finishes a converted request: takes out what the route does not allow, adds what its cloud wants. */
export function outgoing(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
  { body, ...converted }: ConvertedRequest,
): OutgoingRequest {
  const asked = { style: call.request.style, body: call.body.outline };
  // Fields that a route takes as they are (`shared_fields`, `extra_fields`) are checked in the body that goes out.
  const leftOut = fieldsLeftOut({ model: call.model, route, sent: { style, body }, asked });
  const betas = withBetas(betasFor(call, route, style), converted.betas);
  const cloud = cloudChanges(access, style, betas);
  for (const field of [...leftOut, ...cloud?.removed ?? []]) delete body[field];
  Object.assign(body, cloud?.added);
  const written = hasPathMembers(style) ? withoutPathMembers(body) : body;
  return {
    body: encoder.encode(stringifyExactly(written)),
    betas,
    dropped: [...call.dropped ?? [], ...converted.dropped, ...leftOut, ...betas.dropped],
  };
}

/**
 * Refuses a feature that another route offers, or that all routes refuse, so that the conversion does not drop it
 * silently.
 *
 * @param except features that the gateway provides itself
 */
export function refuseLosing(
  { request: { style }, body, model }: ChatCall,
  route: Route,
  except: readonly BillableFeature[] = [],
): void {
  const asked = { style, body: body.outline };
  const isOffered = model.routes.some((other) =>
    other.style === style || offersMore(other, route, asked)
  );
  if (isOffered) fieldsLeftOut({ model, route, sent: asked, asked, except });
}

/** Whether `other` runs a requested hosted tool that `route` does not run. */
function offersMore(other: Route, route: Route, asked: StyledRequest): boolean {
  if (other.allow.size === 0 || !takesHostedTools(chatStyle(other), other.capabilities)) {
    return false;
  }
  return hostedToolsAskedFor(asked).some((feature) =>
    other.allow.has(feature) && !route.allow.has(feature)
  );
}
