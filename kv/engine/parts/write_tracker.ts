/**
 * Records which rows a process writes, and can pause its writes. A process that has a store to itself thereby knows
 * everything that changes in it while a backup reads.
 */
import { atMost } from "../../../core/lib/time/sleep.ts";
import { encodeKey } from "./tuple_key.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Milliseconds that a pause waits for writes under way: shorter than the deadline of the calls that it holds up. */
const settleMs = 3_000;

/** Keys that one recording keeps: some 200 MB. Its reader is stuck then. */
const recordedKeysMax = 500_000;

/** Keys that were written since the recording began or since they were last taken. */
class ChangedKeys implements Disposable {
  readonly #onEnd: (keys: ChangedKeys) => void;
  #keys = new Map<string, Deno.KvKey>();
  #isLost = false;

  constructor(onEnd: (keys: ChangedKeys) => void) {
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#keys.size;
  }

  add(key: Deno.KvKey): void {
    if (this.#isLost) return;
    this.#keys.set(encodeKey(key).toHex(), key);
    if (this.#keys.size <= recordedKeysMax) return;
    this.#isLost = true;
    this.#keys = new Map();
  }

  /**
   * Returns the keys so far, each once, and forgets them.
   *
   * @throws {Error} if there were too many to keep
   */
  take(): Deno.KvKey[] {
    if (this.#isLost) throw new Error("The store was written faster than its reader could follow");
    const keys = [...this.#keys.values()];
    this.#keys = new Map();
    return keys;
  }

  [Symbol.dispose](): void {
    this.#onEnd(this);
  }
}

/** All writes of one process to one store. */
export class WriteTracker {
  readonly #recordings = new Set<ChangedKeys>();
  #underWay = 0;
  #resumed: PromiseWithResolvers<void> | undefined;
  #settled: PromiseWithResolvers<void> | undefined;

  /** Begins to record. A key is recorded when its write has ended, whether it succeeded or not. */
  record(): ChangedKeys {
    const keys = new ChangedKeys((ended) => void this.#recordings.delete(ended));
    this.#recordings.add(keys);
    return keys;
  }

  /** Runs a write, after the pause if there is one. */
  async write<Result>(keys: readonly Deno.KvKey[], run: () => Promise<Result>): Promise<Result> {
    while (this.#resumed !== undefined) await this.#resumed.promise;
    this.#underWay++;
    try {
      return await run();
    } finally {
      if (--this.#underWay === 0) this.#settled?.resolve();
      // Whoever waits for the promise continues only after this turn.
      for (const recording of this.#recordings) for (const key of keys) recording.add(key);
    }
  }

  /**
   * Runs `read` while no write is under way; writes wait until it ends.
   *
   * @throws {Error} if the writes under way do not end in time
   */
  async whilePaused<Result>(read: () => Promise<Result>): Promise<Result> {
    while (this.#resumed !== undefined) await this.#resumed.promise;
    const resumed = this.#resumed = Promise.withResolvers<void>();
    try {
      if (this.#underWay > 0) {
        const settled = this.#settled = Promise.withResolvers<void>();
        await atMost(settleMs, settled.promise);
        if (this.#underWay > 0) {
          throw new Error("The store does not answer at the moment; try again");
        }
      }
      return await read();
    } finally {
      this.#resumed = undefined;
      this.#settled = undefined;
      resumed.resolve();
    }
  }
}

/** Lets a tracker see every write of a store, which is changed in place. */
export function trackWrites(kv: KeyValueStore, tracker: WriteTracker): void {
  const set = kv.set.bind(kv);
  const remove = kv.delete.bind(kv);
  const atomic = kv.atomic.bind(kv);
  kv.set = (key, ...rest) => tracker.write([key], () => set(key, ...rest));
  kv.delete = (key) => tracker.write([key], () => remove(key));
  kv.atomic = () => {
    const operation = atomic();
    const keys: Deno.KvKey[] = [];
    const setRow = operation.set.bind(operation);
    const deleteRow = operation.delete.bind(operation);
    const commit = operation.commit.bind(operation);
    operation.set = (key, ...rest) => {
      keys.push(key);
      return setRow(key, ...rest);
    };
    operation.delete = (key) => {
      keys.push(key);
      return deleteRow(key);
    };
    operation.commit = () => tracker.write(keys, commit);
    return operation;
  };
}
