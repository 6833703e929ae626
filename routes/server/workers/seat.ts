/** One worker as its owner sees it, from the start of its thread to its end. */
import { MessageLink } from "../../../core/lib/threads/message_link.ts";
import type { RateBook, RatedCall } from "../../../core/limits/rate_book.ts";
import type { KeyLimitBook, LimitedCall } from "../../../kv/services/limits/limit_book.ts";
import { noAmounts } from "../../../kv/services/limits/spent_sums.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import {
  announcingStore,
  type ChangeNotices,
  type NoticeKind,
} from "../../../kv/engine/store/change_notices.ts";
import { storeServices } from "../../../kv/engine/messages/message_store.ts";
import { WrittenInstances } from "../../../kv/money/wallet/mod.ts";
import type { RegistrySnapshot } from "../../telemetry/registry.ts";
import type { LimitServices, OwnerServices, RateServices, WorkerServices } from "./services.ts";
import type { WorkerThread } from "./worker_thread.ts";
import { invariant } from "../../../core/lib/base/assert.ts";

// The book of key limits between threads: the owner keeps it, workers reach it by messages.

/** The running calls of one worker that count against limits. */
class WorkerLimits {
  readonly #calls = new Map<number, LimitedCall>();
  #last = 0;
  #hasEnded = false;

  /** Serves a book to the worker. */
  services(book: KeyLimitBook): LimitServices {
    const callOf = (call: number): LimitedCall => {
      const known = this.#calls.get(call);
      invariant(known !== undefined, "a worker names only calls that it has begun");
      return known;
    };
    return {
      beginLimited: async ({ key, need, startedAtMs }) => {
        const begun = await book.begin(key, need, startedAtMs);
        if (!begun.ok) return begun;
        if (this.#hasEnded) begun.call.end(noAmounts);
        const call = ++this.#last;
        this.#calls.set(call, begun.call);
        const { amountMicroVnd, boundBy } = begun;
        return { ok: true, call, amountMicroVnd, boundBy };
      },
      extendLimited: async ({ call, amountMicroVnd }) => await callOf(call).extend(amountMicroVnd),
      giveBackLimited: ({ call, amountMicroVnd }) =>
        this.#calls.get(call)?.giveBack(amountMicroVnd),
      endLimited: ({ call, used }) => {
        this.#calls.get(call)?.end(used);
        this.#calls.delete(call);
      },
      budgetUse: ({ accountId, budgets, atMs }) => book.budgetUse(accountId, budgets, atMs),
    };
  }

  /** Ends all calls of a worker that has ended. What they used is read from the store. */
  endAll(): void {
    this.#hasEnded = true;
    for (const call of this.#calls.values()) call.end(noAmounts);
    this.#calls.clear();
  }
}

/** The book of the owner. */
export function ownersLimits(link: MessageLink<OwnerServices>): KeyLimitBook {
  return {
    async begin(key, need, startedAtMs) {
      const begun = await link.call("beginLimited", { key, need, startedAtMs });
      if (!begun.ok) return begun;
      const { call, amountMicroVnd, boundBy } = begun;
      let hasEnded = false;
      return {
        ok: true,
        amountMicroVnd,
        boundBy,
        call: {
          extend: (amountMicroVnd) => link.call("extendLimited", { call, amountMicroVnd }),
          giveBack(amountMicroVnd) {
            if (!hasEnded) link.note("giveBackLimited", { call, amountMicroVnd });
          },
          end(used) {
            if (!hasEnded) link.note("endLimited", { call, used });
            hasEnded = true;
          },
        },
      };
    },
    budgetUse: (accountId, budgets, atMs) => link.call("budgetUse", { accountId, budgets, atMs }),
  };
}

// Passes notices between the threads of a process, which all write the same store.

type Listener = (kind: NoticeKind) => void | Promise<void>;

/** Tells every thread what others have committed. */
export class NoticeHub {
  readonly #listeners = new Map<string, Listener>();
  readonly #beyond: ChangeNotices | undefined;

  /** @param beyond notices of other processes, if the store has them */
  constructor(beyond: ChangeNotices | undefined) {
    this.#beyond = beyond;
  }

  /** Adds a thread; returns a function that removes it. */
  join(thread: string, listener: Listener): () => void {
    this.#listeners.set(thread, listener);
    return () => {
      if (this.#listeners.get(thread) === listener) this.#listeners.delete(thread);
    };
  }

  /** A thread has committed a change. */
  committed(thread: string, kind: NoticeKind): void {
    for (const [other, listener] of this.#listeners) if (other !== thread) void listener(kind);
    this.#beyond?.announce?.(kind);
  }

  /** The notices that the owner hears, its own and those of other processes, which it passes on. */
  notices(owner: string): ChangeNotices {
    return {
      listen: (onNotice) => {
        const leave = this.join(owner, onNotice);
        const end = this.#beyond?.listen(async (kind) => {
          await Promise.all([...this.#listeners.values()].map((listener) => listener(kind)));
        });
        return async () => {
          leave();
          await end?.();
        };
      },
    };
  }
}

// The book of rate limits between threads: the owner keeps it, workers reach it by messages.

/** The running calls of one worker that count against rate limits. */
class WorkerRates {
  readonly #calls = new Map<number, RatedCall>();
  #last = 0;
  #hasEnded = false;

  /** Serves a book to the worker. */
  services(book: RateBook): RateServices {
    return {
      beginRated: async (request) => {
        const begun = await book.begin(request);
        if (!begun.ok) return begun;
        const call = ++this.#last;
        this.#calls.set(call, begun.call);
        if (this.#hasEnded) this.endAll();
        return { ok: true, call, figures: begun.figures };
      },
      endRated: ({ call, ...end }) => {
        this.#calls.get(call)?.end(end);
        this.#calls.delete(call);
      },
      rateUse: (ids) => book.use(ids),
    };
  }

  /** Ends all calls of a worker that has ended: what they used is not known. */
  endAll(): void {
    this.#hasEnded = true;
    for (const call of this.#calls.values()) call.end({ tokens: undefined, isCounted: true });
    this.#calls.clear();
  }
}

/** The book of the owner. */
export function ownersRates(link: MessageLink<OwnerServices>): RateBook {
  return {
    async begin(request) {
      const begun = await link.call("beginRated", request);
      if (!begun.ok) return begun;
      const { call, figures } = begun;
      let hasEnded = false;
      return {
        ok: true,
        figures,
        call: {
          end(end) {
            if (!hasEnded) link.note("endRated", { call, ...end });
            hasEnded = true;
          },
        },
      };
    },
    use: (ids) => link.call("rateUse", ids),
  };
}

/** The services of an owner for which it asks, or tells, the other workers. */
export type OthersServices = Pick<
  OwnerServices,
  | "share"
  | "shared"
  | "tokenFor"
  | "shareAffinities"
  | "metrics"
  | "replayed"
  | "finished"
  | "items"
  | "response"
  | "removeResponse"
>;

/** Parts that all workers share. */
export interface SeatDeps {
  readonly kv: KeyValueStore;
  readonly hub: NoticeHub;
  readonly limits: KeyLimitBook;
  readonly rates: RateBook;
  /** Gets log lines, one or several at once. */
  readonly write: (line: string) => void;
  /** Services of the other workers. */
  readonly others: (seat: Seat) => OthersServices;
}

/** Result of the start of a worker. */
type Start = { readonly ok: true } | {
  readonly ok: false;
  readonly reason: string;
  /** Another try would fail, too. */
  readonly isFinal: boolean;
};

/** A worker. */
export class Seat {
  readonly number: number;
  readonly link: MessageLink<WorkerServices>;
  /** Resolves when the worker serves, or has failed to. */
  readonly started: Promise<Start>;
  /** Resolves with the reason when the thread has ended; nothing of it is received any more. */
  readonly ended: Promise<string>;
  /** The metrics at the last look, which counted when the worker ends. */
  metrics: RegistrySnapshot = new Map();
  /** Calls in flight at the last look. */
  calls = 0;
  /** Looks in a row that were not answered. */
  unanswered = 0;
  readonly #instances = new WrittenInstances();
  readonly #limits = new WorkerLimits();
  readonly #rates = new WorkerRates();
  readonly #thread: WorkerThread;

  constructor(number: number, thread: WorkerThread, deps: SeatDeps) {
    this.number = number;
    this.#thread = thread;
    const started = Promise.withResolvers<Start>();
    this.started = started.promise;
    const name = `worker ${number}`;
    const store = announcingStore(deps.kv, (kind) => deps.hub.committed(name, kind));
    const services: OwnerServices = {
      ...storeServices(store, (key, isDeletion) => this.#instances.note(key, isDeletion)),
      ...this.#limits.services(deps.limits),
      ...this.#rates.services(deps.rates),
      ...deps.others(this),
      lines: deps.write,
      ready: () => started.resolve({ ok: true }),
      failed: (reason) => started.resolve({ ok: false, reason, isFinal: true }),
    };
    this.link = new MessageLink(thread.port, services);
    const leave = deps.hub.join(name, (kind) => this.link.note("notice", kind));
    this.ended = thread.ended.then((reason) => {
      leave();
      this.link.end();
      this.#rates.endAll();
      started.resolve({ ok: false, reason, isFinal: false });
      return reason;
    });
  }

  /** The instances of the worker in the store. */
  get instances(): WrittenInstances["ids"] {
    return this.#instances.ids;
  }

  /** Asks the worker for its metrics; one that has not answered yet is not asked again. */
  async look(): Promise<void> {
    this.unanswered++;
    const { metrics, calls } = await this.link.call("snapshot", null);
    this.metrics = metrics;
    this.calls = calls;
    this.unanswered = 0;
  }

  /** Frees what the running calls of an ended worker had reserved of the limits of keys. */
  freeLimits(): void {
    this.#limits.endAll();
  }

  terminate(): void {
    this.#thread.terminate();
  }
}
