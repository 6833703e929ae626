/**
 * Records in which commit calls were settled, while batch rows come and go. A lease row says up to which commit charges
 * are subtracted from it, so with the commits of all calls a wallet in use can be verified as of the moment when its
 * rows were read, without waiting for a moment in which nothing happens.
 */
import type { AccountId, InstanceId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { sleepUnless } from "../../../../core/lib/time/sleep.ts";
import { listBatches } from "../../../engine/store/batches.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** Milliseconds between two readings: a batch row exists for at least half a second. */
const pollEveryMs = 100;

/** Calls that are recorded at most: some 100 MB. A longer watch decides nothing about further calls. */
const mostCalls = 500_000;

/** Where a call was settled. */
export interface WatchedCall {
  readonly instanceId: InstanceId;
  readonly commit: number;
  /** The number of the reading that saw it first. */
  readonly poll: number;
}

/** Watches the batches of some accounts until it is disposed of. */
export class BatchWatch implements AsyncDisposable {
  readonly #kv: KeyValueStore;
  readonly #accounts: ReadonlySet<AccountId>;
  readonly #calls = new Map<RequestId, WatchedCall>();
  readonly #running: Promise<void>;
  #polls = 0;
  readonly #stop = new AbortController();
  #current: Promise<void> = Promise.resolve();

  constructor(kv: KeyValueStore, accounts: ReadonlySet<AccountId>) {
    this.#kv = kv;
    this.#accounts = accounts;
    this.#running = this.#run();
    // Told by `poll`, whoever awaits it.
    this.#running.catch(() => {});
  }

  /** Number of readings that are complete. */
  get polls(): number {
    return this.#polls;
  }

  /** Whether calls were left out. */
  get isFull(): boolean {
    return this.#calls.size >= mostCalls;
  }

  find(requestId: RequestId): WatchedCall | undefined {
    return this.#calls.get(requestId);
  }

  /** Reads the batches once more, from their begin on. */
  async poll(): Promise<void> {
    this.#current = this.#current.then(() => this.#read());
    await this.#current;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.poll();
      await sleepUnless(pollEveryMs, this.#stop.signal);
    }
  }

  async #read(): Promise<void> {
    for await (const { instanceId, commit, parts } of listBatches(this.#kv)) {
      for (const { accountId, requestIds } of parts) {
        if (!this.#accounts.has(accountId)) continue;
        for (const requestId of requestIds) {
          if (this.isFull) return;
          if (this.#calls.has(requestId)) continue;
          this.#calls.set(requestId, { instanceId, commit, poll: this.#polls + 1 });
        }
      }
    }
    this.#polls++;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}
