/**
 * `POST /v1/completions`: by models that complete texts, and by chat models, which get the prompt as a message.
 *
 * - Folder `routes/api/media/completions/`: completions of texts.
 * - In: an admitted request with a prompt.
 * - Out: a completion, whole or streamed, settled, with its receipt.
 * - Never: releases the end of an answer before its debit and receipt are durable.
 */
import { fetchedUrls } from "../../../../core/net/remote/fetched_urls.ts";
import {
  type ChatBounds,
  chatBounds,
  initialReservation,
  leastOutputTokens,
  paidLimit,
  withinOutput,
} from "../../../../core/calls/bounds/chat_bounds.ts";
import {
  maxBytesOfAnswer,
  maxBytesWithReasoning,
  maxOutputBytes,
  maxStreamBytes,
  OutputLimit,
} from "../../../../core/calls/bounds/output_limit.ts";
import { arrivalOf, earlyStream, isLate } from "../../../../core/calls/stream/early_stream.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import {
  chatBodyOf,
  completionAnswer,
  type CompletionResult,
  CompletionSource,
  completionWork,
} from "../../../../core/media/completion/attempt.ts";
import {
  type CompletionRequest,
  readCompletionRequest,
} from "../../../../core/media/completion/request.ts";
import { chooseModel, type ChosenModel, refuseFreeChoices } from "../../call/admission.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import { type CallCharge, type CallStart, startCall } from "../../call/call_settlement.ts";
import { serveAdmittedChat } from "../../chat/chat.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { hasIdempotencyKey, knownAnswer } from "../../call/idempotency.ts";
import {
  admitRequest,
  type AuthenticatedRequest,
  type Incoming,
  requireJson,
} from "../../call/incoming.ts";
import type { Found } from "../base/event_delivery.ts";
import { beginMediaCall, failedCall, type MediaCall, tryRoutes } from "../base/media_call.ts";
import { expectedOutput } from "../../call/rate_limits.ts";
import { costHeaders, outputLimitHeader, streamOf } from "../../call/response_headers.ts";
import {
  chargeForEndedChat,
  type EndedReading,
  providerUseOf,
  type QuotedChat,
} from "../../../../core/calls/bounds/chat_charge.ts";
import type { StartedStream } from "../../../../core/calls/attempts/attempt.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../../core/calls/stream/metered_stream.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { mediaErrorEvent } from "../../../../core/media/base/events.ts";
import { idleMs } from "../../../../core/routing/timeouts.ts";
import { bytesLeave } from "../../../http/query.ts";
import { wholeAnswer } from "../../call/whole_answer.ts";

// Delivers what the attempts of a completion found, settled before its last byte.

/** A call with what pricing it needs. */
export interface CompletionDelivery {
  readonly call: MediaCall;
  readonly quoted: QuotedChat;
}

function chargeOf({ quoted }: CompletionDelivery, outcome: Outcome, reading: EndedReading) {
  return chargeForEndedChat(quoted, { outcome, reading, runsTools: false, carriesTier: false });
}

/** The same with what the provider counted. */
function settledCharge(
  delivery: CompletionDelivery,
  outcome: Outcome,
  reading: EndedReading,
): CallCharge {
  const charge = chargeOf(delivery, outcome, reading);
  const charged = charge.usage;
  return {
    ...charge,
    providerUse: providerUseOf({ outcome, reading, charged, carriedTier: undefined }),
  };
}

function meteredInput(
  delivery: CompletionDelivery,
  { route, attempts }: Found<unknown>,
  started: StartedStream,
): MeteredStreamInput {
  const { call: { gateway, control, settlement, input }, quoted: { bounds, model } } = delivery;
  const { wantedOutputTokens } = bounds;
  const most = {
    answer: maxOutputBytes(wantedOutputTokens),
    withReasoning: maxBytesWithReasoning(wantedOutputTokens, model),
  };
  return {
    started,
    keepAlive: keepAliveComment,
    deadlines: gateway.deadlines,
    control,
    idleMs: idleMs(input.chosen.catalog, route),
    bounds: [new OutputLimit(most, (reading) => chargeOf(delivery, "cut", reading).usage)],
    maxBytes: maxStreamBytes(wantedOutputTokens),
    settle: async (outcome, endCode) => {
      const charge = settledCharge(delivery, outcome, started.pipe.reading);
      await settlement.settle({ outcome, endCode, status: 200, route, attempts }, charge);
    },
    bytesLeave,
    onBug: settlement.onBug,
  };
}

/** Delivers the completion of a route that answered in time. */
export async function deliverCompletion(
  delivery: CompletionDelivery,
  found: Found<CompletionResult>,
): Promise<Reply> {
  const { gateway, settlement, headers, bufferedAnswer } = delivery.call;
  settlement.firstOutputAt(gateway.clock.monotonicMs());
  const { result, route, attempts } = found;
  if (result.kind === "stream") {
    return streamOf(meteredStream(meteredInput(delivery, found, result.started)), headers);
  }
  const { reading, bytes } = result;
  const outcome = reading.empty && reading.usage === undefined ? "empty" : "completed";
  const charge = settledCharge(delivery, outcome, { ...reading, sawOutput: !reading.empty });
  const receipt = await settlement.settle({ outcome, status: 200, route, attempts }, charge);
  const all = [...headers, ...costHeaders(receipt)];
  return wholeAnswer(bytes, all, bufferedAnswer, gateway.deadlines);
}

/** Delivers a stream that begins before there is any text: see `deliverEarly` of chat. */
export function deliverEarly(
  delivery: CompletionDelivery,
  finding: Promise<Found<CompletionResult>>,
): Reply {
  const { gateway, control, settlement, headers, input } = delivery.call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(gateway.clock.monotonicMs());
      const { result } = found;
      return result.kind === "stream" ? meteredInput(delivery, found, result.started) : undefined;
    },
    errorEvent: (error) => mediaErrorEvent(error, settlement.call.requestId),
    abandon: () => settlement.abandon(),
  });
  input.incoming.bufferedBody?.keepUntil(finding);
  const { deadlines } = gateway;
  return streamOf(
    earlyStream({ arrival, keepAlive: keepAliveComment, deadlines, control }),
    headers,
  );
}

/**
 * Serves one completion.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export async function serveCompletions(
  gateway: Gateway,
  incoming: Incoming,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const admitted = await admitRequest(gateway, incoming);
  requireJson(incoming.request);
  const sent = parseJsonBody(admitted.body);
  const { model } = sent.value;
  const found = typeof model === "string" ? gateway.catalog.current.find(model) : undefined;
  if (found?.kind === "completion") return await serveNative(gateway, incoming, admitted, start);
  const { principal } = admitted;
  const chat = { body: chatBodyOf(sent), principal, start };
  return await inCompletionForm(await serveAdmittedChat(gateway, "chat", incoming, chat));
}

/** Converts a chat answer; an answer that was kept for an idempotency key has its form already. */
async function inCompletionForm(reply: Reply | Response): Promise<Reply | Response> {
  if (!(reply instanceof Reply) || reply.body === null) return reply;
  const { status, body } = reply;
  const headers = [...reply.headers]
    .filter(([name]) => name !== "content-length")
    .map(([name, value]): [string, string] => [name, value]);
  const isStream = reply.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (isStream && !(body instanceof Uint8Array)) {
    return new Reply(status, headers, new CompletionSource(body));
  }
  const whole = body instanceof Uint8Array ? body : await reply.toResponse().bytes();
  return new Reply(status, headers, completionAnswer(whole));
}

async function find(
  call: MediaCall<CompletionResult>,
  statusSent: () => number | undefined,
): Promise<Found<CompletionResult>> {
  const found = await tryRoutes(call);
  if (!found.ok) throw await failedCall(call, found, statusSent());
  return found;
}

/** Reserves the money and begins the call. */
async function begin(
  gateway: Gateway,
  incoming: Incoming,
  { request, chosen, principal, start }: {
    readonly request: CompletionRequest;
    readonly chosen: ChosenModel;
    readonly principal: Principal;
    readonly start: CallStart;
  },
): Promise<CompletionDelivery & { readonly call: MediaCall<CompletionResult> }> {
  const { bounds: asked } = request;
  const price = applyPrice(chosen.model.price);
  // Beginnings of prompts are remembered for chats only.
  let bounds: ChatBounds = {
    ...chatBounds(asked, request.body, chosen.model, price),
    prefixes: undefined,
  };
  let outputLimit: number | undefined;
  const work = completionWork({
    outputLimit: () => outputLimit,
    request,
    requestId: incoming.requestId,
    nowSeconds: Math.floor(start.startedAtMs / 1000),
    maxAnswerBytes: maxBytesOfAnswer(bounds.wantedOutputTokens),
  });
  const { expectations } = gateway;
  const initial = initialReservation(bounds, {
    // The reservation does not follow the stream.
    stream: false,
    expectedTokens: bounds.outputTokens,
    usualTokens: expectations.usualTokens(chosen.model, principal.key.id),
    leastTokens: leastOutputTokens(asked, request.body.outline),
  });
  const call = await beginMediaCall(gateway, {
    incoming,
    principal,
    chosen,
    style: "completions",
    operation: "completion",
    stream: asked.stream,
    price,
    worstCaseMicroVnd: bounds.costMicroVnd,
    range: initial.range,
    expectedTokens: {
      input: bounds.estimatedInputTokens,
      output: expectedOutput(gateway, principal, chosen.model, bounds.outputTokens),
    },
    dropped: [],
    urls: fetchedUrls(request.body.outline),
    start,
  }, work);
  const { amountMicroVnd, boundBy: reason } = call.reserved;
  if (reason !== undefined) {
    const tokens = paidLimit(bounds, asked, request.body.outline, amountMicroVnd) ?? 0;
    outputLimit = tokens;
    bounds = withinOutput(bounds, tokens * asked.choices);
    call.headers.push(outputLimitHeader({ tokens, reason }));
  }
  return {
    call,
    quoted: { model: chosen.model, request: { choices: asked.choices }, price, bounds },
  };
}

async function serveNative(
  gateway: Gateway,
  incoming: Incoming,
  { body, principal }: AuthenticatedRequest,
  start: CallStart,
): Promise<Reply | Response> {
  const request = readCompletionRequest(body);
  const { bounds: asked } = request;
  const catalog = gateway.catalog.current;
  const chosen = incoming.chosen = chooseModel(catalog, asked.model, "completion", principal);
  refuseFreeChoices(chosen.model, asked, request.body.value);
  if (hasIdempotencyKey(incoming)) {
    const keyed = { kind: "json", json: request.body } as const;
    const known = await knownAnswer(gateway, incoming, principal, keyed);
    if (known !== undefined) return known;
  }
  const delivery = await begin(gateway, incoming, { request, chosen, principal, start });
  const { call } = delivery;
  try {
    let statusSent: number | undefined;
    const finding = find(call, () => statusSent);
    if (asked.stream && await isLate(gateway.deadlines, finding)) {
      statusSent = 200;
      return deliverEarly(delivery, finding);
    }
    return await deliverCompletion(delivery, await finding);
  } catch (error) {
    call.settlement.abandon();
    throw error;
  }
}
