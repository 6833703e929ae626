/** A chat call on a route of the client's own style: request and answer pass unchanged but for what must change. */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { Route } from "../../catalog/catalog.ts";
import { readAnswer } from "../../wire/convert/answer_reading.ts";
import { needsCallRepair, withTextArguments } from "../../wire/chat/answer/call_repair.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import { ClientModel, modelKey } from "../../wire/stream/client_model.ts";
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import { unknownInStream } from "../../wire/stream/answer_gate.ts";
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import {
  type NativeForm,
  nativeForm,
  needsNativeForm,
} from "../../wire/chat/request/native_form.ts";
import { dottedIdStart, withNativeIds } from "../../wire/messages/request/native_ids.ts";
import { spelledMark } from "../../wire/fields/answer_ids.ts";
import { billingLineStart, withoutBillingLines } from "../../wire/messages/request/billing_line.ts";
import { createNativePipe } from "../../wire/convert/dialects.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import type { ProviderAnswer } from "../attempts/attempt.ts";
import { decisiveFields } from "./gemini_body.ts";
import { fieldsLeftOut } from "../request/billable_features.ts";
import { droppedReasoningFields, withoutForeignReasoning } from "./foreign_reasoning.ts";
import { withFields, withoutFields } from "../body/changed_body.ts";
import type { CloudBodyChanges } from "../../clouds/request_form.ts";
import { unchangedStore, withoutStore } from "./item_tap.ts";
import type { JsonBody } from "../body/json_body.ts";
import { loweredLimit } from "./lowered_limit.ts";
import { withoutIdleEffort } from "./idle_effort.ts";
import { defined } from "../../lib/base/defined.ts";
import type { ChatCall, ChatExchange, ChatRouteAccess } from "./chat_call.ts";
import {
  betasFor,
  clientReading,
  cloudChanges,
  collected,
  encoder,
  open,
  pipeContext,
  refusalReader,
  refuseDropping,
} from "./provider_side.ts";

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
export function startNative(
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
