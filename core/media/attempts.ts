/**
 * Tries the routes of a media call one after the other until one works. What works means is the caller's: a whole
 * answer, the first bytes of audio, an accepted task. The rules are those of chat: only faults of a route move on,
 * a refused credential may be exchanged once, every try is on the receipt.
 */
import { knownFailure } from "../call/attempt.ts";
import { isRouteFault, moreTelling } from "../call/attempt_loop.ts";
import { type CallControl, stopError } from "../call/call_control.ts";
import { retryAfterSeconds } from "../call/retry_after.ts";
import type { RouteAccess } from "../call/chat_exchange.ts";
import type { AttemptResult } from "../call/racer.ts";
import type { Route } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { Deadlines } from "../deadlines.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Attempt } from "../receipt.ts";
import type { UpstreamExchange, UpstreamRequest, UpstreamResponse } from "../upstream/transport.ts";
import { readRefusal } from "./refusal.ts";

/** What a try works with. */
export interface MediaTry {
  readonly route: Route;
  readonly access: RouteAccess;
  /** Opens an exchange that ends when the call is stopped or the try fails. At most one per try. */
  readonly open: (request: UpstreamRequest) => UpstreamExchange;
  /**
   * The head of a successful answer; its status is told to the credential it was made with.
   *
   * @throws {GatewayError} the provider's refusal, or an answer that is packed: it could not be read or passed on
   */
  readonly respond: (exchange: UpstreamExchange) => Promise<UpstreamResponse>;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
}

export interface MediaAttemptsInput<Value> {
  readonly candidates: readonly Route[];
  readonly begin: (route: Route) => RouteAccess;
  /** Resolves with what came of a route; rejects with a {@linkcode GatewayError} or an upstream failure. */
  readonly attempt: (try_: MediaTry) => Promise<Value>;
  readonly report: (route: Route, result: AttemptResult) => void;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  /** Told of an exception that nobody foresaw; the try has failed then. */
  readonly onBug: (error: unknown) => void;
}

export type MediaAttemptsResult<Value> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly access: RouteAccess;
    readonly value: Value;
    readonly attempts: readonly Attempt[];
  }
  | { readonly ok: false; readonly error: GatewayError; readonly attempts: readonly Attempt[] };

type Outcome<Value> =
  | { readonly ok: true; readonly access: RouteAccess; readonly value: Value }
  | { readonly ok: false; readonly error: GatewayError; readonly mayRepeat: boolean };

async function tryRoute<Value>(
  input: MediaAttemptsInput<Value>,
  route: Route,
): Promise<Outcome<Value>> {
  const { control } = input;
  let exchange: UpstreamExchange | undefined;
  const cancel = () => exchange?.cancel();
  const access = input.begin(route);
  control.attach(cancel);
  try {
    const value = await input.attempt({
      route,
      access,
      open(request) {
        exchange = access.transport.open(request);
        if (control.stopped !== undefined) exchange.cancel();
        return exchange;
      },
      async respond(opened) {
        const response = await opened.response;
        access.onStatus(response.status, retryAfterSeconds(response.header, input.clock));
        if (response.status < 200 || response.status > 299) {
          throw await readRefusal(opened, response, input);
        }
        const encoding = response.header("content-encoding")?.trim().toLowerCase() ?? "identity";
        if (encoding !== "identity") {
          throw new GatewayError("upstream_unreachable", "The provider sent a packed answer");
        }
        return response;
      },
      deadlines: input.deadlines,
      clock: input.clock,
    });
    return { ok: true, access, value };
  } catch (failure) {
    cancel();
    return { ok: false, error: errorOf(input, failure), mayRepeat: access.mayRepeat() };
  } finally {
    control.detach(cancel);
  }
}

function errorOf<Value>(input: MediaAttemptsInput<Value>, failure: unknown): GatewayError {
  if (input.control.stopped !== undefined) return stopError(input.control.stopped);
  const known = knownFailure(failure);
  if (known !== undefined) return known;
  input.onBug(failure);
  return new GatewayError("internal_error", "Something went wrong inside the gateway");
}

/** Runs the loop. Never throws a {@linkcode GatewayError}: a failed call is a value. */
export async function runMediaAttempts<Value>(
  input: MediaAttemptsInput<Value>,
): Promise<MediaAttemptsResult<Value>> {
  const { clock, control } = input;
  const queue = [...input.candidates];
  const attempts: Attempt[] = [];
  let telling: GatewayError | undefined;
  while (attempts.length < limits.attemptsPerCall) {
    if (control.stopped !== undefined) {
      return { ok: false, error: stopError(control.stopped), attempts };
    }
    const route = queue.shift();
    if (route === undefined) break;
    const startedMs = clock.monotonicMs();
    const outcome = await tryRoute(input, route);
    const ms = Math.round(clock.monotonicMs() - startedMs);
    if (outcome.ok) {
      attempts.push({ route: route.id, outcome: "ok", ms });
      input.report(route, { kind: "ok", ms });
      return { ...outcome, route, attempts };
    }
    const { error } = outcome;
    const stopped = control.stopped !== undefined;
    attempts.push({ route: route.id, outcome: stopped ? "stopped" : error.code, ms });
    input.report(route, stopped ? { kind: "stopped", ms } : { kind: "failed", ms, error });
    if (stopped || !isRouteFault(error)) return { ok: false, error, attempts };
    if (outcome.mayRepeat) queue.unshift(route);
    telling = moreTelling(telling, error);
  }
  const error = telling ??
    new GatewayError("upstream_unreachable", "No route to this model is available at the moment");
  return { ok: false, error, attempts };
}
