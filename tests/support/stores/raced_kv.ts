/** A store in which others are faster: they act between what a caller has read and its commit. */
import type { AtomicWrite, KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/**
 * Wraps a store; the wrapped one stays the caller's to close.
 *
 * @param others is awaited before each commit
 */
export function racedKv(kv: KeyValueStore, others: () => Promise<unknown>): KeyValueStore {
  return new Proxy(kv, {
    get(target, property) {
      if (property === "atomic") return () => raced(target.atomic(), others);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function raced(operation: AtomicWrite, others: () => Promise<unknown>): AtomicWrite {
  const wrapped: AtomicWrite = new Proxy(operation, {
    get(target, property) {
      if (property === "commit") {
        return async () => {
          await others();
          return await target.commit();
        };
      }
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        Reflect.apply(value, target, args);
        return wrapped;
      };
    },
  });
  return wrapped;
}
