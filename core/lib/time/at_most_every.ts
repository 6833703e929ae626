/** Limits how often something runs. */
import type { Timer } from "./deadlines.ts";

/** A function that runs at most once in each period. */
export interface Limited {
  /** Runs at once, or at the end of the period if it ran in it; further calls until then are covered by that run. */
  (): void;
  /** Drops the run that waits. */
  stop(): void;
}

/**
 * Limits `run` to once every `periodMs`. A call is never lost: after it, `run` begins at least once.
 *
 * @example
 * ```ts
 * import { atMostEvery } from "./at_most_every.ts";
 * let runs = 0;
 * let endOfPeriod = () => {};
 * const timer = { start: (run: () => void) => (endOfPeriod = run, () => {}) };
 * const limited = atMostEvery(1_000, () => runs++, timer);
 * limited(); // runs
 * limited(); // waits
 * limited(); // is covered
 * endOfPeriod();
 * if (runs !== 2) throw new Error(`${runs} runs`);
 * ```
 */
export function atMostEvery(periodMs: number, run: () => void, timer: Timer): Limited {
  let stopTimer: (() => void) | undefined;
  let waits = false;
  function begin(): void {
    waits = false;
    stopTimer = timer.start(() => {
      stopTimer = undefined;
      if (waits) begin();
    }, periodMs);
    run();
  }
  const limited = () => {
    if (stopTimer === undefined) begin();
    else waits = true;
  };
  return Object.assign(limited, {
    stop() {
      stopTimer?.();
      waits = false;
    },
  });
}
