/** Stores dead letters: rows of the outbox that were given up. */
import { outboxDeadKey, outboxDeadPrefix, outboxRowKey } from "../schema/keys.ts";
import type { OutboxQueue, StoredOutboxRow } from "./outbox.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** A row that was given up, kept until an operator deletes or revives it. */
export interface DeadLetter {
  readonly id: string;
  readonly payload: unknown;
  readonly createdAtMs: number;
  readonly diedAtMs: number;
  readonly attempts: number;
  /** A fixed word, never the text of a provider. */
  readonly reason: string;
}

/** Adds a dead letter to the atomic write that deletes the row. */
export function bury<Payload>(
  operation: AtomicWrite,
  queue: OutboxQueue<Payload>,
  dead: {
    readonly id: string;
    readonly row: StoredOutboxRow;
    readonly reason: string;
    readonly nowMs: number;
  },
): AtomicWrite {
  const letter: DeadLetter = {
    id: dead.id,
    payload: dead.row.payload,
    createdAtMs: dead.row.createdAtMs,
    diedAtMs: dead.nowMs,
    attempts: dead.row.attempts,
    reason: dead.reason,
  };
  return operation.set(outboxDeadKey(queue.deadLettersOf ?? queue.name, dead.id), letter);
}

/** Whether a row has the form of a dead letter. */
export function isDeadLetter(value: unknown): value is DeadLetter {
  return typeof value === "object" && value !== null && "reason" in value && "payload" in value;
}

/** Lists dead letters, at most `count` of them. */
export async function listDeadLetters<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  count: number,
): Promise<DeadLetter[]> {
  const rows = kv.list({ prefix: outboxDeadPrefix(queue.name) }, { limit: count });
  const letters: DeadLetter[] = [];
  for await (const { value } of rows) {
    if (isDeadLetter(value)) letters.push(value);
  }
  return letters;
}

/** An act on a dead letter. */
export interface LetterAct {
  readonly id: string;
  /** Adds to the commit of the act. */
  readonly attach?: (operation: AtomicWrite, letter: { readonly reason: string }) => void;
}

/**
 * Moves a dead letter back into its queue, due at once, with its attempts reset. `unreadable`: its
 * payload is invalid, so it stays. `busy`: another operator has just revived or deleted it.
 */
export async function reviveDeadLetter<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  { id, nowMs, attach }: LetterAct & { readonly nowMs: number },
): Promise<"revived" | "missing" | "unreadable" | "busy"> {
  const entry = await kv.get(outboxDeadKey(queue.name, id));
  if (!isDeadLetter(entry.value)) return "missing";
  try {
    queue.parse(entry.value.payload);
  } catch {
    return "unreadable";
  }
  const row: StoredOutboxRow = {
    payload: entry.value.payload,
    createdAtMs: entry.value.createdAtMs,
    attempts: 0,
  };
  const operation = kv.atomic().check(entry).delete(entry.key)
    .set(outboxRowKey(queue.name, nowMs, id), row);
  attach?.(operation, entry.value);
  return (await operation.commit()).ok ? "revived" : "busy";
}

/** Deletes a dead letter, whatever it is. `busy`: another operator has just revived or deleted it. */
export async function forgetDeadLetter<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  { id, attach }: LetterAct,
): Promise<"forgotten" | "missing" | "busy"> {
  const entry = await kv.get(outboxDeadKey(queue.name, id));
  if (entry.versionstamp === null) return "missing";
  const operation = kv.atomic().check(entry).delete(entry.key);
  attach?.(operation, isDeadLetter(entry.value) ? entry.value : { reason: "not readable" });
  return (await operation.commit()).ok ? "forgotten" : "busy";
}
