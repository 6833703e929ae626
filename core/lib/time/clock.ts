/**
 * A clock that is a parameter, so that tests need no sleeps.
 *
 * - Folder `core/lib/time/`: time as a value: clocks, deadlines, pauses, slices of long work,
 *   Vietnam's calendar.
 * - In: a clock or timer where a test must steer it.
 * - Out: times, armed deadlines, promises that end in time.
 * - Never: lets other folders of `core/` read the system clock: they are handed a `Clock`.
 */
export interface Clock {
  /** Wall time in ms since 1970, for records; may jump. */
  nowMs(): number;
  /** Monotonic time in ms, for durations and deadlines. */
  monotonicMs(): number;
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Creates a clock that reads the monotonic time once per millisecond of wall time.
 *
 * Reading it costs ten times as much as `Date.now()`, and a call does so half a dozen times. The
 * result is behind by less than a millisecond, never ahead.
 *
 * @example
 * ```ts
 * import { oncePerMillisecond, systemClock } from "./clock.ts";
 * const clock = oncePerMillisecond(systemClock);
 * const [early, exact, late] = [clock.monotonicMs(), systemClock.monotonicMs(), clock.monotonicMs()];
 * if (early > exact || late < early) throw new Error("not monotonic");
 * ```
 */
export function oncePerMillisecond(clock: Clock): Clock {
  let wallMs = NaN;
  let monotonicMs = 0;
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs() {
      const nowMs = clock.nowMs();
      if (nowMs !== wallMs) {
        wallMs = nowMs;
        monotonicMs = clock.monotonicMs();
      }
      return monotonicMs;
    },
  };
}
