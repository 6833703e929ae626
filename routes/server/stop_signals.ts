/** What signals tell the process: to stop, and, told again, to hurry. */
import type { Clock } from "../../core/lib/time/clock.ts";

/**
 * Milliseconds after the first signal within which further ones are taken for the same request to stop; a
 * second Ctrl-C of a person comes later.
 */
export const sameSignalMs = 1_000;

export interface StopSignals {
  /** Aborted when the process should stop. */
  readonly stop: AbortSignal;
  /** Aborted when it was told so again. */
  readonly hurry: AbortSignal;
  /** To be called at every signal. */
  readonly tell: () => void;
}

/**
 * Makes the two. Signals within {@linkcode sameSignalMs} of the first count as that one: Ctrl-C comes from the
 * terminal, and once more from `deno task`, which passes it on.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../core/lib/time/clock.ts";
 * import { createStopSignals } from "./stop_signals.ts";
 * const { stop, hurry, tell } = createStopSignals(systemClock);
 * tell();
 * tell();
 * if (!stop.aborted || hurry.aborted) throw new Error("one Ctrl-C is no hurry");
 * ```
 */
export function createStopSignals(clock: Pick<Clock, "monotonicMs">): StopSignals {
  const stop = new AbortController();
  const hurry = new AbortController();
  let firstAtMs: number | undefined;
  return {
    stop: stop.signal,
    hurry: hurry.signal,
    tell() {
      const nowMs = clock.monotonicMs();
      firstAtMs ??= nowMs;
      stop.abort();
      if (nowMs - firstAtMs >= sameSignalMs) hurry.abort();
    },
  };
}
