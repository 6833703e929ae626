/**
 * The health of one route for one operation: what happened lately, and whether it may be tried.
 *
 * Pure: time and random come in as values, so that a simulation can run a million calls in seconds.
 */
import { breakerPauseMaxMs } from "./limits.ts";
import { HealthWindow } from "./health_window.ts";
import { FirstOutputTime, Throughput } from "./speed.ts";

/** Calls in the window below which a share of failures means nothing. */
export const breakerMinCalls = 10;

/** Share of failures in the window that opens the breaker. */
const breakerFailureShare = 0.5;

/** Failures in a row that open the breaker, whatever the traffic. */
export const breakerConsecutiveFailures = 3;

/** Milliseconds of an open breaker's first pause; each failed probe doubles it. */
export const breakerPauseMs = 1_000;

/** Attempts in flight on a route from which it can count as stuck. */
export const stuckTries = 3;

/**
 * Milliseconds without an ended attempt (and four times the usual duration) after which a route with that
 * many in flight is stuck: it hangs without having failed.
 */
const minStuckAfterMs = 2_000;

export type BreakerState = "closed" | "open" | "half_open";

/** What a try says about the route. The caller's own mistakes never get here. */
export type HealthSample =
  | { readonly ok: true; readonly firstOutputMs: number }
  | {
    readonly ok: false;
    /** Shown to operators: an error code of ours. */
    readonly reason: string;
    /** The provider asked for this pause: it rests at once, whatever the window says, but is probed before its end. */
    readonly retryAfterMs?: number;
  };

/** Everything an operator is shown. */
export interface HealthView {
  readonly state: BreakerState;
  readonly windowCalls: number;
  readonly windowFailures: number;
  readonly consecutiveFailures: number;
  readonly firstOutputMs: number | undefined;
  readonly tokensPerSecond: number | undefined;
  /** Wall clock of the next probe while open. */
  readonly nextProbeAtMs: number | undefined;
  readonly reason: string | undefined;
  readonly inFlight: number;
  /** Tries are in flight and none has ended for long: new calls go elsewhere though nothing has failed yet. */
  readonly stuck: boolean;
}

/** Times that a pause doubles; the longest one is reached before. */
const mostDoublings = 16;
/** Reports tell how long a try took in whole milliseconds, so its start is known this well. */
const startToleranceMs = 1;

/** What is known of a route that could have been probed for so long says nothing of now. */
const forgottenAfterMs = 10 * 60_000;

export class RouteHealth {
  readonly #window = new HealthWindow();
  readonly #firstOutput = new FirstOutputTime();
  readonly #throughput = new Throughput();
  #state: BreakerState = "closed";
  #consecutiveFailures = 0;
  #openings = 0;
  #nextProbeMs = 0;
  #probing = false;
  /** When the breaker last opened or let a probe through: older tries know nothing of what came after. */
  #changedAtMs = 0;
  #pauseWasAsked = false;
  /** Until then an answer proves nothing: it is what the answer says of itself that is false. */
  #distrustedUntilMs = -Infinity;
  /** The end of the pause that the provider asked for. */
  #askedUntilMs = 0;
  /** When a try last ended by the route's own doing, or began on a route at rest. */
  #lastSignMs = 0;
  #lastBeginMs = -Infinity;
  #hangs = false;
  #reason: string | undefined;
  inFlight = 0;

  /** Average time to first output, fading while nothing is measured; `undefined` before the first success. */
  firstOutputMs(nowMs: number): number | undefined {
    return this.#firstOutput.fadedMs(nowMs);
  }

  /** Why the last try failed, while that still matters. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** The average as it was last measured, faded or not: what the route took in its good days. */
  get usualFirstOutputMs(): number | undefined {
    return this.#firstOutput.usualMs;
  }

  /** Monotonic time at which an open breaker lets a probe through. */
  get nextProbeMs(): number {
    return this.#nextProbeMs;
  }

  /** When calls may count on it again: the end of the pause that the provider asked for, or the next probe. */
  get readyMs(): number {
    return this.pauseWasAsked ? Math.max(this.#askedUntilMs, this.#nextProbeMs) : this.#nextProbeMs;
  }

  /** The provider itself asked for the pause that runs (`retry-after`). */
  get pauseWasAsked(): boolean {
    return this.#state === "open" && this.#pauseWasAsked;
  }

  /**
   * A route that hangs has not failed yet: without this, calls would run into it until the first of them is given up.
   * Once found so it stays so until a try ends by the route's own doing; one try a minute finds out.
   */
  isStuck(nowMs: number): boolean {
    const silentMs = nowMs - this.#lastSignMs;
    this.#hangs ||= this.inFlight >= stuckTries && silentMs > this.stuckAfterMs;
    return this.#hangs && nowMs - this.#lastBeginMs <= breakerPauseMaxMs;
  }

  /** How long tries may be in flight without one that ends before the route counts as stuck. */
  get stuckAfterMs(): number {
    return Math.max(minStuckAfterMs, 4 * (this.#firstOutput.usualMs ?? 0));
  }

  /** Whether the route may be tried now, and as what. */
  availability(nowMs: number): "yes" | "probe" | "no" {
    this.#expire(nowMs);
    if (this.#state === "closed") return "yes";
    if (nowMs < this.#nextProbeMs || this.#probing) return "no";
    return "probe";
  }

  /** A breaker that was never probed tells of a trouble long ago: it closes, and the next failure opens it again. */
  #expire(nowMs: number): void {
    if (this.#state !== "open" || nowMs - this.#nextProbeMs < forgottenAfterMs) return;
    this.#close();
    this.#consecutiveFailures = breakerConsecutiveFailures - 1;
  }

  /** A try begins. While the breaker is not closed it is the one probe. */
  begin(nowMs: number): void {
    if (this.inFlight === 0 && !this.#hangs) this.#lastSignMs = nowMs;
    this.inFlight++;
    this.#lastBeginMs = nowMs;
    if (this.#state !== "closed" && nowMs >= this.#nextProbeMs && !this.#probing) {
      this.#state = "half_open";
      this.#probing = true;
      this.#changedAtMs = nowMs;
    }
  }

  /** A try that began before the breaker's last change is no probe, and its end must not be taken for one. */
  #isStale(startedMs: number): boolean {
    return this.#state !== "closed" && startedMs < this.#changedAtMs - startToleranceMs;
  }

  /**
   * A try ended in a way that says nothing about the route.
   *
   * @param startedMs when it began
   */
  forget(startedMs: number): void {
    this.inFlight = Math.max(0, this.inFlight - 1);
    if (!this.#isStale(startedMs)) this.#probing = false;
  }

  /**
   * A try was given up because another route was quicker: it would have taken longer than it ran. A probe that is
   * beaten has failed, the route is not yet what it was; and so has a try on a route that hangs, or one that was
   * `silent`, without a byte, for as long as makes a route slow.
   *
   * @returns the new state if it changed
   */
  beaten(
    nowMs: number,
    random: number,
    startedMs: number,
    silent = false,
  ): BreakerState | undefined {
    if (this.#state === "half_open" && this.#probing && !this.#isStale(startedMs)) {
      return this.#judge({ ok: false, reason: "slow_probe" }, nowMs, random, startedMs);
    }
    if (this.isStuck(nowMs)) {
      return this.#judge({ ok: false, reason: "stuck" }, nowMs, random, startedMs);
    }
    if (silent) return this.#judge({ ok: false, reason: "silent" }, nowMs, random, startedMs);
    this.forget(startedMs);
    const ms = nowMs - startedMs;
    if (ms > (this.#firstOutput.usualMs ?? 0)) this.#firstOutput.measure(ms, nowMs);
    return undefined;
  }

  /**
   * A try ended. Returns the new state if it changed.
   *
   * @param random from 0 up to 1: pauses are spread, so that instances do not probe in step
   * @param startedMs when the try began
   */
  end(
    sample: HealthSample,
    nowMs: number,
    random: number,
    startedMs: number = nowMs,
  ): BreakerState | undefined {
    this.#lastSignMs = nowMs;
    this.#hangs = false;
    return this.#judge(sample, nowMs, random, startedMs);
  }

  #judge(
    sample: HealthSample,
    nowMs: number,
    random: number,
    startedMs: number,
  ): BreakerState | undefined {
    this.#window.advance(nowMs);
    this.inFlight = Math.max(0, this.inFlight - 1);
    const before = this.#state;
    const stale = this.#isStale(startedMs);
    if (!stale) this.#probing = false;
    this.#window.count(sample.ok ? "well" : "failed");
    if (sample.ok) {
      this.#firstOutput.measure(sample.firstOutputMs, nowMs);
      // Of many calls in flight some succeed on a route that fails half of them: only the probe closes the breaker.
      if (!stale) {
        this.#consecutiveFailures = 0;
        if (this.#state !== "closed" && nowMs >= this.#distrustedUntilMs) this.#close();
      }
    } else {
      this.#consecutiveFailures++;
      this.#reason = sample.reason;
      if (sample.retryAfterMs !== undefined) {
        this.#open(nowMs, Math.min(sample.retryAfterMs, breakerPauseMaxMs), random);
      } else if (!stale && (this.#state !== "closed" || this.#isFailing())) {
        this.#open(nowMs, undefined, random);
      }
    }
    return this.#state === before ? undefined : this.#state;
  }

  /**
   * The route cannot be trusted: it rests for the longest pause, and again after each probe that shows the same.
   *
   * @returns the new state if it changed
   */
  distrust(reason: string, nowMs: number, random: number): BreakerState | undefined {
    const before = this.#state;
    this.#reason = reason;
    this.#openings = Math.max(this.#openings, mostDoublings);
    this.#open(nowMs, undefined, random);
    this.#distrustedUntilMs = this.#nextProbeMs;
    return this.#state === before ? undefined : this.#state;
  }

  /** Notes how fast output came, from a finished stream. */
  noteThroughput(outputTokens: number, ms: number): void {
    this.#throughput.measure(outputTokens, ms);
  }

  #isFailing(): boolean {
    if (this.#consecutiveFailures >= breakerConsecutiveFailures) return true;
    const { calls, failures } = this.#window;
    return calls >= breakerMinCalls && failures / calls >= breakerFailureShare;
  }

  #open(nowMs: number, askedMs: number | undefined, random: number): void {
    if (askedMs !== undefined) this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + askedMs);
    // A last try on a route that rests (see the router) is no probe: the pause must not grow with traffic.
    if (this.#state === "open" && nowMs < this.#nextProbeMs) {
      this.#pauseWasAsked ||= askedMs !== undefined;
      return;
    }
    const grown = breakerPauseMs * 2 ** Math.min(this.#openings, mostDoublings);
    const ownMs = Math.min(grown, breakerPauseMaxMs) * (0.8 + 0.4 * random);
    // What a provider asks for is often longer than its limit holds; one call finds out before.
    const pauseMs = Math.min(askedMs ?? Infinity, ownMs);
    this.#openings++;
    this.#pauseWasAsked = askedMs !== undefined;
    if (this.#state !== "open") this.#changedAtMs = nowMs;
    this.#state = "open";
    this.#nextProbeMs = Math.max(this.#nextProbeMs, nowMs + pauseMs);
  }

  #close(): void {
    this.#state = "closed";
    this.#openings = 0;
    this.#askedUntilMs = 0;
    this.#reason = undefined;
    this.#window.clear();
  }

  /** @param wallOffsetMs wall clock minus monotonic clock, to show times */
  view(nowMs: number, wallOffsetMs: number): HealthView {
    this.#expire(nowMs);
    this.#window.advance(nowMs);
    const { usualMs } = this.#firstOutput;
    const { tokensPerSecond } = this.#throughput;
    return {
      state: this.#state,
      windowCalls: this.#window.calls,
      windowFailures: this.#window.failures,
      consecutiveFailures: this.#consecutiveFailures,
      firstOutputMs: usualMs === undefined ? undefined : Math.round(usualMs),
      tokensPerSecond: tokensPerSecond === undefined
        ? undefined
        : Math.round(tokensPerSecond * 10) / 10,
      nextProbeAtMs: this.#state === "closed"
        ? undefined
        : Math.round(this.#nextProbeMs + wallOffsetMs),
      reason: this.#reason,
      inFlight: this.inFlight,
      stuck: this.isStuck(nowMs),
    };
  }
}
