/** Commits what is created under an id of its own. */
import type { AtomicWrite, KeyValueStore } from "./key_value_store.ts";

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
 * import { commitFresh } from "./fresh_row.ts";
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
