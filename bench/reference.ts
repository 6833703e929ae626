/**
 * The minimum of each kind on the machine for which the goals were set (2 cores of a 2.6 GHz EPYC, local disk). Goals
 * in absolute units are scaled by these floors.
 */
export const reference = {
  /** Milliseconds that a raw pipe adds to the first byte, one connection: 0.230 ms through it, 0.031 ms without. */
  hopMs: 0.199,
  /** Commits of one row, 64 in flight. */
  commitsPerSecond: 5_547,
  /** Milliseconds that half of these took at most. */
  commitP50Ms: 11,
} as const;
