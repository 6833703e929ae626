/** Time as a parameter, so that tests need no sleeps. */
export interface Clock {
  /** Wall time in ms since 1970. For records; may step. */
  nowMs(): number;
  /** Monotonic time in ms. For durations and deadlines. */
  monotonicMs(): number;
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
