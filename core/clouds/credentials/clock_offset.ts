import type { Clock } from "../../lib/time/clock.ts";

/**
 * Milliseconds of difference between two clocks that are ignored: signatures are accepted for five minutes, and `date`
 * has whole seconds.
 */
const ignoredOffsetMs = 60_000;

/** The time of a cloud, which refuses signatures of a clock that is wrong by minutes. */
export class ClockOffset {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since 1970 by the clock of the cloud, as far as it is known. */
  nowMs(): number {
    return this.#clock.nowMs() + this.#offsetMs;
  }

  /** Learns from the `date` of an answer; returns whether it corrected the time. */
  corrected(date: string | undefined): boolean {
    const dateMs = Date.parse(date ?? "");
    if (Number.isNaN(dateMs) || Math.abs(dateMs - this.nowMs()) <= ignoredOffsetMs) return false;
    this.#offsetMs = dateMs - this.#clock.nowMs();
    return true;
  }
}
