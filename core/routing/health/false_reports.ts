/** Counts the false reports of a route: more tokens than can have been sent, or output without end. */

/**
 * False reports within the window after which the route rests: a single one may be an accident of a starting server.
 */
const maxFalseReports = 3;
const windowMs = 10 * 60_000;

/**
 * The times of the last false reports. Only what no caller can bring about counts, see `implausibleSide`.
 *
 * @example
 * ```ts
 * import { FalseReports } from "./false_reports.ts";
 * const reports = new FalseReports();
 * if (reports.note(0) || reports.note(1) || !reports.note(2)) throw new Error("three are too many");
 * ```
 */
export class FalseReports {
  /** At most as many as matter, oldest first. */
  readonly #timesMs: number[] = [];

  /** Notes one; `true` if there were too many within the window. */
  note(nowMs: number): boolean {
    this.#timesMs.push(nowMs);
    if (this.#timesMs.length > maxFalseReports) this.#timesMs.shift();
    const [oldestMs = nowMs] = this.#timesMs;
    return this.#timesMs.length === maxFalseReports && nowMs - oldestMs <= windowMs;
  }
}
