/**
 * Tries the routes of a chat call until one of them produces output, and delivers what was found: a whole answer, a
 * stream, or a stream that began early.
 *
 * {@linkcode ConversationAccounts} keeps a conversation with the account at a provider that can read its sealed items,
 * and leaves out what another one cannot read. See docs/behaviour.md#routing.
 */
import {
  refusesForeignItems,
  sealsOf,
  withoutSeals,
} from "../../../core/calls/request/sealed_items.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import { responseOfEvent } from "../../../core/calls/request/kept_responses.ts";
import { type ChatRequest, continuesTurn } from "../../../core/calls/request/chat_request.ts";
import type {
  CallLoad,
  FormerRoute,
  KeyPreference,
  Operation,
} from "../../../core/routing/contract/router.ts";
import { type AnsweredBy, nobody } from "../../../core/routing/route_affinity.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { BufferedBody } from "../../../core/lib/bytes/body_budget.ts";
import {
  attemptAnswer,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "../../../core/calls/attempts/attempt.ts";
import {
  type AttemptHost,
  type AttemptLoopResult,
  type AttemptResult,
  type CallControl,
  runAttempts,
  type SlowAttempt,
} from "../../../core/calls/attempts/attempt_loop.ts";
import type { FetchedUrl } from "../../../core/net/remote/fetched_urls.ts";
import { arrivalOf, earlyStream } from "../../../core/calls/stream/early_stream.ts";
import { ArrayStream } from "../../../core/calls/exchange/gemini_body.ts";
import type { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import {
  meteredStream,
  type MeteredStreamInput,
} from "../../../core/calls/stream/metered_stream.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import { GatewayError, wireStatus } from "../../../core/lib/errors/errors.ts";
import {
  answerTimeoutMs,
  idleMs,
  ownFirstOutputMs,
  slowAfterMs,
} from "../../../core/routing/timeouts.ts";
import { encodeSseEvent, keepAliveComment } from "../../../core/lib/sse/writer.ts";
import { bytesLeave } from "../../http/query.ts";
import type { ChatSettlement } from "./chat_settlement.ts";
import { mayFallBack } from "./preferred_models.ts";
import {
  callHeaders,
  costHeaders,
  eventStream,
  type OutputLimitNotice,
  streamOf,
  wholeAnswer,
} from "../call/response_headers.ts";
import { localChatRefusal, startChatExchange } from "../../../core/calls/exchange/chat_exchange.ts";
import type { Route } from "../../../core/catalog/catalog.ts";
import type { Attempt } from "../../../core/billing/usage/receipt.ts";
import { type Terms, vetUrls } from "../call/admission.ts";
import { reportResult } from "../call/call_settlement.ts";

/** The accounts behind the sealed items of one call. */
class ConversationAccounts {
  readonly #gateway: Pick<Gateway, "routeAffinity" | "clock">;
  readonly #call: ChatCall;
  readonly #seals: readonly string[];
  readonly #former: AnsweredBy | undefined;
  readonly #conversation: string | undefined;

  /**
   * @param former who answered the conversation last: what is new in it since then is theirs
   * @param conversation what all turns of the conversation have in common
   */
  constructor(
    gateway: Pick<Gateway, "routeAffinity" | "clock">,
    call: ChatCall,
    former: AnsweredBy | undefined,
    conversation: string | undefined,
  ) {
    const { routeAffinity, clock } = gateway;
    this.#gateway = gateway;
    this.#call = call;
    this.#seals = sealsOf(call.request.style, call.body);
    this.#conversation = conversation;
    if (former !== undefined) routeAffinity.noteSeals(this.#seals, former, clock.monotonicMs());
    this.#former = former ?? this.#lastOwner();
  }

  #ownerOf(seal: string): AnsweredBy | undefined {
    return this.#gateway.routeAffinity.ownerOf(seal);
  }

  #lastOwner(): AnsweredBy | undefined {
    const last = this.#seals.findLast((seal) => this.#ownerOf(seal) !== undefined);
    const owner = last === undefined ? undefined : this.#ownerOf(last);
    return owner?.account === nobody.account ? undefined : owner;
  }

  /** The route that answered last; a conversation in which it has sealed something stays there between turns, too. */
  get formerRoute(): FormerRoute | undefined {
    const former = this.#former;
    if (former === undefined) return undefined;
    const { request, body } = this.#call;
    const midTurn = continuesTurn(request.style, body.outline) ||
      this.#seals.some((seal) => this.#ownerOf(seal)?.account === former.account);
    return { routeId: former.routeId, midTurn };
  }

  /** Key of a provider that the call should have. */
  get preferred(): KeyPreference {
    return { account: this.#former?.account, conversation: this.#conversation };
  }

  /** The call without the sealed items that an account is known not to read. */
  callFor(account: string): ChatCall {
    const call = this.#call;
    const isForeign = (seal: string) => {
      const owner = this.#ownerOf(seal);
      return owner !== undefined && owner.account !== account;
    };
    if (!this.#seals.some(isForeign)) return call;
    const { body, name } = withoutSeals(call.request.style, call.body, isForeign);
    return { ...call, body, dropped: [...call.dropped ?? [], name] };
  }

  /** Has an attempt repeated without the sealed items if its provider refuses them. */
  watched(exchange: ChatExchange, account: string): ChatExchange {
    const sent = this.#seals.filter((seal) => {
      const owner = this.#ownerOf(seal);
      return owner === undefined || owner.account === account;
    });
    if (sent.length === 0) return exchange;
    let isRefused = false;
    return {
      ...exchange,
      decodeError: (status, text, waitSeconds) => {
        if (refusesForeignItems(status, text)) {
          isRefused = true;
          const { routeAffinity, clock } = this.#gateway;
          routeAffinity.disown(sent, clock.monotonicMs());
        }
        return exchange.decodeError(status, text, waitSeconds);
      },
      repeats: () => isRefused,
    };
  }
}

/**
 * Sent during silence: a ping event where the style has one, a comment where not
 * (docs/internals/WIRE_FORMATS.md#silence-in-streams). The `keepalive` event
 * that Responses providers send would break clients here: it must not come before `response.created`, and older
 * releases of the official library do not know it at all.
 */
const keepAlives: Record<Style, Uint8Array> = {
  messages: encodeSseEvent('{"type": "ping"}', "ping"),
  chat: keepAliveComment,
  responses: keepAliveComment,
  // The vendor's libraries read any other line as JSON.
  gemini: new TextEncoder().encode("\n\n"),
};

/** A call as one of its models would serve it. */
export interface ModelOffer {
  readonly call: ChatCall;
  readonly settlement: ChatSettlement;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  readonly outputLimit: OutputLimitNotice | undefined;
}

/**
 * Passes the call to its next model. Rejects with a {@linkcode GatewayError} if limits or budgets of that model refuse it.
 */
export type Fallback = () => Promise<ModelOffer>;

/** An admitted chat call, with what finding and delivering its answer needs. */
export interface Delivery extends ModelOffer {
  readonly gateway: Gateway;
  readonly control: CallControl;
  /** The models to try when this one fails before its first output; absent: none. */
  readonly fallbacks?: readonly Fallback[] | undefined;
  /** The counted memory of the request's body, which is kept as long as routes are tried. */
  readonly bufferedBody: BufferedBody | undefined;
  /** URLs in the request that its provider would fetch. */
  readonly urls: readonly FetchedUrl[];
  /** Documents that the request only names; absent where it names none. */
  readonly documents: RemoteDocuments | undefined;
  /** Counts the memory of a whole answer; absent for a stream. */
  readonly bufferedAnswer: BufferedAnswer | undefined;
  /** Request fields that the routes tried so far could not carry, for an answer that begins before a route is found. */
  readonly dropped: Set<string>;
}

/** The route that answered, with its first output. */
type Found =
  & Extract<
    AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>,
    { readonly ok: true }
  >
  & {
    /** The call as the model serves it that answered. */
    readonly delivery: Delivery;
  };

function headersOf(delivery: Delivery, dropped: readonly string[]): [string, string][] {
  const { call, settlement, outputLimit } = delivery;
  return callHeaders({
    model: call.model,
    mappedFrom: settlement.terms.mappedFrom,
    price: settlement.terms.price,
    dropped,
    outputLimit,
  });
}

/** Delivers a whole answer, after settling it. */
export async function deliverAnswer(
  delivery: Delivery,
  found: Found,
  answer: WholeAnswer,
): Promise<Reply> {
  const { reading, clientBytes } = answer;
  const receipt = await delivery.settlement.settle({
    outcome: reading.empty && reading.usage === undefined ? "empty" : "completed",
    status: 200,
    reading: { ...reading, sawOutput: !reading.empty },
    route: found.route,
    attempts: found.attempts,
    response: () => clientBytes,
  });
  const headers = [...headersOf(delivery, found.begun.dropped), ...costHeaders(receipt)];
  const bytes = found.begun.cost?.whole(clientBytes, receipt) ?? clientBytes;
  return wholeAnswer(bytes, headers, delivery.bufferedAnswer, delivery.gateway.deadlines);
}

function meteredInput(
  delivery: Delivery,
  found: Found,
  started: StartedStream,
): MeteredStreamInput {
  const { gateway, call, settlement, control, paidTokens } = delivery;
  const { route, attempts, begun } = found;
  const { cost } = begun;
  let receipt: Receipt | undefined;
  return {
    started,
    keepAlive: keepAlives[call.request.style],
    idleMs: idleMs(settlement.terms.catalog, route),
    deadlines: gateway.deadlines,
    control,
    bounds: [settlement.outputLimit(route, attempts), ...settlement.moneyBounds(paidTokens, route)],
    maxBytes: settlement.maxStreamBytes(route),
    settle: async (outcome, endCode) => {
      const { reading } = started.pipe;
      receipt = await settlement.settle({
        outcome,
        endCode,
        status: 200,
        reading,
        route,
        attempts,
        response: () => responseOfEvent(begun.lastEvent?.()),
      });
    },
    ...(cost !== undefined && {
      sealed: (tail: Uint8Array) => receipt === undefined ? tail : cost.tail(tail, receipt),
    }),
    bytesLeave,
    onBug: settlement.onBug,
  };
}

function streamType({ call }: Delivery): string {
  return call.request.inArray === true ? "application/json" : eventStream;
}

/** Delivers a stream whose first output has arrived. */
export function deliverStream(
  delivery: Delivery,
  found: Found,
  started: StartedStream,
): Reply {
  const stream = meteredStream(meteredInput(delivery, found, started));
  return streamOf(stream, headersOf(delivery, found.begun.dropped), streamType(delivery));
}

/** Writes the error event for a failed call whose client already has its status. */
function errorEvent({ call }: Delivery, error: GatewayError): Uint8Array {
  const { request, requestId, nowSeconds } = call;
  const pipe = createNativePipe(request.style, {
    clientModel: request.model,
    requestId,
    clientWantsUsage: request.wantsUsage,
    nowSeconds,
    injectedUsage: false,
  });
  return (request.inArray === true ? new ArrayStream(pipe) : pipe).fail(error);
}

/**
 * Delivers a stream that begins before there is any output: its client has waited for `keepAliveMs`, and proxies
 * would soon close the connection. `finding` resolves with what was found, or rejects with the settled failure.
 */
export function deliverEarly(delivery: Delivery, finding: Promise<Found>): Reply {
  const { gateway, call, settlement, control } = delivery;
  const arrival = arrivalOf(finding, {
    streamOf: (found) =>
      found.result.kind === "stream"
        ? meteredInput(found.delivery, found, found.result)
        : undefined,
    errorEvent: (error) => errorEvent(delivery, error),
    abandon: () => settlement.abandon(),
  });
  delivery.bufferedBody?.keepUntil(finding);
  const stream = earlyStream({
    arrival,
    keepAlive: keepAlives[call.request.style],
    deadlines: gateway.deadlines,
    control,
  });
  // With several models it is not known yet which of them will answer.
  const isOpen = delivery.fallbacks !== undefined && delivery.fallbacks.length > 0;
  const headers = isOpen ? [] : headersOf(delivery, [...delivery.dropped]);
  return streamOf(stream, headers, streamType(delivery));
}

function operationOf({ stream }: Pick<ChatRequest, "stream">): Operation {
  return stream ? "chat_stream" : "chat";
}

/**
 * The routes that serve a call: a conversation is compacted by its own vendor where one of them can, and a caller who
 * wants no other route gets the first.
 */
function servingRoutes(
  routes: readonly Route[],
  { request: { compacts }, wish }: Pick<ChatCall, "request" | "wish">,
): readonly Route[] {
  const own = compacts === true ? routes.filter((route) => route.compactsResponses) : [];
  const serving = own.length > 0 ? own : routes;
  return wish?.isSingle === true ? serving.slice(0, 1) : serving;
}

/** Finds the error of a request that every route would refuse before anything is sent. */
export function localError(
  { router }: Gateway,
  { call, terms: { catalog } }: { readonly call: ChatCall; readonly terms: Terms },
): Promise<GatewayError | undefined> {
  const { request, model, wish } = call;
  const asked = { style: request.style, operation: operationOf(request), wish };
  const candidates = servingRoutes(router.candidates(model, asked), call);
  return localChatRefusal(call, candidates, ({ provider }) => catalog.providers[provider]);
}

/** The attempts of one chat call. */
class ChatAttempts implements AttemptHost<ChatExchange, StartedStream | WholeAnswer> {
  readonly #delivery: Delivery;
  readonly operation: Operation;
  readonly #conversation: ConversationAccounts;
  /** The accounts of the latest attempts. */
  readonly #accounts = new Map<Route, string>();
  /** Absent for a stream, and where no second route could start. */
  readonly #load: CallLoad | undefined;

  constructor(delivery: Delivery) {
    const { call: { request, model }, settlement } = delivery;
    this.#delivery = delivery;
    this.operation = operationOf(request);
    this.#conversation = new ConversationAccounts(
      delivery.gateway,
      delivery.call,
      settlement.formerAnswer(),
      settlement.conversation,
    );
    if (request.stream || model.routes.length < 2) return;
    this.#load = { operation: this.operation, stream: false, size: settlement.expectedSize };
  }

  start(route: Route, onSentAgain: () => void): ChatExchange | Promise<ChatExchange> {
    const { gateway, urls, documents, dropped } = this.#delivery;
    const conversation = this.#conversation;
    const { preferred } = conversation;
    const access = { ...gateway.router.begin(route, this.operation, preferred), onSentAgain };
    const { account = "" } = access;
    this.#accounts.set(route, account);
    const call = conversation.callFor(account);
    const begin = (given: ChatCall) => {
      const begun = conversation.watched(startChatExchange(given, route, access), account);
      for (const field of begun.dropped) dropped.add(field);
      return begun;
    };
    const vetting = vetUrls(gateway, urls, [access.provider]);
    const fetching = documents?.for(route);
    if (vetting === undefined && fetching === undefined) return begin(call);
    return Promise.all([fetching, vetting]).then(([fetched]) =>
      begin(fetched === undefined ? call : { ...call, documents: fetched })
    );
  }

  /** Routes in the order to try. */
  candidates(): readonly Route[] {
    const { gateway, call, settlement } = this.#delivery;
    const wanted = {
      style: call.request.style,
      operation: this.operation,
      former: this.#conversation.formerRoute,
      customer: settlement.terms.principal.accountId,
      wish: call.wish,
    };
    return servingRoutes(gateway.router.candidates(call.model, wanted), call);
  }

  /** The account at the provider of a route that was tried. */
  accountOf(route: Route): string {
    return this.#accounts.get(route) ?? "";
  }

  firstOutput(begun: ChatExchange, onSign: () => void): Promise<StartedStream | WholeAnswer> {
    const { gateway, call, settlement, bufferedAnswer } = this.#delivery;
    return call.request.stream
      ? attemptStream(begun, gateway, onSign)
      : attemptAnswer(begun, gateway, {
        maxBytes: settlement.maxBytesOfAnswer,
        counter: bufferedAnswer,
        ...(call.searcher !== undefined && { onSign }),
      });
  }

  timeoutMs(route: Route): number | undefined {
    const { call: { request, model }, settlement: { terms: { catalog } } } = this.#delivery;
    return request.stream
      ? ownFirstOutputMs(catalog, route)
      : answerTimeoutMs(catalog, model, route, false);
  }

  slowAfterMs(route: Route): number | undefined {
    const { gateway: { router }, call: { model, searcher }, settlement } = this.#delivery;
    return this.#load === undefined || searcher !== undefined
      ? slowAfterMs(settlement.terms.catalog, model, route)
      : router.slowAfterMs(model, route, this.#load);
  }

  mayHedge({ route, waitedMs, hasSigned }: SlowAttempt): boolean {
    const { gateway: { router }, call: { model, searcher } } = this.#delivery;
    if (this.#load === undefined) return true;
    // Searches are calls of their own: a second attempt that searches as well would be charged for them again.
    if (searcher !== undefined) return !hasSigned;
    return router.mayHedge(model, route, this.#load, waitedMs);
  }

  report(route: Route, result: AttemptResult, endedMs: number): void {
    const { gateway, call, settlement } = this.#delivery;
    settlement.tried(route, result, endedMs);
    gateway.router.report(
      call.model,
      route,
      this.operation,
      result,
      settlement.terms.principal.accountId,
      this.#load,
    );
  }

  onBug(error: unknown): void {
    this.#delivery.settlement.onBug(error);
  }
}

/**
 * Tries the routes of the call's model, and then those of its other models, until one produces output.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route did; the call is settled then
 */
export async function findRoute(
  delivery: Delivery,
  statusSent: () => number | undefined,
): Promise<Found> {
  const { control, fallbacks = [] } = delivery;
  let current = delivery;
  let attempts: readonly Attempt[] = [];
  for (let next = 0;;) {
    const trial = new ModelTrial(current);
    const found = trial.ended(await trial.attempts);
    attempts = attempts.length === 0 ? found.attempts : [...attempts, ...found.attempts];
    if (found.ok) {
      delivery.documents?.release();
      return { ...found, attempts, delivery: current };
    }
    let { error } = found;
    let offer: ModelOffer | undefined;
    while (offer === undefined && control.stopped === undefined && mayFallBack(error)) {
      const fallback = fallbacks[next++];
      if (fallback === undefined) break;
      try {
        offer = await fallback();
      } catch (refusal) {
        if (!(refusal instanceof GatewayError)) throw refusal;
        error = refusal;
      }
    }
    if (offer !== undefined) {
      current = { ...delivery, ...offer };
      continue;
    }
    delivery.documents?.release();
    const { request: { style } } = delivery.call;
    await current.settlement.settle({
      outcome: control.stopped === "client_gone" ? "client_gone" : "failed",
      status: statusSent() ?? wireStatus(error, style === "messages" ? "messages" : "chat"),
      reading: undefined,
      route: undefined,
      attempts,
    });
    throw error;
  }
}

/** The attempts on the routes of one model. */
class ModelTrial {
  readonly attempts: Promise<AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>>;
  readonly #delivery: Delivery;
  readonly #host: ChatAttempts;
  readonly #candidates: number;

  constructor(delivery: Delivery) {
    const { gateway, call: { model }, control } = delivery;
    const host = new ChatAttempts(delivery);
    const candidates = host.candidates();
    this.#delivery = delivery;
    this.#host = host;
    this.#candidates = candidates.length;
    this.attempts = runAttempts<ChatExchange, StartedStream | WholeAnswer>({
      candidates,
      hedge: gateway.router.hedge(model, host.operation, candidates[0]),
      host,
      deadlines: gateway.deadlines,
      clock: gateway.clock,
      control,
    });
  }

  /** Reports how they ended. */
  ended(
    loop: AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>,
  ): AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer> {
    const { gateway, call: { model }, settlement, control } = this.#delivery;
    const { operation } = this.#host;
    const customer = settlement.terms.principal.accountId;
    const routed = { model, operation, customer, candidates: this.#candidates, control } as const;
    const found = reportResult(gateway, routed, loop);
    if (found.ok) settlement.noteRoute(found.route, this.#host.accountOf(found.route));
    return found;
  }
}
