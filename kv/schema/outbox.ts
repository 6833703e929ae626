/** Keys of the outbox: work that must happen after a commit. One prefix per queue, rows in order of their due time. */
import type { StoreKey } from "./store_key.ts";

export function outboxQueuePrefix(queue: string): StoreKey {
  return ["outbox", queue];
}

export function outboxRowKey(queue: string, dueAtMs: number, id: string): StoreKey {
  return ["outbox", queue, dueAtMs, id];
}

/** Rows of a queue that are due at `nowMs`, the oldest first. */
export function outboxDueSelector(queue: string, nowMs: number): Deno.KvListSelector {
  return { prefix: outboxQueuePrefix(queue), end: ["outbox", queue, Math.floor(nowMs) + 1] };
}

/** What the key of a waiting row says. */
export function outboxRowOf(key: Deno.KvKey): { readonly dueAtMs: number; readonly id: string } {
  return { dueAtMs: Number(key[2]), id: String(key[3]) };
}

export function outboxDeadPrefix(queue: string): StoreKey {
  return ["outbox_dead", queue];
}

export function outboxDeadKey(queue: string, id: string): StoreKey {
  return ["outbox_dead", queue, id];
}
