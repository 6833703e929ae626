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
import type { BufferedAnswer } from "../../../../core/lib/bytes/answer_budget.ts";
import type { BufferedBytes } from "../../../../core/lib/bytes/byte_budget.ts";
import {
  type AttemptLoopResult,
  runAttempts,
} from "../../../../core/calls/attempts/attempt_loop.ts";
import type { AttemptHost, AttemptResult } from "../../../../core/calls/attempts/route_attempt.ts";
import type { FetchedUrl } from "../../../../core/net/remote/fetched_urls.ts";
import { localRefusal } from "../../../../core/calls/exchange/local_refusal.ts";
import type { Route } from "../../../../core/catalog/catalog.ts";
import { type GatewayError, wireStatus } from "../../../../core/lib/errors/errors.ts";
import {
  type MediaExchange,
  type MediaWork,
  startMediaExchange,
  toolsOfCall,
  type UpstreamBodyTools,
  withoutFetching,
} from "../../../../core/media/base/exchange.ts";
import { answerTimeoutMs } from "../../../../core/routing/timeouts.ts";
import type { Operation } from "../../../../core/routing/contract/router.ts";
import type { AppliedPrice, Attempt } from "../../../../core/billing/usage/receipt.ts";
import { rangeOf, type ReservationRange } from "../../../../core/billing/reservation_range.ts";
import type { AmountBound } from "../../../../kv/services/limits/keyed_wallet.ts";
import type { Principal } from "../../../../kv/people/api_keys/key_directory.ts";
import type { ChosenModel } from "../../call/admission.ts";
import { reserveFunds } from "../../call/funds.ts";
import type { RunningCall } from "../../gateway/access_watch.ts";
import { CallSettlement, type CallStart } from "../../call/call_settlement.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { callHeaders } from "../../call/response_headers.ts";
import type { ExpectedTokens } from "../../call/rate_limits.ts";
import { reportResult } from "../../call/route_result.ts";
import { vetUrls } from "../../gateway/vetted_urls.ts";

/** A media call before its admission. */
export interface MediaCallInput {
  readonly incoming: Incoming;
  readonly principal: Principal;
  readonly chosen: ChosenModel;
  readonly style: keyof typeof kindOfStyle;
  readonly operation: Operation;
  readonly stream: boolean;
  readonly price: AppliedPrice;
  /** The most the call can cost. */
  readonly worstCaseMicroVnd: bigint;
  /** Set if the call can begin with less. */
  readonly range?: ReservationRange | undefined;
  /** Tokens to count against rate limits; absent for calls that are not paid by tokens. */
  readonly expectedTokens?: ExpectedTokens;
  /** Request fields that are not sent to the provider, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
  /** URLs in the request that a provider may fetch. */
  readonly urls: readonly FetchedUrl[];
  readonly start: CallStart;
}

const noTokens: ExpectedTokens = { input: 0, output: 0 };

const kindOfStyle = {
  images: "image",
  speech: "speech",
  videos: "video",
  embeddings: "embedding",
  transcriptions: "transcription",
  rerank: "rerank",
  moderations: "moderation",
  completions: "completion",
} as const;

/** An admitted call: its money is reserved and its timeout runs. */
export interface MediaCall<Value = unknown> {
  readonly gateway: Gateway;
  readonly input: MediaCallInput;
  readonly work: MediaWork<Value>;
  readonly control: RunningCall;
  readonly settlement: CallSettlement;
  /** Memory of the pictures that were fetched for the current route. */
  readonly fetched: BufferedBytes;
  /** Counts the memory of a whole answer. */
  readonly bufferedAnswer: BufferedAnswer;
  /** Headers of any answer of this call. */
  readonly headers: [string, string][];
  /** What is reserved, and why it is less than the worst case. */
  readonly reserved: {
    readonly amountMicroVnd: bigint;
    readonly boundBy: AmountBound | undefined;
  };
}

/**
 * Reserves the money and begins the call. Code that throws before {@linkcode CallSettlement.settle} must abandon the
 * settlement.
 *
 * @throws {GatewayError} 402 when the wallet cannot pay for a request that could go out, 429 under a rate limit, 400
 * when the request names an internal host
 */
export async function beginMediaCall<Value>(
  gateway: Gateway,
  input: MediaCallInput,
  work: MediaWork<Value>,
): Promise<MediaCall<Value>> {
  const { incoming, principal, chosen, price } = input;
  const providers = chosen.model.routes.map(({ provider }) => chosen.catalog.providers[provider]);
  await vetUrls(gateway, input.urls, providers);
  const range = input.range ?? rangeOf(input.worstCaseMicroVnd);
  const { reservation, boundBy, rated } = await reserveFunds(gateway, incoming, {
    principal,
    model: chosen.model,
    range,
    expectedTokens: input.expectedTokens ?? noTokens,
    startedAtMs: input.start.startedAtMs,
    localError: () => {
      const tools = withoutFetching(gateway.media.tools);
      return localRefusal(candidatesOf(gateway, input), (route) => work.prepare(route, tools));
    },
  });
  const control = gateway.calls.begin(input.stream ? principal : undefined);
  const settlement = new CallSettlement(gateway, {
    requestId: incoming.requestId,
    principal,
    catalog: chosen.catalog,
    model: chosen.model,
    mappedFrom: chosen.mappedFrom,
    kind: kindOfStyle[input.style],
    style: input.style,
    stream: input.stream,
    price,
    reservation,
    start: input.start,
    running: control,
    rated,
    keyedCall: incoming.keyedCall,
  });
  const headers = callHeaders({
    model: chosen.model,
    mappedFrom: chosen.mappedFrom,
    price,
    dropped: input.dropped,
  });
  const fetched = gateway.bodies.open(principal.accountId);
  const bufferedAnswer = incoming.answer = gateway.answers.open(principal.accountId);
  const reserved = { amountMicroVnd: reservation.amountMicroVnd, boundBy };
  return { gateway, input, work, control, settlement, fetched, bufferedAnswer, headers, reserved };
}

function candidatesOf(
  { router }: Gateway,
  { chosen, style, operation, principal }: MediaCallInput,
) {
  return router.candidates(chosen.model, { style, operation, customer: principal.accountId });
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
    const { gateway, work, control, fetched, bufferedAnswer, input } = this.#call;
    fetched.release(); // for the route before
    return startMediaExchange(work, {
      route,
      tools: this.#tools,
      begin: () => {
        this.#asked.add(route);
        return gateway.router.begin(route, input.operation);
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
    const { chosen: { catalog, model }, stream } = this.#call.input;
    return answerTimeoutMs(catalog, model, route, stream);
  }

  /** No two routes work on one media call: both would be paid in full. */
  slowAfterMs(): undefined {
    return undefined;
  }

  report(route: Route, result: AttemptResult, endedMs: number): void {
    const { gateway: { router }, settlement, input } = this.#call;
    settlement.tried(route, result, endedMs);
    if (!this.#asked.delete(route)) return;
    const { chosen: { model }, operation, principal: { accountId: customer } } = input;
    router.report(model, route, operation, result, customer);
  }

  onBug(error: unknown): void {
    this.#call.settlement.onBug(error);
  }
}

/**
 * Tries the routes. A client that leaves ends only a streaming call: otherwise the provider would finish and charge
 * it anyway.
 */
export async function tryRoutes<Value>(
  call: MediaCall<Value>,
): Promise<AttemptLoopResult<MediaExchange, Value>> {
  const { gateway, control, input } = call;
  const { operation, principal: { accountId: customer }, chosen: { model } } = input;
  if (input.stream) control.watchClient(input.incoming.request.signal);
  const candidates = candidatesOf(gateway, input);
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
 * Settles a call that no route answered; returns the client's error.
 *
 * @param statusSent the status that the client already has, if it has one
 */
export async function failedCall(
  { settlement, control }: MediaCall,
  { error, attempts }: { readonly error: GatewayError; readonly attempts: readonly Attempt[] },
  statusSent?: number,
): Promise<GatewayError> {
  const outcome = control.stopped === "client_gone" ? "client_gone" : "failed";
  const status = statusSent ?? wireStatus(error, "chat");
  const end = { outcome, status, route: undefined, attempts } as const;
  await settlement.settle(end, { units: 0, priceMicroVnd: 0n });
  return error;
}
