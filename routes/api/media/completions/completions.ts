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
  withinOutput,
} from "../../../../core/calls/bounds/chat_bounds.ts";
import {
  initialReservation,
  leastOutputTokens,
  paidLimit,
} from "../../../../core/calls/bounds/initial_reservation.ts";
import { mostAnswerBytes } from "../../../../core/calls/bounds/output_limit.ts";
import { isLate } from "../../../../core/calls/stream/early_stream.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import {
  type CompletionResult,
  completionWork,
} from "../../../../core/media/completion/attempt.ts";
import {
  chatBodyOf,
  completionAnswer,
  CompletionSource,
} from "../../../../core/media/completion/chat_form.ts";
import {
  type CompletionRequest,
  readCompletionRequest,
} from "../../../../core/media/completion/request.ts";
import { chooseModel, type ChosenModel, refuseFreeChoices } from "../../call/admission.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import { type CallStart, startCall } from "../../call/call_settlement.ts";
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
import { outputLimitHeader } from "../../call/response_headers.ts";
import { type CompletionDelivery, deliverCompletion, deliverEarly } from "./completion_delivery.ts";

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
    maxAnswerBytes: mostAnswerBytes(bounds.wantedOutputTokens),
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
