/**
 * Wakes outbox workers of this process early. Only ever a hint: a worker that never hears one finds its rows within
 * `outboxIdleMs`, and so do those of other processes.
 *
 * Not through the queues of the store: on a full disk the runtime's own reader of them ends the whole process, with
 * every call that runs, where everything else waits until there is room again.
 */

/** A worker, as far as it can be woken. */
interface Nudged {
  nudge(): void;
}

/** @example see {@linkcode createWakeUp} */
export interface WakeUp {
  /** Registers the worker of a queue; returns how to remove it. */
  add(queue: string, worker: Nudged): () => void;
  /** Call after the commit that wrote the row, never before; the worker itself sees when it is due. Never throws. */
  nudge(queue: string): void;
}

/**
 * Connects the writers of rows with the workers of their queue.
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
export function createWakeUp(): WakeUp {
  const workers = new Map<string, Set<Nudged>>();
  return {
    add(queue, worker) {
      const set = workers.get(queue) ?? new Set();
      workers.set(queue, set.add(worker));
      return () => set.delete(worker);
    },
    nudge(queue) {
      for (const worker of workers.get(queue) ?? []) worker.nudge();
    },
  };
}
