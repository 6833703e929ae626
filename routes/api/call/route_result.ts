/** Reports the result of all attempts of a call, and maps a failure to the client's error. */
import {
  type AttemptLoopResult,
  type BegunAttempt,
  type CallControl,
  isRouteFault,
} from "../../../core/calls/attempts/attempt_loop.ts";
import type { Attempt, Receipt } from "../../../core/billing/usage/receipt.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import { noRouteError } from "../../../core/routing/timeouts.ts";
import type { Operation } from "../../../core/routing/contract/router.ts";
import type { LateCharge } from "../../telemetry/telemetry.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";

// Bounds how long a call waits for its receipt when the store does not answer. Then the client gets an error, while the
// settlement goes on until the store is back or the process stops.
//
// What the client is charged then is in docs/internals/MONEY.md.

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
export function receiptInTime(
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
export interface RoutedCall {
  readonly model: Model;
  readonly operation: Operation;
  /** The account, for routes that limit the rate of one customer. */
  readonly customer: string;
  /** How many routes there were to try. */
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
    router.called(model, operation, undefined);
    availability.note(model.id, true, clock.nowMs());
    dayHistory.note(model.id, clock.nowMs(), answeredAfterMs(result.attempts));
    return result;
  }
  const error = clientError(gateway, call, result.error);
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
