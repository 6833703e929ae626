/** Tells from the times of recent commits how far the store is, whatever load there is on the way to it. */

/**
 * Commits whose times are kept. The quickest of them counts: load makes a commit slower, distance makes each of them
 * slow.
 */
const commitsKept = 16;

/** Commits after which the distance is known: the first ones of a connection take longer. */
const commitsNeeded = 3;

/** Receipts up to which a commit is small: a larger one takes time in the store itself. */
export const receiptsOfSmallCommit = 16;

/** The quickest of the latest small commits. */
export class StoreDistance {
  readonly #recentMs: number[] = [];
  #next = 0;
  #quickestMs = 0;

  /** Milliseconds that a commit takes at least; 0 while that is unknown. */
  get commitMs(): number {
    return this.#quickestMs;
  }

  /** Notes how long a small commit took. */
  took(commitMs: number): void {
    this.#recentMs[this.#next] = commitMs;
    this.#next = (this.#next + 1) % commitsKept;
    if (this.#recentMs.length >= commitsNeeded) this.#quickestMs = Math.min(...this.#recentMs);
  }
}
