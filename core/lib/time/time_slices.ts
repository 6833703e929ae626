/** Long work on the thread that also answers calls: it takes turns with them. */
import type { Clock } from "./clock.ts";

/**
 * Milliseconds for which verifying or exporting keeps the thread at a time: a call takes some ten turns of
 * it.
 */
export const workSliceMs = 5;

/**
 * Longest rest after a slice. Time in which a job waited, for the store or for a reader, looks like work; only the part
 * of it that a piece of work can take is rested for.
 */
const longestRestMs = 10 * workSliceMs;

export interface TimeSlicesOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Waits; the thread is free meanwhile. */
  readonly pause: (durationMs: number) => Promise<void>;
  /** Ends the job: its next rest fails with the reason. `pause` should end then, too. */
  readonly signal?: AbortSignal;
}

/**
 * Cuts one job into slices of `workSliceMs` and rests after each for as long as it took: the job has half of the
 * thread at most, and a call never waits much longer than a slice. Made when the job begins: one that was made before
 * would take the time until then for work.
 *
 * @example
 * ```ts
 * import { TimeSlices } from "./time_slices.ts";
 * let nowMs = 0;
 * const rests: number[] = [];
 * const slices = new TimeSlices({
 *   clock: { monotonicMs: () => nowMs },
 *   pause: (durationMs) => Promise.resolve(void rests.push(durationMs)),
 * });
 * for (let piece = 0; piece < 10; piece++) {
 *   nowMs += 1; // the work
 *   await slices.rest();
 * }
 * if (rests.join() !== "5,5") throw new Error(rests.join());
 * ```
 */
export class TimeSlices {
  readonly #options: TimeSlicesOptions;
  #startedMs: number;

  constructor(options: TimeSlicesOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  /**
   * To be called after each small piece of work, and waited for where it returns a promise.
   *
   * @throws the reason of `signal` when the job has ended
   */
  rest(): Promise<void> | undefined {
    const { clock, signal } = this.#options;
    signal?.throwIfAborted();
    const workedMs = clock.monotonicMs() - this.#startedMs;
    return workedMs < workSliceMs ? undefined : this.#pause(workedMs);
  }

  async #pause(durationMs: number): Promise<void> {
    const { clock, pause, signal } = this.#options;
    await pause(Math.min(durationMs, longestRestMs));
    signal?.throwIfAborted();
    this.#startedMs = clock.monotonicMs();
  }
}
