/**
 * Runs the work of an outbox queue: a bounded number of handlers at a time, back-off on failure, sleep until the next
 * row is due. Any number of workers, in any number of processes, may run the same queue.
 */
import { errorName } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { hasRows, nextDueAtMs, type OutboxQueue } from "./outbox.ts";
import { claimDue, finishClaim, type OutboxClaim, retryClaim } from "./outbox_claims.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

// Wakes outbox workers of this process early. It is only a hint: without it a worker finds its rows
// within `outboxIdleMs`, as workers of other processes do.

/** A worker, as far as it can be woken. */
interface Nudged {
  nudge(): void;
}

/** Ways in which processes hear of each other. */
export interface WakeUpOptions {
  /** Whether notices of other processes arrive. */
  readonly isTold?: boolean;
  /** Tells other processes of a nudge, where the store does not. */
  readonly announce?: (() => void) | undefined;
}

/** Connects writers and workers; see {@linkcode createWakeUp}. */
export interface WakeUp {
  /** Whether notices of other processes arrive, so that workers need not look often. */
  readonly isTold: boolean;
  /** Registers the worker of a queue; returns a function that removes it. */
  add(queue: string, worker: Nudged): () => void;
  /**
   * Wakes the worker of a queue. Call it after the commit that wrote the row, never before; the
   * worker reads when the row is due. Never throws.
   */
  nudge(queue: string): void;
  /** Wakes all workers: another process has written rows of some queue. */
  nudgeAll(): void;
}

/**
 * Creates the connection between writers of rows and workers of their queue.
 *
 * @example
 * ```ts
 * import { createWakeUp } from "./outbox_worker.ts";
 * const wakeUp = createWakeUp();
 * let nudges = 0;
 * const remove = wakeUp.add("mail", { nudge: () => nudges++ });
 * wakeUp.nudge("mail");
 * wakeUp.nudge("another");
 * remove();
 * wakeUp.nudge("mail");
 * if (nudges !== 1) throw new Error(`woken ${nudges} times`);
 * ```
 */
export function createWakeUp({ isTold = false, announce }: WakeUpOptions = {}): WakeUp {
  const workers = new Map<string, Set<Nudged>>();
  return {
    isTold,
    add(queue, worker) {
      const set = workers.get(queue) ?? new Set();
      workers.set(queue, set.add(worker));
      return () => set.delete(worker);
    },
    nudge(queue) {
      for (const worker of workers.get(queue) ?? []) worker.nudge();
      announce?.();
    },
    nudgeAll() {
      for (const queue of workers.values()) for (const worker of queue) worker.nudge();
    },
  };
}

/**
 * Milliseconds of an outbox worker's longest sleep: rows that another process wrote, and died before it handled them,
 * are seen after it. Its own rows and notices of others wake a worker at once.
 */
const outboxIdleMs = 15_000;

/** The same where notices of other processes wake the worker: it finds what a lost notice said. */
const toldIdleMs = 60_000;

/** The same for a worker that a watch wakes: the watch looks for it. */
const watchedIdleMs = 10 * minuteMs;

function idleMsOf({ isTold = false }: Pick<OutboxWorld, "isTold">): number {
  return isTold ? toldIdleMs : outboxIdleMs;
}

/** Milliseconds before a worker looks again after its store has failed. */
const storeRetryMs = 1_000;

/**
 * Most rows that one run of a queue handles, so that a cron run ends even if rows arrive faster
 * than they are handled.
 */
const maxOutboxRunRows = 10_000;

/** A queue and the handler of its rows. */
export interface OutboxWork<Payload> {
  readonly queue: OutboxQueue<Payload>;
  /** Handlers that may run at the same time in this process. */
  readonly lanes: number;
  /**
   * Handles one row. Returns `done` if the row can be deleted, or `settled` if the handler itself
   * finished or postponed the claim in an atomic write (or found it lost). Throws if the row should
   * be retried.
   */
  handle(claim: OutboxClaim<Payload>): Promise<"done" | "settled">;
}

/** Needs of a worker. */
export interface OutboxWorld {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /**
   * Called for each failed attempt, for logs and counters. `error` may contain anything: log its
   * name only.
   */
  readonly onFailure?: (failure: OutboxFailure) => void;
  /** Whether notices of other processes wake the worker. */
  readonly isTold?: boolean;
  /** Whether a watch wakes the worker: see {@linkcode startOutboxWatch}. */
  readonly isWatched?: boolean;
}

/** A failed attempt. */
export interface OutboxFailure {
  readonly queue: string;
  readonly id: string;
  readonly attempt: number;
  readonly fate: "retried" | "dead" | "lost" | "unknown";
  readonly error: unknown;
}

/**
 * Handles rows until nothing is due, and returns their number. For cron and tests. Rejects if the
 * store fails, after the running handlers have ended.
 */
export async function runDue<Payload>(
  world: OutboxWorld,
  work: OutboxWork<Payload>,
  stop?: AbortSignal,
): Promise<number> {
  const inFlight = new Set<Promise<void>>();
  let handled = 0;
  try {
    while (stop?.aborted !== true && handled < maxOutboxRunRows) {
      const free = work.lanes - inFlight.size;
      const claims = free === 0 ? [] : await claimDue(world.kv, work.queue, {
        nowMs: world.clock.nowMs(),
        count: free,
      });
      for (const claim of claims) {
        handled++;
        start(inFlight, () => handleClaim(world, work, claim));
      }
      if (claims.length > 0) continue;
      if (inFlight.size === 0) break;
      await Promise.race(inFlight);
    }
  } finally {
    await Promise.all(inFlight);
  }
  return handled;
}

/** Starts a handler, and removes it from those in flight when it ends. */
function start(
  inFlight: Set<Promise<void>>,
  handle: () => Promise<void>,
  onEnd?: () => void,
): void {
  const run: Promise<void> = handle().finally(() => {
    inFlight.delete(run);
    onEnd?.();
  });
  inFlight.add(run);
}

/**
 * Handles one claim. Never rejects: a row whose outcome could not be written becomes due again when
 * its claim ends.
 */
export async function handleClaim<Payload>(
  world: OutboxWorld,
  work: OutboxWork<Payload>,
  claim: OutboxClaim<Payload>,
): Promise<void> {
  try {
    if (await work.handle(claim) === "settled") return;
    const operation = world.kv.atomic();
    finishClaim(operation, work.queue, claim);
    await operation.commit();
  } catch (error) {
    const fate = await retryClaim(world.kv, work.queue, claim, {
      nowMs: world.clock.nowMs(),
      random: world.random(),
      reason: errorName(error),
    }).catch(() => "unknown" as const);
    world.onFailure?.({
      queue: work.queue.name,
      id: claim.id,
      attempt: claim.attempt,
      fate,
      error,
    });
  }
}

/** A worker that runs until it is stopped. */
export interface OutboxWorker {
  /**
   * Says that a row may be due earlier than the worker knows. Cheap; a lost nudge costs at most
   * `idleMs`.
   */
  nudge(): void;
  /** Stops claiming and waits for the running handlers. */
  stop(): Promise<void>;
}

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** {@linkcode Sleep} on the timers of the machine. */
const timerSleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake, { once: true });
  });

/**
 * Starts a worker: it handles what is due, as far as it has free lanes, then sleeps until the next row is due, a handler
 * ends, a nudge arrives, or {@linkcode outboxIdleMs} have passed (rows written by other processes are seen then). A
 * handler that waits holds up its lane and nothing else.
 */
export function startOutboxWorker<Payload>(
  world: OutboxWorld,
  work: OutboxWork<Payload>,
  sleep: Sleep = timerSleep,
): OutboxWorker {
  const idleMs = world.isWatched === true ? watchedIdleMs : idleMsOf(world);
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let nap = new AbortController();

  /** Claims what is due until no lane is free; returns how long to sleep afterwards. */
  const claimFree = async (): Promise<number> => {
    while (!stopping.signal.aborted && inFlight.size < work.lanes) {
      // A queue with nothing due costs one read.
      const dueAtMs = await nextDueAtMs(world.kv, work.queue);
      if (dueAtMs === undefined) return idleMs;
      const nowMs = world.clock.nowMs();
      if (dueAtMs > nowMs) return Math.min(idleMs, dueAtMs - nowMs);
      const count = work.lanes - inFlight.size;
      const claims = await claimDue(world.kv, work.queue, { nowMs, count });
      for (const claim of claims) {
        start(inFlight, () => handleClaim(world, work, claim), () => nap.abort());
      }
      // Other workers have taken what is due.
      if (claims.length === 0) return 0;
    }
    return idleMs;
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      // A nudge, or the end of a handler, during the claims must not be lost, so the sleep afterwards uses the controller
      // that it aborts.
      nap = new AbortController();
      let pauseMs: number;
      try {
        pauseMs = await claimFree();
      } catch (error) {
        // The store failed. The rows are safe; try again after the pause.
        pauseMs = storeRetryMs;
        const { name } = work.queue;
        world.onFailure?.({ queue: name, id: "", attempt: 0, fate: "unknown", error });
      }
      if (!stopping.signal.aborted) await sleep(pauseMs, nap.signal);
    }
    await Promise.all(inFlight);
  };
  const ended = loop();

  return {
    nudge: () => nap.abort(),
    stop: () => {
      stopping.abort();
      nap.abort();
      return ended;
    },
  };
}

/**
 * Watches several queues that are mostly empty in place of their workers: one reading looks for rows of all of them, as
 * often as a worker would look for its own, and wakes the workers if there are some.
 *
 * @param queues what the names of the queues begin with
 * @returns a function that ends the watch
 */
export function startOutboxWatch(
  world: OutboxWorld,
  queues: string,
  workers: readonly Nudged[],
  sleep: Sleep = timerSleep,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const loop = async () => {
    for (;;) {
      await sleep(idleMsOf(world), signal);
      if (signal.aborted) return;
      // The workers meet the failure of a store as well, and report it.
      const isNeeded = await hasRows(world.kv, queues).catch(() => true);
      if (isNeeded) { for (const worker of workers) worker.nudge(); }
    }
  };
  const ended = loop();
  return () => {
    stopping.abort();
    return ended;
  };
}
