/**
 * Sends a chat call to one route: unchanged where the styles agree, converted where they differ.
 *
 * - Folder `core/calls/exchange/`: one chat call on one route: the request to the provider, and its answer in the
 *   client's style.
 * - In: a read request, the route with its transport and credential.
 * - Out: an answer, whole or as a pipe, native or converted, with its usage; refusals that need no provider.
 * - Never: chooses a route, or reserves, charges or settles.
 */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { Model, Route } from "../../catalog/catalog.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import { readAnswer } from "../../wire/convert/answer_reading.ts";
import { needsCallRepair, withTextArguments } from "../../wire/chat/answer/call_repair.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import { ClientModel, inClientTerms, modelKey } from "../../wire/stream/client_model.ts";
import type {
  AnswerReading,
  ConversionMemory,
  ConversionOptions,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../wire/contract/contract.ts";
import { withoutPictures } from "../../wire/fields/pictures.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import { collectAnswer } from "../../wire/convert/collected_answer.ts";
import {
  convertAnswer,
  convertRequest,
  echoMemory,
  readConversation,
  writeConversation,
} from "../../wire/convert/convert.ts";
import { collectEvents, createEventPipe } from "../web_search/event_stream.ts";
import { offerSearch } from "../web_search/search_function.ts";
import { createConvertingPipe } from "../../wire/convert/converting_pipe.ts";
import { sortBetas, type SortedBetas } from "../../wire/billable_features/asked_for.ts";
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import type { FetchedDocuments } from "../../wire/contract/fetched_documents.ts";
import { decodeProviderError } from "../../wire/convert/provider_errors.ts";
import type { ProviderErrorOptions } from "../../wire/errors/errors.ts";
import { billingLineStart, withoutBillingLines } from "../../wire/messages/request/billing_line.ts";
import { createNativePipe } from "../../wire/convert/dialects.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { invariant } from "../../lib/base/assert.ts";
import { takesHostedTools } from "../../wire/tools/tool_fields.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { hasPathMembers, withoutPathMembers } from "../../wire/mod.ts";
import type { Transport } from "../../net/transport/transport.ts";
import type { AttemptHandlers, ProviderAnswer, WholeAnswer } from "../attempts/attempt.ts";
import { ArrayStream, decisiveFields } from "./gemini_body.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import {
  fieldsLeftOut,
  hostedToolsAskedFor,
  type StyledRequest,
} from "../request/billable_features.ts";
import { droppedReasoningFields, withoutForeignReasoning } from "./foreign_reasoning.ts";
import { withFields, withoutFields } from "../body/changed_body.ts";
import { type CloudBodyChanges, cloudBodyChanges } from "../../clouds/request_form.ts";
import { ItemTap, type ItemVisitor, unchangedStore, visitItems, withoutStore } from "./item_tap.ts";
import type { JsonBody } from "../body/json_body.ts";
import { loweredLimit } from "./lowered_limit.ts";
import { withoutIdleEffort } from "./idle_effort.ts";
import { providerRequest } from "./provider_request.ts";
import { type RoundPayer, SearchRounds, type WebSearcher } from "../web_search/search_rounds.ts";
import { defined } from "../../lib/base/defined.ts";

/** A chat call as it arrived, before a route is chosen. */
export interface ChatCall {
  readonly request: ChatRequest;
  readonly body: JsonBody;
  readonly model: Model;
  readonly requestId: string;
  readonly nowSeconds: number;
  readonly clientHeader: (name: string) => string | undefined;
  /** `x-gateway-strict: true`: refuse instead of dropping. */
  readonly strict: boolean;
  /** Fields that were lost before a route was chosen, since the request came in the form of another style. */
  readonly dropped?: readonly string[];
  /** Most output tokens of one answer that are paid for, if the provider has to get a lower limit than the client's. */
  readonly outputLimit?: number | undefined;
  /** Documents that were fetched for the route. */
  readonly documents?: FetchedDocuments;
  /** Visits the items of a Responses answer that goes to the client. */
  readonly onItem?: ItemVisitor;
  /** Runs the web searches of the model, which can run none itself; absent: nobody does. */
  readonly searcher?: WebSearcher | undefined;
  /** Pays for the rounds of a model that searches; absent: nothing is sent. */
  readonly rounds?: RoundPayer | undefined;
}

/** The provider's side of a route. */
export interface RouteAccess {
  readonly provider: ProviderEntry;
  readonly secret: string | undefined;
  readonly transport: Transport;
  /** See {@linkcode AttemptHandlers.onStatus}. */
  readonly onStatus: (status: number, retryAfterSeconds: number | undefined) => void;
  /** See {@linkcode AttemptHandlers.mayRepeat}. */
  readonly mayRepeat: () => boolean;
}

/**
 * A route for one attempt of a chat call. Its request may be sent twice: a second answer costs tokens but has no
 * other effect.
 */
export interface ChatRouteAccess extends RouteAccess {
  /** Called when the request was sent a second time: see `UpstreamRequest`. */
  readonly onSentAgain: () => void;
}

/** A chat call prepared for one route: how to send it and how to read its answer. */
export interface ChatExchange extends AttemptHandlers {
  /** Fields of the request that this route could not carry, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
}

const encoder = new TextEncoder();

/** Follows the path of Responses calls. */
const compactPath = "/compact";

/** The member of a whole answer that names its model. */
const modelMember = { name: "model", key: modelKey } as const;
const geminiModelMember = { name: "modelVersion", key: jsonKey("modelVersion") } as const;

function chatStyle(route: Route): ProviderStyle {
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

function pipeContext(call: ChatCall, route: Route): PipeContext {
  return {
    clientModel: call.request.model,
    upstreamModel: route.upstreamModel,
    requestId: call.requestId,
    clientWantsUsage: call.request.wantsUsage,
    nowSeconds: call.nowSeconds,
  };
}

function errorOptions(waitSeconds: number | undefined, native: boolean): ProviderErrorOptions {
  return { native, ...defined({ retryAfterSeconds: waitSeconds }) };
}

/** Puts the client's name of the model into the error of a reading, if there is one. */
function clientReading(reading: AnswerReading, context: PipeContext): AnswerReading {
  const { error } = reading;
  return error === undefined ? reading : { ...reading, error: inClientTerms(error, context) };
}

/** Takes the tokens of pictures out of what a client pays who does not get them. */
function withoutLostPictures(reading: AnswerReading): AnswerReading {
  const { usage } = reading;
  return usage === undefined ? reading : { ...reading, usage: withoutPictures(usage) };
}

/** Writes arguments that are objects as text. */
function withRepairedCalls(answer: ProviderAnswer): ProviderAnswer {
  if (!needsCallRepair(answer.value)) return answer;
  const exact = parseExactly(answer.text);
  if (!isJsonObject(exact)) return answer;
  const value = withTextArguments(exact);
  const text = stringifyExactly(value);
  return { value, text, bytes: encoder.encode(text) };
}

/** Collects a stream to the whole answer that the client asked for. */
function collected(
  style: ProviderStyle,
  clientStyle: Style,
  bytes: Uint8Array,
  context: PipeContext,
  memory: ConversionMemory,
): Omit<WholeAnswer, "kind"> {
  const { body, reading } = collectAnswer(style, clientStyle, bytes, context, memory);
  return { clientBytes: encoder.encode(stringifyExactly(body)), reading };
}

/** Collects the joined stream of all rounds. */
function collectedEvents(
  clientStyle: Style,
  bytes: Uint8Array,
  context: PipeContext,
  memory: ConversionMemory,
): Omit<WholeAnswer, "kind"> {
  const { body, reading } = collectEvents(clientStyle, bytes, context, memory);
  return { clientBytes: encoder.encode(stringifyExactly(body)), reading };
}

/** Selects the client's betas that a route of the Messages style gets. */
function betasFor(call: ChatCall, route: Route, style: ProviderStyle): SortedBetas {
  const header = style === "messages" ? call.clientHeader("anthropic-beta") : undefined;
  return header === undefined ? { kept: undefined, dropped: [] } : sortBetas(header, route.allow);
}

/** Adds the betas that a converted body needs. */
function withBetas({ kept, dropped }: SortedBetas, needed: readonly string[]): SortedBetas {
  if (needed.length === 0) return { kept, dropped };
  return { kept: [...kept === undefined ? [] : [kept], ...needed].join(","), dropped };
}

function refuseDropping(call: ChatCall, dropped: readonly string[]): void {
  if (!call.strict || dropped.length === 0) return;
  throw new GatewayError(
    "conversion_refused",
    `This model cannot carry: ${dropped.join(", ")}. Leave x-gateway-strict out to drop them`,
    { param: dropped[0] ?? "" },
  );
}

interface NativeChanges {
  /** Fields to replace because of the call's history: see {@linkcode withoutForeignReasoning}. */
  readonly replaced: JsonObject;
  readonly injectUsage: boolean;
  readonly leftOut: readonly string[];
  /** Fields that keep the provider from storing the answer. */
  readonly unstored: JsonObject;
  /** What the provider's cloud changes. */
  readonly cloud: CloudBodyChanges | undefined;
}

/** Makes a native body, changing only what must change: the provider's name of the model, and the request for usage. */
function nativeBody(
  call: ChatCall,
  route: Route,
  { replaced, injectUsage, leftOut, unstored, cloud }: NativeChanges,
): ByteParts {
  const changes: JsonObject = { ...replaced, ...unstored };
  const { request: { style }, outputLimit } = call;
  if (style === "gemini") Object.assign(changes, decisiveFields(call.body));
  if (outputLimit !== undefined) {
    const { max_tokens_field: field } = resolveCapabilities(style, route.capabilities);
    Object.assign(changes, loweredLimit(style, call.body.outline, outputLimit, field));
  }
  for (const field of leftOut) changes[field] = null;
  // The Gemini style has it in the path.
  if (call.request.style !== "gemini" && route.upstreamModel !== call.request.model) {
    changes["model"] = route.upstreamModel;
  }
  if (injectUsage) {
    const options = wholeOf(call.body.outline["stream_options"] ?? {});
    changes["stream_options"] = {
      ...(isJsonObject(options) ? options : {}),
      include_usage: true,
    };
  }
  if (cloud === undefined) return withFields(call.body, changes);
  return withoutFields(call.body, [...cloud.removed, ...leftOut], { ...changes, ...cloud.added });
}

/** What the cloud of a provider changes in a body that is otherwise in the plain form of its style. */
function cloudChanges(
  { provider }: ChatRouteAccess,
  style: ProviderStyle,
  betas: SortedBetas,
): CloudBodyChanges | undefined {
  const cloud = provider.kind === "http" ? provider.cloud : undefined;
  return cloudBodyChanges(cloud, style, betas.kept);
}

function open(
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

/** Takes the line of Claude Code's accounting out of the instructions for a vendor that does not read it. */
function withoutBilling(
  style: Style,
  body: JsonBody,
  capabilities: RouteCapabilities,
): JsonObject {
  if (style !== "messages" || !body.mayHold(billingLineStart)) return {};
  if (resolveCapabilities(style, capabilities).billing_line) return {};
  return defined({ system: withoutBillingLines(body.value["system"]) });
}

function startNative(
  call: ChatCall,
  route: Route,
  style: Style,
  access: ChatRouteAccess,
): ChatExchange {
  const { request } = call;
  const asked = { style, body: call.body.outline };
  const leftOut = fieldsLeftOut({ model: call.model, route, sent: asked, asked });
  const betas = betasFor(call, route, style);
  // A compacted conversation is not stored, and the field is not part of its request.
  const unstored = request.compacts === true
    ? unchangedStore
    : withoutStore(style, call.body.outline, route.capabilities);
  const effortless = withoutIdleEffort(style, call.body.outline, route.capabilities);
  const replaced = {
    ...withoutForeignReasoning(style, call.body, route.capabilities),
    ...withoutBilling(style, call.body, route.capabilities),
  };
  const dropped = [
    ...call.dropped ?? [],
    ...leftOut,
    ...unstored.dropped,
    ...effortless.dropped,
    ...betas.dropped,
    ...droppedReasoningFields(replaced),
  ];
  refuseDropping(call, dropped);
  const injectedUsage = style === "chat" && request.stream && !request.wantsUsage &&
    route.capabilities["include_usage"] !== false;
  const body = nativeBody(call, route, {
    replaced,
    injectUsage: injectedUsage,
    leftOut,
    unstored: { ...unstored.changes, ...effortless.changes },
    cloud: cloudChanges(access, style, betas),
  });
  const context = pipeContext(call, route);
  const repairsCalls = route.capabilities["repair_calls"] !== false;
  return {
    exchange: open(call, route, style, access, { body, betas }),
    createPipe: () => createNativePipe(style, { ...context, injectedUsage, repairsCalls }),
    readAnswer: (body) => clientReading(readAnswer(style, body), context),
    isNative: true,
    asStream: (body) => encoder.encode(answerFrames(style, body)),
    fromStream: (bytes) => collected(style, style, bytes, context, { choices: request.choices }),
    decodeError: (status, body, waitSeconds) =>
      inClientTerms(
        decodeProviderError(style, status, body, errorOptions(waitSeconds, true)),
        context,
      ),
    onStatus: access.onStatus,
    mayRepeat: access.mayRepeat,
    toClient: (given) => {
      const answer = style === "chat" && repairsCalls ? withRepairedCalls(given) : given;
      const { name, key } = style === "gemini" ? geminiModelMember : modelMember;
      if (answer.value[name] === request.model) return answer.bytes;
      const model = ClientModel.of(request.model);
      return (typeof answer.value[name] === "string" && model.inOnlyMember(answer, name)) ||
        model.inAnswer(answer.bytes, key);
    },
    dropped,
  };
}

function startConverted(
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
  const context = pipeContext(call, route);
  return {
    exchange: open(call, route, style, access, sent),
    createPipe: () => createConvertingPipe(style, clientStyle, context, memory),
    readAnswer: (answer) => {
      const reading = clientReading(readAnswer(style, answer), context);
      return clientStyle === "messages" ? withoutLostPictures(reading) : reading;
    },
    asStream: (body) => encoder.encode(answerFrames(style, body)),
    fromStream: (bytes) => collected(style, clientStyle, bytes, context, memory),
    decodeError: (status, text, waitSeconds) =>
      inClientTerms(
        decodeProviderError(style, status, text, errorOptions(waitSeconds, false)),
        context,
      ),
    onStatus: access.onStatus,
    mayRepeat: access.mayRepeat,
    toClient: (answer) =>
      encoder.encode(
        stringifyExactly(
          convertAnswer(style, clientStyle, answer.value, context, memory, (lost) => {
            dropped.push(lost);
            refuseDropping(call, [lost]);
          }),
        ),
      ),
    dropped,
  };
}

/** The client's body, with the limit of output that is paid for. */
function limitedBody({ request: { style }, body, outputLimit }: ChatCall): JsonObject {
  if (outputLimit === undefined) return body.value;
  return { ...body.value, ...loweredLimit(style, body.outline, outputLimit) };
}

function conversionOptions({ model, documents }: ChatCall, route: Route): ConversionOptions {
  return {
    capabilities: route.capabilities,
    upstreamModel: route.upstreamModel,
    maxOutputTokens: model.maxOutputTokens,
    allow: route.allow,
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
function outgoing(
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

/** For a request that is only tried, and not sent. */
const unpaid: RoundPayer = { pay: () => Promise.resolve(false), note() {} };

/** Styles whose answers have no place for a search and what it found. */
const withoutSearches: ReadonlySet<Style> = new Set<Style>(["chat", "gemini"]);

/**
 * Starts a call whose model has the gateway search the web: see `web_search/search_rounds.ts`. The request is converted also for a
 * route of the client's own style, since its history grows with every round.
 */
function startSearching(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
  searcher: WebSearcher,
): ChatExchange {
  const clientStyle = call.request.style;
  refuseLosing(call, route, "web_search");
  const options = conversionOptions(call, route);
  const value = limitedBody(call);
  const asked = readConversation(clientStyle, value, options);
  const offered = offerSearch({ ...asked, stream: true, streamUsage: true });
  invariant(offered !== undefined, "no search is asked for");
  const streamed = { ...call, request: { ...call.request, stream: true } };
  const context = pipeContext(call, route);
  let first: ConvertedRequest | undefined;
  const dropped: string[] = [];
  const rounds = new SearchRounds({
    style,
    offered,
    searcher,
    payer: call.rounds ?? unpaid,
    citesSources: withoutSearches.has(clientStyle),
    send(conversation) {
      const request = writeConversation(conversation, style, options);
      const sent = outgoing(call, route, style, access, request);
      if (first === undefined) {
        first = request;
        dropped.push(...sent.dropped);
        refuseDropping(call, dropped);
      }
      const exchange = open(streamed, route, style, access, sent);
      return { exchange, memory: request.memory };
    },
    handlers: {
      readAnswer: (answer) => clientReading(readAnswer(style, answer), context),
      asStream: (body) => encoder.encode(answerFrames(style, body)),
      decodeError: (status, text, waitSeconds) =>
        inClientTerms(
          decodeProviderError(style, status, text, errorOptions(waitSeconds, false)),
          context,
        ),
      onStatus: access.onStatus,
    },
  });
  // Thinking is separated within each round.
  const { thinkTags: _, ...kept } = first?.memory ?? {};
  const memory = { ...echoMemory(clientStyle, value), ...kept };
  return {
    exchange: rounds,
    createPipe: () => createEventPipe(clientStyle, context, memory),
    fromStream: (bytes) => collectedEvents(clientStyle, bytes, context, memory),
    readAnswer: (answer) => readAnswer(style, answer),
    // The rounds are always events, and refusals were read by them.
    toClient: () => {
      throw new GatewayError("upstream_unreachable", "The provider sent no event stream");
    },
    decodeError: () => new GatewayError("upstream_unreachable", "The provider failed"),
    mayRepeat: access.mayRepeat,
    dropped,
  };
}

/**
 * Refuses a feature that another route offers, or that all routes refuse, so that the conversion does not drop it
 * silently.
 *
 * @param except a feature that the gateway provides itself
 */
function refuseLosing(
  { request: { style }, body, model }: ChatCall,
  route: Route,
  except?: "web_search",
): void {
  const asked = { style, body: body.outline };
  const isOffered = model.routes.some((other) =>
    other.style === style || offersMore(other, route, asked)
  );
  if (isOffered) fieldsLeftOut({ model, route, sent: asked, asked, ...defined({ except }) });
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

/**
 * Starts a chat call on a route.
 *
 * @throws {GatewayError} before anything is sent, when the request cannot be converted to the route's style or asks
 * for what this route does not allow
 */
export function startChatExchange(
  call: ChatCall,
  route: Route,
  access: ChatRouteAccess,
): ChatExchange {
  const style = chatStyle(route);
  const { searcher } = call;
  const exchange = searcher !== undefined
    ? startSearching(call, route, style, access, searcher)
    : style === call.request.style
    ? startNative(call, route, call.request.style, access)
    : startConverted(call, route, style, access);
  if (call.request.inArray === true) {
    return { ...exchange, createPipe: () => new ArrayStream(exchange.createPipe()) };
  }
  return call.onItem === undefined ? exchange : tapped(exchange, call.onItem);
}

function visited(
  fromStream: NonNullable<ChatExchange["fromStream"]>,
  visit: ItemVisitor,
): NonNullable<ChatExchange["fromStream"]> {
  return (bytes) => {
    const answer = fromStream(bytes);
    visitItems(answer.clientBytes, visit);
    return answer;
  };
}

function tapped(exchange: ChatExchange, visit: ItemVisitor): ChatExchange {
  const { fromStream } = exchange;
  return {
    ...exchange,
    createPipe: () => new ItemTap(exchange.createPipe(), visit),
    toClient(answer) {
      const bytes = exchange.toClient(answer);
      visitItems(bytes, visit);
      return bytes;
    },
    ...defined({ fromStream: fromStream && visited(fromStream, visit) }),
  };
}
