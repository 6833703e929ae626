/** Divides long work on the thread that also serves calls into short slices. */
import type { Clock } from "./clock.ts";

/**
 * Milliseconds for which verification or an export occupies the thread at a time: a call takes some
 * ten turns of it.
 */
export const workSliceMs = 5;

/**
 * Longest rest after a slice. Time in which a job waited, for the store or for a reader, looks like
 * work; only the part that one piece of work can take is rested for.
 */
const longestRestMs = 10 * workSliceMs;

/** The clock, pause and signal of {@linkcode TimeSlices}. */
export interface TimeSlicesOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Waits, while the thread serves others. */
  readonly pause: (durationMs: number) => Promise<void>;
  /** Ends the job: its next rest fails with the reason. `pause` should then end too. */
  readonly signal?: AbortSignal;
}

/**
 * Divides one job into slices of `workSliceMs` and rests after each for as long as it took.
 *
 * The job occupies at most half of the thread, and a call waits little longer than a slice. Create
 * it when the job begins: time before that would count as work.
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
   * Call this after each small piece of work, and await the promise if it returns one.
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
