/**
 * Finds routes that hang: attempts are in flight, and none has ended for long. Such a route has not failed yet, so the
 * breaker does not see it, and calls would run into it until the first of them is given up.
 */
import { breakerPauseMaxMs } from "./limits.ts";

/** Attempts in flight on a route from which it can count as stuck. */
export const minStuckAttempts = 3;

/**
 * Milliseconds without an ended attempt (and four times the usual duration) after which a route with that many in flight
 * is stuck: it hangs without having failed.
 */
export const minStuckAfterMs = 2_000;

/** Counts the attempts in flight on a route. Once found stuck, the route stays so until an attempt ends on its own. */
export class StuckDetector {
  inFlight = 0;
  /** When an attempt last ended on its own, or began while none was in flight. */
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
