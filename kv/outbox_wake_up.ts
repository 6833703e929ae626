/**
 * Wakes outbox workers early. Only ever a hint: a worker that never hears one still finds its rows, so a hint may be
 * lost, doubled or late.
 *
 * In one process the hint is a plain call. Where the store has queues (a local one) it also goes through them, so it
 * survives until somebody listens; where it has none (KV Connect, Deno Deploy) that is found out once and left alone.
 */
import type { OutboxWorker } from "./outbox_worker.ts";

/** Marks our messages: a store has one listener for all its queues. */
const hintKind = "outbox-hint";

/** @example see {@linkcode createWakeUp} */
export interface WakeUp {
  /** Registers the worker of a queue; returns how to remove it. */
  add(queue: string, worker: Pick<OutboxWorker, "nudge">): () => void;
  /** Wakes the workers of this process only. Costs nothing. */
  nudge(queue: string): void;
  /**
   * Call after the commit that wrote the row, never before. Never throws and takes no time of the caller.
   *
   * @param options.delayMs when the row is due
   */
  hint(queue: string, options?: { readonly delayMs?: number }): void;
  /** Listens to the store's queue, if it has one. Resolves when the store is closed. */
  listen(): Promise<void>;
}

function hintedQueue(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  if (!("kind" in message) || message.kind !== hintKind) return undefined;
  return "queue" in message && typeof message.queue === "string" ? message.queue : undefined;
}

/**
 * Connects the writers of rows with the workers of their queue.
 *
 * @example
 * ```ts
 * import { createWakeUp } from "./outbox_wake_up.ts";
 * using kv = await Deno.openKv(":memory:");
 * const wakeUp = createWakeUp(kv);
 * let nudges = 0;
 * wakeUp.add("mail", { nudge: () => nudges++ });
 * wakeUp.hint("mail");
 * if (nudges !== 1) throw new Error("not woken");
 * ```
 */
export function createWakeUp(kv: Deno.Kv): WakeUp {
  const workers = new Map<string, Set<Pick<OutboxWorker, "nudge">>>();
  let hasQueues = true;
  let listening = false;

  const nudgeAll = (queue: string) => {
    for (const worker of workers.get(queue) ?? []) worker.nudge();
  };

  return {
    add(queue, worker) {
      const set = workers.get(queue) ?? new Set();
      workers.set(queue, set.add(worker));
      return () => set.delete(worker);
    },

    nudge: nudgeAll,

    hint(queue, options = {}) {
      const { delayMs = 0 } = options;
      if (delayMs === 0) nudgeAll(queue);
      // Without a listener nobody would ever take the message out again.
      if (!hasQueues || !listening) return;
      kv.enqueue({ kind: hintKind, queue }, { delay: delayMs, backoffSchedule: [] })
        .catch(() => hasQueues = false);
    },

    async listen() {
      listening = true;
      try {
        await kv.listenQueue((message) => {
          const queue = hintedQueue(message);
          if (queue !== undefined) nudgeAll(queue);
        });
      } catch {
        hasQueues = false;
      } finally {
        listening = false;
      }
    },
  };
}
