/**
 * Tries routes until one produces output. The client notices nothing but the delay; the hold on the wallet is kept
 * once; every try is on the one receipt.
 */
import type { Route } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { Deadlines } from "../deadlines.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Attempt } from "../receipt.ts";
import {
  asGatewayError,
  attemptAnswer,
  type AttemptHandlers,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "./attempt.ts";

/** How a try ended, for the health of its route. */
export type AttemptResult =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly ms: number; readonly error: GatewayError };

export interface AttemptLoopInput<Handlers extends AttemptHandlers> {
  /** Routes in the order to try; each at most once. */
  readonly candidates: readonly Route[];
  /** Starts the exchange on a route. May throw a {@linkcode GatewayError} (e.g. a conversion that is refused). */
  readonly start: (route: Route) => Handlers;
  readonly stream: boolean;
  /** Streaming: silence before the first output that makes a route slow. */
  readonly slowAfterMs: number;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly control: CallControl;
  /** Told about each try, e.g. to keep the health of routes. */
  readonly report: (route: Route, result: AttemptResult) => void;
}

export type AttemptLoopResult<Handlers extends AttemptHandlers> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly handlers: Handlers;
    readonly result: StartedStream | WholeAnswer;
    readonly attempts: readonly Attempt[];
  }
  | { readonly ok: false; readonly error: GatewayError; readonly attempts: readonly Attempt[] };

/** Why a call must end now, whatever it is doing. */
export type StopReason = "client_gone" | "call_timeout" | "shutdown";

/** Stops a call from outside: the client left, its 15 minutes are over, the process ends. */
export class CallControl {
  #stopped: StopReason | undefined;
  #onStop: (() => void) | undefined;

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  /** What to do at once when the call is stopped. Replaces the former. */
  set onStop(run: (() => void) | undefined) {
    this.#onStop = run;
    if (this.#stopped !== undefined) run?.();
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    this.#onStop?.();
  }
}

/** Faults of a route: another one may do better. Everything else is the caller's and would fail there too. */
const routeFaults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "upstream_unreachable",
  "upstream_timeout",
  "rate_limit_exceeded",
  "overloaded",
  "model_not_found",
  "internal_error",
]);

/** Tells whether another route of the same model may be tried after this error. */
export function isRouteFault(error: GatewayError): boolean {
  return routeFaults.has(error.code);
}

/** The error of a call that was stopped from outside. */
export function stopError(reason: StopReason): GatewayError {
  switch (reason) {
    case "client_gone":
      return new GatewayError("request_timeout", "The client closed the connection");
    case "call_timeout":
      return new GatewayError("upstream_timeout", "The call took longer than 15 minutes");
    case "shutdown":
      return new GatewayError("maintenance", "The gateway is restarting; try again");
  }
}

async function attemptOnce<Handlers extends AttemptHandlers>(
  input: AttemptLoopInput<Handlers>,
  handlers: Handlers,
): Promise<StartedStream | WholeAnswer> {
  const { control } = input;
  let slow = false;
  control.onStop = () => handlers.exchange.cancel();
  const slowness = input.deadlines.create(() => {
    slow = true;
    handlers.exchange.cancel();
  });
  if (input.stream) slowness.arm(input.slowAfterMs);
  try {
    return input.stream ? await attemptStream(handlers) : await attemptAnswer(handlers);
  } catch (failure) {
    handlers.exchange.cancel();
    if (control.stopped !== undefined) throw stopError(control.stopped);
    if (slow) {
      throw new GatewayError(
        "upstream_timeout",
        "The provider of this model did not answer in time",
      );
    }
    throw asGatewayError(failure);
  } finally {
    slowness.disarm();
  }
}

/** Of several failures the client gets the one that says most: a rate limit over an outage. */
function moreTelling(former: GatewayError | undefined, error: GatewayError): GatewayError {
  if (former === undefined || former.code !== "rate_limit_exceeded") return error;
  if (error.code !== "rate_limit_exceeded") return former;
  const soonest = Math.min(
    former.retryAfterSeconds ?? Infinity,
    error.retryAfterSeconds ?? Infinity,
  );
  return Number.isFinite(soonest)
    ? new GatewayError(error.code, error.message, { retryAfterSeconds: soonest })
    : error;
}

/** Runs the loop. Never throws a {@linkcode GatewayError}: a failed call is a value. */
export async function runAttempts<Handlers extends AttemptHandlers>(
  input: AttemptLoopInput<Handlers>,
): Promise<AttemptLoopResult<Handlers>> {
  const attempts: Attempt[] = [];
  let telling: GatewayError | undefined;
  for (const route of input.candidates.slice(0, limits.attemptsPerCall)) {
    if (input.control.stopped !== undefined) {
      return { ok: false, error: stopError(input.control.stopped), attempts };
    }
    const startedMs = input.clock.monotonicMs();
    try {
      const handlers = input.start(route);
      const result = await attemptOnce(input, handlers);
      const ms = Math.round(input.clock.monotonicMs() - startedMs);
      attempts.push({ route: route.id, outcome: "ok", ms });
      input.report(route, { ok: true, ms });
      return { ok: true, route, handlers, result, attempts };
    } catch (failure) {
      const error = asGatewayError(failure);
      const ms = Math.round(input.clock.monotonicMs() - startedMs);
      attempts.push({ route: route.id, outcome: error.code, ms });
      if (input.control.stopped !== undefined) return { ok: false, error, attempts };
      input.report(route, { ok: false, ms, error });
      if (!isRouteFault(error)) return { ok: false, error, attempts };
      telling = moreTelling(telling, error);
    }
  }
  const error = telling ??
    new GatewayError("upstream_unreachable", "No route to this model is available at the moment");
  return { ok: false, error, attempts };
}
