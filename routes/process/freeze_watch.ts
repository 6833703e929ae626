/** Notices at a request that the process was frozen: its timers have not fired, and much may be due. */
import type { Clock } from "../../core/lib/time/clock.ts";

/**
 * Milliseconds without a tick of the jobs, one of which ticks each second, after which the process
 * counts as frozen. A busy event loop is not that late.
 */
export const frozenAfterMs = 5_000;

/**
 * Compares the time of each request with the last tick. A platform may stop a process between
 * requests, with the clock of its timers: they then continue where they were, not when they are due.
 *
 * @example
 * ```ts
 * import { FreezeWatch, frozenAfterMs } from "./freeze_watch.ts";
 * let nowMs = 0;
 * const watch = new FreezeWatch({ nowMs: () => nowMs });
 * let thaws = 0;
 * watch.onThaw(() => thaws++);
 * watch.request();
 * nowMs += frozenAfterMs;
 * watch.request();
 * watch.request();
 * if (thaws !== 1) throw new Error(`${thaws} thaws`);
 * ```
 */
export class FreezeWatch {
  readonly #clock: Pick<Clock, "nowMs">;
  #tickedAtMs: number;
  #onThaw = () => {};

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
    this.#tickedAtMs = clock.nowMs();
  }

  /** Sets what happens at the first request after a freeze. */
  onThaw(run: () => void): void {
    this.#onThaw = run;
  }

  /** A timer has fired. */
  ticked(): void {
    this.#tickedAtMs = this.#clock.nowMs();
  }

  /** A request has arrived. Cheap: one reading of the clock. */
  request(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#tickedAtMs < frozenAfterMs) return;
    this.#tickedAtMs = nowMs;
    this.#onThaw();
  }
}
