/** Derives the public status of a model from what its recent callers got, whatever the state of single routes. */

/** Most recent calls that count: after so many answered ones a failure is forgotten. */
const calls = 20;
/** Older calls do not count. */
const rememberedMs = 5 * 60_000;
/** Failures in a row, including the last call, after which the model is down. */
const failuresOfDown = 3;
/** Failures among the recent calls after which the model is degraded; a single one may be chance. */
const failuresOfDegraded = 2;

interface Call {
  readonly answered: boolean;
  readonly atMs: number;
}

/**
 * The last calls of one model.
 *
 * @example
 * ```ts
 * import { RecentCalls } from "./recent_calls.ts";
 * const recent = new RecentCalls();
 * for (let i = 0; i < 6; i++) recent.note(false, i);
 * if (recent.state(10) !== "down") throw new Error("six failures in a row");
 * for (let i = 0; i < 20; i++) recent.note(true, 10 + i);
 * if (recent.state(30) !== "up") throw new Error("long over");
 * ```
 */
export class RecentCalls {
  /** Oldest first. */
  readonly #calls: Call[] = [];

  note(answered: boolean, nowMs: number): void {
    if (this.#calls.length >= calls) this.#calls.shift();
    this.#calls.push({ answered, atMs: nowMs });
  }

  /** The status; `undefined` if there were no recent calls. */
  state(nowMs: number): "up" | "degraded" | "down" | undefined {
    const recent = this.#calls.filter(({ atMs }) => nowMs - atMs <= rememberedMs);
    if (recent.length === 0) return undefined;
    const last = recent.slice(-failuresOfDown);
    if (last.length === failuresOfDown && last.every(({ answered }) => !answered)) return "down";
    const failures = recent.filter(({ answered }) => !answered).length;
    const isNoticed = failures >= failuresOfDegraded || recent.at(-1)?.answered === false;
    return isNoticed ? "degraded" : "up";
  }
}
