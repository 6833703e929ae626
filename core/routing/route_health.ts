/**
 * The health of one route for one operation: what happened lately, and whether it may be tried.
 *
 * Pure: time and random come in as values, so that a simulation can run a million calls in seconds.
 */
import { limits } from "../limits.ts";

/** Number of slices of the window: old failures leave it piece by piece, not all at once. */
const slices = 10;
const sliceMs = limits.healthWindowMs / slices;

export type BreakerState = "closed" | "open" | "half_open";

/** What a try says about the route. The caller's own mistakes never get here. */
export type HealthSample =
  | { readonly ok: true; readonly firstOutputMs: number }
  | {
    readonly ok: false;
    /** Shown to operators: an error code of ours. */
    readonly reason: string;
    /** The provider asked for this pause: it rests at once, whatever the window says. */
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

/** Share of a new sample in the moving averages: the last ten or so decide. */
const ewmaShare = 0.2;

/** Reports tell how long a try took in whole milliseconds, so its start is known this well. */
const startToleranceMs = 1;

export class RouteHealth {
  readonly #calls = new Uint32Array(slices);
  readonly #failures = new Uint32Array(slices);
  #slice = 0;
  #state: BreakerState = "closed";
  #consecutiveFailures = 0;
  #openings = 0;
  #nextProbeMs = 0;
  #probing = false;
  /** When the breaker last opened or let a probe through: older tries know nothing of what came after. */
  #changedAtMs = 0;
  #pauseWasAsked = false;
  #firstOutputMs: number | undefined;
  #measuredAtMs = 0;
  /** When a try last ended by the route's own doing, or began on a route at rest. */
  #lastSignMs = 0;
  #lastBeginMs = -Infinity;
  #hangs = false;
  #tokensPerSecond: number | undefined;
  #reason: string | undefined;
  inFlight = 0;

  /** Moves the window up to now; slices that went by unseen are emptied. */
  #advance(nowMs: number): void {
    const current = Math.floor(nowMs / sliceMs);
    const steps = Math.min(slices, current - this.#slice);
    for (let i = 1; i <= steps; i++) {
      const index = (this.#slice + i) % slices;
      this.#calls[index] = 0;
      this.#failures[index] = 0;
    }
    if (current > this.#slice) {
      // After a long silence every slice was emptied; only the position matters.
      this.#slice = current;
      if (steps === slices) {
        this.#calls.fill(0);
        this.#failures.fill(0);
      }
    }
  }

  #sum(counts: Uint32Array): number {
    let sum = 0;
    for (const count of counts) sum += count;
    return sum;
  }

  /**
   * Average time to first output; `undefined` before the first success. It fades while nothing is measured: a route
   * that was slow gets a call again after a while, and so a chance to show that it has recovered.
   */
  firstOutputMs(nowMs: number): number | undefined {
    if (this.#firstOutputMs === undefined) return undefined;
    return this.#firstOutputMs * 0.5 ** ((nowMs - this.#measuredAtMs) / limits.slownessHalfLifeMs);
  }

  /** Why the last try failed, while that still matters. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** The average as it was last measured, faded or not: what the route took in its good days. */
  get usualFirstOutputMs(): number | undefined {
    return this.#firstOutputMs;
  }

  /** Monotonic time at which an open breaker lets a probe through. */
  get nextProbeMs(): number {
    return this.#nextProbeMs;
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
    this.#hangs ||= this.inFlight >= limits.stuckTries && silentMs > this.stuckAfterMs;
    return this.#hangs && nowMs - this.#lastBeginMs <= limits.breakerPauseMaxMs;
  }

  /** How long tries may be in flight without one that ends before the route counts as stuck. */
  get stuckAfterMs(): number {
    return Math.max(limits.stuckAfterMs, 4 * (this.#firstOutputMs ?? 0));
  }

  /** Whether the route may be tried now, and as what. */
  availability(nowMs: number): "yes" | "probe" | "no" {
    if (this.#state === "closed") return "yes";
    if (nowMs < this.#nextProbeMs || this.#probing) return "no";
    return "probe";
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
   * beaten has failed, the route is not yet what it was; and so has a try on a route that hangs.
   *
   * @returns the new state if it changed
   */
  beaten(nowMs: number, random: number, startedMs: number): BreakerState | undefined {
    if (this.#state === "half_open" && this.#probing && !this.#isStale(startedMs)) {
      return this.#judge({ ok: false, reason: "slow_probe" }, nowMs, random, startedMs);
    }
    if (this.isStuck(nowMs)) {
      return this.#judge({ ok: false, reason: "stuck" }, nowMs, random, startedMs);
    }
    this.forget(startedMs);
    const ms = nowMs - startedMs;
    if (ms > (this.#firstOutputMs ?? 0)) this.#measure(ms, nowMs);
    return undefined;
  }

  /** The older the former measurements, the less they weigh: one good answer of a route that was slow is enough. */
  #measure(ms: number, nowMs: number): void {
    const faded = this.firstOutputMs(nowMs);
    const former = this.#firstOutputMs;
    this.#measuredAtMs = nowMs;
    if (faded === undefined || former === undefined || former === 0) this.#firstOutputMs = ms;
    else this.#firstOutputMs = ms + (1 - ewmaShare) * (faded / former) * (faded - ms);
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
    this.#advance(nowMs);
    this.inFlight = Math.max(0, this.inFlight - 1);
    const before = this.#state;
    const stale = this.#isStale(startedMs);
    if (!stale) this.#probing = false;
    const index = this.#slice % slices;
    this.#calls[index]! += 1;
    if (sample.ok) {
      this.#measure(sample.firstOutputMs, nowMs);
      // Of many calls in flight some succeed on a route that fails half of them: only the probe closes the breaker.
      if (!stale) {
        this.#consecutiveFailures = 0;
        if (this.#state !== "closed") this.#close();
      }
    } else {
      this.#failures[index]! += 1;
      this.#consecutiveFailures++;
      this.#reason = sample.reason;
      if (sample.retryAfterMs !== undefined) {
        this.#open(nowMs, Math.min(sample.retryAfterMs, limits.breakerPauseMaxMs), random);
      } else if (!stale && (this.#state !== "closed" || this.#isFailing())) {
        this.#open(nowMs, undefined, random);
      }
    }
    return this.#state === before ? undefined : this.#state;
  }

  /** Notes how fast output came, from a finished stream. */
  noteThroughput(outputTokens: number, ms: number): void {
    if (ms < 1 || outputTokens < 1) return;
    const rate = outputTokens * 1000 / ms;
    this.#tokensPerSecond = this.#tokensPerSecond === undefined
      ? rate
      : this.#tokensPerSecond + ewmaShare * (rate - this.#tokensPerSecond);
  }

  #isFailing(): boolean {
    if (this.#consecutiveFailures >= limits.breakerConsecutiveFailures) return true;
    const calls = this.#sum(this.#calls);
    return calls >= limits.breakerMinCalls &&
      this.#sum(this.#failures) / calls >= limits.breakerFailureShare;
  }

  #open(nowMs: number, askedMs: number | undefined, random: number): void {
    // A last try on a route that rests (see the router) is no probe: the pause must not grow with traffic.
    if (this.#state === "open" && askedMs === undefined && nowMs < this.#nextProbeMs) return;
    const grown = limits.breakerPauseMs * 2 ** Math.min(this.#openings, 16);
    const pauseMs = askedMs ?? Math.min(grown, limits.breakerPauseMaxMs) * (0.8 + 0.4 * random);
    if (askedMs === undefined) this.#openings++;
    this.#pauseWasAsked = askedMs !== undefined;
    if (this.#state !== "open") this.#changedAtMs = nowMs;
    this.#state = "open";
    this.#nextProbeMs = Math.max(this.#nextProbeMs, nowMs + pauseMs);
  }

  #close(): void {
    this.#state = "closed";
    this.#openings = 0;
    this.#reason = undefined;
    this.#calls.fill(0);
    this.#failures.fill(0);
  }

  /** @param wallOffsetMs wall clock minus monotonic clock, to show times */
  view(nowMs: number, wallOffsetMs: number): HealthView {
    this.#advance(nowMs);
    return {
      state: this.#state,
      windowCalls: this.#sum(this.#calls),
      windowFailures: this.#sum(this.#failures),
      consecutiveFailures: this.#consecutiveFailures,
      firstOutputMs: this.#firstOutputMs === undefined
        ? undefined
        : Math.round(this.#firstOutputMs),
      tokensPerSecond: this.#tokensPerSecond === undefined
        ? undefined
        : Math.round(this.#tokensPerSecond * 10) / 10,
      nextProbeAtMs: this.#state === "closed"
        ? undefined
        : Math.round(this.#nextProbeMs + wallOffsetMs),
      reason: this.#reason,
      inFlight: this.inFlight,
      stuck: this.isStuck(nowMs),
    };
  }
}
