/** The end of a chat call: priced by the outcome table, debited and written down exactly once. */
import type { ChatBounds } from "../../core/call/chat_bounds.ts";
import type { ChatRequest } from "../../core/call/chat_request.ts";
import type { AttemptResult } from "../../core/call/racer.ts";
import type { Model, Route } from "../../core/catalog/catalog.ts";
import { unforeseen } from "../../core/error_line.ts";
import type { StreamReading } from "../../core/dialects/contract.ts";
import type { RequestId } from "../../core/ids.ts";
import { type Charge, chargeForChat } from "../../core/money/outcome.ts";
import { tokenBounds } from "../../core/money/token_bounds.ts";
import type { ReportedUsage } from "../../core/money/token_usage.ts";
import type { AppliedPrice, Attempt, Outcome, Receipt } from "../../core/receipt.ts";
import type { Writable } from "../../core/writable.ts";
import type { Principal } from "../../kv/key_directory.ts";
import type { ReceiptDraft, Reservation } from "../../kv/teller/mod.ts";
import type { TryTiming } from "../telemetry/telemetry.ts";
import type { Gateway } from "./gateway.ts";

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
}

export interface CallEnd {
  readonly outcome: Outcome;
  readonly status: number;
  readonly reading:
    | {
      readonly usage: ReportedUsage | undefined;
      readonly usageRejected: boolean;
      readonly outputBytes: number;
      readonly sawOutput: boolean;
      readonly stopReason: string | undefined;
      /** Of a stream only. */
      readonly state?: StreamReading["state"];
      readonly sawAnswer?: boolean;
    }
    | undefined;
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

  get mappedFrom(): string | undefined {
    return this.#input.mappedFrom;
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

  #price(end: CallEnd): Charge {
    const { model, request, price } = this.#input;
    const { estimatedInputTokens, outputTokens, hostedTools, prefixes } = this.#input.bounds;
    const bounds = tokenBounds({
      contextWindow: model.contextWindow,
      maxOutputTokens: model.maxOutputTokens,
      choices: request.choices,
      reservedOutputTokens: outputTokens,
      estimatedInputTokens,
      // Where the route allows one, the call may read its prompt often.
      hostedTools: hostedTools.some((tool) => end.route?.allow.has(tool) === true),
    });
    const { reading } = end;
    const { seenPrompts, clock } = this.#gateway;
    const nowMs = clock.monotonicMs();
    const isComplete = end.outcome === "completed";
    const outputBytes = reading?.outputBytes ?? 0;
    // A refusal may come without a word, and then some vendors count nothing.
    const isWordless = reading?.sawOutput !== true || reading.stopReason === "refusal";
    const keyId = this.#input.principal.key.id;
    const charge = chargeForChat({
      outcome: end.outcome,
      price,
      bounds,
      reported: reading?.usage,
      reportIsStale: reading?.usageRejected ?? false,
      estimatedInputTokens,
      outputBytes,
      produced: outputBytes > 0 || !isWordless,
      stopped: reading?.stopReason !== undefined,
      failedUnanswered: reading?.state === "error" && reading.sawAnswer !== true,
      correction: prefixes === undefined || isComplete
        ? undefined
        : seenPrompts.find(keyId, prefixes, nowMs),
    });
    if (prefixes !== undefined && isComplete && !charge.estimated) {
      const { usage } = charge;
      seenPrompts.note(keyId, prefixes, { usage, estimatedInputTokens, outputBytes }, nowMs);
    }
    return charge;
  }

  /** Debits and writes the receipt; resolves when both are durable. */
  async settle(end: CallEnd): Promise<Receipt> {
    const { requestId, principal, model, mappedFrom, request, price } = this.#input;
    const charge = this.#price(end);
    this.#ended = true;
    this.#noteThroughput(end, charge);
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
    if (mappedFrom !== undefined) draft.mappedFrom = mappedFrom;
    if (end.route !== undefined) draft.route = end.route.id;
    if (this.#firstOutputMs !== undefined) draft.firstOutputMs = this.#firstOutputMs;
    try {
      const receipt = await this.#gateway.teller.settle(this.#input.reservation, draft);
      this.#tell(receipt, settleStartedMs, end.reading?.stopReason);
      return receipt;
    } catch (error) {
      // Only when the ledger was closed over it: the client sees a broken connection, the hold goes back.
      this.#gateway.log.event("error", "a call was not settled", {
        request_id: requestId,
        error: error instanceof Error ? error.name : "unknown",
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

  /** The call ended before anything could be charged, e.g. its conversion was refused: the hold goes back. */
  abandon(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gateway.teller.release(this.#input.reservation);
    this.#input.running.end();
  }
}
