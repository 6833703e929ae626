/**
 * Tells instances that rows have changed, so that they need not ask all the time. A notice only starts a read early:
 * one that is lost, doubled or late changes nothing but the moment.
 */
import { keysEpochKey, kindOfKey, outboxQueuePrefix } from "../schema/keys.ts";
import {
  addedReads,
  type AtomicWrite,
  type KeyValueStore,
  type WholeStore,
} from "./key_value_store.ts";

/** Kind of the rows that changed, as a notice names it. */
export type NoticeKind = "control" | "outbox";

/** The kinds of rows whose change is announced: switches and revocations, and the work of the outbox. */
export const announcedKinds: ReadonlySet<string> = new Set(
  [keysEpochKey(), outboxQueuePrefix("")].map(kindOfKey),
);

/** Passes notices between instances. */
export interface ChangeNotices {
  /**
   * Calls back at each notice, and for every kind when notices may have been lost. Returns a function that ends it.
   * Never throws: a store that gives no notices is asked at intervals.
   */
  listen(onNotice: (kind: NoticeKind) => void | Promise<void>): () => Promise<void>;
  /** Announces a change after its commit; absent if the store does it by itself. */
  readonly announce?: (kind: NoticeKind) => void;
}

/** Narrows the text of a notice. */
export function isNoticeKind(text: unknown): text is NoticeKind {
  return text === "control" || text === "outbox";
}

// A store that tells after each commit which announced kinds of rows it has written.

/**
 * Wraps a store for one of several threads that share it. The wrapped store stays the caller's to close.
 *
 * @example
 * ```ts
 * import { keysEpochKey } from "../schema/keys.ts";
 * import { announcingStore } from "./change_notices.ts";
 * using kv = await Deno.openKv(":memory:");
 * const published: string[] = [];
 * const store = announcingStore(kv, (kind) => published.push(kind));
 * await store.set(["wallet", 1], 1);
 * await store.atomic().set(keysEpochKey(), "next").commit();
 * if (published.join() !== "control") throw new Error(published.join());
 * ```
 */
export function announcingStore(
  kv: KeyValueStore,
  publish: (kind: NoticeKind) => void,
): WholeStore {
  const announce = (kinds: Iterable<string>) => {
    for (const kind of kinds) if (isNoticeKind(kind)) publish(kind);
  };
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    list: (selector, options) => kv.list(selector, options),
    ...addedReads(kv),
    async set(key, value, options) {
      const result = await kv.set(key, value, options);
      announce([kindOfKey(key)]);
      return result;
    },
    async delete(key) {
      await kv.delete(key);
      announce([kindOfKey(key)]);
    },
    atomic: () => announcingWrite(kv.atomic(), announce),
    close: () => kv.close(),
    [Symbol.dispose]: () => kv.close(),
  };
}

function announcingWrite(
  operation: AtomicWrite,
  announce: (kinds: Iterable<string>) => void,
): AtomicWrite {
  let written: Set<string> | undefined;
  const set = operation.set.bind(operation);
  const remove = operation.delete.bind(operation);
  const commit = operation.commit.bind(operation);
  const note = (key: Deno.KvKey) => {
    const kind = kindOfKey(key);
    if (announcedKinds.has(kind)) (written ??= new Set()).add(kind);
  };
  operation.set = (key, ...rest) => {
    note(key);
    return set(key, ...rest);
  };
  operation.delete = (key) => {
    note(key);
    return remove(key);
  };
  operation.commit = async () => {
    const result = await commit();
    if (written !== undefined && result.ok) announce(written);
    return result;
  };
  return operation;
}
