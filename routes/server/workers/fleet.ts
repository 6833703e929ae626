/** The workers of a gateway: starts them, replaces those that end, and answers what they ask of each other. */
import { errorLine } from "../../../core/lib/base/assert.ts";
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import type { SharedState } from "../../../core/routing/contract/router.ts";
import { atMost, sleep } from "../../../core/lib/time/sleep.ts";
import { reapEndedInstances } from "../../../kv/money/wallet/mod.ts";
import type { ProcessGateway } from "../../api/gateway/gateway.ts";
import type { RegistrySnapshot } from "../../telemetry/registry.ts";
import { type OthersServices, Seat, type SeatDeps } from "./seat.ts";
import type { WorkerThread } from "./worker_thread.ts";

// What a worker learns from the others, through the owner.

/** The other workers of one, as they are now. */
export type Others = () => readonly Seat[];

/** Answers of the others; one that ends meanwhile gives none. */
async function answersOf<Answer>(
  others: Others,
  ask: (seat: Seat) => Promise<Answer>,
): Promise<Answer[]> {
  const answers = await Promise.allSettled(others().map(ask));
  return answers.flatMap((answer) => answer.status === "fulfilled" ? [answer.value] : []);
}

/** Makes the services for one worker. */
function servicesOfOthers(
  others: Others,
  { router, metrics }: {
    /** The owner's, which judges routes by the evidence of all, renews tokens and polls videos. */
    readonly router: ProcessGateway["router"];
    readonly metrics: () => Promise<string>;
  },
): OthersServices {
  return {
    share(states) {
      for (const { link } of others()) link.note("merge", states);
      router.merge(states);
    },
    shared: () => router.shared(),
    tokenFor: (wanted) => router.tokenFor(wanted),
    shareAffinities(entries) {
      for (const { link } of others()) link.note("mergeAffinities", entries);
    },
    metrics,
    async replayed(id) {
      const answers = await answersOf(others, ({ link }) => link.call("replayed", id));
      return answers.find((answer) => answer !== undefined);
    },
    finished: async (id) =>
      (await answersOf(others, ({ link }) => link.call("finished", id))).includes(true),
    items: async (wanted) =>
      (await answersOf(others, ({ link }) => link.call("items", wanted))).flat(),
    async response(of) {
      const kept = await answersOf(others, ({ link }) => link.call("response", of));
      return kept.find((response) => response !== undefined);
    },
    removeResponse: async (of) =>
      (await answersOf(others, ({ link }) => link.call("removeResponse", of))).includes(true),
  };
}

/** Starts of a worker in a row that may fail before the process gives up. */
const maxFailedStarts = 5;

/** Milliseconds before a worker is replaced that ended soon after the one before; each time twice as long. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** Milliseconds that a worker has to run for its end not to count as one in a row. */
const soundMs = 10_000;

/** Polling interval of the workers in milliseconds. What was counted since the last one is lost with a worker. */
const lookMs = 1_000;

/** Looks in a row without an answer after which a worker is ended: by then every client has given up. */
const maxUnanswered = 60;

/** Milliseconds that a scrape of the metrics waits for a worker; what it said last counts then. */
const scrapeMs = 1_000;

/** Milliseconds between two tries to recover what an ended worker held. */
const recoverPauseMs = 1_000;

/** Milliseconds beyond the time to drain after which a worker that does not stop is ended. */
const closeMarginMs = 20_000;

/** Parts that the owner of the workers gives them. */
export interface FleetDeps extends Omit<SeatDeps, "others"> {
  readonly workers: number;
  /** The owner's own. */
  readonly gateway: Pick<
    ProcessGateway,
    "metrics" | "events" | "log" | "clock" | "wallet" | "router"
  >;
  readonly start: (number: number) => WorkerThread;
  /** Called once if workers cannot be started again, with the reason. */
  readonly onGiveUp: (reason: string) => void;
}

async function pause(failures: number): Promise<void> {
  await sleep(Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)));
}

/** The running workers. */
export class Fleet {
  readonly #deps: FleetDeps;
  readonly #seats = new Map<number, Seat>();
  /** Workers that have ended and whose leases are not returned yet. */
  readonly #recovering = new Set<Promise<void>>();
  readonly #timer: ReturnType<typeof setInterval>;
  /** Counters of ended workers. */
  #remaining: RegistrySnapshot = new Map();
  /** Consecutive workers that died within {@linkcode soundMs}. */
  #shortLives = 0;
  #isStopping = false;

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** Starts all workers. Resolves with the reason if they cannot serve. */
  async start(): Promise<string | undefined> {
    const numbers = Array.from({ length: this.#deps.workers }, (_, at) => at + 1);
    const problems = await Promise.all(numbers.map((number) => this.#begin(number)));
    return problems.find((problem) => problem !== undefined);
  }

  /** The instances of all workers in the store. */
  *instances(): Iterable<InstanceId> {
    for (const { instances } of this.#seats.values()) yield* instances;
  }

  /** Calls that ran at the last look. */
  get calls(): number {
    return [...this.#seats.values()].reduce((sum, { calls }) => sum + calls, 0);
  }

  /** Tells all workers what the owner found out about routes. */
  share(states: readonly SharedState[]): void {
    for (const { link } of this.#seats.values()) link.note("merge", states);
  }

  /** From now on `/readyz` answers 503. */
  tellStopping(): void {
    this.#isStopping = true;
    for (const { link } of this.#seats.values()) link.note("stopping", null);
  }

  /** Lets all workers drain and settle, and ends them. */
  async close(drainMs: number, abort?: AbortSignal): Promise<void> {
    this.#isStopping = true;
    const seats = [...this.#seats.values()];
    const noteAbort = () => {
      for (const { link } of seats) link.note("abort", null);
    };
    if (abort?.aborted === true) noteAbort();
    else abort?.addEventListener("abort", noteAbort, { once: true });
    await Promise.all(seats.map(async (seat) => {
      // A worker that ends meanwhile is recovered like any other.
      await atMost(drainMs + closeMarginMs, seat.link.call("close", null).catch(() => {}));
      seat.terminate();
      await seat.ended;
    }));
    abort?.removeEventListener("abort", noteAbort);
    clearInterval(this.#timer);
    await Promise.all(this.#recovering);
  }

  /** Starts a worker, again if it ends before it serves. Resolves with the reason if that is hopeless. */
  async #begin(number: number): Promise<string | undefined> {
    for (let failed = 1;; failed++) {
      const seat = new Seat(number, this.#deps.start(number), {
        ...this.#deps,
        others: (own) =>
          servicesOfOthers(() => [...this.#seats.values()].filter((seat) => seat !== own), {
            router: this.#deps.gateway.router,
            metrics: () => this.#metrics(),
          }),
      });
      this.#seats.set(number, seat);
      const servesFromMs = seat.started.then(() => this.#deps.gateway.clock.monotonicMs());
      void seat.ended.then(async (reason) => this.#over(seat, reason, await servesFromMs));
      const start = await seat.started;
      if (start.ok) return undefined;
      if (this.#isStopping || start.isFinal) return start.reason;
      if (failed >= maxFailedStarts) {
        return `a worker ended ${failed} times before it served: ${start.reason}`;
      }
      await pause(failed);
    }
  }

  /** A thread has ended: what it held returns, and another takes its place. */
  async #over(seat: Seat, reason: string, servesFromMs: number): Promise<void> {
    const { number } = seat;
    const { metrics, events, log, clock } = this.#deps.gateway;
    if (this.#seats.get(number) === seat) this.#seats.delete(number);
    this.#remaining = metrics.remaining([this.#remaining, seat.metrics]);
    const recovering = this.#recover(seat).finally(() => this.#recovering.delete(recovering));
    this.#recovering.add(recovering);
    if (this.#isStopping) return;
    log.event("error", "a worker ended", { worker: number, reason, calls_cut: seat.calls });
    // #begin starts the next one, or gives up.
    if (!(await seat.started).ok) return;
    this.#shortLives = clock.monotonicMs() - servesFromMs < soundMs ? this.#shortLives + 1 : 0;
    if (this.#shortLives > 1) await pause(this.#shortLives);
    const problem = this.#isStopping ? undefined : await this.#begin(number);
    if (this.#isStopping) return;
    if (problem !== undefined) return this.#deps.onGiveUp(problem);
    events.workerReplaced();
    log.event("info", "a worker was replaced", { worker: number });
  }

  /** Returns the leases of an ended worker, however long the store is away. */
  async #recover(seat: Seat): Promise<void> {
    const { kv, gateway } = this.#deps;
    for (let ended = new Set(seat.instances); ended.size > 0;) {
      try {
        const own = new Set([gateway.wallet.instanceId, ...this.instances()]).difference(ended);
        ended = new Set(await reapEndedInstances(kv, gateway.clock.nowMs(), { ended, own }));
      } catch (error) {
        gateway.log.event("warn", "a worker's leases are not returned yet", {
          worker: seat.number,
          error: errorLine(error),
        });
      }
      if (ended.size > 0 && this.#isStopping) break; // the next start does it
      if (ended.size > 0) await sleep(recoverPauseMs);
    }
    seat.freeLimits();
  }

  #look(): void {
    for (const seat of this.#seats.values()) {
      if (seat.unanswered === 0) {
        // A thread that has ended answers nothing.
        seat.look().catch(() => {});
      } else if (++seat.unanswered > maxUnanswered) {
        this.#deps.gateway.log.event("error", "a worker does not answer", { worker: seat.number });
        seat.terminate();
      }
    }
  }

  async #metrics(): Promise<string> {
    const looks = [...this.#seats.values()].map((seat) => seat.look().catch(() => {}));
    await atMost(scrapeMs, Promise.all(looks));
    const snapshots = () => [...this.#seats.values()].map(({ metrics }) => metrics);
    return await this.#deps.gateway.metrics.scrape(() => [this.#remaining, ...snapshots()]);
  }
}
