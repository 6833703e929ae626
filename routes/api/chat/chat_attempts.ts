/**
 * Tries the routes of a funded chat call until one of them produces output; a model that fails passes it to the next.
 *
 * {@linkcode ConversationAccounts} keeps a conversation with the account at a provider that can read its sealed items,
 * and leaves out what another one cannot read. See docs/behaviour.md#routing.
 */
import type { Attempt } from "../../../core/billing/usage/receipt.ts";
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
import { paidOutputTokens } from "../../../core/calls/bounds/chat_bounds.ts";
import { keptForCount } from "../../../core/calls/bounds/chat_charge.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import { localChatRefusal, startChatExchange } from "../../../core/calls/exchange/chat_exchange.ts";
import { type ChatRequest, continuesTurn } from "../../../core/calls/request/chat_request.ts";
import type { McpTools } from "../../../core/calls/rounds/mcp_tools.ts";
import type { TurnDraft } from "../../../core/calls/request/kept_responses.ts";
import {
  refusesForeignItems,
  sealsOf,
  withoutSeals,
} from "../../../core/calls/request/sealed_items.ts";
import type { Route } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type {
  CallLoad,
  FormerRoute,
  KeyPreference,
  Operation,
} from "../../../core/routing/contract/router.ts";
import { type AnsweredBy, nobody } from "../../../core/routing/route_affinity.ts";
import { answerTimeoutMs, ownFirstOutputMs, slowAfterMs } from "../../../core/routing/timeouts.ts";
import { vetUrls } from "../call/admission.ts";
import { CallSettlement, reportResult } from "../call/call_settlement.ts";
import { expectedOutput, moveFunds, paidPrice } from "../call/funds.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { ChatSettlement, PaidRounds } from "./chat_settlement.ts";
import type {
  AdmittedChat,
  AnsweredChat,
  ChatAttemptResult,
  FailedChat,
  FundedChat,
  ModelOffer,
} from "./chat_stages.ts";
import { mayFallBack } from "./preferred_models.ts";

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
  { call, terms: { catalog } }: AdmittedChat,
): Promise<GatewayError | undefined> {
  const { request, model, wish } = call;
  const asked = { style: request.style, operation: operationOf(request), wish };
  const candidates = servingRoutes(router.candidates(model, asked), call);
  return localChatRefusal(call, candidates, ({ provider }) => catalog.providers[provider]);
}

/** Whether the gateway runs tools for the model. */
function runsTools({ searcher, mcp }: Pick<ChatCall, "searcher" | "mcp">): boolean {
  return searcher !== undefined || mcp !== undefined;
}

/** The attempts of one chat call. */
class ChatAttempts implements AttemptHost<ChatExchange, StartedStream | WholeAnswer> {
  readonly #funded: FundedChat;
  readonly operation: Operation;
  readonly #conversation: ConversationAccounts;
  /** The accounts of the latest attempts. */
  readonly #accounts = new Map<Route, string>();
  /** Absent for a stream, and where no second route could start. */
  readonly #load: CallLoad | undefined;
  readonly #dropped: Set<string>;

  constructor(funded: FundedChat, dropped: Set<string>) {
    const { call: { request, model }, settlement } = funded;
    this.#funded = funded;
    this.#dropped = dropped;
    this.operation = operationOf(request);
    this.#conversation = new ConversationAccounts(
      funded.gateway,
      funded.call,
      settlement.formerAnswer(),
      settlement.conversation,
    );
    if (request.stream || model.routes.length < 2) return;
    this.#load = { operation: this.operation, stream: false, size: settlement.expectedSize };
  }

  start(route: Route, onSentAgain: () => void): ChatExchange | Promise<ChatExchange> {
    const { gateway, urls, documents } = this.#funded;
    const conversation = this.#conversation;
    const { preferred } = conversation;
    const access = { ...gateway.router.begin(route, this.operation, preferred), onSentAgain };
    const { account = "" } = access;
    this.#accounts.set(route, account);
    const call = conversation.callFor(account);
    const begin = (given: ChatCall) => {
      const begun = conversation.watched(startChatExchange(given, route, access), account);
      for (const field of begun.dropped) this.#dropped.add(field);
      return begun;
    };
    const vetting = vetUrls(gateway, urls, [access.provider]);
    const fetching = documents?.for(route);
    const { mcp } = call;
    if (vetting === undefined && fetching === undefined && mcp === undefined) return begin(call);
    return Promise.all([fetching, vetting, mcp && this.#prepare(mcp)]).then(([fetched]) =>
      begin(fetched === undefined ? call : { ...call, documents: fetched })
    );
  }

  /** Has the MCP servers of the call ready. */
  async #prepare(mcp: McpTools): Promise<void> {
    const { control, rounds } = this.#funded;
    const { prepareMcp } = await import("./mcp.ts");
    await prepareMcp(mcp, control, rounds);
  }

  /** Routes in the order to try. */
  candidates(): readonly Route[] {
    const { gateway, call, settlement } = this.#funded;
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
    const { gateway, call, settlement, bufferedAnswer } = this.#funded;
    return call.request.stream
      ? attemptStream(begun, gateway, onSign)
      : attemptAnswer(begun, gateway, {
        maxBytes: settlement.maxBytesOfAnswer,
        counter: bufferedAnswer,
        ...(runsTools(call) && { onSign }),
      });
  }

  timeoutMs(route: Route): number | undefined {
    const { call: { request, model }, settlement: { terms: { catalog } } } = this.#funded;
    return request.stream
      ? ownFirstOutputMs(catalog, route)
      : answerTimeoutMs(catalog, model, route, false);
  }

  slowAfterMs(route: Route): number | undefined {
    const { gateway: { router }, call, call: { model }, settlement } = this.#funded;
    return this.#load === undefined || runsTools(call)
      ? slowAfterMs(settlement.terms.catalog, model, route)
      : router.slowAfterMs(model, route, this.#load);
  }

  mayHedge({ route, waitedMs, hasSigned }: SlowAttempt): boolean {
    const { gateway: { router }, call: { model, request, searcher, mcp } } = this.#funded;
    // Two attempts would call the same tools.
    if (mcp !== undefined) return false;
    // A whole answer is finished, and charged, at the organisation's own account.
    if (route.ownKey !== undefined) return request.stream;
    if (this.#load === undefined) return true;
    // Searches are calls of their own: a second attempt that searches as well would be charged for them again.
    if (searcher !== undefined) return !hasSigned;
    return router.mayHedge(model, route, this.#load, waitedMs);
  }

  report(route: Route, result: AttemptResult, endedMs: number): void {
    const { gateway, call, settlement } = this.#funded;
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
    this.#funded.settlement.onBug(error);
  }
}

/** The search for a route that answers. */
export interface Finding {
  /** Resolves with the answer of a route, or with why there is none; rejects only for a defect. */
  readonly ended: Promise<AnsweredChat | FailedChat>;
  /** Request fields that the routes tried so far could not carry. */
  readonly dropped: ReadonlySet<string>;
}

/** Begins to try the routes of the call's model, and then those of its other models, until one produces output. */
export function findRoute(funded: FundedChat): Finding {
  const dropped = new Set<string>();
  return { ended: tryModels(funded, dropped), dropped };
}

async function tryModels(
  funded: FundedChat,
  dropped: Set<string>,
): Promise<AnsweredChat | FailedChat> {
  const { control, fallbacks, documents } = funded;
  let current = funded;
  let attempts: readonly Attempt[] = [];
  for (let next = 0;;) {
    const trial = new ModelTrial(current, dropped);
    const found = trial.ended(await trial.attempts);
    attempts = attempts.length === 0 ? found.attempts : [...attempts, ...found.attempts];
    if (found.ok) {
      documents?.release();
      return { ...found, attempts, funded: current };
    }
    let { error } = found;
    let offer: ModelOffer | undefined;
    while (offer === undefined && control.stopped === undefined && mayFallBack(error)) {
      const fallback = fallbacks[next++];
      if (fallback === undefined) break;
      try {
        offer = await passTo(fallback, funded);
      } catch (refusal) {
        if (!(refusal instanceof GatewayError)) throw refusal;
        error = refusal;
      }
    }
    if (offer === undefined) {
      documents?.release();
      return { ok: false, error, attempts, funded: current };
    }
    current = { ...funded, ...offer };
  }
}

/**
 * Passes a call to its next model, whose terms, limits and budgets bind it from then on. Rejects with a
 * {@linkcode GatewayError} if they refuse it.
 */
async function passTo(
  next: AdmittedChat,
  { gateway, settled, draft }: FundedChat,
): Promise<ModelOffer> {
  const { terms, bounds: { estimatedInputTokens: input, outputTokens } } = next;
  const output = expectedOutput(gateway, terms.principal, terms.model, outputTokens);
  await moveFunds(gateway, terms, settled.funds, { input, output });
  settled.moveTo(terms);
  return offerOf(gateway, next, settled, draft);
}

/** Makes the part of a funded call that depends on its model. */
export function offerOf(
  gateway: Gateway,
  { call: admitted, bounds, outputLimit }: AdmittedChat,
  settled: CallSettlement,
  draft: TurnDraft | undefined,
): ModelOffer {
  const { money } = settled.funds;
  const fee = gateway.ownKeys?.feeOf(admitted.model);
  const rounds = runsTools(admitted) ? new PaidRounds(money, bounds, fee) : undefined;
  const call = rounds === undefined ? admitted : { ...admitted, rounds };
  const { request, body } = call;
  const counted = keptForCount(body, request.stream);
  return {
    call,
    rounds,
    settlement: new ChatSettlement(gateway, settled, {
      request,
      bounds,
      counted,
      rounds,
      mcpCalls: call.mcp?.calls,
      draft,
    }),
    paidTokens: paidOutputTokens(bounds, paidPrice(gateway, call.model, bounds, money)),
    outputLimit,
  };
}

/** The attempts on the routes of one model. */
class ModelTrial {
  readonly attempts: Promise<ChatAttemptResult>;
  readonly #funded: FundedChat;
  readonly #host: ChatAttempts;
  readonly #candidates: number;

  constructor(funded: FundedChat, dropped: Set<string>) {
    const { gateway, call, call: { model }, control } = funded;
    const host = new ChatAttempts(funded, dropped);
    const candidates = host.candidates();
    this.#funded = funded;
    this.#host = host;
    this.#candidates = candidates.length;
    this.attempts = runAttempts<ChatExchange, StartedStream | WholeAnswer>({
      candidates,
      hedge: call.mcp === undefined
        ? gateway.router.hedge(model, host.operation, candidates[0])
        : undefined,
      host,
      deadlines: gateway.deadlines,
      clock: gateway.clock,
      control,
    });
  }

  /** Reports how they ended. */
  ended(loop: ChatAttemptResult): ChatAttemptResult {
    const { gateway, call: { model }, settlement, control } = this.#funded;
    const { operation } = this.#host;
    const customer = settlement.terms.principal.accountId;
    const routed = { model, operation, customer, candidates: this.#candidates, control } as const;
    const found = reportResult(gateway, routed, loop);
    if (found.ok) settlement.noteRoute(found.route, this.#host.accountOf(found.route));
    return found;
  }
}
