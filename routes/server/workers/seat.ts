/** One worker as its owner sees it, from the start of its thread to its end. */
import { MessageLink } from "../../../core/lib/threads/message_link.ts";
import type { RateBook } from "../../../core/limits/rate_book.ts";
import type { KeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { announcingStore } from "../../../kv/engine/store/announcing_store.ts";
import { storeServices } from "../../../kv/engine/messages/store_services.ts";
import { WrittenInstances } from "../../../kv/money/wallet/lease/written_instances.ts";
import type { RegistrySnapshot } from "../../telemetry/registry.ts";
import { WorkerLimits } from "./limits.ts";
import { WorkerRates } from "./rates.ts";
import type { NoticeHub } from "./notice_hub.ts";
import type { OwnerServices, WorkerServices } from "./services.ts";
import type { WorkerThread } from "./worker_thread.ts";

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
>;

/** What all workers share. */
export interface SeatDeps {
  readonly kv: KeyValueStore;
  readonly hub: NoticeHub;
  readonly limits: KeyLimitBook;
  readonly rates: RateBook;
  /** Gets log lines, one or several at once. */
  readonly write: (line: string) => void;
  /** What concerns the other workers. */
  readonly others: (seat: Seat) => OthersServices;
}

/** How the start of a worker went. */
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
