/** Deletes rows of a selector, some hundred in a commit. */
import type { KeyValueStore } from "./key_value_store.ts";
import { readAhead } from "./read_ahead.ts";

/** Rows deleted in one commit; the store takes 1,000 changes. */
const deletesPerCommit = 500;

/**
 * Deletes the rows of a selector; `isWanted` leaves some. What an interruption leaves, the next call deletes.
 *
 * @example
 * ```ts
 * import { deleteRows } from "./delete_rows.ts";
 * using kv = await Deno.openKv(":memory:");
 * await kv.set(["usage", 1], "a");
 * await kv.set(["usage", 2], "b");
 * await deleteRows(kv, { prefix: ["usage"] }, ({ value }) => value === "a");
 * if ((await kv.get(["usage", 1])).value !== null) throw new Error("it is still there");
 * if ((await kv.get(["usage", 2])).value !== "b") throw new Error("it was to stay");
 * ```
 */
export async function deleteRows(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  isWanted: (entry: Deno.KvEntry<unknown>) => boolean = () => true,
): Promise<void> {
  let keys: Deno.KvKey[] = [];
  const flush = async () => {
    const op = kv.atomic();
    for (const key of keys) op.delete(key);
    keys = [];
    await op.commit();
  };
  for await (const entry of readAhead<unknown>(kv, selector)) {
    if (!isWanted(entry)) continue;
    keys.push(entry.key);
    if (keys.length >= deletesPerCommit) await flush();
  }
  if (keys.length > 0) await flush();
}
