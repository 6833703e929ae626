/**
 * Sends a chat call to one route: unchanged where the styles agree, converted where they differ.
 *
 * A route of the client's own style gets the request, and the client the answer, unchanged but for what must change.
 * `converted_exchange.ts` has the other routes. {@linkcode localRefusal} makes an exchange without a provider, to
 * reject locally what every route would refuse.
 *
 * - Folder `core/calls/exchange/`: one chat call on one route: the request to the provider, and its answer in the
 *   client's style.
 * - In: a read request, the route with its transport and credential.
 * - Out: an answer, whole or as a pipe, native or converted, with its usage; refusals that need no provider.
 * - Never: chooses a route, or reserves, charges or settles.
 */
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { Route } from "../../catalog/catalog.ts";
import { readAnswer } from "../../wire/convert/answer_reading.ts";
import { needsCallRepair, withTextArguments } from "../../wire/chat/answer/call_repair.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import { ClientModel, modelKey } from "../../wire/stream/client_model.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import { unknownInStream } from "../../wire/stream/answer_gate.ts";
import {
  type NativeForm,
  nativeForm,
  needsNativeForm,
} from "../../wire/chat/request/native_form.ts";
import { dottedIdStart, withNativeIds } from "../../wire/messages/request/native_ids.ts";
import { spelledMark } from "../../wire/fields/answer_ids.ts";
import { billingLineStart, withoutBillingLines } from "../../wire/messages/request/billing_line.ts";
import { createNativePipe } from "../../wire/convert/dialects.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { stringifyExactly, withResolvers } from "../../lib/runtime/built_ins.ts";
import type { ProviderAnswer } from "../attempts/attempt.ts";
import { ArrayStream, decisiveFields } from "./gemini_body.ts";
import { fieldsLeftOut } from "../request/chat_request.ts";
import { droppedReasoningFields, withoutForeignReasoning } from "../request/sealed_items.ts";
import { type JsonBody, withFields, withoutFields } from "../body/json_body.ts";
import type { CloudBodyChanges } from "../../clouds/request_form.ts";
import { ItemTap, type ItemVisitor, unchangedStore, visitItems, withoutStore } from "./item_tap.ts";
import {
  betasFor,
  chatStyle,
  clientReading,
  cloudChanges,
  collected,
  compactsHere,
  encoder,
  loweredLimit,
  open,
  pipeContext,
  refusalReader,
  refuseDropping,
  startCompacting,
  startConverted,
} from "./converted_exchange.ts";
import { continuing } from "./continued_response.ts";
import { tellingCost } from "./cost_in_body.ts";
import { defined } from "../../lib/base/defined.ts";
import type { ChatCall, ChatExchange, ChatRouteAccess } from "./chat_call.ts";
import { startRounds } from "./rounds_exchange.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { Transport } from "../../net/transport/transport.ts";
import { anyDocument } from "../request/remote_documents.ts";

/** Changes to a native body, and the changed fields that the client had set. */
interface IdleEffort {
  readonly changes: JsonObject;
  readonly dropped: readonly string[];
}

/**
 * Computes the changes to a native request of the style.
 *
 * @example
 * ```ts
 * import { withoutIdleEffort } from "./chat_exchange.ts";
 * const body = { thinking: { type: "disabled" }, output_config: { effort: "high" } };
 * const { dropped } = withoutIdleEffort("messages", body, { efforts: [] });
 * if (dropped.join() !== "output_config.effort") throw new Error("refused by the vendor");
 * if (withoutIdleEffort("messages", body, {}).dropped.length > 0) throw new Error("lost");
 * ```
 */
export function withoutIdleEffort(
  style: Style,
  body: OutlineObject,
  capabilities: RouteCapabilities,
): IdleEffort {
  const { thinking, output_config: config } = body;
  const isOff = isJsonObject(thinking) && thinking["type"] === "disabled";
  const hasEffort = isJsonObject(config) && typeof config["effort"] === "string";
  const takesEffort = resolveCapabilities(style, capabilities).efforts.length > 0;
  if (style !== "messages" || !isOff || !hasEffort || takesEffort) {
    return { changes: {}, dropped: [] };
  }
  const { effort: _, ...rest } = config;
  return { changes: { output_config: wholeOf(rest) }, dropped: ["output_config.effort"] };
}

/** The member of a whole answer that names its model. */
const modelMember = { name: "model", key: modelKey } as const;
const geminiModelMember = { name: "modelVersion", key: jsonKey("modelVersion") } as const;

/** Writes arguments that are objects as text. */
function withRepairedCalls(answer: ProviderAnswer): ProviderAnswer {
  if (!needsCallRepair(answer.value)) return answer;
  const exact = parseExactly(answer.text);
  if (!isJsonObject(exact)) return answer;
  const value = withTextArguments(exact);
  const text = stringifyExactly(value);
  return { value, text, bytes: encoder.encode(text) };
}

interface NativeChanges {
  /** Fields to replace because of the call's history: see {@linkcode withoutForeignReasoning}. */
  readonly replaced: JsonObject;
  readonly injectUsage: boolean;
  readonly leftOut: readonly string[];
  /** Fields that keep the provider from storing the answer. */
  readonly unstored: JsonObject;
  /** Changes of the provider's cloud. */
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
  if (call.request.style !== "gemini" && route.upstreamModel !== call.body.outline["model"]) {
    changes["model"] = route.upstreamModel;
  }
  if (injectUsage) {
    const options = wholeOf(call.body.outline["stream_options"] ?? {});
    changes["stream_options"] = {
      ...(isJsonObject(options) ? options : {}),
      include_usage: true,
    };
  }
  // The Gemini style has it in the path, and a customer's name of it means nothing to the provider.
  const misplaced = style === "gemini" && call.body.fields.has("model") ? ["model"] : [];
  if (cloud === undefined && misplaced.length === 0) return withFields(call.body, changes);
  const removed = [...cloud?.removed ?? [], ...misplaced];
  return withoutFields(call.body, [...removed, ...leftOut], { ...changes, ...cloud?.added });
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

/**
 * Returns the messages in the form that the route is known to take; `undefined` if they have it.
 *
 * @param written the messages as other changes left them
 */
function inRouteForm(
  style: Style,
  body: JsonBody,
  capabilities: RouteCapabilities,
  written: Json | undefined,
): NativeForm | undefined {
  if (style === "chat") {
    if (!needsNativeForm(written ?? body.outline["messages"], capabilities)) return undefined;
    const messages = written ?? body.value["messages"];
    return Array.isArray(messages) ? nativeForm(messages, capabilities) : undefined;
  }
  if (style !== "messages") return undefined;
  if (!body.mayHold(dottedIdStart) && !body.mayHold(spelledMark)) return undefined;
  const messages = written ?? body.value["messages"];
  const form = Array.isArray(messages) ? withNativeIds(messages, capabilities) : undefined;
  return form === undefined || form.changed.length === 0 ? undefined : form;
}

/** Starts a call on a route of the client's own style. */
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
  // A compacted conversation is not stored, and the field is not part of its request. Others store where they are asked to.
  const mayStore = style === "responses" || asked.body["store"] === true;
  const unstored = request.compacts === true || !mayStore
    ? unchangedStore
    : withoutStore(style, call.body.outline, route.capabilities);
  const effortless = withoutIdleEffort(style, call.body.outline, route.capabilities);
  const reasoned = withoutForeignReasoning(style, call.body, route.capabilities);
  const form = inRouteForm(style, call.body, route.capabilities, reasoned["messages"]);
  const replaced: JsonObject = {
    ...reasoned,
    ...withoutBilling(style, call.body, route.capabilities),
    ...(form === undefined ? {} : { messages: [...form.messages] }),
  };
  const dropped = [
    ...call.dropped ?? [],
    ...form?.changed ?? [],
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
    fromStream: (bytes) =>
      collected({
        style,
        clientStyle: style,
        context,
        memory: { choices: request.choices },
      }, bytes),
    unknownInStream: (bytes) => unknownInStream(style, bytes),
    decodeError: refusalReader(style, context, true),
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
  const plain = call.searcher !== undefined || call.mcp !== undefined
    ? startRounds(call, route, style, access)
    : compactsHere(call, route, style)
    ? startCompacting(call, route, style, access)
    : style === call.request.style
    ? startNative(call, route, call.request.style, access)
    : startConverted(call, route, style, access);
  const { tellsCost, inArray, continues } = call.request;
  const told = tellsCost === true ? tellingCost(plain, call.request) : plain;
  const exchange = continues === undefined ? told : continuing(told, continues);
  if (inArray === true) {
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
  let tap: ItemTap | undefined;
  return {
    ...exchange,
    createPipe: () => tap = new ItemTap(exchange.createPipe(), visit),
    lastEvent: () => tap?.lastEvent,
    toClient(answer) {
      const bytes = exchange.toClient(answer);
      visitItems(bytes, visit);
      return bytes;
    },
    ...defined({ fromStream: fromStream && visited(fromStream, visit) }),
  };
}

/**
 * Finds the error with which every route refuses a request before it is sent: a feature that no route offers, a
 * request that no route can carry. `undefined` if a route could send it. Used for callers who cannot pay: they learn
 * at once that the request is wrong, not only after a top-up.
 *
 * @param prepare builds the request of a route without sending it, and throws what the route refuses
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../lib/errors/errors.ts";
 * import { localRefusal } from "./chat_exchange.ts";
 * const wrong = new GatewayError("invalid_request", "image: is not valid base64");
 * const routes = ["a", "b"];
 * const of = (refusing: string) => localRefusal(routes, (route) => {
 *   if (refusing.includes(route)) throw wrong;
 * });
 * if (await of("ab") !== wrong) throw new Error("all refuse");
 * if (await of("a") !== undefined) throw new Error("one could go out");
 * ```
 */
export async function localRefusal<Choice>(
  routes: readonly Choice[],
  prepare: (route: Choice) => unknown,
): Promise<GatewayError | undefined> {
  let refusal: GatewayError | undefined;
  for (const route of routes) {
    try {
      await prepare(route);
      return undefined;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status !== 400) return undefined;
      refusal ??= error;
    }
  }
  return refusal;
}

/** A transport that sends nothing. */
const nowhere: Transport = {
  open: () => ({ response: withResolvers<never>().promise, cancel() {} }),
};

/** Finds the error with which every route refuses a chat call. */
export function localChatRefusal(
  call: ChatCall,
  routes: readonly Route[],
  providerOf: (route: Route) => ProviderEntry | undefined,
): Promise<GatewayError | undefined> {
  return localRefusal(routes, (route) => {
    const provider = providerOf(route);
    if (provider === undefined) return;
    startChatExchange({ ...call, documents: anyDocument }, route, {
      provider,
      secret: undefined,
      transport: nowhere,
      onStatus() {},
      mayRepeat: () => false,
      onSentAgain() {},
    });
  });
}
