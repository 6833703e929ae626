/**
 * Lets other threads of the process call an open store. The embedded file belongs to one connection, so serving threads
 * reach it through the thread that has it open.
 *
 * - Folder `kv/engine/messages/`: the store of another thread of this process, by messages.
 * - In: an open store on one side, calls of {@linkcode KeyValueStore} on the other.
 * - Out: rows and results of commits, as the open store gives them.
 * - Never: repeats a call, or answers one from memory.
 */
import { StoreTimeoutError } from "../store/store_deadlines.ts";
import { StoreUnavailableError } from "../store/store_unavailable.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";
import type { CommitResult } from "../parts/collected_write.ts";

/** A write of a commit; one without a value deletes the row. */
export type PassedWrite =
  | { readonly key: Deno.KvKey; readonly value: unknown; readonly options?: { expireIn?: number } }
  | { readonly key: Deno.KvKey };

/** A commit as it travels. */
export interface PassedCommit {
  readonly checks: readonly Deno.AtomicCheck[];
  readonly writes: readonly PassedWrite[];
}

/** A page of a list. */
interface PassedPage {
  readonly entries: readonly Deno.KvEntry<unknown>[];
  /** The cursor behind each entry. */
  readonly cursors: readonly string[];
}

/** The calls of a store as they travel. */
export type StoreServices = {
  get(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>>;
  getMany(keys: readonly Deno.KvKey[]): Promise<readonly Deno.KvEntryMaybe<unknown>[]>;
  list(
    page: { readonly selector: Deno.KvListSelector; readonly options: Deno.KvListOptions },
  ): Promise<PassedPage>;
  commit(commit: PassedCommit): Promise<CommitResult>;
};

/** Serves a store. `onWrite` is called with the key of each write before its commit. */
export function storeServices(
  kv: KeyValueStore,
  onWrite: (key: Deno.KvKey, isDeletion: boolean) => void = () => {},
): StoreServices {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany<unknown[]>([...keys]),
    async list({ selector, options }) {
      const rows = kv.list(selector, options);
      const entries: Deno.KvEntry<unknown>[] = [];
      const cursors: string[] = [];
      for await (const entry of rows) {
        entries.push(entry);
        cursors.push(rows.cursor);
      }
      return { entries, cursors };
    },
    commit({ checks, writes }) {
      const operation = kv.atomic();
      for (const check of checks) operation.check(check);
      for (const write of writes) {
        const isDeletion = !("value" in write);
        onWrite(write.key, isDeletion);
        if (!isDeletion) operation.set(write.key, write.value, write.options);
        else operation.delete(write.key);
      }
      return operation.commit();
    },
  };
}

/** Makes the errors of a store again whose class callers look at. */
export function storeErrorOf(name: string, message: string): Error | undefined {
  if (name === "StoreTimeoutError") return new StoreTimeoutError();
  if (name === "StoreUnavailableError") return new StoreUnavailableError("elsewhere");
  if (name === "TypeError") return new TypeError(message);
  return undefined;
}
