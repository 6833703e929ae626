/**
 * Runs media calls up to the answer of a route: images, speech and videos alike.
 *
 * See docs/behaviour.md#the-way-of-a-call.
 *
 * - Folder `routes/api/media/base/`: what calls that are not chat share: attempts, delivery as events or bytes,
 *   settlement.
 * - In: the parts that the endpoint read from its request.
 * - Out: the answer of a route for the endpoint, and one settlement.
 * - Never: settles a call twice, or reads a wire format of an endpoint.
 */
import { refuseDearerMedia } from "../../../../core/calls/request/call_settings.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/style.ts";
import type { MadeUnits } from "../../../../core/limits/limit_table.ts";
import { arrivalOf, earlyStream, isLate } from "../../../../core/calls/stream/early_stream.ts";
import type { MeteredStreamInput } from "../../../../core/calls/stream/metered_stream.ts";
import { keepAliveComment } from "../../../../core/lib/sse/writer.ts";
import { mediaErrorEvent } from "../../../../core/media/base/events.ts";
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import type { BufferedAnswer } from "../../../../core/lib/bytes/answer_budget.ts";
import type { BufferedBytes } from "../../../../core/lib/bytes/byte_budget.ts";
import {
  type AttemptHost,
  type AttemptLoopResult,
  type AttemptResult,
  runAttempts,
  type SlowAttempt,
} from "../../../../core/calls/attempts/attempt_loop.ts";
import type { FetchedUrl } from "../../../../core/net/remote/fetched_urls.ts";
import { localRefusal } from "../../../../core/calls/exchange/chat_exchange.ts";
import type { Route, RouteStyle } from "../../../../core/catalog/catalog.ts";
import { GatewayError, wireStatus } from "../../../../core/lib/errors/errors.ts";
import type { OutlineObject } from "../../../../core/lib/json/json.ts";
import {
  type MediaExchange,
  type MediaWork,
  startMediaExchange,
  toolsOfCall,
  type UpstreamBodyTools,
  withoutFetching,
} from "../../../../core/media/base/exchange.ts";
import { answerTimeoutMs } from "../../../../core/routing/timeouts.ts";
import type { CallLoad, Operation } from "../../../../core/routing/contract/router.ts";
import type { AppliedPrice } from "../../../../core/billing/usage/receipt.ts";
import { rangeAtFee } from "../../../../core/billing/own_key_fee.ts";
import { rangeOf, type ReservationRange } from "../../../../core/billing/price.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import type { HttpRequest } from "../../../http/body/http_request.ts";
import { requestHeaders } from "../../../http/own_headers.ts";
import { type ExpectedTokens, reserveFunds } from "../../call/funds.ts";
import type { RunningCall } from "../../gateway/access_watch.ts";
import { CallSettlement, reportResult } from "../../call/call_settlement.ts";
import {
  type CallStart,
  callTags,
  type ChosenModel,
  type Terms,
  vetUrls,
} from "../../call/admission.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { callHeaders, streamOf } from "../../call/response_headers.ts";

/** Request as an endpoint read it, before any money is reserved for it. */
export interface MediaRequest {
  readonly principal: Principal;
  readonly chosen: ChosenModel;
  readonly start: CallStart;
  readonly style: Exclude<RouteStyle, ProviderStyle>;
  readonly operation: Operation;
  readonly stream: boolean;
  /** Size on which the duration of the call depends: see {@linkcode CallLoad}. */
  readonly size: number;
  readonly price: AppliedPrice;
  /** Amount that is reserved: the most that the call can cost, unless it can begin with less. */
  readonly reserved: bigint | ReservationRange;
  /** Units that are asked for, as the receipt will count them; absent where no meter counts them. */
  readonly makes?: MadeUnits;
  /** Tokens to count against rate limits; absent for calls that are not paid by tokens. */
  readonly expectedTokens?: ExpectedTokens;
  /** Request fields that are not sent to the provider, for `x-gateway-conversion`. */
  readonly dropped?: readonly string[];
  /** The fields of the body, which may have tags. */
  readonly fields: OutlineObject;
  /** URLs in the request that a provider may fetch. */
  readonly urls: readonly FetchedUrl[];
}

/**
 * Refuses a request whose client wants nothing dropped.
 *
 * @throws {GatewayError} `conversion_refused`, if something would be
 */
export function refuseDropped(dropped: readonly string[], headers: HttpRequest["headers"]): void {
  const [field] = dropped;
  if (field === undefined || headers.get(requestHeaders.strict) !== "true") return;
  throw new GatewayError(
    "conversion_refused",
    `This model cannot follow: ${
      dropped.join(", ")
    }. Leave ${requestHeaders.strict} out to drop them`,
    { param: field },
  );
}

const noTokens: ExpectedTokens = { input: 0, output: 0 };

/** An admitted call: its money is reserved and its timeout runs. */
export interface MediaCall<Value = unknown> {
  readonly gateway: Gateway;
  readonly incoming: Incoming;
  readonly load: CallLoad;
  readonly work: MediaWork<Value>;
  readonly control: RunningCall;
  readonly settlement: CallSettlement;
  /** Memory of the pictures that were fetched for the current route. */
  readonly fetched: BufferedBytes;
  /** Counts the memory of a whole answer. */
  readonly bufferedAnswer: BufferedAnswer;
  /** Headers of any answer of this call. */
  readonly headers: [string, string][];
}

/** The route that answered, with what it gave. */
export type Found<Value> = Extract<
  AttemptLoopResult<MediaExchange, Value>,
  { readonly ok: true }
>;

/** Answers of an endpoint. */
export interface MediaAnswers<Value> {
  /** Called when the money is reserved, before a route is tried. */
  begun?(call: MediaCall<Value>): void;
  /** Delivers what a route gave in time; what is whole is settled before. */
  deliver(
    call: MediaCall<Value>,
    found: Found<Value>,
  ): Reply | Response | Promise<Reply | Response>;
  /**
   * Describes the stream of a route whose client has its status already; `undefined` if the route gave none. An endpoint
   * without streams has no such thing.
   */
  lateStream?(call: MediaCall<Value>, found: Found<Value>): MeteredStreamInput | undefined;
}

/**
 * Serves one media call: reserves its money, tries the routes, delivers what one of them gave. A stream begins before
 * there is output if that takes long.
 *
 * @throws {GatewayError} the client's error: 402 when the wallet cannot pay for a request that could go out, 429 under a
 * rate limit, 400 when the request names an internal host, and what the routes answered; nothing is charged then
 */
export async function serveMediaCall<Value>(
  gateway: Gateway,
  incoming: Incoming,
  request: MediaRequest,
  work: MediaWork<Value>,
  answers: MediaAnswers<Value>,
): Promise<Reply | Response> {
  const { ownKeys } = request.principal;
  // A video is asked for again and again, long after its call: by the operator's key.
  if (ownKeys !== undefined && gateway.ownKeys === undefined && request.operation !== "video") {
    const { withOwnKeys } = await import("../../call/own_keys.ts");
    const served = await withOwnKeys(gateway, request.principal);
    return await serveMediaCall(served, incoming, request, work, answers);
  }
  const settlement = await beginSettlement(gateway, incoming, request, work);
  try {
    const call = mediaCallOf(gateway, incoming, request, { work, settlement });
    answers.begun?.(call);
    let statusSent: number | undefined;
    const finding = findAnswer(call, () => statusSent);
    if (request.stream && await isLate(gateway.deadlines, finding)) {
      statusSent = 200;
      return deliverEarly(call, finding, answers);
    }
    return await answers.deliver(call, await finding);
  } catch (error) {
    settlement.abandon();
    throw error;
  }
}

/** Reserves what the call needs; from here on it is settled or abandoned. */
async function beginSettlement<Value>(
  gateway: Gateway,
  incoming: Incoming,
  request: MediaRequest,
  work: MediaWork<Value>,
): Promise<CallSettlement> {
  const { principal, chosen, start, style, stream, price, operation, reserved, fields } = request;
  const tags = callTags(incoming, principal, style, fields);
  const { model, catalog } = chosen;
  refuseDearerMedia(model, price, principal.callRules);
  const providers = model.routes.map(({ provider }) => catalog.providers[provider]);
  await vetUrls(gateway, request.urls, providers);
  const { requestId } = incoming;
  const fee = gateway.ownKeys?.feeOf(model);
  const range = typeof reserved === "bigint" ? rangeOf(reserved) : reserved;
  const terms = { ...chosen, requestId, principal, start, style, stream, price, tags };
  const funds = await reserveFunds(gateway, incoming, terms, {
    range: fee === undefined ? range : rangeAtFee(range, fee),
    makes: request.makes,
    expectedTokens: request.expectedTokens ?? noTokens,
    localError: () => {
      const tools = withoutFetching(gateway.media.tools);
      const candidates = candidatesOf(gateway, terms, operation);
      return localRefusal(candidates, (route) => work.prepare(route, tools));
    },
  });
  return new CallSettlement(gateway, terms, funds);
}

function mediaCallOf<Value>(
  gateway: Gateway,
  incoming: Incoming,
  { chosen, operation, stream, size, price, principal: { accountId }, dropped = [] }: MediaRequest,
  { work, settlement }: Pick<MediaCall<Value>, "work" | "settlement">,
): MediaCall<Value> {
  const { model, mappedFrom } = chosen;
  return {
    gateway,
    incoming,
    load: { operation, stream, size },
    work,
    control: settlement.funds.running,
    settlement,
    fetched: gateway.bodies.open(accountId),
    bufferedAnswer: incoming.answer = gateway.answers.open(accountId),
    headers: callHeaders({ model, mappedFrom, price, dropped }),
  };
}

function candidatesOf(
  { router }: Gateway,
  { model, style, principal }: Terms,
  operation: Operation,
): readonly Route[] {
  return router.candidates(model, { style, operation, customer: principal.accountId });
}

/** The attempts of one media call. */
class MediaAttempts<Value> implements AttemptHost<MediaExchange, Value> {
  readonly #call: MediaCall<Value>;
  readonly #tools: UpstreamBodyTools;
  /** Routes whose attempt the router knows of; one that failed while its request was prepared is not reported. */
  readonly #asked = new Set<Route>();

  constructor(call: MediaCall<Value>) {
    this.#call = call;
    this.#tools = toolsOfCall(call.gateway.media.tools, call.fetched);
  }

  start(route: Route): Promise<MediaExchange> {
    const { gateway, load: { operation }, work, control, fetched, bufferedAnswer } = this.#call;
    // For the route before, unless it is still being asked.
    if (this.#asked.size === 0) fetched.release();
    return startMediaExchange(work, {
      route,
      tools: this.#tools,
      begin: () => {
        this.#asked.add(route);
        return gateway.router.begin(route, operation);
      },
      control,
      time: gateway,
      counter: bufferedAnswer,
    });
  }

  firstOutput(begun: MediaExchange): Promise<Value> {
    return this.#call.work.receive(begun);
  }

  timeoutMs(route: Route): number | undefined {
    const { catalog, model, stream } = this.#call.settlement.terms;
    return answerTimeoutMs(catalog, model, route, stream);
  }

  slowAfterMs(route: Route): number {
    const { gateway: { router }, load, settlement: { terms: { model } } } = this.#call;
    return router.slowAfterMs(model, route, load);
  }

  mayHedge({ route, waitedMs }: SlowAttempt): boolean {
    const { gateway: { router }, load, settlement: { terms: { model } } } = this.#call;
    return router.mayHedge(model, route, load, waitedMs);
  }

  report(route: Route, result: AttemptResult, endedMs: number): void {
    const { gateway: { router }, load, settlement } = this.#call;
    settlement.tried(route, result, endedMs);
    if (!this.#asked.delete(route)) return;
    const { model, principal: { accountId } } = settlement.terms;
    router.report(model, route, load.operation, result, accountId, load);
  }

  onBug(error: unknown): void {
    this.#call.settlement.onBug(error);
  }
}

/**
 * Tries the routes. A client that leaves ends only a streaming call: otherwise the provider would finish and charge
 * it anyway.
 */
async function tryRoutes<Value>(
  call: MediaCall<Value>,
): Promise<AttemptLoopResult<MediaExchange, Value>> {
  const { gateway, incoming, load: { operation }, control, settlement: { terms } } = call;
  const { model, principal: { accountId: customer }, stream } = terms;
  if (stream) control.watchClient(incoming.request.signal);
  const candidates = candidatesOf(gateway, terms, operation);
  const result = await runAttempts<MediaExchange, Value>({
    candidates,
    host: new MediaAttempts(call),
    clock: gateway.clock,
    deadlines: gateway.deadlines,
    control,
  });
  call.fetched.release();
  control.unwatchClient();
  const routed = { model, operation, customer, candidates: candidates.length, control };
  return reportResult(gateway, routed, result);
}

/**
 * Tries the routes; settles a call that none answered.
 *
 * @param statusSent the status that the client already has, if it has one
 * @throws {GatewayError} when no route answered
 */
async function findAnswer<Value>(
  call: MediaCall<Value>,
  statusSent: () => number | undefined,
): Promise<Found<Value>> {
  const found = await tryRoutes(call);
  if (found.ok) return found;
  const { error, attempts } = found;
  const outcome = call.control.stopped === "client_gone" ? "client_gone" : "failed";
  const status = statusSent() ?? wireStatus(error, "chat");
  const end = { outcome, status, route: undefined, attempts } as const;
  await call.settlement.settle(end, { units: 0, priceMicroVnd: 0n });
  throw error;
}

/** Delivers a stream that begins before there is output: see `deliverEarly` of chat. */
function deliverEarly<Value>(
  call: MediaCall<Value>,
  finding: Promise<Found<Value>>,
  answers: MediaAnswers<Value>,
): Reply {
  const { gateway: { clock, deadlines }, incoming, control, settlement, headers } = call;
  const arrival = arrivalOf(finding, {
    streamOf: (found) => {
      settlement.firstOutputAt(clock.monotonicMs());
      return answers.lateStream?.(call, found);
    },
    errorEvent: (error) => mediaErrorEvent(error, settlement.terms.requestId),
    abandon: () => settlement.abandon(),
  });
  incoming.bufferedBody?.keepUntil(finding);
  call.bufferedAnswer.keepUntil(finding);
  return streamOf(
    earlyStream({ arrival, keepAlive: keepAliveComment, deadlines, control }),
    headers,
  );
}
