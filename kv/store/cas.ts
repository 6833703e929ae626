/** Compare-and-set in a bounded loop. Losing every try is an expected outcome, so it is a value. */
import { sleep } from "../../core/lib/time/sleep.ts";

/**
 * Milliseconds of the first pause after a lost check-and-set: about one write. Each further loss doubles it.
 */
const casPauseMs = 1;

/** Milliseconds of the longest such pause, since a caller waits for it. */
const casPauseMaxMs = 50;

/** One try: `"again"` when a check failed and the rows must be read anew, or the final answer. */
export type CasStep<Result> = { readonly done: Result } | "again";

export interface CasOptions {
  /** Tries in all. */
  readonly attempts: number;
  /** Pause between tries; a parameter so that tests need not wait. */
  readonly pause?: (delayMs: number) => Promise<void>;
  /** 0 ≤ x < 1. */
  readonly random?: () => number;
}

/**
 * Runs `step` until it is done or the tries are spent, with full jitter in between, so that those who compete for a
 * row do not meet again at once.
 *
 * @example
 * ```ts
 * import { compareAndSet } from "./cas.ts";
 * let tries = 0;
 * const result = await compareAndSet(
 *   () => Promise.resolve(++tries < 3 ? "again" as const : { done: "written" }),
 *   { attempts: 5 },
 * );
 * if (result === "conflict" || result.done !== "written") throw new Error("gave up");
 * ```
 */
export async function compareAndSet<Result>(
  step: (attempt: number) => Promise<CasStep<Result>>,
  options: CasOptions,
): Promise<{ readonly done: Result } | "conflict"> {
  const pause = options.pause ?? sleep;
  const random = options.random ?? Math.random;
  for (let attempt = 0; attempt < options.attempts; attempt++) {
    if (attempt > 0) {
      await pause(random() * Math.min(casPauseMaxMs, casPauseMs * 2 ** attempt));
    }
    const outcome = await step(attempt);
    if (outcome !== "again") return outcome;
  }
  return "conflict";
}
