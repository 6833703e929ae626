/** Counts the recent attempts on a route, and how many of them failed. */

/** Milliseconds of the past by which the health of a route is judged. */
export const healthWindowMs = 30_000;

/** Number of slices of the window: old failures leave it slice by slice, not all at once. */
const slices = 10;
const sliceMs = healthWindowMs / slices;

/**
 * Counts of the last {@linkcode healthWindowMs}.
 *
 * @example
 * ```ts
 * import { HealthWindow, healthWindowMs } from "./health_window.ts";
 * const window = new HealthWindow();
 * window.advance(0);
 * window.count("failed");
 * if (`${window.failures} of ${window.calls}` !== "1 of 1") throw new Error("not counted");
 * window.advance(healthWindowMs);
 * if (`${window.failures} of ${window.calls}` !== "0 of 0") throw new Error("not forgotten");
 * ```
 */
export class HealthWindow {
  readonly #calls = new Uint32Array(slices);
  readonly #failures = new Uint32Array(slices);
  #slice = 0;

  get calls(): number {
    return sum(this.#calls);
  }

  get failures(): number {
    return sum(this.#failures);
  }

  /** Moves the window up to now; slices that went by unseen are emptied. */
  advance(nowMs: number): void {
    const current = Math.floor(nowMs / sliceMs);
    const steps = Math.min(slices, current - this.#slice);
    for (let i = 1; i <= steps; i++) {
      const index = (this.#slice + i) % slices;
      this.#calls[index] = 0;
      this.#failures[index] = 0;
    }
    if (current > this.#slice) {
      // After a long pause every slice is emptied; only the position matters.
      this.#slice = current;
      if (steps === slices) this.clear();
    }
  }

  /** Counts attempts that ended just now: {@linkcode advance} comes first. */
  count(how: "well" | "failed", attempts = 1): void {
    const index = this.#slice % slices;
    this.#calls[index]! += attempts;
    if (how === "failed") this.#failures[index]! += attempts;
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
  }
}

function sum(counts: Uint32Array): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}
