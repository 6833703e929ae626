/**
 * POST /v1/messages, /v1/chat/completions and /v1/responses: one way for the three styles.
 *
 * See docs/behaviour.md#the-way-of-a-call.
 *
 * - Folder `routes/api/chat/`: chat calls of the three styles, and token counting.
 * - In: an admitted request for a chat model.
 * - Out: a whole answer or a stream, settled, with its receipt.
 * - Never: releases the last byte of an answer before its debit and receipt are durable.
 */
import type { Reply } from "../../../core/lib/http1/server/reply.ts";
import { invariant } from "../../../core/lib/assert.ts";
import {
  attemptAnswer,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "../../../core/calls/attempt.ts";
import {
  type InitialReservation,
  initialReservation,
} from "../../../core/calls/bounds/initial_reservation.ts";
import { type AttemptLoopResult, runAttempts } from "../../../core/calls/attempt_loop.ts";
import {
  type ChatCall,
  type ChatExchange,
  startChatExchange,
} from "../../../core/calls/chat_exchange.ts";
import { type FetchedUrl, refuseInternalNames } from "../../../core/calls/request/fetched_urls.ts";
import type { GeminiPath } from "../../../core/calls/request/gemini_body.ts";
import { isLate } from "../../../core/calls/early_stream.ts";
import { continuesTurn } from "../../../core/calls/request/turn_continuation.ts";
import { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import { localChatRefusal } from "../../../core/calls/request/local_refusal.ts";
import type { ProviderEntry } from "../../../core/catalog/schema.ts";
import type { Style } from "../../../core/wire/contract.ts";
import { GatewayError, wireStatus } from "../../../core/errors.ts";
import type { RatedCall } from "../../../core/rate_limits/rate_book.ts";
import type { Reservation } from "../../../kv/wallet/mod.ts";
import { answerTimeoutMs, ownFirstOutputMs, slowAfterMs } from "../../../core/routing/timeouts.ts";
import { reserve } from "../admission.ts";
import {
  answerReply,
  deliverEarly,
  deliverStream,
  type Delivery,
  settleAnswer,
} from "./chat_delivery.ts";
import { hasIdempotencyKey, knownAnswer } from "../idempotency.ts";
import { type CallStart, startCall } from "../call_settlement.ts";
import { reportResult } from "../route_result.ts";
import { beginRated, expectedOutput, isRateLimited } from "../rate_limits.ts";
import { ChatSettlement } from "./chat_settlement.ts";
import { checkChat, type CheckedCall } from "./checked_chat.ts";
import { fetchPeersItems } from "./peers_items.ts";
import type { Gateway } from "../gateway.ts";
import { admitRequest, type AuthenticatedRequest, type Incoming } from "../incoming.ts";

/**
 * Serves one chat call. Nothing in the usual call waits before its request is sent, and what does not wait is no
 * promise: each costs as much as looking up a header.
 *
 * @param path what the path of a Gemini request says
 *
 * @throws {GatewayError} (or rejects with it) the client's error; nothing is charged then
 */
export function serveChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  path?: GeminiPath,
): Promise<Reply | Response> {
  const start = startCall(gateway);
  const admitted = admitRequest(gateway, incoming);
  const serve = (request: AuthenticatedRequest) =>
    serveAdmittedChat(gateway, style, incoming, { ...request, start, path });
  return admitted instanceof Promise ? admitted.then(serve) : serve(admitted);
}

/** A chat request whose body was read. */
interface AdmittedChat extends AuthenticatedRequest {
  readonly start: CallStart;
  /** What the path of a Gemini request says. */
  readonly path?: GeminiPath | undefined;
}

/**
 * Serves a chat call whose body was read.
 *
 * @throws {GatewayError} (or rejects with it) the client's error; nothing is charged then
 */
export function serveAdmittedChat(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  request: AdmittedChat,
): Promise<Reply | Response> {
  if (style === "responses" || hasIdempotencyKey(incoming)) {
    return serveRemembered(gateway, style, incoming, request);
  }
  return begin(gateway, incoming, checkChat(gateway, style, incoming, request));
}

/** Serves a call for which something is looked up first: items of earlier answers, or a former answer. */
async function serveRemembered(
  gateway: Gateway,
  style: Style,
  incoming: Incoming,
  request: AdmittedChat,
): Promise<Reply | Response> {
  const { principal, body: bytes } = request;
  if (style === "responses") await fetchPeersItems(gateway, principal.accountId, bytes);
  const checked = checkChat(gateway, style, incoming, request);
  if (hasIdempotencyKey(incoming)) {
    const body = { kind: "json", json: checked.call.body } as const;
    const known = await knownAnswer(gateway, incoming, principal, body);
    if (known !== undefined) return known;
  }
  return await begin(gateway, incoming, checked);
}

/** Waits for the rates of the caller where there are some, then runs a checked call. */
function begin(
  gateway: Gateway,
  incoming: Incoming,
  checked: CheckedCall,
): Promise<Reply | Response> {
  const { bounds, call: { model }, principal } = checked;
  if (!isRateLimited(gateway, principal, model)) return run(gateway, incoming, checked, undefined);
  const expected = {
    input: bounds.estimatedInputTokens,
    output: expectedOutput(gateway, principal, model, bounds.outputTokens),
  };
  return beginRated(gateway, incoming, principal, model, expected)
    .then((rated) => run(gateway, incoming, checked, rated));
}

/** Reserves the money for a call, and delivers its answer. */
function run(
  gateway: Gateway,
  incoming: Incoming,
  checked: CheckedCall,
  rated: RatedCall | undefined,
): Promise<Reply | Response> {
  const { bounds, call, principal, start } = checked;
  const initial = initialReservation(bounds, bounds.reservedPrice, {
    stream: call.request.stream,
    expectedTokens: gateway.expectations.tokens(call.model, principal.key.id),
  });
  const reserved = reserve(gateway.wallet, principal, {
    amountMicroVnd: initial.costMicroVnd,
    startedAtMs: start.startedAtMs,
    rated,
    localError: () => localError(gateway, checked),
  });
  const admitted = (reservation: Reservation) => {
    incoming.isAdmitted = true;
    return deliver(gateway, incoming, checked, { initial, reservation, rated });
  };
  return reserved instanceof Promise ? reserved.then(admitted) : admitted(reserved);
}

/** Tries the routes for a call whose reservation is made, and settles it. */
async function deliver(
  gateway: Gateway,
  incoming: Incoming,
  checked: CheckedCall,
  { initial, reservation, rated }: {
    readonly initial: InitialReservation;
    readonly reservation: Reservation;
    readonly rated: RatedCall | undefined;
  },
): Promise<Reply | Response> {
  const { call, start, principal, mappedFrom, catalog, price, bounds, urls } = checked;
  const { request, body, model } = call;
  const control = gateway.calls.begin(request.stream ? principal : undefined);
  const settlement = new ChatSettlement(gateway, {
    requestId: incoming.requestId,
    principal,
    catalog,
    model,
    mappedFrom,
    request,
    price,
    bounds,
    reservation,
    start,
    running: control,
    rated,
    keyedCall: incoming.keyedCall,
  });
  try {
    if (!request.stream) incoming.answer = gateway.answers.open(principal.accountId);
    const { bufferedBody, answer: bufferedAnswer } = incoming;
    const { media: { fetchDocument }, bodies } = gateway;
    const documents = bounds.input.namesUnseen || urls.length > 0
      ? new RemoteDocuments(request, body, fetchDocument, bodies.open(principal.accountId))
      : undefined;
    const delivery: Delivery = {
      gateway,
      catalog,
      call,
      settlement,
      control,
      initial,
      bufferedBody,
      documents,
      urls,
      bufferedAnswer,
      dropped: new Set(),
    };
    if (request.stream) {
      // A call that is not streamed runs to its end when its client leaves: the provider would finish and charge it
      // anyway. Reading the signal makes the server watch the connection, which costs as much as parsing the body,
      // so it is done while the provider works.
      return await answerStream(delivery, () => control.watchClient(incoming.request.signal));
    }
    const tried = tryRoutes(delivery);
    const found = concluded(delivery, tried, await tried.loop);
    if (!found.ok) return await failed(delivery, found, undefined);
    invariant(found.result.kind === "answer", "no stream was asked for");
    const receipt = await settleAnswer(delivery, found, found.result);
    return answerReply(delivery, found, found.result, receipt);
  } catch (error) {
    settlement.abandon();
    throw error;
  }
}

function localError(
  { router }: Gateway,
  { call, catalog }: CheckedCall,
): Promise<GatewayError | undefined> {
  const { style, stream } = call.request;
  const operation = stream ? "chat_stream" : "chat";
  const candidates = router.candidates(call.model, { style, operation });
  return localChatRefusal(call, candidates, ({ provider }) => catalog.providers[provider]);
}

/**
 * Finds a route and delivers its stream. `onSent` is called when the request was sent to the first route, or could not
 * be.
 */
async function answerStream(delivery: Delivery, onSent: () => void): Promise<Reply> {
  let statusSent: number | undefined;
  const finding = findStream(delivery, () => statusSent);
  onSent();
  if (await isLate(delivery.gateway.deadlines, finding)) {
    statusSent = 200;
    return deliverEarly(delivery, finding);
  }
  const found = await finding;
  invariant(found.result.kind === "stream", "a stream was asked for");
  return deliverStream(delivery, found, found.result);
}

/**
 * Tries the routes until one produces output.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route did; the call is settled then
 */
async function findStream(delivery: Delivery, statusSent: () => number | undefined) {
  const tried = tryRoutes(delivery);
  const found = concluded(delivery, tried, await tried.loop);
  return found.ok ? found : await failed(delivery, found, statusSent());
}

/** Refuses URLs that would lead a provider into an internal network; `undefined` if no name has to be resolved. */
function vetted(
  { media }: Gateway,
  urls: readonly FetchedUrl[],
  provider: ProviderEntry,
): Promise<void> | undefined {
  if (urls.length === 0 || provider.kind !== "http" || provider.unresolvedNames) return undefined;
  return refuseInternalNames(urls, (host) => media.names.isPublic(host));
}

type Found = AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>;

/** The routes of a call that are being tried. */
interface TriedRoutes {
  readonly loop: Promise<Found>;
  /** How many there are. */
  readonly candidates: number;
}

/** Tries the routes until one produces output. */
function tryRoutes(delivery: Delivery): TriedRoutes {
  const { gateway, catalog, call, settlement, control } = delivery;
  const { request, model } = call;
  const { router } = gateway;
  const operation = request.stream ? "chat_stream" : "chat";
  const routeId = settlement.formerRoute();
  const former = routeId === undefined
    ? undefined
    : { routeId, midTurn: continuesTurn(request.style, call.body.outline) };
  const { customer } = settlement;
  const candidates = router.candidates(model, {
    style: request.style,
    operation,
    former,
    customer,
  });
  const loop = runAttempts<ChatExchange, StartedStream | WholeAnswer>({
    candidates,
    start: (route, onSentAgain) => {
      const access = { ...router.begin(route, operation), onSentAgain };
      const begin = (given: ChatCall) => {
        const begun = startChatExchange(given, route, access);
        for (const field of begun.dropped) delivery.dropped.add(field);
        return begun;
      };
      const vetting = vetted(gateway, delivery.urls, access.provider);
      const fetching = delivery.documents?.for(route);
      if (vetting === undefined && fetching === undefined) return begin(call);
      return Promise.all([fetching, vetting]).then(([documents]) =>
        begin(documents === undefined ? call : { ...call, documents })
      );
    },
    firstOutput: (begun, onSign) =>
      request.stream ? attemptStream(begun, gateway, onSign) : attemptAnswer(begun, gateway, {
        maxBytes: settlement.mostAnswerBytes,
        counter: delivery.bufferedAnswer,
      }),
    timeoutMs: (route) =>
      request.stream
        ? ownFirstOutputMs(catalog, route)
        : answerTimeoutMs(catalog, model, route, false),
    slowAfterMs: request.stream ? (route) => slowAfterMs(catalog, model, route) : undefined,
    hedge: router.hedge(model, operation, candidates[0]),
    deadlines: gateway.deadlines,
    clock: gateway.clock,
    control,
    report: (route, result, endedMs) => {
      settlement.tried(route, result, endedMs);
      router.report(model, route, operation, result, customer);
    },
    onBug: settlement.onBug,
  });
  return { loop, candidates: candidates.length };
}

/** Reports the end of the attempts. A failure has the error that the client gets. */
function concluded(
  { gateway, call, settlement, control, documents }: Delivery,
  { candidates }: TriedRoutes,
  loop: Found,
): Found {
  documents?.release();
  const { model, request } = call;
  const operation = request.stream ? "chat_stream" : "chat";
  const { customer } = settlement;
  const found = reportResult(gateway, { model, operation, customer, candidates, control }, loop);
  if (found.ok) settlement.noteRoute(found.route);
  return found;
}

/**
 * Settles a call that no route answered.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} the client's error
 */
async function failed(
  { call: { request }, settlement, control }: Delivery,
  { error, attempts }: Extract<Found, { readonly ok: false }>,
  statusSent: number | undefined,
): Promise<never> {
  await settlement.settle({
    outcome: control.stopped === "client_gone" ? "client_gone" : "failed",
    status: statusSent ?? wireStatus(error, request.style === "messages" ? "messages" : "chat"),
    reading: undefined,
    route: undefined,
    attempts,
  });
  throw error;
}
