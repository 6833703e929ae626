/** The waits of the sandbox. */
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";

/** Resolves after `ms`, or at once when the signal aborts; never rejects. It is passed in so that tests need not sleep. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

/**
 * Creates a delay on the timers of the runtime.
 *
 * @example
 * ```ts
 * import { timerDelay } from "./delay.ts";
 * const controller = new AbortController();
 * const waiting = timerDelay()(60_000, controller.signal);
 * controller.abort();
 * await waiting;
 * ```
 */
export function timerDelay(timer: Timer = systemTimer): Delay {
  return (ms, signal) => {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = timer.start(done, ms);
      signal.addEventListener("abort", done, { once: true });
      function done(): void {
        stop();
        signal.removeEventListener("abort", done);
        resolve();
      }
    });
  };
}
