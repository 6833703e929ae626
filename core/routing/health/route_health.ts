/**
 * The health of one route for one operation: its breaker, its speed, and whether it hangs.
 *
 * Pure: time and random numbers are parameters, so that a simulation can run a million calls in seconds.
 *
 * - Folder `core/routing/health/`: the health of one route: its breaker, speed, credentials, and customers who use up
 *   its rate.
 * - In: how attempts ended, with times and random numbers as parameters.
 * - Out: verdicts: whether a route or a credential rests, and for how long.
 * - Never: reads a clock or draws a random number itself; it imports no other folder.
 */
import {
  Breaker,
  type BreakerEvidence,
  type BreakerState,
  type SharedBreaker,
  type SharedEvidence,
} from "./breaker.ts";
import { breakerPauseMaxMs } from "./limits.ts";

// Quantiles of latencies in constant memory: counts in buckets that grow by a tenth, halved from time to time.

const smallestMs = 1;
const growth = 1.1;
const bucketCount = 160; // 1.1^160 ms is 70 minutes, longer than every timeout
const logGrowth = Math.log(growth);
/** Samples after which all counts are halved: old ones lose weight, so a shift shows within some hundred calls. */
const halveAtCount = 2_000;

/**
 * Keeps latencies and answers quantiles within a tenth.
 *
 * @example
 * ```ts
 * import { LatencyHistogram } from "./route_health.ts";
 * const histogram = new LatencyHistogram();
 * for (let ms = 1; ms <= 1000; ms++) histogram.add(ms);
 * const p95 = histogram.quantileMs(0.95);
 * if (p95 === undefined || p95 < 900 || p95 > 1050) throw new Error(String(p95));
 * ```
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(bucketCount);
  #total = 0;

  /** Number of samples that quantiles are computed from; older ones count in part. */
  get count(): number {
    return this.#total;
  }

  add(ms: number): void {
    const exact = Math.log(Math.max(ms, smallestMs) / smallestMs) / logGrowth;
    const index = Math.min(bucketCount - 1, Math.floor(exact));
    this.#counts[index]! += 1;
    this.#total++;
    if (this.#total < halveAtCount) return;
    this.#total /= 2;
    for (let i = 0; i < bucketCount; i++) this.#counts[i]! /= 2;
  }

  /** The latency below which the share `q` of samples lies; `undefined` without samples. */
  quantileMs(q: number): number | undefined {
    if (this.#total === 0) return undefined;
    let seen = 0;
    for (let i = 0; i < bucketCount; i++) {
      seen += this.#counts[i]!;
      if (seen >= q * this.#total) return Math.round(smallestMs * growth ** (i + 1));
    }
    return Math.round(smallestMs * growth ** bucketCount);
  }
}

// Measures the speed of a route: its time to first output, and its output per second.

/** Milliseconds in which a measured slowness loses half its weight if no measurement follows. */
const slownessHalfLifeMs = 30_000;

/** Weight of a new sample in the moving averages: about the last ten samples decide. */
const ewmaShare = 0.2;

/**
 * Average time to first output. It fades while nothing is measured, so that a route is not avoided for ever because
 * it was once slow.
 */
class FirstOutputTime {
  #averageMs: number | undefined;
  #measuredAtMs = 0;

  /** The average as it was last measured, without fading. */
  get usualMs(): number | undefined {
    return this.#averageMs;
  }

  /**
   * The average, faded since the last measurement; `undefined` before the first. A route that was slow gets a call
   * again after a while, which shows whether it has recovered.
   */
  fadedMs(nowMs: number): number | undefined {
    if (this.#averageMs === undefined) return undefined;
    return this.#averageMs * 0.5 ** ((nowMs - this.#measuredAtMs) / slownessHalfLifeMs);
  }

  /**
   * Adds a measurement. The older the former ones, the less they weigh: one good answer of a route that was slow is
   * enough.
   */
  measure(ms: number, nowMs: number): void {
    const faded = this.fadedMs(nowMs);
    const former = this.#averageMs;
    this.#measuredAtMs = nowMs;
    if (faded === undefined || former === undefined || former === 0) this.#averageMs = ms;
    else this.#averageMs = ms + (1 - ewmaShare) * (faded / former) * (faded - ms);
  }
}

/** Average output tokens per second, of finished streams. */
class Throughput {
  #tokensPerSecond: number | undefined;

  get tokensPerSecond(): number | undefined {
    return this.#tokensPerSecond;
  }

  measure(outputTokens: number, ms: number): void {
    if (ms < 1 || outputTokens < 1) return;
    const rate = outputTokens * 1000 / ms;
    this.#tokensPerSecond = this.#tokensPerSecond === undefined
      ? rate
      : this.#tokensPerSecond + ewmaShare * (rate - this.#tokensPerSecond);
  }
}

// Finds routes that hang: attempts are in flight, and none has ended for long. Such a route has not failed yet, so the
// breaker does not see it, and calls would run into it until the first of them is given up.

/** Attempts in flight on a route from which it can count as stuck. */
export const minStuckAttempts = 3;

/**
 * Milliseconds without an ended attempt (and four times the usual duration) after which a route with that many in flight
 * is stuck: it hangs without having failed.
 */
const minStuckAfterMs = 2_000;

/** Counts the attempts in flight on a route. Once found stuck, the route stays so until an attempt ends on its own. */
class StuckDetector {
  inFlight = 0;
  /** Moment at which an attempt last ended on its own, or began while none was in flight. */
  #lastSignMs = 0;
  #lastBeginMs = -Infinity;
  #isHanging = false;

  begin(nowMs: number): void {
    if (this.inFlight === 0 && !this.#isHanging) this.#lastSignMs = nowMs;
    this.inFlight++;
    this.#lastBeginMs = nowMs;
  }

  /** An attempt is over, for whatever reason. */
  over(): void {
    this.inFlight = Math.max(0, this.inFlight - 1);
  }

  /** The route itself ended an attempt, well or badly. */
  sign(nowMs: number): void {
    this.#lastSignMs = nowMs;
    this.#isHanging = false;
  }

  /**
   * Whether the route hangs and new calls should go elsewhere. `false` again after `breakerPauseMaxMs` without an
   * attempt, so that the next call finds out whether the route works.
   */
  isStuck(nowMs: number, stuckAfterMs: number): boolean {
    const silentMs = nowMs - this.#lastSignMs;
    this.#isHanging ||= this.inFlight >= minStuckAttempts && silentMs > stuckAfterMs;
    return this.#isHanging && nowMs - this.#lastBeginMs <= breakerPauseMaxMs;
  }
}

/** Sample that an attempt gives of the route. Mistakes of callers are not among them. */
export type HealthSample =
  | { readonly ok: true; readonly firstOutputMs: number }
  | Extract<BreakerEvidence, { readonly ok: false }>;

/** The health of a route as operators see it. */
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
  /** Attempts are in flight and none has ended for long: new calls go elsewhere though nothing has failed yet. */
  readonly stuck: boolean;
}

/** The health of one route for one operation. */
export class RouteHealth {
  readonly #breaker = new Breaker();
  readonly #firstOutput = new FirstOutputTime();
  readonly #throughput = new Throughput();
  readonly #attempts = new StuckDetector();

  /** Attempts in flight. */
  get inFlight(): number {
    return this.#attempts.inFlight;
  }

  /** Average time to first output, fading while nothing is measured; `undefined` before the first success. */
  firstOutputMs(nowMs: number): number | undefined {
    return this.#firstOutput.fadedMs(nowMs);
  }

  /** The average as it was last measured, without fading. */
  get usualFirstOutputMs(): number | undefined {
    return this.#firstOutput.usualMs;
  }

  /** Average output tokens per second of finished streams; `undefined` before the first one. */
  get tokensPerSecond(): number | undefined {
    return this.#throughput.tokensPerSecond;
  }

  /** See {@linkcode Breaker.reason}. */
  get reason(): string | undefined {
    return this.#breaker.reason;
  }

  /** See {@linkcode Breaker.nextProbeMs}. */
  get nextProbeMs(): number {
    return this.#breaker.nextProbeMs;
  }

  /** See {@linkcode Breaker.readyMs}. */
  get readyMs(): number {
    return this.#breaker.readyMs;
  }

  /** See {@linkcode Breaker.pauseWasAsked}. */
  get pauseWasAsked(): boolean {
    return this.#breaker.pauseWasAsked;
  }

  /** Whether the route may be tried now, and as what. */
  availability(nowMs: number): "yes" | "probe" | "no" {
    return this.#breaker.availability(nowMs);
  }

  /** Whether the route hangs: see {@linkcode StuckDetector}. */
  isStuck(nowMs: number): boolean {
    return this.#attempts.isStuck(nowMs, this.stuckAfterMs);
  }

  /** Milliseconds for which attempts may be in flight without one that ends before the route counts as stuck. */
  get stuckAfterMs(): number {
    return Math.max(minStuckAfterMs, 4 * (this.#firstOutput.usualMs ?? 0));
  }

  /** An attempt begins. While the breaker is not closed it is the one probe. */
  begin(nowMs: number): void {
    this.#attempts.begin(nowMs);
    this.#breaker.begin(nowMs);
  }

  /**
   * An attempt ended in a way that says nothing about the route.
   *
   * @param startedMs when it began
   */
  forget(startedMs: number): void {
    this.#attempts.over();
    this.#breaker.forget(startedMs);
  }

  /**
   * An attempt was given up because another route was quicker: it would have taken longer than it ran. It counts as a
   * failure if it was the probe, if the route hangs, or if it was `silent`, without a byte, for as long as makes a route
   * slow.
   *
   * @returns the new state if it changed
   */
  beaten(
    nowMs: number,
    random: number,
    startedMs: number,
    silent = false,
  ): BreakerState | undefined {
    const reason = this.#breaker.isProbe(startedMs)
      ? "slow_probe"
      : this.isStuck(nowMs)
      ? "stuck"
      : silent
      ? "silent"
      : undefined;
    if (reason !== undefined) return this.#judge({ ok: false, reason }, nowMs, random, startedMs);
    this.forget(startedMs);
    const ms = nowMs - startedMs;
    if (ms > (this.#firstOutput.usualMs ?? 0)) this.#firstOutput.measure(ms, nowMs);
    return undefined;
  }

  /**
   * An attempt ended. Returns the new state if it changed.
   *
   * @param random from 0 up to 1: pauses are spread, so that instances do not probe in step
   * @param startedMs when the attempt began
   */
  end(
    sample: HealthSample,
    nowMs: number,
    random: number,
    startedMs: number = nowMs,
  ): BreakerState | undefined {
    this.#attempts.sign(nowMs);
    return this.#judge(sample, nowMs, random, startedMs);
  }

  #judge(
    sample: HealthSample,
    nowMs: number,
    random: number,
    startedMs: number,
  ): BreakerState | undefined {
    this.#attempts.over();
    if (sample.ok) this.#firstOutput.measure(sample.firstOutputMs, nowMs);
    return this.#breaker.judge(sample, nowMs, random, startedMs);
  }

  /**
   * The route cannot be trusted: it rests for the longest pause, and again after each probe that shows the same.
   *
   * @returns the new state if it changed
   */
  distrust(reason: string, nowMs: number, random: number): BreakerState | undefined {
    return this.#breaker.distrust(reason, nowMs, random);
  }

  /** See {@linkcode Breaker.shared}. */
  shared(nowMs: number): SharedBreaker {
    return this.#breaker.shared(nowMs);
  }

  /** See {@linkcode Breaker.merge}. */
  merge(shared: SharedBreaker, nowMs: number): void {
    this.#breaker.merge(shared, nowMs);
  }

  /** See {@linkcode Breaker.takeEvidence}. */
  takeEvidence(): SharedEvidence | undefined {
    return this.#breaker.takeEvidence();
  }

  /** See {@linkcode Breaker.evidence}. */
  evidence(nowMs: number): SharedEvidence {
    return this.#breaker.evidence(nowMs);
  }

  /** See {@linkcode Breaker.addEvidence}. */
  addEvidence(evidence: SharedEvidence, nowMs: number): void {
    this.#breaker.addEvidence(evidence, nowMs);
  }

  /** See {@linkcode Breaker.review}. */
  review(nowMs: number, random: number): BreakerState | undefined {
    return this.#breaker.review(nowMs, random);
  }

  /** Notes how fast output came, from a finished stream. */
  noteThroughput(outputTokens: number, ms: number): void {
    this.#throughput.measure(outputTokens, ms);
  }

  /** @param wallOffsetMs wall clock minus monotonic clock, to show times */
  view(nowMs: number, wallOffsetMs: number): HealthView {
    const breaker = this.#breaker.view(nowMs);
    const { usualMs } = this.#firstOutput;
    const { tokensPerSecond } = this;
    return {
      ...breaker,
      firstOutputMs: usualMs === undefined ? undefined : Math.round(usualMs),
      tokensPerSecond: tokensPerSecond === undefined
        ? undefined
        : Math.round(tokensPerSecond * 10) / 10,
      nextProbeAtMs: breaker.state === "closed"
        ? undefined
        : Math.round(this.nextProbeMs + wallOffsetMs),
      reason: this.reason,
      inFlight: this.inFlight,
      stuck: this.isStuck(nowMs),
    };
  }
}
