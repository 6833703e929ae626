/**
 * Time that a test can skip. Timers run on the machine's clock; when hours are skipped, each timer fires in order and
 * as often as it would have, and the test waits for the store in between. It replaces `setTimeout` of the whole
 * isolate, so use one at a time, in a test file of its own.
 */
import { setImmediate } from "node:timers";
import { type Clock, systemClock } from "../../core/lib/time/clock.ts";

interface Pending {
  dueMs: number;
  readonly run: () => void;
  readonly handle: ReturnType<typeof setTimeout>;
}

/** Turns of the event loop to wait for a store of this process, which needs few. */
const immediateTurns = 1_000;

/** Turns to wait for any store, each of a millisecond after the first; more indicate a defect of the test. */
const maxTurns = 100_000;

export class SkippableTime implements Clock, Disposable {
  readonly #stepMs: number;
  readonly #setTimeout = globalThis.setTimeout;
  readonly #clearTimeout = globalThis.clearTimeout;
  readonly #pending = new Map<number, Pending>();
  readonly #restoreStore: () => void;
  #skippedMs = 0;
  #lastId = 0;
  #storeCalls = 0;

  /** @param stepMs what is skipped at once: a timer fires once in it, however often it would have */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
    const start = (run: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
      this.#start(() => run(...args), delayMs);
    globalThis.setTimeout = Object.assign(start, this.#setTimeout) as typeof setTimeout;
    globalThis.clearTimeout = (id) => {
      const pending = this.#pending.get(Number(id));
      if (pending === undefined) return this.#clearTimeout(id);
      this.#pending.delete(Number(id));
      this.#clearTimeout(pending.handle);
    };
    this.#restoreStore = this.#watchStore();
  }

  nowMs(): number {
    return systemClock.nowMs() + this.#skippedMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#skippedMs;
  }

  /** Timers that have not fired. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Advances the time without any input from outside. */
  async skip(durationMs: number): Promise<void> {
    for (let leftMs = durationMs; leftMs > 0; leftMs -= this.#stepMs) {
      this.#skippedMs += Math.min(leftMs, this.#stepMs);
      const nowMs = this.monotonicMs();
      const due = [...this.#pending].filter(([, { dueMs }]) => dueMs <= nowMs)
        .sort(([, one], [, other]) => one.dueMs - other.dueMs);
      for (const [id, { handle, run }] of due) {
        // One that fired before may have stopped it.
        if (!this.#pending.delete(id)) continue;
        this.#clearTimeout(handle);
        run();
      }
      await this.#rest();
    }
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
    globalThis.clearTimeout = this.#clearTimeout;
    this.#restoreStore();
  }

  #start(run: () => void, delayMs: number): number {
    // Far from the ids of the runtime's own timers, which may be cleared through the same function.
    const id = 1_000_000_000 + ++this.#lastId;
    const fire = () => {
      this.#pending.delete(id);
      run();
    };
    const handle = this.#setTimeout(fire, delayMs);
    this.#pending.set(id, { dueMs: this.monotonicMs() + delayMs, run, handle });
    return id;
  }

  /** Waits until no call of the store is pending and the code after its answers has run. */
  async #rest(): Promise<void> {
    let quietTurns = 0;
    for (let turn = 0; quietTurns < 2; turn++) {
      if (turn > maxTurns) throw new Error("the store does not come to rest");
      await new Promise<void>((next) => {
        if (turn < immediateTurns) setImmediate(next);
        else this.#setTimeout(next, 1);
      });
      quietTurns = this.#storeCalls === 0 ? quietTurns + 1 : 0;
    }
  }

  /** Counts the pending calls of stores. */
  #watchStore(): () => void {
    const counted = <This, Args extends unknown[], Result>(
      method: (this: This, ...args: Args) => Promise<Result>,
    ) => {
      const count = (change: number) => this.#storeCalls += change;
      return async function (this: This, ...args: Args): Promise<Result> {
        count(1);
        try {
          return await method.apply(this, args);
        } finally {
          count(-1);
        }
      };
    };
    const kv = Deno.Kv.prototype;
    const operation = Deno.AtomicOperation.prototype;
    const list = Deno.KvListIterator.prototype;
    const { get, getMany, set, delete: remove } = kv;
    const { commit } = operation;
    const { next } = list;
    Object.assign(kv, {
      get: counted(get),
      getMany: counted(getMany),
      set: counted(set),
      delete: counted(remove),
    });
    Object.assign(operation, { commit: counted(commit) });
    Object.assign(list, { next: counted(next) });
    return () => {
      Object.assign(kv, { get, getMany, set, delete: remove });
      Object.assign(operation, { commit });
      Object.assign(list, { next });
    };
  }
}
