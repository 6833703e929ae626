/** Reports the result of all attempts of a call, and maps a failure to the client's error. */
import { type AttemptLoopResult, isRouteFault } from "../../../core/calls/attempts/attempt_loop.ts";
import type { Attempt } from "../../../core/billing/usage/receipt.ts";
import type { BegunAttempt } from "../../../core/calls/attempts/route_attempt.ts";
import type { CallControl } from "../../../core/calls/attempts/call_control.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { noRouteError } from "../../../core/routing/no_route.ts";
import type { Operation } from "../../../core/routing/contract/router.ts";
import type { Gateway } from "../gateway/gateway.ts";

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
  if (error.code !== "rate_limit_exceeded" || error.retryAfterSeconds !== undefined) return error;
  const retryAfterSeconds = router.retryAfterSeconds(model, operation, customer);
  return retryAfterSeconds === undefined
    ? error
    : new GatewayError(error.code, error.message, { retryAfterSeconds });
}
