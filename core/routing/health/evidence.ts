/** How attempts on one route ended, counted for the other threads of a process until they are told. */

/** Ends of attempts, added up. */
export interface SharedEvidence {
  readonly well: number;
  readonly failed: number;
  /** Failures since the last success: all of them if there was none. */
  readonly failedLast: number;
  /** Why the last one failed. */
  readonly reason: string | undefined;
}

/**
 * Adds up how attempts ended.
 *
 * @example
 * ```ts
 * import { EvidenceTally } from "./evidence.ts";
 * const tally = new EvidenceTally();
 * tally.count(true, undefined);
 * tally.count(false, "upstream_error");
 * const { well, failed, failedLast } = tally.take() ?? {};
 * if (`${well} ${failed} ${failedLast}` !== "1 1 1") throw new Error("wrong");
 * if (tally.take() !== undefined) throw new Error("taken twice");
 * ```
 */
export class EvidenceTally {
  #well = 0;
  #failed = 0;
  #failedLast = 0;
  #reason: string | undefined;

  count(ok: boolean, reason: string | undefined): void {
    if (ok) {
      this.#well++;
      this.#failedLast = 0;
    } else {
      this.#failed++;
      this.#failedLast++;
      this.#reason = reason;
    }
  }

  /** What was counted since it was last taken; `undefined` if nothing was. */
  take(): SharedEvidence | undefined {
    if (this.#well + this.#failed === 0) return undefined;
    const taken = {
      well: this.#well,
      failed: this.#failed,
      failedLast: this.#failedLast,
      reason: this.#reason,
    };
    this.clear();
    return taken;
  }

  clear(): void {
    this.#well = this.#failed = this.#failedLast = 0;
    this.#reason = undefined;
  }
}
