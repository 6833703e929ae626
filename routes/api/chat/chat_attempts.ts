/** Tries the routes of a chat call until one of them produces output. */
import {
  attemptAnswer,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "../../../core/calls/attempts/attempt.ts";
import {
  type AttemptHost,
  type AttemptResult,
  runAttempts,
  type SlowAttempt,
} from "../../../core/calls/attempts/attempt_loop.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import { localChatRefusal, startChatExchange } from "../../../core/calls/exchange/chat_exchange.ts";
import type { ChatRequest } from "../../../core/calls/request/chat_request.ts";
import type { Route } from "../../../core/catalog/catalog.ts";
import { type GatewayError, wireStatus } from "../../../core/lib/errors/errors.ts";
import type { CallLoad, Operation } from "../../../core/routing/contract/router.ts";
import { answerTimeoutMs, ownFirstOutputMs, slowAfterMs } from "../../../core/routing/timeouts.ts";
import type { Terms } from "../call/terms.ts";
import { reportResult } from "../call/route_result.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { vetUrls } from "../gateway/vetted_urls.ts";
import type { Delivery, Found } from "./chat_delivery.ts";
import { ConversationAccounts } from "./conversation_accounts.ts";

function operationOf({ stream }: Pick<ChatRequest, "stream">): Operation {
  return stream ? "chat_stream" : "chat";
}

/** The routes that serve a request: a conversation is compacted by its own vendor where one of them can. */
function servingRoutes(
  routes: readonly Route[],
  { compacts }: Pick<ChatRequest, "compacts">,
): readonly Route[] {
  if (compacts !== true) return routes;
  const own = routes.filter((route) => route.compactsResponses);
  return own.length > 0 ? own : routes;
}

/** Finds the error of a request that every route would refuse before anything is sent. */
export function localError(
  { router }: Gateway,
  { call, terms: { catalog } }: { readonly call: ChatCall; readonly terms: Terms },
): Promise<GatewayError | undefined> {
  const { request, model } = call;
  const asked = { style: request.style, operation: operationOf(request) };
  const candidates = servingRoutes(router.candidates(model, asked), request);
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
    const { gateway, call: { model, request }, settlement } = this.#delivery;
    const wanted = {
      style: request.style,
      operation: this.operation,
      former: this.#conversation.formerRoute,
      customer: settlement.terms.principal.accountId,
    };
    return servingRoutes(gateway.router.candidates(model, wanted), request);
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
 * Tries the routes until one produces output.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route did; the call is settled then
 */
export async function findRoute(
  delivery: Delivery,
  statusSent: () => number | undefined,
): Promise<Found> {
  const { gateway, call, settlement, control } = delivery;
  const { request, model } = call;
  const { router } = gateway;
  const host = new ChatAttempts(delivery);
  const { operation } = host;
  const customer = settlement.terms.principal.accountId;
  const candidates = host.candidates();
  const loop = await runAttempts<ChatExchange, StartedStream | WholeAnswer>({
    candidates,
    hedge: router.hedge(model, operation, candidates[0]),
    host,
    deadlines: gateway.deadlines,
    clock: gateway.clock,
    control,
  });
  delivery.documents?.release();
  const routed = { model, operation, customer, candidates: candidates.length, control } as const;
  const found = reportResult(gateway, routed, loop);
  if (found.ok) {
    settlement.noteRoute(found.route, host.accountOf(found.route));
    return found;
  }
  const { error } = found;
  await settlement.settle({
    outcome: control.stopped === "client_gone" ? "client_gone" : "failed",
    status: statusSent() ?? wireStatus(error, request.style === "messages" ? "messages" : "chat"),
    reading: undefined,
    route: undefined,
    attempts: found.attempts,
  });
  throw error;
}
