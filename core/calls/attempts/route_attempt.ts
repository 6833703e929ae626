/** An attempt on one route, as an object that can race another, be stopped, and report how it ended. */
import type { Route } from "../../catalog/catalog.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import type { Attempt } from "../../billing/usage/receipt.ts";
import type { UpstreamExchange } from "../../net/transport/transport.ts";
import { knownFailure } from "./attempt.ts";

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

/** How an attempt ended, for the health of its route. */
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

/** What a call does for its attempts: it begins them, reads their first output, and hears of their end. */
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

/** What an attempt needs of its call. */
export interface RouteAttemptInput<Begun extends BegunAttempt, Result> {
  readonly host: AttemptHost<Begun, Result>;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly control: CallControl;
}

/** An attempt without a result. */
export interface FailedAttempt {
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
export type RaceOutcome<Begun extends BegunAttempt, Result> =
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
export class RouteAttempt<Begun extends BegunAttempt, Result> {
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
    const error = this.#givenUp ? slowError() : knownFailure(failure);
    if (error === undefined) return this.#bug(failure);
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
    const { id: route, region } = this.route;
    const sentMs = this.#sentAgainMs ?? this.#startedMs;
    const at: Pick<Attempt, "route" | "region"> = region === undefined
      ? { route }
      : { route, region };
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
