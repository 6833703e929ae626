/**
 * Tries routes until one produces output. The client notices nothing but the delay; the hold on the wallet is kept
 * once; every try is on the one receipt.
 */
import type { Route } from "../catalog/catalog.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Attempt } from "../receipt.ts";
import { stopError } from "./call_control.ts";
import {
  type BegunTry,
  type FailedTry,
  type RaceOutcome,
  Racer,
  type RacerInput,
} from "./racer.ts";

export interface AttemptLoopInput<Begun extends BegunTry, Result>
  extends RacerInput<Begun, Result> {
  /** Routes in the order to try; each at most once, or once per credential where one was refused. */
  readonly candidates: readonly Route[];
  /** When a second route runs beside the first, and the quicker one is taken. */
  readonly hedge?: Hedge | undefined;
}

export interface Hedge {
  readonly afterMs: number;
  /** Asked at that moment, and again each time as much later; without it the second route starts in any case. */
  readonly when?: () => boolean;
}

export type AttemptLoopResult<Begun extends BegunTry, Result> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly begun: Begun;
    readonly result: Result;
    readonly attempts: readonly Attempt[];
  }
  | { readonly ok: false; readonly error: GatewayError; readonly attempts: readonly Attempt[] };

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

/** A provider that does not know the model we asked it for is the operator's to mend; the client named a good one. */
function forClient(error: GatewayError): GatewayError {
  return error.code !== "model_not_found" ? error : new GatewayError(
    "upstream_unreachable",
    "The provider of this model refused the call for reasons on our side",
    { cause: error },
  );
}

class AttemptLoop<Begun extends BegunTry, Result> {
  readonly #input: AttemptLoopInput<Begun, Result>;
  readonly #queue: Route[];
  readonly #attempts: Attempt[] = [];
  readonly #tries = new Map<Route, number>();
  #started = 0;
  #telling: GatewayError | undefined;
  /** Said by a route that cannot carry this request. Counts only if no route could. */
  #unsuited: GatewayError | undefined;

  constructor(input: AttemptLoopInput<Begun, Result>) {
    this.#input = input;
    this.#queue = [...input.candidates];
  }

  #next(): Racer<Begun, Result> | undefined {
    if (this.#started >= limits.attemptsPerCall) return undefined;
    const route = this.#queue.shift();
    if (route === undefined) return undefined;
    this.#started++;
    return new Racer(this.#input, route);
  }

  #note(racer: Racer<Begun, Result>, lost = false): void {
    for (const attempt of racer.attempts) {
      // Both had output in the same moment: there is one winner all the same.
      const photoFinish = lost && attempt.outcome === "ok";
      this.#attempts.push(photoFinish ? { ...attempt, outcome: "beaten" } : attempt);
    }
  }

  /** Tells whether the call goes on after this failure. */
  #goesOn({ error, unsuited }: FailedTry): boolean {
    return this.#input.control.stopped === undefined && (unsuited || isRouteFault(error));
  }

  /** Learns from a failure after which the call goes on. */
  #learn({ route, error, mayRepeat, unsuited }: FailedTry): void {
    const tries = (this.#tries.get(route) ?? 0) + 1;
    this.#tries.set(route, tries);
    if (mayRepeat && tries < limits.triesPerRoute) this.#queue.unshift(route);
    if (unsuited) {
      this.#unsuited ??= error;
      this.#started--; // nobody was asked
    } else this.#telling = moreTelling(this.#telling, error);
  }

  /** Waits for a racer, and past the hedge's moment for a second one beside it. */
  async #race(racer: Racer<Begun, Result>): Promise<RaceOutcome<Begun, Result>> {
    const { hedge, deadlines, control } = this.#input;
    if (hedge === undefined || this.#queue.length === 0) {
      const outcome = await racer.outcome;
      this.#note(racer);
      return outcome;
    }
    const moment = Promise.withResolvers<"hedge">();
    const timer = deadlines.create(() => {
      if (hedge.when?.() ?? true) moment.resolve("hedge");
      else timer.arm(hedge.afterMs);
    });
    timer.arm(hedge.afterMs);
    const first = await Promise.race([racer.outcome, moment.promise]);
    timer.disarm();
    const rival = first === "hedge" && control.stopped === undefined ? this.#next() : undefined;
    if (rival !== undefined) return await this.#duel(racer, rival);
    const outcome = await racer.outcome;
    this.#note(racer);
    return outcome;
  }

  async #duel(
    one: Racer<Begun, Result>,
    two: Racer<Begun, Result>,
  ): Promise<RaceOutcome<Begun, Result>> {
    const tagged = (racer: Racer<Begun, Result>) =>
      racer.outcome.then((outcome) => ({ racer, outcome }));
    const { racer: quicker, outcome } = await Promise.race([tagged(one), tagged(two)]);
    const other = quicker === one ? two : one;
    this.#note(quicker);
    // Only output wins; a refusal of the caller's request ends both, it would be the same there.
    if (!outcome.ok && this.#goesOn(outcome)) {
      this.#learn(outcome);
      const last = await other.outcome;
      this.#note(other);
      return last;
    }
    other.beat();
    await other.outcome;
    this.#note(other, outcome.ok);
    return outcome;
  }

  async run(): Promise<AttemptLoopResult<Begun, Result>> {
    const { control } = this.#input;
    const attempts = this.#attempts;
    for (;;) {
      if (control.stopped !== undefined) {
        return { ok: false, error: stopError(control.stopped), attempts };
      }
      const racer = this.#next();
      if (racer === undefined) break;
      const outcome = await this.#race(racer);
      if (outcome.ok) {
        const { route, begun, result } = outcome;
        return { ok: true, route, begun, result, attempts };
      }
      if (!this.#goesOn(outcome)) {
        const error = control.stopped === undefined ? outcome.error : stopError(control.stopped);
        return { ok: false, error, attempts };
      }
      this.#learn(outcome);
    }
    const error = this.#telling ?? this.#unsuited ??
      new GatewayError("upstream_unreachable", "No route to this model is available at the moment");
    return { ok: false, error: forClient(error), attempts };
  }
}

/** Runs the loop. Never rejects: a failed call is a value, and an exception of ours is an `internal_error`. */
export function runAttempts<Begun extends BegunTry, Result>(
  input: AttemptLoopInput<Begun, Result>,
): Promise<AttemptLoopResult<Begun, Result>> {
  return new AttemptLoop(input).run();
}
