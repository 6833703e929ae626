/**
 * A store that fails on command: before a call takes effect, after it (the answer is lost), by sending it twice, or by
 * never answering again, as if the process of the caller had been killed at that call.
 */
import type { AtomicWrite, KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/**
 * What happens to the next call of the store. With `repeated` it is sent again since its answer was lost, so that a
 * commit may be refused because it has taken effect.
 */
export type Fault = "none" | "before" | "after" | "silence" | "silence_after" | "repeated";

/** The error of an injected fault. */
export class StoreFault extends Error {
  override name = "StoreFault";
}

/** Makes the error of a fault, of which the caller is told `what` happened. */
type Failure = (what: string) => Error;

const storeFault: Failure = (what) => new StoreFault(what);

async function withFault<Result>(
  fault: Fault,
  failure: Failure,
  run: () => Promise<Result>,
): Promise<Result> {
  if (fault === "before") throw failure("injected before the call");
  if (fault === "repeated") await run();
  if (fault === "silence") return await new Promise<never>(() => {});
  const result = await run();
  if (fault === "after") throw failure("injected after the call");
  if (fault === "silence_after") return await new Promise<never>(() => {});
  return result;
}

/**
 * Wraps a store. `nextFault` is asked at each awaited call; reads fail too, and `list` fails where it begins.
 * The wrapped store stays the caller's to close.
 */
export function faultyKv(
  kv: KeyValueStore,
  nextFault: (call: string) => Fault,
  failure: Failure = storeFault,
): KeyValueStore {
  return new Proxy(kv, {
    get(target, property) {
      switch (property) {
        case "get":
          return (...args: Parameters<KeyValueStore["get"]>) =>
            withFault(nextFault("get"), failure, () => target.get(...args));
        case "getMany":
          return (...args: Parameters<KeyValueStore["getMany"]>) =>
            withFault(nextFault("getMany"), failure, () => target.getMany(...args));
        case "set":
          return (...args: Parameters<KeyValueStore["set"]>) =>
            withFault(nextFault("set"), failure, () => target.set(...args));
        case "delete":
          return (...args: Parameters<KeyValueStore["delete"]>) =>
            withFault(nextFault("delete"), failure, () => target.delete(...args));
        case "list":
          return (...args: Parameters<KeyValueStore["list"]>) =>
            faultyList(nextFault("list"), failure, () => target.list(...args));
        case "atomic":
          return () => faultyAtomic(target.atomic(), nextFault, failure);
        default: {
          const value: unknown = Reflect.get(target, property, target);
          return typeof value === "function" ? value.bind(target) : value;
        }
      }
    },
  });
}

async function* faultyList(
  fault: Fault,
  failure: Failure,
  list: () => AsyncIterable<Deno.KvEntry<unknown>>,
): AsyncGenerator<Deno.KvEntry<unknown>> {
  await withFault(fault, failure, () => Promise.resolve());
  yield* list();
}

function faultyAtomic(
  operation: AtomicWrite,
  nextFault: (call: string) => Fault,
  failure: Failure,
): AtomicWrite {
  const wrapped: AtomicWrite = new Proxy(operation, {
    get(target, property) {
      if (property === "commit") {
        return () => withFault(nextFault("commit"), failure, () => target.commit());
      }
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        value.apply(target, args);
        return wrapped;
      };
    },
  });
  return wrapped;
}
