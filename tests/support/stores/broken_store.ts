/** Breaks an open store in place, as a server does that goes away, and mends it again. */
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Calls of a store; a list fails with its first row. */
export type StoreCall = "get" | "getMany" | "set" | "delete" | "list" | "commit";

export const storeCalls: readonly StoreCall[] = [
  "get",
  "getMany",
  "set",
  "delete",
  "list",
  "commit",
];

/**
 * Lets calls of a store fail from now on.
 *
 * @returns a function that mends the store
 */
export function breakStore(
  kv: KeyValueStore,
  calls: readonly StoreCall[],
  failure: () => Promise<never>,
): () => void {
  const before = {
    get: kv.get.bind(kv),
    getMany: kv.getMany.bind(kv),
    set: kv.set.bind(kv),
    delete: kv.delete.bind(kv),
    list: kv.list.bind(kv),
    atomic: kv.atomic.bind(kv),
  };
  const fails = new Set(calls);
  if (fails.has("get")) kv.get = failure;
  if (fails.has("getMany")) kv.getMany = failure;
  if (fails.has("set")) kv.set = failure;
  if (fails.has("delete")) kv.delete = failure;
  if (fails.has("list")) {
    kv.list = <Value>(...call: Parameters<KeyValueStore["list"]>) =>
      Object.assign(before.list<Value>(...call), { next: failure });
  }
  if (fails.has("commit")) {
    kv.atomic = () => Object.assign(before.atomic(), { commit: failure });
  }
  return () => void Object.assign(kv, before);
}
