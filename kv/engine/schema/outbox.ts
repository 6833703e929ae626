/** Builds keys of the outbox: one prefix per queue, rows in order of their due time. */
import type { StoreKey } from "./store_key.ts";

export function outboxQueuePrefix(queue: string): StoreKey {
  return ["outbox", queue];
}

export function outboxRowKey(queue: string, dueAtMs: number, id: string): StoreKey {
  return ["outbox", queue, dueAtMs, id];
}

/** Selects rows of a queue that are due at `nowMs`, oldest first. */
export function outboxDueSelector(queue: string, nowMs: number): Deno.KvListSelector {
  return { prefix: outboxQueuePrefix(queue), end: ["outbox", queue, Math.floor(nowMs) + 1] };
}

/** Returns the due time and id of a waiting row. */
export function outboxRowOf(key: Deno.KvKey): { readonly dueAtMs: number; readonly id: string } {
  return { dueAtMs: Number(key[2]), id: String(key[3]) };
}

export function outboxDeadPrefix(queue: string): StoreKey {
  return ["outbox_dead", queue];
}

export function outboxDeadKey(queue: string, id: string): StoreKey {
  return ["outbox_dead", queue, id];
}
