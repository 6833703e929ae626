/** The end of a chat call: priced by the outcome table, debited and written down exactly once. */
import type { InitialReservation } from "../../../core/calls/bounds/initial_reservation.ts";
import type { ChatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import { chargeForEndedChat, type EndedReading } from "../../../core/calls/bounds/chat_charge.ts";
import type { ChatRequest } from "../../../core/calls/request/chat_request.ts";
import {
  mostAnswerBytes,
  mostBytesWithReasoning,
  mostOutputBytes,
  mostStreamBytes,
  OutputLimit,
} from "../../../core/calls/bounds/output_limit.ts";
import type { AttemptResult } from "../../../core/calls/route_attempt.ts";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { errorName, unforeseen } from "../../../core/lib/error_line.ts";
import type { RequestId } from "../../../core/lib/ids.ts";
import type { Implausible } from "../../../core/billing/charge_ceiling.ts";
import type { Charge } from "../../../core/billing/outcome.ts";
import type { AppliedPrice, Attempt, Outcome, Receipt } from "../../../core/billing/receipt.ts";
import type { Writable } from "../../../core/lib/writable.ts";
import type { Principal } from "../../../kv/api_keys/key_directory.ts";
import type { ReceiptDraft, Reservation } from "../../../kv/wallet/mod.ts";
import type { TryTiming } from "../../telemetry/telemetry.ts";
import type { KeyedCall } from "../keyed_call.ts";
import type { Gateway } from "../gateway.ts";
import { WalletBound } from "./wallet_bound.ts";

export interface ChatSettlementInput {
  readonly requestId: RequestId;
  readonly principal: Principal;
  readonly model: Model;
  readonly mappedFrom: string | undefined;
  readonly request: ChatRequest;
  readonly price: AppliedPrice;
  readonly bounds: ChatBounds;
  readonly reservation: Reservation;
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;
  /** Where in a trace the call began. */
  readonly origin: unknown;
  /** Told when the call is over, whatever happened. An object: a closure made beside the request would keep its body. */
  readonly running: { end(): void };
  /** Under a key of the client. */
  readonly keyedCall?: KeyedCall | undefined;
}

export interface CallEnd {
  readonly outcome: Outcome;
  readonly status: number;
  readonly reading: EndedReading | undefined;
  readonly route: Route | undefined;
  readonly attempts: readonly Attempt[];
}

export class ChatSettlement {
  readonly #gateway: Gateway;
  readonly #input: ChatSettlementInput;
  readonly #tries: TryTiming[] = [];
  #firstOutputMs: number | undefined;
  #ended = false;
  /** Writes down an exception that nobody foresaw. */
  readonly onBug = (error: unknown): void => {
    this.#gateway.log.event("error", "unexpected error", {
      request_id: this.#input.requestId,
      ...unforeseen(error),
    });
  };

  constructor(gateway: Gateway, input: ChatSettlementInput) {
    this.#gateway = gateway;
    this.#input = input;
  }

  get requestId(): RequestId {
    return this.#input.requestId;
  }

  get price(): AppliedPrice {
    return this.#input.price;
  }

  /** Bytes that a whole answer can have; those of tools that the provider runs are not counted in tokens. */
  get mostAnswerBytes(): number {
    const { hostedTools, wantedOutputTokens } = this.#input.bounds;
    return mostAnswerBytes(hostedTools.length > 0 ? Infinity : wantedOutputTokens);
  }

  /** Bytes that a stream of this route can have. */
  mostStreamBytes(route: Route): number {
    return this.#runsTools(route)
      ? Infinity
      : mostStreamBytes(this.#input.bounds.wantedOutputTokens);
  }

  /** What ends a stream of this route that ignores the caller's bound. */
  outputLimit(route: Route, attempts: readonly Attempt[]): OutputLimit {
    const { bounds: { wantedOutputTokens }, model } = this.#input;
    const most = this.#runsTools(route) ? { answer: Infinity, withReasoning: Infinity } : {
      answer: mostOutputBytes(wantedOutputTokens),
      withReasoning: mostBytesWithReasoning(wantedOutputTokens, model),
    };
    return new OutputLimit(most, (reading) => {
      return this.#price({ outcome: "cut", status: 200, reading, route, attempts }).usage;
    });
  }

  /** The route runs tools for the call: their code and queries are output beside what the caller bounds. */
  #runsTools(route: Route | undefined): boolean {
    return this.#input.bounds.hostedTools.some((tool) => route?.allow.has(tool) === true);
  }

  get mappedFrom(): string | undefined {
    return this.#input.mappedFrom;
  }

  /** Whose call it is, for routes that limit the rate of one customer. */
  get customer(): string {
    return this.#input.principal.accountId;
  }

  /** The route that answered this conversation last, if one is remembered. */
  formerRoute(): string | undefined {
    const { principal, model, bounds: { prefixes } } = this.#input;
    if (prefixes === undefined || model.routes.length < 2) return undefined;
    const { routeAffinity, clock } = this.#gateway;
    return routeAffinity.find(principal.key.id, prefixes, clock.monotonicMs());
  }

  /** Remembers the route that answers this conversation now. */
  noteRoute(route: Route): void {
    const { principal, model, bounds: { prefixes } } = this.#input;
    if (prefixes === undefined || model.routes.length < 2) return;
    const { routeAffinity, clock } = this.#gateway;
    routeAffinity.note(principal.key.id, prefixes, route.id, clock.monotonicMs());
  }

  /** Somebody wants to know when each part of the call happened. */
  get #isTraced(): boolean {
    return this.#input.origin !== undefined;
  }

  #elapsedMs(): number {
    return Math.round(this.#gateway.clock.monotonicMs() - this.#input.startedMonotonicMs);
  }

  /** Notes a try of a route that ended at `endedMs`; the first good one is where output began. */
  tried(route: Route, result: AttemptResult, endedMs: number): void {
    if (result.kind === "ok") {
      this.#firstOutputMs ??= Math.round(endedMs - this.#input.startedMonotonicMs);
    }
    if (!this.#isTraced) return;
    this.#tries.push({
      route: route.id,
      result: result.kind === "failed" ? result.error.code : result.kind,
      startedMs: endedMs - result.ms,
      endedMs,
    });
  }

  /** How fast the tokens came, for the health of the route. Our own count says nothing of hidden reasoning. */
  #noteThroughput({ outcome, route }: CallEnd, { usage, estimated }: Charge): void {
    const firstOutputMs = this.#firstOutputMs;
    if (outcome !== "completed" || estimated || !route || firstOutputMs === undefined) return;
    if (!this.#input.request.stream) return;
    const streamedMs = this.#elapsedMs() - firstOutputMs;
    this.#gateway.router.noteThroughput(route, "chat_stream", usage.output, streamedMs);
  }

  #noteFalseReport(route: Route | undefined, side: Implausible): void {
    if (route === undefined) return;
    this.#gateway.log.event("warn", "a provider reported what cannot be", {
      request_id: this.#input.requestId,
      route: route.id,
      side,
    });
    this.#gateway.router.noteFalseReport(route);
  }

  #price(end: CallEnd): Charge {
    const { principal, bounds: { prefixes, estimatedInputTokens } } = this.#input;
    const { seenPrompts, clock } = this.#gateway;
    const { outcome, reading } = end;
    const keyId = principal.key.id;
    const nowMs = clock.monotonicMs();
    const isComplete = outcome === "completed";
    const correction = prefixes === undefined || isComplete
      ? undefined
      : seenPrompts.find(keyId, prefixes, nowMs);
    const runsTools = this.#runsTools(end.route);
    const charge = chargeForEndedChat(this.#input, { outcome, reading, runsTools, correction });
    if (prefixes !== undefined && isComplete && reading !== undefined && !charge.estimated) {
      const { usage } = charge;
      const { outputBytes } = reading;
      seenPrompts.note(keyId, prefixes, { usage, estimatedInputTokens, outputBytes }, nowMs);
    }
    return charge;
  }

  /** Ends the call's stream where the wallet does not pay for more. */
  walletBound(initial: InitialReservation, route: Route): WalletBound {
    const { reservation, price, bounds } = this.#input;
    return new WalletBound({
      wallet: this.#gateway.wallet,
      reservation,
      initial,
      price,
      mostTokens: bounds.outputTokens,
      outgrown: this.#gateway.config.catalog.wallet.outgrown,
      billed: (reading) =>
        this.#price({ outcome: "cut", status: 200, reading, route, attempts: [] }).usage,
    });
  }

  /** What the call produced, for what the next ones hold. */
  #noteOutput({ reading, outcome }: CallEnd, { usage, estimated }: Charge): void {
    const outputBytes = reading?.outputBytes ?? 0;
    if (outcome !== "completed" && outputBytes === 0) return;
    const outputTokens = estimated ? 0 : usage.output;
    const reasoningTokens = estimated ? 0 : usage.reasoning;
    const { model, principal } = this.#input;
    const seen = { outputTokens, reasoningTokens, outputBytes };
    this.#gateway.expectations.note(model, principal.key.id, seen);
  }

  /** Debits and writes the receipt; resolves when both are durable. */
  async settle(end: CallEnd): Promise<Receipt> {
    const { requestId, principal, model, mappedFrom, request, price } = this.#input;
    const charge = this.#price(end);
    this.#ended = true;
    this.#noteThroughput(end, charge);
    if (charge.implausible !== undefined) this.#noteFalseReport(end.route, charge.implausible);
    this.#noteOutput(end, charge);
    const settleStartedMs = this.#gateway.clock.monotonicMs();
    const draft: Writable<ReceiptDraft> = {
      requestId,
      keyId: principal.key.id,
      kind: "chat",
      model: model.id,
      style: request.style,
      startedAtMs: this.#input.startedAtMs,
      latencyMs: Math.round(settleStartedMs - this.#input.startedMonotonicMs),
      status: end.status,
      stream: request.stream,
      outcome: end.outcome,
      usage: charge.usage,
      estimated: charge.estimated,
      units: charge.units,
      price,
      priceMicroVnd: charge.priceMicroVnd,
      attempts: end.attempts,
    };
    if (charge.claimMicroVnd > 0n) draft.claimMicroVnd = charge.claimMicroVnd;
    if (mappedFrom !== undefined) draft.mappedFrom = mappedFrom;
    if (end.route !== undefined) draft.route = end.route.id;
    if (this.#firstOutputMs !== undefined) draft.firstOutputMs = this.#firstOutputMs;
    try {
      const receipt = await this.#gateway.wallet.settle(
        this.#input.reservation,
        draft,
        this.#input.keyedCall?.rows(draft),
      );
      this.#tell(receipt, settleStartedMs, end.reading?.stopReason);
      return receipt;
    } catch (error) {
      // Only when the ledger was closed over it: the client sees a broken connection, the reservation goes back.
      this.#gateway.log.event("error", "a call was not settled", {
        request_id: requestId,
        error: errorName(error),
      });
      throw error;
    } finally {
      this.#input.running.end();
    }
  }

  #tell(receipt: Receipt, settleStartedMs: number, stopReason: string | undefined): void {
    const { log, clock } = this.#gateway;
    const { origin, startedMonotonicMs } = this.#input;
    if (!this.#isTraced) return log.call(receipt);
    log.call(receipt, {
      origin,
      startedMs: startedMonotonicMs,
      tries: this.#tries,
      settleStartedMs,
      endedMs: clock.monotonicMs(),
      stopReason,
    });
  }

  /** The call ended before anything could be charged, e.g. its conversion was refused: the reservation goes back. */
  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gateway.wallet.release(this.#input.reservation);
    void this.#input.keyedCall?.abandon();
    this.#input.running.end();
  }
}
