/** POST /v1/messages, /v1/chat/completions and /v1/responses: one way for the three styles (design section 2). */
import { isRouteFault, runAttempts } from "../../core/call/attempt_loop.ts";
import type { CallControl } from "../../core/call/call_control.ts";
import {
  type ChatCall,
  type ChatExchange,
  startChatExchange,
} from "../../core/call/chat_exchange.ts";
import { readChatRequest } from "../../core/call/chat_request.ts";
import { inputTokensBound } from "../../core/call/input_bound.ts";
import { parseJsonBody } from "../../core/call/json_body.ts";
import { meteredStream } from "../../core/call/metered_stream.ts";
import type { StartedStream, WholeAnswer } from "../../core/call/attempt.ts";
import type { Route } from "../../core/catalog/catalog.ts";
import type { Style } from "../../core/dialects/contract.ts";
import { applyPrice, worstCaseCost } from "../../core/money/price.ts";
import type { Attempt } from "../../core/receipt.ts";
import { chooseModel, reserve } from "./admission.ts";
import { ChatSettlement } from "./chat_settlement.ts";
import type { Gateway } from "./gateway.ts";
import { admitRequest, checkVersion, type Incoming, requireJson } from "./incoming.ts";
import { callHeaders, costHeaders } from "./response_headers.ts";

const encoder = new TextEncoder();

/** Sent during silence: a ping event where the style has one, a comment where not (wire notes 10). */
const keepAlives: Record<Style, Uint8Array> = {
  messages: encoder.encode('event: ping\ndata: {"type": "ping"}\n\n'),
  chat: encoder.encode(": keep-alive\n\n"),
  responses: encoder.encode(": keep-alive\n\n"),
};

const streamHeaders: readonly [string, string][] = [
  ["content-type", "text/event-stream; charset=utf-8"],
  ["cache-control", "no-cache, no-transform"],
  ["x-accel-buffering", "no"],
];

interface Delivery {
  readonly gateway: Gateway;
  readonly call: ChatCall;
  readonly settlement: ChatSettlement;
  readonly headers: [string, string][];
  readonly exchange: ChatExchange;
  readonly route: Route;
  readonly attempts: readonly Attempt[];
}

async function deliverAnswer(delivery: Delivery, answer: WholeAnswer): Promise<Response> {
  const { settlement, exchange, headers } = delivery;
  const { reading } = answer;
  // Converted before settling: an answer that cannot be delivered must not be charged.
  const body = exchange.toClient(answer);
  const receipt = await settlement.settle({
    outcome: reading.empty && reading.usage === undefined ? "empty" : "completed",
    status: 200,
    reading,
    route: delivery.route,
    attempts: delivery.attempts,
  });
  return new Response(body as Uint8Array<ArrayBuffer>, {
    status: 200,
    headers: [
      ["content-type", "application/json"],
      ...headers,
      ...costHeaders(receipt),
    ],
  });
}

function deliverStream(delivery: Delivery, started: StartedStream, control: CallControl): Response {
  const { gateway, call, settlement, headers, route, attempts } = delivery;
  const stream = meteredStream({
    started,
    keepAlive: keepAlives[call.request.style],
    deadlines: gateway.deadlines,
    control,
    settle: async (outcome) => {
      const { reading } = started.pipe;
      await settlement.settle({ outcome, status: 200, reading, route, attempts });
    },
  });
  return new Response(stream, { status: 200, headers: [...streamHeaders, ...headers] });
}

/**
 * Serves one chat call.
 *
 * @throws {GatewayError} for everything the client should be told; nothing is charged then
 */
export async function serveChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
): Promise<Response> {
  const startedAtMs = gateway.clock.nowMs();
  const startedMonotonicMs = gateway.clock.monotonicMs();
  const { body: bytes, principal } = await admitRequest(gateway, incoming);
  const { headers } = incoming.request;
  requireJson(incoming.request);
  if (style === "messages") checkVersion(headers);
  const body = parseJsonBody(bytes);
  const request = readChatRequest(style, body.value);
  const { model, mappedFrom } = chooseModel(
    gateway.config.catalog,
    request.model,
    "chat",
    principal,
  );
  const price = applyPrice(model.price);
  const outputTokens = Math.min(request.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens) *
    request.choices;
  const inputTokens = inputTokensBound(body.value, bytes.length, model.contextWindow);
  const reservation = await reserve(
    gateway.teller,
    principal,
    worstCaseCost(price, { inputTokens, outputTokens }),
  );
  const control = gateway.calls.begin();
  const settlement = new ChatSettlement(gateway, {
    requestId: incoming.requestId,
    principal,
    model,
    mappedFrom,
    request,
    price,
    bodyBytes: bytes.length,
    reservation,
    startedAtMs,
    startedMonotonicMs,
    onEnd: () => gateway.calls.end(control),
  });
  try {
    const call: ChatCall = {
      request,
      body,
      model,
      requestId: incoming.requestId,
      nowSeconds: Math.floor(startedAtMs / 1000),
      clientHeader: (name) => headers.get(name) ?? undefined,
      strict: headers.get("x-gateway-strict") === "true",
    };
    return await route(gateway, call, settlement, control, incoming);
  } catch (error) {
    settlement.abandon();
    throw error;
  }
}

async function route(
  gateway: Gateway,
  call: ChatCall,
  settlement: ChatSettlement,
  control: CallControl,
  incoming: Incoming,
): Promise<Response> {
  const { request, model } = call;
  const operation = request.stream ? "chat_stream" : "chat";
  // Not streamed, the provider works on and charges us whether or not the client waits: such a call runs to its end.
  const onGone = () => control.stop("client_gone");
  if (request.stream) incoming.request.signal.addEventListener("abort", onGone);
  const loop = await runAttempts<ChatExchange>({
    candidates: gateway.router.candidates(model, { style: request.style, operation }),
    start: (route) => startChatExchange(call, route, gateway.router.begin(route, operation)),
    stream: request.stream,
    slowAfterMs: model.slowAfterMs,
    hedgeAfterMs: gateway.router.hedgeAfterMs(model),
    deadlines: gateway.deadlines,
    clock: gateway.clock,
    control,
    report: (route, result) => gateway.router.report(model, route, operation, result),
  });
  if (request.stream) incoming.request.signal.removeEventListener("abort", onGone);
  if (loop.ok || isRouteFault(loop.error)) {
    gateway.availability.note(model.id, loop.ok, gateway.clock.nowMs());
  }
  if (!loop.ok) {
    await settlement.settle({
      outcome: control.stopped === "client_gone" ? "client_gone" : "failed",
      status: loop.error.status,
      reading: undefined,
      route: undefined,
      attempts: loop.attempts,
    });
    throw loop.error;
  }
  settlement.firstOutput();
  const delivery: Delivery = {
    gateway,
    call,
    settlement,
    headers: callHeaders({
      requestId: incoming.requestId,
      model,
      mappedFrom: settlement.mappedFrom,
      price: settlement.price,
      dropped: loop.handlers.dropped,
    }),
    exchange: loop.handlers,
    route: loop.route,
    attempts: loop.attempts,
  };
  return loop.result.kind === "answer"
    ? await deliverAnswer(delivery, loop.result)
    : deliverStream(delivery, loop.result, control);
}
