/** Turns process signals into two abort signals: stop, and hurry. */
import type { Clock } from "../../core/lib/time/clock.ts";

/**
 * Milliseconds after the first signal within which further ones are taken for the same request to stop; a
 * second Ctrl-C of a person comes later.
 */
export const sameSignalMs = 1_000;

/** The abort signals that process signals lead to. */
export interface StopSignals {
  /** Aborted when the process should stop. */
  readonly stop: AbortSignal;
  /** Aborted at the second signal. */
  readonly hurry: AbortSignal;
  /** The handler of every signal. */
  readonly tell: () => void;
}

/**
 * Creates both abort signals. Signals within {@linkcode sameSignalMs} of the first count as one: Ctrl-C arrives from
 * the terminal, and again from `deno task`, which forwards it.
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
