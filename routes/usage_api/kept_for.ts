/** Keeps results for a while, by name: several readers share one that costs a scan. */
import type { Clock } from "../../core/lib/time/clock.ts";

/**
 * Returns a function that computes a result, or gives the one that it computed under the same name not long before. A
 * failure is not kept.
 *
 * @example
 * ```ts
 * import { keptFor } from "./kept_for.ts";
 * let runs = 0;
 * const kept = keptFor<number>({ clock: { nowMs: () => 0 }, keptMs: 1_000, most: 2 });
 * const run = () => Promise.resolve(++runs);
 * if (await kept("a", run) !== 1 || await kept("a", run) !== 1) throw new Error("computed twice");
 * ```
 */
export function keptFor<Value>({ clock, keptMs, most }: {
  readonly clock: Pick<Clock, "nowMs">;
  readonly keptMs: number;
  /** Results in memory at once; the oldest makes room. */
  readonly most: number;
}): (name: string, compute: () => Promise<Value>) => Promise<Value> {
  const kept = new Map<string, { readonly atMs: number; readonly value: Promise<Value> }>();
  return (name, compute) => {
    const nowMs = clock.nowMs();
    const known = kept.get(name);
    if (known !== undefined && nowMs - known.atMs < keptMs) return known.value;
    const value = compute();
    kept.delete(name);
    kept.set(name, { atMs: nowMs, value });
    value.catch(() => kept.delete(name));
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
