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
import type { AttemptHandlers, StartedStream, WholeAnswer } from "./attempt.ts";
import { type CallControl, stopError } from "./call_control.ts";
import { type AttemptResult, type RaceOutcome, Racer } from "./racer.ts";

export interface AttemptLoopInput<Handlers extends AttemptHandlers> {
  /** Routes in the order to try; each at most once, or once per credential where one was refused. */
  readonly candidates: readonly Route[];
  /** Starts the exchange on a route. May throw a {@linkcode GatewayError} (e.g. a conversion that is refused). */
  readonly start: (route: Route) => Handlers;
  readonly stream: boolean;
  /** Streaming: silence before the first output that makes a route slow. */
  readonly slowAfterMs: number;
  /** Streaming: after this long a second route runs beside the first, and the quicker one is taken. */
  readonly hedgeAfterMs?: number | undefined;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly control: CallControl;
  /** Told once about each try, e.g. to keep the health of routes. */
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
export function moreTelling(former: GatewayError | undefined, error: GatewayError): GatewayError {
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

class AttemptLoop<Handlers extends AttemptHandlers> {
  readonly #input: AttemptLoopInput<Handlers>;
  readonly #queue: Route[];
  readonly #attempts: Attempt[] = [];
  #started = 0;
  #telling: GatewayError | undefined;

  constructor(input: AttemptLoopInput<Handlers>) {
    this.#input = input;
    this.#queue = [...input.candidates];
  }

  #next(): Racer<Handlers> | undefined {
    if (this.#started >= limits.attemptsPerCall) return undefined;
    const route = this.#queue.shift();
    if (route === undefined) return undefined;
    this.#started++;
    return new Racer({ ...this.#input, route });
  }

  #note(racer: Racer<Handlers>): void {
    if (racer.attempt !== undefined) this.#attempts.push(racer.attempt);
  }

  /** Waits for a racer, and past the hedge's moment for a second one beside it. */
  async #race(racer: Racer<Handlers>): Promise<RaceOutcome<Handlers>> {
    const { hedgeAfterMs, stream, deadlines } = this.#input;
    if (hedgeAfterMs === undefined || !stream || this.#queue.length === 0) {
      const outcome = await racer.outcome;
      this.#note(racer);
      return outcome;
    }
    const moment = Promise.withResolvers<"hedge">();
    const hedge = deadlines.create(() => moment.resolve("hedge"));
    hedge.arm(hedgeAfterMs);
    const first = await Promise.race([racer.outcome, moment.promise]);
    hedge.disarm();
    const rival = first === "hedge" ? this.#next() : undefined;
    if (rival === undefined) {
      const outcome = first === "hedge" ? await racer.outcome : first;
      this.#note(racer);
      return outcome;
    }
    return await this.#duel(racer, rival);
  }

  async #duel(one: Racer<Handlers>, two: Racer<Handlers>): Promise<RaceOutcome<Handlers>> {
    const tagged = (racer: Racer<Handlers>) =>
      racer.outcome.then((outcome) => ({ racer, outcome }));
    const { racer: quicker, outcome } = await Promise.race([tagged(one), tagged(two)]);
    const other = quicker === one ? two : one;
    this.#note(quicker);
    // Only output wins; a refusal of the caller's request ends both, it would be the same there.
    if (!outcome.ok && isRouteFault(outcome.error) && this.#input.control.stopped === undefined) {
      this.#telling = moreTelling(this.#telling, outcome.error);
      const last = await other.outcome;
      this.#note(other);
      return last;
    }
    other.beat();
    await other.outcome;
    this.#note(other);
    return outcome;
  }

  async run(): Promise<AttemptLoopResult<Handlers>> {
    const { control } = this.#input;
    for (;;) {
      const attempts = this.#attempts;
      if (control.stopped !== undefined) {
        return { ok: false, error: stopError(control.stopped), attempts };
      }
      const racer = this.#next();
      if (racer === undefined) break;
      const outcome = await this.#race(racer);
      if (outcome.ok) return { ...outcome, attempts };
      if (control.stopped !== undefined || !isRouteFault(outcome.error)) {
        return { ok: false, error: outcome.error, attempts };
      }
      if (outcome.mayRepeat) this.#queue.unshift(racer.route);
      this.#telling = moreTelling(this.#telling, outcome.error);
    }
    const error = this.#telling ??
      new GatewayError("upstream_unreachable", "No route to this model is available at the moment");
    return { ok: false, error, attempts: this.#attempts };
  }
}

/** Runs the loop. Never throws a {@linkcode GatewayError}: a failed call is a value. */
export async function runAttempts<Handlers extends AttemptHandlers>(
  input: AttemptLoopInput<Handlers>,
): Promise<AttemptLoopResult<Handlers>> {
  return await new AttemptLoop(input).run();
}
