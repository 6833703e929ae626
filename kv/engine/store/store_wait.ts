/** Waits while the store is away: for what has not begun, and may be asked again. */
import type { Clock } from "../../../core/lib/time/clock.ts";

/** Milliseconds between two looks at whether a store that was away is back. */
export const storeLookMs = 100;

/** The bound of a wait, and what it needs of its surroundings. */
export interface StoreWait {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Milliseconds in all; 0: the first answer counts. */
  readonly waitMs: number;
  /** Resolves about {@linkcode storeLookMs} later. */
  readonly nextLook: () => Promise<void>;
}

/**
 * Asks until an answer says no more that the store is away, or the time is over; then returns the last one.
 *
 * @param first the answer that is known already
 */
export async function onceStoreIsBack<Answer>(
  { clock, waitMs, nextLook }: StoreWait,
  first: Answer,
  { isAway, ask }: {
    readonly isAway: (answer: Answer) => boolean;
    readonly ask: () => Answer | Promise<Answer>;
  },
): Promise<Answer> {
  let answer = first;
  let leftMs = waitMs;
  while (isAway(answer) && leftMs > 0) {
    const beganMs = clock.monotonicMs();
    await nextLook();
    answer = await ask();
    // A clock that stops must not make a call wait forever.
    leftMs -= Math.max(storeLookMs, clock.monotonicMs() - beganMs);
  }
  return answer;
}
