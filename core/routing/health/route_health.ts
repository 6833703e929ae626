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
import { Breaker, type BreakerEvidence, type BreakerState, type SharedBreaker } from "./breaker.ts";
import type { SharedEvidence } from "./evidence.ts";
import { FirstOutputTime, Throughput } from "./speed.ts";
import { minStuckAfterMs, StuckDetector } from "./stuck_detector.ts";

/** What an attempt says about the route. Mistakes of callers are not among it. */
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

  /** How long attempts may be in flight without one that ends before the route counts as stuck. */
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

  /** See {@linkcode Breaker.adopt}. */
  adopt(shared: SharedBreaker, nowMs: number): void {
    this.#breaker.adopt(shared, nowMs);
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
    const { tokensPerSecond } = this.#throughput;
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
