/**
 * Settles a call of any kind: one debit with one receipt, or the reservation released. Chat, images, speech and videos
 * end here alike; each of them only computes what its call costs.
 *
 * The result of all attempts is reported first, and a failure mapped to the client's error. Then the call waits for its
 * receipt, for a bounded time: if the store does not answer, the client gets an error, while the settlement goes on
 * until the store is back or the process stops.
 *
 * What the store gets per call, and what the client is charged for a late receipt, is in docs/internals/MONEY.md;
 * `wallet.settle` writes it.
 */
import {
  type AttemptLoopResult,
  type AttemptResult,
  type BegunAttempt,
  type CallControl,
  isRouteFault,
} from "../../../core/calls/attempts/attempt_loop.ts";
import type {
  AppliedPrice,
  Attempt,
  McpCallRecord,
  Outcome,
  OwnKeyCharge,
  ProviderCost,
  Receipt,
} from "../../../core/billing/usage/receipt.ts";
import type { Model, Route } from "../../../core/catalog/catalog.ts";
import { errorTable, GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import { noRouteError } from "../../../core/routing/timeouts.ts";
import type { Operation } from "../../../core/routing/contract/router.ts";
import type { AttemptTiming, LateCharge } from "../../telemetry/telemetry.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { StreamEndCode } from "../../../core/billing/usage/call_failure.ts";
import type { ToolCharge } from "../../../core/billing/usage/hosted_tools.ts";
import { ownKeyFee } from "../../../core/billing/own_key_fee.ts";
import { chargedRates } from "../../../core/billing/price.ts";
import {
  providerCost,
  type ProviderUse,
  unknownProviderCost,
} from "../../../core/billing/provider_cost.ts";
import { errorName, unforeseen, type Writable } from "../../../core/lib/base/assert.ts";
import { StoreUnavailableError } from "../../../kv/engine/store/store_unavailable.ts";
import type { Attachment, ReceiptDraft, WithheldAnswer } from "../../../kv/money/wallet/mod.ts";
import { type Funds, ratedTokens } from "./funds.ts";
import type { Terms } from "./admission.ts";

const lateTexts: Record<LateCharge, (requestId: RequestId) => string> = {
  forgone: () =>
    "The store does not answer, so this answer is withheld; nothing is charged. Try again",
  undecided: (requestId) =>
    "The store does not answer, so this answer is withheld; it may be charged, and is refunded then: see the receipt " +
    `${requestId}. Try again`,
  kept: () =>
    "The store does not answer, so the end of this answer is withheld; what it produced is charged",
};

/** The answer was refused because its receipt was not confirmed in time. */
export class LateReceiptError extends GatewayError {
  override name = "LateReceiptError";
  /** The settlement, which goes on. */
  readonly settling: Promise<Receipt>;

  constructor(charge: LateCharge, requestId: RequestId, settling: Promise<Receipt>) {
    super("maintenance", lateTexts[charge](requestId), charge === "kept" ? { retry: false } : {});
    this.settling = settling;
  }
}

/**
 * Resolves with the receipt, or rejects after `waitMs`.
 *
 * @param onLate called before it rejects; returns what happens to the charge
 * @throws {LateReceiptError} if the settlement goes on
 */
function receiptInTime(
  settling: Promise<Receipt>,
  { deadlines, waitMs, requestId, onLate }: {
    readonly deadlines: Deadlines;
    readonly waitMs: number;
    readonly requestId: RequestId;
    readonly onLate: () => LateCharge;
  },
): Promise<Receipt> {
  return new Promise((resolve, reject) => {
    const deadline = deadlines.create(() => {
      reject(new LateReceiptError(onLate(), requestId, settling));
    });
    deadline.arm(waitMs);
    settling.then((receipt) => {
      deadline.disarm();
      resolve(receipt);
    }, (error) => {
      deadline.disarm();
      reject(error);
    });
  });
}

/** The call that the attempts belong to. */
interface RoutedCall {
  readonly model: Model;
  readonly operation: Operation;
  /** The account, for routes that limit the rate of one customer. */
  readonly customer: string;
  /** Number of routes that there were to try. */
  readonly candidates: number;
  readonly control: Pick<CallControl, "stopped">;
}

/**
 * Reports the result to the router and to the availability of the model.
 *
 * @returns the result; a failure has the error that the client gets
 */
export function reportResult<Begun extends BegunAttempt, Value>(
  gateway: Gateway,
  call: RoutedCall,
  result: AttemptLoopResult<Begun, Value>,
): AttemptLoopResult<Begun, Value> {
  const { router, availability, dayHistory, clock } = gateway;
  const { model, operation } = call;
  if (result.ok) {
    // What keys of organisations meet says nothing of a model.
    if (result.route.ownKey !== undefined) return result;
    router.called(model, operation, undefined);
    availability.note(model.id, true, clock.nowMs());
    dayHistory.note(model.id, clock.nowMs(), answeredAfterMs(result.attempts));
    return result;
  }
  const error = clientError(gateway, call, result.error);
  const { attempts } = result;
  if (attempts.length > 0 && attempts.every(({ ownKey }) => ownKey === true)) {
    return { ...result, error };
  }
  router.called(model, operation, error);
  if (isRouteFault(error)) {
    availability.note(model.id, false, clock.nowMs());
    dayHistory.note(model.id, clock.nowMs(), undefined);
  }
  return { ...result, error };
}

/** Returns the time that the attempt took that answered; others may have been stopped after it. */
function answeredAfterMs(attempts: readonly Attempt[]): number {
  return attempts.findLast(({ outcome }) => outcome === "ok")?.ms ?? 0;
}

/** Maps the loop's error for the client; adds Retry-After if the provider gave none. */
function clientError({ router }: Gateway, call: RoutedCall, error: GatewayError): GatewayError {
  const { model, operation, customer, candidates, control } = call;
  if (control.stopped !== undefined) return error;
  if (candidates === 0) return noRouteError(router, model, operation, customer);
  const waits = error.code === "rate_limit_exceeded" && error.retry;
  if (!waits || error.retryAfterSeconds !== undefined) return error;
  const retryAfterSeconds = router.retryAfterSeconds(model, operation, customer);
  return retryAfterSeconds === undefined
    ? error
    : new GatewayError(error.code, error.message, { retryAfterSeconds });
}

/** Charge of a call. Only calls that are paid by tokens have `usage`. */
export interface CallCharge {
  readonly units: number;
  readonly priceMicroVnd: bigint;
  readonly usage?: ReceiptDraft["usage"];
  /** The tokens are counted by us, not reported by the provider. */
  readonly estimated?: boolean;
  /** Use that the provider reported beyond what is charged. */
  readonly claimMicroVnd?: bigint;
  /** Fees of hosted tools, which the price contains. */
  readonly toolCharges?: readonly ToolCharge[];
  /** The price that was charged, if the call decided it; otherwise that of its admission. */
  readonly price?: AppliedPrice;
  /** The tier of service whose factor that price contains. */
  readonly serviceTier?: string;
  /** Use that the provider counted; absent: what is charged. */
  readonly providerUse?: ProviderUse;
  /** Set if the charge is a fee of a price. */
  readonly ownKey?: OwnKeyCharge;
}

/** End of a call. */
export interface CallEnd {
  readonly outcome: Outcome;
  /** End of a stream before it was whole. */
  readonly endCode?: StreamEndCode | undefined;
  /** The HTTP status that the client got. */
  readonly status: number;
  /** The route that answered, if one did. */
  readonly route: Route | undefined;
  readonly attempts: readonly Attempt[];
}

/** Options of a settlement besides the end of its call and the charge. */
interface SettleOptions {
  /** Rows to write in the commit of the receipt instead of those of the idempotency key. */
  readonly attach?: Attachment | undefined;
  /** Why the model stopped, for traces. */
  readonly stopReason?: string | undefined;
  /** Calls of MCP servers that the gateway has made. */
  readonly mcpCalls?: readonly McpCallRecord[];
}

/** The one settlement of a call. */
export class CallSettlement {
  readonly funds: Funds;
  #terms: Terms;
  readonly #gateway: Gateway;
  readonly #attempts: AttemptTiming[] = [];
  #firstOutputMs: number | undefined;
  #hasEnded = false;
  /** Logs an exception that the code does not expect. */
  readonly onBug = (error: unknown): void => {
    // An outage has a log line of its own.
    if (error instanceof StoreUnavailableError) return;
    this.#gateway.log.event("error", "unexpected error", {
      request_id: this.terms.requestId,
      ...unforeseen(error),
    });
  };

  constructor(gateway: Gateway, terms: Terms, funds: Funds) {
    this.#gateway = gateway;
    this.#terms = terms;
    this.funds = funds;
  }

  /** The terms of the model that is tried, and at the end those of the one that answered. */
  get terms(): Terms {
    return this.#terms;
  }

  /** Passes the call to the terms of another model, before the first output of any. */
  moveTo(terms: Terms): void {
    this.#terms = terms;
  }

  /** Milliseconds from the start of the call to its first output; `undefined` before it. */
  get firstOutputMs(): number | undefined {
    return this.#firstOutputMs;
  }

  /** Notes when output began; only the first time counts. */
  firstOutputAt(monotonicMs: number): void {
    this.#firstOutputMs ??= this.#sinceStart(monotonicMs);
  }

  #sinceStart(monotonicMs: number): number {
    return Math.round(monotonicMs - this.terms.start.startedMonotonicMs);
  }

  /** Milliseconds since the call began, rounded. */
  elapsedMs(): number {
    return this.#sinceStart(this.#gateway.clock.monotonicMs());
  }

  /** Records an attempt that ended at `endedMs`, for traces. */
  tried(route: Route, result: AttemptResult, endedMs: number): void {
    if (!this.#isTraced) return;
    this.#attempts.push({
      route: route.id,
      result: result.kind === "failed" ? result.error.code : result.kind,
      startedMs: endedMs - result.ms,
      endedMs,
    });
  }

  get #isTraced(): boolean {
    return this.terms.start.origin !== undefined;
  }

  /**
   * Debits the charge and writes the receipt.
   *
   * @returns the receipt, once both are durable
   * @throws {LateReceiptError} if the store does not confirm it in time; the settlement goes on
   * @throws if the ledger was closed meanwhile: the client sees a broken connection and the reservation is released
   */
  async settle(end: CallEnd, quoted: CallCharge, options: SettleOptions = {}): Promise<Receipt> {
    const charge = this.#charged(end.route, quoted);
    const { requestId, stream } = this.terms;
    const { money, keyedCall, running, rated } = this.funds;
    this.#hasEnded = true;
    const settleStartedMs = this.#gateway.clock.monotonicMs();
    const draft = this.#draft(end, charge, settleStartedMs);
    const { mcpCalls = [] } = options;
    if (mcpCalls.length > 0) draft.mcpCalls = mcpCalls;
    const mayForgo = !stream && options.attach === undefined;
    let isWithheld = false;
    let isChargeSent = false;
    const withheld = () => {
      if (isWithheld) return this.#withheldAnswer(draft);
      isChargeSent = true;
      return undefined;
    };
    const settle = async (): Promise<Receipt> => {
      try {
        const charged = options.attach ?? keyedCall?.rows(draft);
        const card = draft.providerCost === undefined ? undefined : end.route?.rateCard;
        const rows = card === undefined ? charged : this.#gateway.rateCards.attach(card, charged);
        const receipt = await money.settle(draft, rows, withheld);
        if (card !== undefined && !isWithheld) this.#gateway.rateCards.noteStored(card);
        this.#report(receipt, settleStartedMs, options.stopReason);
        if (isWithheld && receipt.costMicroVnd > 0n) {
          this.#gateway.withheldRefunds.add(receipt, keyedCall);
        }
        return receipt;
      } catch (error) {
        this.#gateway.log.event("error", "a call was not settled", {
          request_id: requestId,
          error: errorName(error),
        });
        throw error;
      }
    };
    try {
      return await receiptInTime(settle(), {
        deadlines: this.#gateway.deadlines,
        waitMs: this.#gateway.config.receiptWaitMs,
        requestId,
        onLate: () => {
          isWithheld = mayForgo;
          keyedCall?.withhold();
          const charge = mayForgo ? isChargeSent ? "undecided" : "forgone" : "kept";
          this.#gateway.log.event("warn", "a receipt is late", { request_id: requestId, charge });
          this.#gateway.events.receiptLate(charge);
          return charge;
        },
      });
    } finally {
      running.end();
      // A call that reached no provider does not count.
      rated?.end({
        tokens: ratedTokens(charge.usage),
        costMicroVnd: isWithheld ? 0n : charge.priceMicroVnd,
        isCounted: end.attempts.length > 0,
      });
    }
  }

  /** Computes what is charged of a price on a route: a fee, if a provider key of the organisation served it. */
  chargeOn(route: Route, priceMicroVnd: bigint): bigint {
    const { ownKeys } = this.#gateway;
    return ownKeys === undefined || route.ownKey === undefined
      ? priceMicroVnd
      : ownKeyFee(priceMicroVnd, ownKeys.fee);
  }

  #charged(route: Route | undefined, quoted: CallCharge): CallCharge {
    const { ownKeys } = this.#gateway;
    if (ownKeys === undefined || route?.ownKey === undefined) return quoted;
    const { priceMicroVnd } = quoted;
    return {
      ...quoted,
      priceMicroVnd: ownKeyFee(priceMicroVnd, ownKeys.fee),
      ownKey: { priceMicroVnd, fee: ownKeys.fee },
      // What a provider reports beyond it is between it and the organisation.
      claimMicroVnd: 0n,
    };
  }

  /** Settlement for an answer that the client was refused. */
  #withheldAnswer(draft: ReceiptDraft): WithheldAnswer {
    const status = errorTable.maintenance.status;
    const { toolCharges: _tools, ownKey: _fee, ...free } = draft;
    return {
      draft: { ...free, outcome: "withheld", status, units: 0, priceMicroVnd: 0n },
      attach: this.funds.keyedCall?.withheldRows(),
    };
  }

  #draft(end: CallEnd, charge: CallCharge, settleStartedMs: number): Writable<ReceiptDraft> {
    const { requestId, principal, model, style, stream, price, mappedFrom, tags } = this.terms;
    const { version } = this.terms.catalog;
    const draft: Writable<ReceiptDraft> = {
      requestId,
      keyId: principal.key.id,
      kind: model.kind,
      model: model.id,
      style,
      startedAtMs: this.terms.start.startedAtMs,
      latencyMs: this.#sinceStart(settleStartedMs),
      status: end.status,
      stream,
      outcome: end.outcome,
      estimated: charge.estimated ?? false,
      units: charge.units,
      price: chargedRates(charge.price ?? price, charge.usage),
      priceMicroVnd: charge.priceMicroVnd,
      attempts: end.attempts,
    };
    const { claimMicroVnd = 0n, toolCharges = [] } = charge;
    if (charge.serviceTier !== undefined) draft.serviceTier = charge.serviceTier;
    if (toolCharges.length > 0) draft.toolCharges = toolCharges;
    if (charge.usage !== undefined) draft.usage = charge.usage;
    if (end.endCode !== undefined) draft.endCode = end.endCode;
    if (claimMicroVnd > 0n) draft.claimMicroVnd = claimMicroVnd;
    if (mappedFrom !== undefined) draft.mappedFrom = mappedFrom;
    if (version !== undefined) draft.catalogVersion = version;
    if (tags !== undefined) draft.tags = tags;
    if (charge.ownKey !== undefined) draft.ownKey = charge.ownKey;
    if (end.route !== undefined) {
      draft.route = end.route.id;
      const cost = this.#providerCost(end.route, end, charge);
      if (cost !== undefined) draft.providerCost = cost;
    }
    const { region } = this.#gateway.config;
    if (region !== undefined && end.attempts.length > 0) draft.region = region;
    if (this.#firstOutputMs !== undefined) draft.firstOutputMs = this.#firstOutputMs;
    return draft;
  }

  /** Computes what the call costs the operator; `undefined` if the catalogue names no costs. */
  #providerCost(route: Route, end: CallEnd, charge: CallCharge): ProviderCost | undefined {
    if (!this.terms.catalog.hasCosts || end.attempts.length === 0) return undefined;
    if (route.ownKey !== undefined) return undefined;
    try {
      return providerCost(route.rateCard, charge.providerUse ?? charge);
    } catch (error) {
      // A report that cannot be priced must not prevent the customer's receipt.
      this.onBug(error);
      return unknownProviderCost;
    }
  }

  #report(receipt: Receipt, settleStartedMs: number, stopReason: string | undefined): void {
    const { log, clock } = this.#gateway;
    if (!this.#isTraced) return log.call(receipt);
    const { origin, startedMonotonicMs } = this.terms.start;
    log.call(receipt, {
      origin,
      startedMs: startedMonotonicMs,
      attempts: this.#attempts,
      settleStartedMs,
      endedMs: clock.monotonicMs(),
      stopReason,
    });
  }

  /** Releases the reservation of a call that ended before anything could be charged. A settled call is left alone. */
  abandon(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { money, keyedCall, running, rated } = this.funds;
    money.release();
    void keyedCall?.abandon();
    running.end();
    rated?.end({ tokens: 0, isCounted: false });
  }
}
