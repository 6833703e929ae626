/**
 * Tries routes until one produces output. The client notices only the delay, the wallet has one reservation, and the
 * one receipt lists every attempt.
 *
 * - Folder `core/calls/attempts/`: attempts on routes: one after the other, two at once where hedging says so, and
 *   their end.
 * - In: the routes in their order, and the host that begins an attempt on one of them.
 * - Out: the answer of one route, and every attempt for the receipt.
 * - Never: moves money, or changes to another route after the first output reached the client.
 */
import { withResolvers } from "../../lib/runtime/mod.ts";
import type { Route } from "../../catalog/catalog.ts";
import type { Deadline } from "../../lib/time/deadlines.ts";
import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import type { Attempt } from "../../billing/usage/receipt.ts";
import {
  type BegunAttempt,
  type FailedAttempt,
  type RaceOutcome,
  RouteAttempt,
  type RouteAttemptInput,
  stopError,
} from "./route_attempt.ts";

/** Routes tried for one call, so that a failing model costs a bounded number of requests. */
export const attemptsPerCall = 8;

/** Attempts on one route in one call, each with other credentials of its provider if it refused the last. */
export const attemptsPerRoute = 3;

/** What the attempt loop needs of a call. */
export interface AttemptLoopInput<Begun extends BegunAttempt, Result>
  extends RouteAttemptInput<Begun, Result> {
  /** Routes in the order to try. Each is tried once, or once per credential if credentials are refused. */
  readonly candidates: readonly Route[];
  /** When a second route starts beside the first; the quicker one is used. */
  readonly hedge?: Hedge | undefined;
}

/** When a second route is started beside a slow first one. */
export interface Hedge {
  readonly afterMs: number;
  /**
   * Called after `afterMs`, and again after each further `afterMs` while it returns false. Without it, the second
   * route always starts.
   */
  readonly when?: () => boolean;
}

/** Attempts that run at once for one call: the operator pays for all of them, one answers. */
const attemptsAtOnce = 2;

/** Milliseconds after which a slow attempt is looked at again that could not get a second one beside it. */
const hedgeAgainMs = 500;

/** Silent attempts that one call gives up: the model may have been reasoning, which the operator pays for. */
const maxGivenUp = 2;

/** The route that answered and all attempts, or the error for the client. */
export type AttemptLoopResult<Begun extends BegunAttempt, Result> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly begun: Begun;
    readonly result: Result;
    readonly attempts: readonly Attempt[];
  }
  | { readonly ok: false; readonly error: GatewayError; readonly attempts: readonly Attempt[] };

/** Errors of a route, after which another one may succeed. All others are the caller's and would fail there too. */
const routeFaults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "upstream_unreachable",
  "upstream_timeout",
  "rate_limit_exceeded",
  "overloaded",
  "service_unavailable",
  "model_not_found",
  "internal_error",
]);

/** Whether another route of the same model may be tried after this error. */
export function isRouteFault(error: GatewayError): boolean {
  return routeFaults.has(error.code);
}

/** Whether the route lacks what the request asks for: another may have it, and this one serves other calls. */
function isLacking(error: GatewayError): boolean {
  return error.marks === "ability";
}

/** Chooses the more informative of two failures for the client: a rate limit over an outage. */
function moreInformative(former: GatewayError | undefined, error: GatewayError): GatewayError {
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

/**
 * Maps an error of a route for the client. `model_not_found` of a provider is the operator's mistake: the client
 * named a model that exists.
 */
function forClient(error: GatewayError): GatewayError {
  return error.code !== "model_not_found" ? error : new GatewayError(
    "upstream_unreachable",
    "The provider of this model refused the call for reasons on our side",
    { cause: error },
  );
}

interface EndedAttempt<Begun extends BegunAttempt, Result> {
  readonly routeAttempt: RouteAttempt<Begun, Result>;
  readonly outcome: RaceOutcome<Begun, Result>;
}

function remove<Item>(items: Item[], item: Item): void {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
}

class AttemptLoop<Begun extends BegunAttempt, Result> {
  readonly #input: AttemptLoopInput<Begun, Result>;
  readonly #queue: Route[];
  readonly #attempts: Attempt[] = [];
  #attemptsOnRoute: Map<Route, number> | undefined;
  #started = 0;
  #bestError: GatewayError | undefined;
  /** The error of a route that cannot carry or do this request. Used only if no route can. */
  #unsuited: GatewayError | undefined;
  /** Attempts that may still answer, in the order in which they began. */
  readonly #running: RouteAttempt<Begun, Result>[] = [];
  /** Attempts that were given up for their silence and have not ended yet. */
  readonly #leaving: RouteAttempt<Begun, Result>[] = [];
  /** The attempt that runs while no other can begin beside it, as in most calls. Its end is not among `#ended`. */
  #alone: RouteAttempt<Begun, Result> | undefined;
  readonly #ended: EndedAttempt<Begun, Result>[] = [];
  #givenUp = 0;
  #hedgeTimer: Deadline | undefined;
  #hedgeAgain: Deadline | undefined;
  readonly #onTurn: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(input: AttemptLoopInput<Begun, Result>) {
    this.#input = input;
    this.#queue = [...input.candidates];
    if (this.#queue.length > 1) this.#onTurn = () => this.#hedge();
  }

  #next(): RouteAttempt<Begun, Result> | undefined {
    if (this.#started >= attemptsPerCall) return undefined;
    const route = this.#queue.shift();
    if (route === undefined) return undefined;
    this.#started++;
    return new RouteAttempt(this.#input, route, this.#onTurn);
  }

  #note(routeAttempt: RouteAttempt<Begun, Result>, lost = false): void {
    for (const attempt of routeAttempt.attempts) {
      // Both attempts had output before the loop ran again: only one of them is the winner.
      const photoFinish = lost && attempt.outcome === "ok";
      this.#attempts.push(photoFinish ? { ...attempt, outcome: "beaten" } : attempt);
    }
  }

  /** Whether the call continues after this failure. */
  #shouldContinue({ error, unsuited, repeats = false }: FailedAttempt): boolean {
    return this.#input.control.stopped === undefined &&
      (unsuited || repeats || isRouteFault(error) || isLacking(error));
  }

  /** Records a failure after which the call continues. */
  #learn({ route, error, mayRepeat, unsuited }: FailedAttempt): void {
    const counts = this.#attemptsOnRoute ??= new Map();
    const attempts = (counts.get(route) ?? 0) + 1;
    counts.set(route, attempts);
    if (mayRepeat && attempts < attemptsPerRoute) this.#queue.unshift(route);
    if (unsuited) {
      this.#unsuited ??= error;
      this.#started--; // no provider was asked
    } else if (isLacking(error)) this.#unsuited ??= error;
    else this.#bestError = moreInformative(this.#bestError, error);
  }

  /** Starts the next route, beside the attempts that run. Returns whether there was one. */
  #start(): boolean {
    const routeAttempt = this.#next();
    if (routeAttempt === undefined) return false;
    this.#running.push(routeAttempt);
    if (this.#running.length === 1 && this.#leaving.length === 0 && !this.#hasNext) {
      this.#alone = routeAttempt;
      return true;
    }
    void routeAttempt.outcome.then((outcome) => {
      this.#ended.push({ routeAttempt, outcome });
      this.#wake?.();
    });
    return true;
  }

  /** Starts the next route beside a slow attempt that runs alone, or in place of one that has fallen silent. */
  #hedge(): void {
    if (this.#input.control.stopped !== undefined || !this.#hasNext) return;
    if (this.#running.length < attemptsAtOnce) {
      const last = this.#running.at(-1);
      if (last?.takeHedge()) this.#start();
      else if (last?.isSlow) this.#hedgeLater();
      return;
    }
    const silent = this.#running.find((routeAttempt) => routeAttempt.isSilent);
    if (silent === undefined || this.#givenUp >= maxGivenUp) return;
    this.#givenUp++;
    remove(this.#running, silent);
    this.#leaving.push(silent);
    silent.giveUp();
    this.#start();
  }

  #hedgeLater(): void {
    this.#hedgeAgain ??= this.#input.deadlines.create(() => this.#hedge());
    this.#hedgeAgain.arm(hedgeAgainMs);
  }

  get #hasNext(): boolean {
    return this.#queue.length > 0 && this.#started < attemptsPerCall;
  }

  /** Arms the hedge for an attempt that began alone. */
  #armHedge(): void {
    const { hedge, deadlines, control } = this.#input;
    if (hedge === undefined || !this.#hasNext) return;
    const timer = this.#hedgeTimer ??= deadlines.create(() => {
      if (control.stopped !== undefined || this.#running.length !== 1) return;
      if (hedge.when?.() ?? true) this.#start();
      else timer.arm(hedge.afterMs);
    });
    timer.arm(hedge.afterMs);
  }

  /** Waits for the end of one of the attempts that run beside each other. */
  async #nextEnd(): Promise<EndedAttempt<Begun, Result>> {
    for (;;) {
      const ended = this.#ended.shift();
      if (ended !== undefined) return ended;
      const { promise, resolve } = withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  /** Stops the attempts that still run beside the one that decided the call. */
  async #endOthers(decided: RouteAttempt<Begun, Result>, won: boolean): Promise<void> {
    const others = [...this.#running, ...this.#leaving].filter((routeAttempt) =>
      routeAttempt !== decided
    );
    for (const other of others) other.beat();
    for (const other of others) {
      await other.outcome;
      this.#note(other, won);
    }
  }

  async run(): Promise<AttemptLoopResult<Begun, Result>> {
    const { control } = this.#input;
    const attempts = this.#attempts;
    for (;;) {
      if (this.#running.length === 0) {
        const { stopped } = control;
        const begins = stopped === undefined && this.#start();
        if (!begins && this.#leaving.length === 0) {
          if (stopped === undefined) break;
          return { ok: false, error: stopError(stopped), attempts };
        }
        if (begins) this.#armHedge();
      }
      const alone = this.#alone;
      this.#alone = undefined;
      const { routeAttempt, outcome } = alone === undefined
        ? await this.#nextEnd()
        : { routeAttempt: alone, outcome: await alone.outcome };
      this.#hedgeTimer?.disarm();
      this.#hedgeAgain?.disarm();
      this.#note(routeAttempt);
      if (outcome.ok || !this.#shouldContinue(outcome)) {
        if (this.#running.length + this.#leaving.length > 1) {
          await this.#endOthers(routeAttempt, outcome.ok);
        }
        if (outcome.ok) {
          const { route, begun, result } = outcome;
          return { ok: true, route, begun, result, attempts };
        }
        const error = control.stopped === undefined ? outcome.error : stopError(control.stopped);
        return { ok: false, error, attempts };
      }
      remove(this.#running, routeAttempt);
      remove(this.#leaving, routeAttempt);
      this.#learn(outcome);
      if (this.#running.length > 0) this.#hedge();
    }
    const error = this.#bestError ?? this.#unsuited ??
      new GatewayError("upstream_unreachable", "No route to this model is available at the moment");
    return { ok: false, error: forClient(error), attempts };
  }
}

/** Runs the attempt loop. Never rejects: a failed call is a value, and a defect of ours is an `internal_error`. */
export function runAttempts<Begun extends BegunAttempt, Result>(
  input: AttemptLoopInput<Begun, Result>,
): Promise<AttemptLoopResult<Begun, Result>> {
  return new AttemptLoop(input).run();
}
