/**
 * Wakes outbox workers of this process early. It is only a hint: without it a worker finds its rows
 * within `outboxIdleMs`, as workers of other processes do.
 */

/** A worker, as far as it can be woken. */
interface Nudged {
  nudge(): void;
}

/** How processes hear of each other. */
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
 * import { createWakeUp } from "./outbox_wake_up.ts";
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
