/**
 * Tries routes until one produces output. The client notices only the delay, the wallet has one reservation, and the
 * one receipt lists every attempt.
 *
 * An attempt on one route is an object that can race another, be stopped, and report how it ended. The loop begins
 * them in turn, and a second one beside the first where hedging says so.
 *
 * - Folder `core/calls/attempts/`: attempts on routes: one after the other, two at once where hedging says so, and
 *   their end.
 * - In: the routes in their order, and the host that begins an attempt on one of them.
 * - Out: the answer of one route, and every attempt for the receipt.
 * - Never: moves money, or changes to another route after the first output reached the client.
 */
import type { Route } from "../../catalog/catalog.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import type { Attempt } from "../../billing/usage/receipt.ts";
import type { UpstreamExchange } from "../../net/transport/transport.ts";
import { knownFailure } from "./attempt.ts";
import { withResolvers } from "../../lib/runtime/built_ins.ts";

// Stops a call from outside: the client left, its 15 minutes are over, its key was revoked, the process ends.

/** Why a call must end now, whatever it is doing. */
export type StopReason = "client_gone" | "call_timeout" | "shutdown" | "access_ended";

/** Stops a call from outside, such as when its client leaves or its key is revoked. */
export class CallControl {
  #stopped: StopReason | undefined;
  /** Most calls have one attempt, and a set would be a large part of what they allocate for it. */
  #onStop: (() => void) | undefined;
  #moreOnStop: Set<() => void> | undefined;

  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  /**
   * Registers `cancel` to be called when the call is stopped; calls it at once if it already was. Bounded by the
   * attempts that run for one call.
   */
  attach(cancel: () => void): void {
    if (this.#stopped !== undefined) cancel();
    else if (this.#onStop === undefined) this.#onStop = cancel;
    else (this.#moreOnStop ??= new Set()).add(cancel);
  }

  detach(cancel: () => void): void {
    if (this.#onStop === cancel) this.#onStop = undefined;
    else this.#moreOnStop?.delete(cancel);
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    const first = this.#onStop;
    this.#onStop = undefined;
    first?.();
    for (const cancel of this.#moreOnStop ?? []) cancel();
    this.#moreOnStop = undefined;
  }
}

/** The client's error for a call that was stopped. */
export function stopError(reason: StopReason): GatewayError {
  switch (reason) {
    case "client_gone":
      return new GatewayError("request_timeout", "The client closed the connection");
    case "call_timeout":
      return new GatewayError("upstream_timeout", "The call took longer than 15 minutes");
    case "access_ended":
      return new GatewayError(
        "invalid_api_key",
        "The API key was revoked or has expired, or its account was blocked: the answer ends here",
      );
    case "shutdown":
      return new GatewayError("maintenance", "The gateway is restarting; try again");
  }
}

/** End of an attempt, for the health of its route. */
export type AttemptResult =
  | { readonly kind: "ok"; readonly ms: number }
  | { readonly kind: "failed"; readonly ms: number; readonly error: GatewayError }
  /** Another route was quicker; this one would have taken longer than `ms`. */
  | {
    readonly kind: "beaten";
    readonly ms: number;
    /** It sent no byte for as long as makes a route slow, so it may be dead and not only slower. */
    readonly silent?: boolean;
  }
  /** Stopped from outside, or by a defect of ours; says nothing about the route. */
  | { readonly kind: "stopped"; readonly ms: number };

/** An attempt whose request was sent. */
export interface BegunAttempt {
  readonly exchange: Pick<UpstreamExchange, "cancel">;
  /** Whether, after a failure, the same route may be tried again with another credential. */
  readonly mayRepeat?: () => boolean;
  /** Whether, after any failure, the same route is tried again with a request that it will understand. */
  readonly repeats?: () => boolean;
}

/** An attempt that is slow, as far as it decides whether another one may start beside it. */
export interface SlowAttempt {
  readonly route: Route;
  /** Since its request was sent. */
  readonly waitedMs: number;
  /** Bytes arrived that are not output yet. */
  readonly hasSigned: boolean;
}

/** The part of a call that its attempts need: it begins them, reads their first output, and hears of their end. */
export interface AttemptHost<Begun extends BegunAttempt, Result> {
  /**
   * Starts the exchange on a route. A {@linkcode GatewayError} that it throws (e.g. a refused conversion) means that
   * the route cannot carry this request and nothing was sent. It returns a promise if something must be prepared
   * first; the route's time begins when it resolves. It calls `onSentAgain` when its request goes out a second time.
   */
  start(route: Route, onSentAgain: () => void): Begun | Promise<Begun>;
  /**
   * Reads what commits the call to this route: the first output of a stream, a whole answer, an accepted task. It
   * calls `onSign` for bytes that are not output yet (a status, a ping, a start event).
   */
  firstOutput(begun: Begun, onSign: () => void): Promise<Result>;
  /**
   * Time for {@linkcode AttemptHost.firstOutput}, after which the attempt is given up; `undefined`: as long as the
   * call may take.
   */
  timeoutMs(route: Route): number | undefined;
  /** Time after which the next route starts beside this one; `undefined` where no two routes may run at once. */
  slowAfterMs(route: Route): number | undefined;
  /**
   * Whether the next route may start now beside a slow one, which takes what that costs from a budget; asked again after
   * a while if not. Absent: always.
   */
  mayHedge?(slow: SlowAttempt): boolean;
  /** Called once for each attempt, with the monotonic time at which it ended; e.g. to track the health of routes. */
  report(route: Route, result: AttemptResult, endedMs: number): void;
  /** Receives exceptions that are defects. The attempt counts as failed; its route is not blamed. */
  onBug(error: unknown): void;
}

/** Needs of an attempt. */
interface RouteAttemptInput<Begun extends BegunAttempt, Result> {
  readonly host: AttemptHost<Begun, Result>;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly control: CallControl;
}

/** An attempt without a result. */
interface FailedAttempt {
  readonly ok: false;
  readonly route: Route;
  readonly error: GatewayError;
  /** Whether the same route may be tried again, with another credential. */
  readonly mayRepeat: boolean;
  /** The same route is tried again, whatever the error. */
  readonly repeats?: boolean;
  /** The route cannot carry this request: nothing was sent to it. */
  readonly unsuited: boolean;
}

/** The end of an attempt: its result, or why it failed. */
type RaceOutcome<Begun extends BegunAttempt, Result> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly begun: Begun;
    readonly result: Result;
  }
  | FailedAttempt;

/**
 * Milliseconds of silence, without even a ping, after which a slow attempt is replaced by a route that was not asked
 * yet. Providers that ping do so every 10–30 s; of those that do not, few leave a stream without a byte for longer.
 */
export const roomAfterSilenceMs = 120_000;

/** One attempt of a route that can be raced with another, stopped, and reported to the route's health. */
class RouteAttempt<Begun extends BegunAttempt, Result> {
  readonly route: Route;
  /** Never rejects. */
  readonly outcome: Promise<RaceOutcome<Begun, Result>>;
  readonly #input: RouteAttemptInput<Begun, Result>;
  readonly #cancel = () => this.#begun?.exchange.cancel();
  readonly #onSign = () => {
    this.#lastSignMs = this.#input.clock.monotonicMs();
    this.#hasSigned = true;
    if (this.#pace === "in_time") return;
    this.#pace = "slow";
    this.#pacer?.arm(roomAfterSilenceMs);
  };
  #startedMs: number;
  #lastSignMs: number;
  #slowAfterMs = Infinity;
  readonly #onTurn: (() => void) | undefined;
  /** Gives the attempt up after `timeoutMs`. */
  #deadline: Deadline | undefined;
  /** Moves the pace from `in_time` to `slow` to `silent`. */
  #pacer: Deadline | undefined;
  #pace: "in_time" | "slow" | "silent" = "in_time";
  #hasSigned = false;
  #begun: Begun | undefined;
  #beaten = false;
  #givenUp = false;
  #sentAgainMs: number | undefined;
  #attempts: readonly Attempt[] = [];

  /**
   * @param onTurn called when this attempt becomes slow, and when it becomes silent; absent where no other route
   * waits
   */
  constructor(input: RouteAttemptInput<Begun, Result>, route: Route, onTurn?: () => void) {
    this.route = route;
    this.#onTurn = onTurn;
    this.#input = input;
    this.#startedMs = input.clock.monotonicMs();
    this.#lastSignMs = this.#startedMs;
    this.outcome = this.#run();
  }

  /** Whether it is without output for so long that the next route should start beside it. */
  get isSlow(): boolean {
    return this.#pace !== "in_time";
  }

  /** Whether the next route may start beside it now; if so, that is paid for. */
  takeHedge(): boolean {
    if (!this.isSlow) return false;
    const { host, clock } = this.#input;
    const { route } = this;
    const waitedMs = clock.monotonicMs() - this.#startedMs;
    return host.mayHedge?.({ route, waitedMs, hasSigned: this.#hasSigned }) ?? true;
  }

  /** Whether it is slow, and without a byte for {@linkcode roomAfterSilenceMs}. */
  get isSilent(): boolean {
    return this.#pace === "silent";
  }

  /**
   * The entries of this attempt on the receipt; set when {@linkcode outcome} is. There are two if the request had to
   * be sent a second time: the provider may have worked, and charged, for both.
   */
  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  /** Stops the attempt, because another route was quicker. */
  beat(): void {
    this.#beaten = true;
    this.#cancel();
  }

  /** Stops the attempt as a failure of its route: it took too long, or was silent while other routes wait. */
  giveUp(): void {
    this.#givenUp = true;
    this.#cancel();
  }

  async #run(): Promise<RaceOutcome<Begun, Result>> {
    const { route } = this;
    const { host, control } = this.#input;
    try {
      const onSentAgain = () => {
        this.#sentAgainMs = this.#input.clock.monotonicMs();
      };
      const starting = host.start(route, onSentAgain);
      // Awaited only where it is a promise: most attempts start at once, and an await would delay them.
      const begun = starting instanceof Promise ? await this.#readied(starting) : starting;
      this.#begun = begun;
      control.attach(this.#cancel);
      this.#setTimes();
      const result = await host.firstOutput(begun, this.#onSign);
      // The output arrived just as the exchange was given up: nothing more can be read from it.
      if (this.#givenUp) return this.#failed(undefined);
      this.#finish("ok", (ms) => ({ kind: "ok", ms }));
      return { ok: true, route, begun, result };
    } catch (failure) {
      this.#cancel();
      return this.#failed(failure);
    } finally {
      this.#deadline?.disarm();
      this.#pacer?.disarm();
      control.detach(this.#cancel);
    }
  }

  #setTimes(): void {
    const { host, deadlines } = this.#input;
    const timeoutMs = host.timeoutMs(this.route);
    if (timeoutMs !== undefined) {
      this.#deadline = deadlines.create(() => this.giveUp());
      this.#deadline.arm(timeoutMs);
    }
    const slow = this.#onTurn === undefined ? undefined : host.slowAfterMs(this.route);
    if (slow === undefined) return;
    this.#slowAfterMs = slow;
    this.#pacer = deadlines.create(() => this.#turn());
    this.#pacer.arm(slow);
  }

  #turn(): void {
    if (this.#pace === "in_time") {
      this.#pace = "slow";
      const silentMs = this.#hasSigned ? 0 : this.#slowAfterMs;
      this.#pacer?.arm(Math.max(roomAfterSilenceMs - silentMs, 0));
    } else {
      this.#pace = "silent";
    }
    this.#onTurn?.();
  }

  async #readied(starting: Promise<Begun>): Promise<Begun> {
    const begun = await starting;
    this.#startedMs = this.#input.clock.monotonicMs();
    this.#lastSignMs = this.#startedMs;
    if (this.#beaten) begun.exchange.cancel();
    return begun;
  }

  #failed(failure: unknown): FailedAttempt {
    const { route } = this;
    const unsuited = this.#begun === undefined;
    const { stopped } = this.#input.control;
    if (stopped !== undefined) {
      const error = stopError(stopped);
      // The code of the answer, by which the receipt tells it; the others are no matter of a route.
      this.#finish(stopped === "call_timeout" ? error.code : "stopped", (ms) => ({
        kind: "stopped",
        ms,
      }));
      return { ok: false, route, error, mayRepeat: false, unsuited };
    }
    if (this.#beaten) {
      const silentMs = this.#input.clock.monotonicMs() - this.#lastSignMs;
      const silent = silentMs >= this.#slowAfterMs;
      this.#finish("beaten", (ms) => ({ kind: "beaten", ms, silent }));
      return { ok: false, route, error: slowError(), mayRepeat: false, unsuited };
    }
    const known = this.#givenUp ? slowError() : knownFailure(failure);
    if (known === undefined) return this.#bug(failure);
    const error = route.ownKey === undefined ? known : route.ownKey(known);
    this.#finish(error.code, (ms) => ({ kind: "failed", ms, error }));
    const mayRepeat = this.#begun?.mayRepeat?.() ?? false;
    const repeats = this.#begun?.repeats?.() ?? false;
    return { ok: false, route, error, mayRepeat: mayRepeat || repeats, repeats, unsuited };
  }

  #bug(cause: unknown): FailedAttempt {
    const { route } = this;
    this.#input.host.onBug(cause);
    const error = new GatewayError("internal_error", "Something went wrong inside the gateway", {
      cause,
    });
    this.#finish(error.code, (ms) => ({ kind: "stopped", ms }));
    return { ok: false, route, error, mayRepeat: false, unsuited: false };
  }

  #finish(outcome: string, result: (ms: number) => AttemptResult): void {
    const endedMs = this.#input.clock.monotonicMs();
    const ms = endedMs - this.#startedMs;
    const { id: route, region, ownKey } = this.route;
    const sentMs = this.#sentAgainMs ?? this.#startedMs;
    const named: Pick<Attempt, "route" | "region"> = region === undefined
      ? { route }
      : { route, region };
    const at: Omit<Attempt, "outcome" | "ms"> = ownKey === undefined
      ? named
      : { ...named, ownKey: true };
    const last = { ...at, outcome, ms: Math.round(endedMs - sentMs) };
    const lostMs = Math.round(sentMs - this.#startedMs);
    this.#attempts = this.#sentAgainMs === undefined
      ? [last]
      : [{ ...at, outcome: "connection_lost", ms: lostMs }, last];
    this.#input.host.report(this.route, result(ms), endedMs);
  }
}

function slowError(): GatewayError {
  return new GatewayError(
    "upstream_timeout",
    "The provider of this model did not answer in time",
  );
}

/** Routes tried for one call, so that a failing model costs a bounded number of requests. */
export const attemptsPerCall = 8;

/** Attempts on one route in one call, each with other credentials of its provider if it refused the last. */
export const attemptsPerRoute = 3;

/** Needs of the attempt loop. */
export interface AttemptLoopInput<Begun extends BegunAttempt, Result>
  extends RouteAttemptInput<Begun, Result> {
  /** Routes in the order to try. Each is tried once, or once per credential if credentials are refused. */
  readonly candidates: readonly Route[];
  /** Start of a second route beside the first; the quicker one is used. */
  readonly hedge?: Hedge | undefined;
}

/** Start of a second route beside a slow first one. */
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
