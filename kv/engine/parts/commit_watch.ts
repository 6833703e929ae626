/**
 * Knows whether the store takes commits, for health checks and for one log line per outage.
 *
 * A read proves little: a standby, a full disk and a primary that waits for its standby answer reads and keep commits
 * waiting. So this watch follows the last confirmed commit. Commits of calls count; where there was none lately, or a
 * call failed, it writes a row of its own. An outage begins when that row is not confirmed in time, and ends with a
 * commit that is sent after that and confirmed in time, so that a store which answers slowly does not flap.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import { writeProbeKey } from "../schema/keys.ts";
import {
  addedReads,
  type AtomicWrite,
  type KeyValueStore,
  type RowIterator,
  type WholeStore,
} from "../store/key_value_store.ts";
import { type OutageKind, StoreUnavailableError } from "../store/store_unavailable.ts";

/** Milliseconds for which a confirmed commit counts. Balancers ask each second. */
const confirmedMs = 2_000;

/** Milliseconds in which the store has to confirm a probe: balancers give up after a second or two. */
const probeMs = 1_000;

/** Milliseconds between two probes during an outage. */
const probeEveryMs = 1_000;

/** Milliseconds for which the row of a probe is kept. */
const probeLifeMs = 60_000;

export interface CommitWatchOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timer: Timer;
  /** Called when an outage begins, with its kind, and with `undefined` when it ends. */
  readonly onChange: (outage: OutageKind | undefined) => void;
  /** Called with the milliseconds that each confirmed commit took. */
  readonly onCommit?: (tookMs: number) => void;
}

/** Watches the calls of a store, which must have deadlines. The store stays the caller's to close. */
export class CommitWatch {
  /** The store; what is called through it is watched. */
  readonly kv: KeyValueStore;
  readonly #inner: KeyValueStore;
  readonly #options: CommitWatchOptions;
  #confirmedSentMs = -Infinity;
  #outage: { readonly kind: OutageKind; readonly sinceMs: number } | undefined;
  #probing: Promise<void> | undefined;
  #stopTimers = new Set<() => void>();
  #isClosed = false;

  constructor(kv: KeyValueStore, options: CommitWatchOptions) {
    this.#inner = kv;
    this.#options = options;
    this.kv = this.#watched(kv);
  }

  /** The kind of the outage that lasts. */
  get outage(): OutageKind | undefined {
    return this.#outage?.kind;
  }

  /** Returns whether the store takes commits, which it asks if there was none lately. */
  async confirm(): Promise<boolean> {
    if (this.#outage === undefined && !this.#isRecent()) await this.#probe();
    return this.#outage === undefined;
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers.clear();
  }

  #isRecent(): boolean {
    return this.#options.clock.monotonicMs() - this.#confirmedSentMs <= confirmedMs;
  }

  #confirmed(sentMs: number): void {
    this.#confirmedSentMs = Math.max(this.#confirmedSentMs, sentMs);
    const isInTime = this.#options.clock.monotonicMs() - sentMs <= probeMs;
    if (this.#outage === undefined || !isInTime || sentMs < this.#outage.sinceMs) return;
    this.#outage = undefined;
    this.#options.onChange(undefined);
  }

  #failed(error: unknown): void {
    if (error instanceof StoreUnavailableError && this.#outage === undefined) void this.#probe();
  }

  #begin(kind: OutageKind): void {
    if (this.#outage !== undefined || this.#isClosed) return;
    this.#outage = { kind, sinceMs: this.#options.clock.monotonicMs() };
    this.#options.onChange(kind);
    this.#probeUntilConfirmed();
  }

  #probeUntilConfirmed(): void {
    this.#after(probeEveryMs, () => {
      if (this.#outage === undefined) return;
      void this.#probe();
      this.#probeUntilConfirmed();
    });
  }

  #after(delayMs: number, run: () => void): () => void {
    if (this.#isClosed) return () => {};
    const cancel = this.#options.timer.start(() => {
      this.#stopTimers.delete(stop);
      run();
    }, delayMs);
    const stop = () => {
      this.#stopTimers.delete(stop);
      cancel();
    };
    this.#stopTimers.add(stop);
    return stop;
  }

  /** Writes a row; resolves when that is confirmed, has failed, or is late. Callers at the same time share a probe. */
  #probe(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#probing ??= new Promise<void>((resolve) => {
      const sentMs = this.#options.clock.monotonicMs();
      const stop = this.#after(probeMs, () => {
        this.#begin("no_answer");
        resolve();
      });
      this.#inner.set(writeProbeKey(), true, { expireIn: probeLifeMs }).then(
        () => this.#confirmed(sentMs),
        (error) => {
          this.#begin(error instanceof StoreUnavailableError ? error.kind : "engine_failed");
        },
      ).finally(() => {
        stop();
        this.#probing = undefined;
        resolve();
      });
    });
    return this.#probing;
  }

  async #read<Result>(call: Promise<Result>): Promise<Result> {
    try {
      return await call;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  async #write<Result>(commit: () => Promise<Result>): Promise<Result> {
    const sentMs = this.#options.clock.monotonicMs();
    const result = await this.#read(commit());
    this.#options.onCommit?.(this.#options.clock.monotonicMs() - sentMs);
    this.#confirmed(sentMs);
    return result;
  }

  #watched(kv: KeyValueStore): WholeStore {
    return {
      get: (key) => this.#read(kv.get(key)),
      getMany: (keys) => this.#read(kv.getMany(keys)),
      list: (selector, options) => this.#rows(kv.list(selector, options)),
      ...addedReads(kv, {
        call: (call) => this.#read(call),
        rows: (rows) => this.#eachRow(rows),
      }),
      set: (key, value, options) => this.#write(() => kv.set(key, value, options)),
      delete: (key) => this.#write(() => kv.delete(key)),
      atomic: () => this.#operation(kv.atomic()),
      close: () => kv.close(),
      [Symbol.dispose]: () => kv.close(),
    };
  }

  #rows<Value>(rows: RowIterator<Value>): RowIterator<Value> {
    const next = rows.next.bind(rows);
    rows.next = () => this.#read(next());
    return rows;
  }

  async *#eachRow<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
    try {
      yield* rows;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  #operation(operation: AtomicWrite): AtomicWrite {
    const watched: AtomicWrite = {
      check(...checks) {
        operation.check(...checks);
        return watched;
      },
      set(key, value, options) {
        operation.set(key, value, options);
        return watched;
      },
      delete(key) {
        operation.delete(key);
        return watched;
      },
      commit: () => this.#write(() => operation.commit()),
    };
    return watched;
  }
}
