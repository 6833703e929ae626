/**
 * Every key of the store, and the only file that builds keys. One exported function per key shape.
 *
 * Rules: the tenant comes first, never the time, where customers write; times are numbers (they sort); a prefix
 * function ends in `Prefix` and is for `list` only.
 */

// Outbox: work that must happen after a commit. One prefix per queue, rows in order of their due time.

export function outboxQueuePrefix(queue: string): Deno.KvKey {
  return ["outbox", queue];
}

export function outboxRowKey(queue: string, dueAtMs: number, id: string): Deno.KvKey {
  return ["outbox", queue, dueAtMs, id];
}

export function outboxDeadPrefix(queue: string): Deno.KvKey {
  return ["outbox_dead", queue];
}

export function outboxDeadKey(queue: string, id: string): Deno.KvKey {
  return ["outbox_dead", queue, id];
}
