/**
 * Repeats compare-and-set in a bounded loop. Failing every attempt is an expected outcome, so it is
 * a value.
 */
import { sleep } from "../../../core/lib/time/sleep.ts";
import type { AtomicWrite, KeyValueStore } from "./key_value_store.ts";

// Commits what is created under an id of its own.

/**
 * Commits an operation that writes a row under a key with a fresh random id, and returns whether it took effect.
 *
 * A refusal alone does not tell: a client that repeats an unanswered call is refused because its first one took
 * effect. Nobody else writes the row, so its presence tells.
 *
 * @param key of the row; no earlier commit of the caller may have written it
 *
 * @example
 * ```ts
 * import { commitFresh } from "./cas.ts";
 * using kv = await Deno.openKv(":memory:");
 * const key = ["order", crypto.randomUUID()];
 * const operation = () => kv.atomic().check({ key, versionstamp: null }).set(key, 1);
 * await operation().commit(); // took effect, but the answer was lost
 * if (!await commitFresh(kv, operation(), key)) throw new Error("taken for refused");
 * ```
 */
export async function commitFresh(
  kv: KeyValueStore,
  operation: AtomicWrite,
  key: Deno.KvKey,
): Promise<boolean> {
  if ((await operation.commit()).ok) return true;
  return (await kv.get(key)).value !== null;
}

/**
 * Milliseconds of the first pause after a conflict: about one write. Each further conflict doubles
 * it.
 */
const casPauseMs = 1;

/** Milliseconds of the longest pause, since a caller waits for it. */
const casPauseMaxMs = 50;

/**
 * The result of an attempt: `"again"` if a check failed and the rows have to be read again, or the
 * final result.
 */
export type CasStep<Result> = { readonly done: Result } | "again";

/** Options of {@linkcode compareAndSet}. */
export interface CasOptions {
  /** Number of attempts. */
  readonly attempts: number;
  /** Waits between attempts; a parameter so that tests need not wait. */
  readonly pause?: (delayMs: number) => Promise<void>;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random?: () => number;
}

/**
 * Runs `step` until it is done or no attempts are left, with full jitter in between, so that
 * competitors for a row do not collide again at once.
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
