/**
 * Work that must happen after a commit: mail to send, video tasks to ask for. A row is written in the same atomic as
 * the business change, so neither can exist without the other.
 *
 * Rows lie under the time they are due. To claim a row is to move it, by check-and-set, to the time the claim ends:
 * a worker that dies leaves a row that simply becomes due again. So delivery is at least once, and a handler with an
 * effect that must happen once finishes its claim in the same atomic as that effect ({@linkcode finishClaim}).
 *
 * Nothing here needs KV queues: those exist on a local store only (see `outbox_wake_up.ts` for their use as a hint).
 */
import { invariant } from "../core/assert.ts";
import { limits } from "../core/limits.ts";
import { outboxDeadKey, outboxDeadPrefix, outboxQueuePrefix, outboxRowKey } from "./keys.ts";

/** One kind of work. A constant of the module that owns the work. */
export interface OutboxQueue<Payload> {
  /** Part of the key: never rename a queue that has rows. */
  readonly name: string;
  /** Reads what was stored. Throws on rows of another shape; those go to the dead letters. Zod's `parse` fits. */
  readonly parse: (stored: unknown) => Payload;
  /** How long a claim holds. Must be longer than the longest run of the handler. */
  readonly claimMs: number;
  /** Claims of one row, crashed ones included, before it becomes a dead letter. */
  readonly maxAttempts: number;
  /** Pause after the first, second … failed attempt; the last one repeats. Spread by half, so rows do not march. */
  readonly backoffMs: readonly number[];
}

/** What lies in the store. `payload` is what {@linkcode OutboxQueue.parse} reads. */
interface StoredRow {
  readonly payload: unknown;
  readonly createdAtMs: number;
  readonly attempts: number;
}

/** A row that is ours until {@linkcode claimedUntilMs}. */
export interface OutboxClaim<Payload> {
  readonly id: string;
  readonly payload: Payload;
  readonly createdAtMs: number;
  /** 1 for the first try. Counts claims, so a row that kills its worker runs out of them too. */
  readonly attempt: number;
  readonly claimedUntilMs: number;
  readonly versionstamp: string;
}

/** A row that was given up. Kept until an operator removes or revives it. */
export interface DeadLetter {
  readonly id: string;
  readonly payload: unknown;
  readonly createdAtMs: number;
  readonly diedAtMs: number;
  readonly attempts: number;
  /** A word of ours, never a provider's text. */
  readonly reason: string;
}

/** A new row. The payload is plain data under 60 KB (the store's bound is 64 KiB). */
export interface NewOutboxRow<Payload> {
  /** Unique in its queue. */
  readonly id: string;
  readonly payload: Payload;
  readonly nowMs: number;
  /** Default: at once. */
  readonly dueAtMs?: number;
}

/**
 * Adds a row to an atomic that the caller commits.
 *
 * @example
 * ```ts
 * import { addToOutbox, claimDue, finishClaim, type OutboxQueue } from "./outbox.ts";
 * const greetings: OutboxQueue<string> = {
 *   name: "greetings", parse: String, claimMs: 60_000, maxAttempts: 5, backoffMs: [1_000, 60_000],
 * };
 * using kv = await Deno.openKv(":memory:");
 * const write = kv.atomic();
 * addToOutbox(write, greetings, { id: "1", payload: "hello", nowMs: 1_000 });
 * await write.commit();
 *
 * const [claim] = await claimDue(kv, greetings, { nowMs: 1_000, count: 8 });
 * if (claim?.payload !== "hello") throw new Error("not due");
 * const done = kv.atomic(); // whatever the work changes goes into the same atomic
 * finishClaim(done, greetings, claim);
 * if (!(await done.commit()).ok) throw new Error("another worker has the row");
 * ```
 */
export function addToOutbox<Payload>(
  operation: { set(key: Deno.KvKey, value: unknown): unknown },
  queue: OutboxQueue<Payload>,
  row: NewOutboxRow<Payload>,
): void {
  const stored: StoredRow = { payload: row.payload, createdAtMs: row.nowMs, attempts: 0 };
  operation.set(outboxRowKey(queue.name, row.dueAtMs ?? row.nowMs, row.id), stored);
}

function isStoredRow(value: unknown): value is StoredRow {
  return typeof value === "object" && value !== null && "payload" in value &&
    "createdAtMs" in value && typeof value.createdAtMs === "number" &&
    "attempts" in value && typeof value.attempts === "number";
}

/**
 * Claims up to `count` due rows, oldest first. Rows that another worker takes meanwhile are left out.
 *
 * Rows that cannot be read or that have used up their attempts become dead letters here.
 */
export async function claimDue<Payload>(
  kv: Deno.Kv,
  queue: OutboxQueue<Payload>,
  options: { readonly nowMs: number; readonly count: number },
): Promise<OutboxClaim<Payload>[]> {
  const { nowMs } = options;
  const count = Math.min(options.count, limits.outboxClaims);
  const prefix = outboxQueuePrefix(queue.name);
  const due = await Array.fromAsync(
    kv.list({ prefix, end: [...prefix, Math.floor(nowMs) + 1] }, { limit: count }),
  );
  const claims: OutboxClaim<Payload>[] = [];
  for (const entry of due) {
    const claim = await claimRow(kv, queue, entry, nowMs);
    if (claim !== undefined) claims.push(claim);
  }
  return claims;
}

async function claimRow<Payload>(
  kv: Deno.Kv,
  queue: OutboxQueue<Payload>,
  entry: Deno.KvEntry<unknown>,
  nowMs: number,
): Promise<OutboxClaim<Payload> | undefined> {
  const id = String(entry.key.at(-1));
  const stored = entry.value;
  const move = kv.atomic().check(entry).delete(entry.key);
  if (!isStoredRow(stored)) {
    const row = { payload: stored, createdAtMs: nowMs, attempts: 0 };
    await bury(move, queue, { id, row, reason: "unreadable", nowMs }).commit();
    return undefined;
  }
  if (stored.attempts >= queue.maxAttempts) {
    await bury(move, queue, { id, row: stored, reason: "attempts_used_up", nowMs }).commit();
    return undefined;
  }
  let payload: Payload;
  try {
    payload = queue.parse(stored.payload);
  } catch {
    await bury(move, queue, { id, row: stored, reason: "unreadable", nowMs }).commit();
    return undefined;
  }
  const claimedUntilMs = nowMs + queue.claimMs;
  const claimed: StoredRow = { ...stored, attempts: stored.attempts + 1 };
  const result = await move.set(outboxRowKey(queue.name, claimedUntilMs, id), claimed).commit();
  if (!result.ok) return undefined;
  return {
    id,
    payload,
    createdAtMs: stored.createdAtMs,
    attempt: claimed.attempts,
    claimedUntilMs,
    versionstamp: result.versionstamp,
  };
}

function bury<Payload>(
  operation: Deno.AtomicOperation,
  queue: OutboxQueue<Payload>,
  dead: {
    readonly id: string;
    readonly row: StoredRow;
    readonly reason: string;
    readonly nowMs: number;
  },
): Deno.AtomicOperation {
  const letter: DeadLetter = {
    id: dead.id,
    payload: dead.row.payload,
    createdAtMs: dead.row.createdAtMs,
    diedAtMs: dead.nowMs,
    attempts: dead.row.attempts,
    reason: dead.reason,
  };
  return operation.set(outboxDeadKey(queue.name, dead.id), letter);
}

function claimKey<Payload>(queue: OutboxQueue<Payload>, claim: OutboxClaim<Payload>): Deno.KvKey {
  return outboxRowKey(queue.name, claim.claimedUntilMs, claim.id);
}

/**
 * Adds to an atomic: the work is done, and only if the claim is still ours. One check of the ten an atomic may have.
 */
export function finishClaim<Payload>(
  operation: Deno.AtomicOperation,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
): void {
  const key = claimKey(queue, claim);
  operation.check({ key, versionstamp: claim.versionstamp }).delete(key);
}

/**
 * Adds to an atomic: this step went well, the next one is due at `dueAtMs`. Attempts start again at 0.
 * Only if the claim is still ours.
 */
export function postponeClaim<Payload>(
  operation: Deno.AtomicOperation,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
  next: { readonly dueAtMs: number; readonly payload?: Payload },
): void {
  finishClaim(operation, queue, claim);
  const row: StoredRow = {
    payload: next.payload ?? claim.payload,
    createdAtMs: claim.createdAtMs,
    attempts: 0,
  };
  operation.set(outboxRowKey(queue.name, next.dueAtMs, claim.id), row);
}

/**
 * The attempt failed: the row is due again after the queue's back-off, or becomes a dead letter.
 *
 * @param failure.random 0 (included) to 1: spreads the pause
 * @param failure.reason a word of ours for the dead letter; never a provider's text
 * @returns `lost` if another worker has taken the row meanwhile
 */
export async function retryClaim<Payload>(
  kv: Deno.Kv,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
  failure: { readonly nowMs: number; readonly random: number; readonly reason: string },
): Promise<"retried" | "dead" | "lost"> {
  const operation = kv.atomic();
  finishClaim(operation, queue, claim);
  const row: StoredRow = {
    payload: claim.payload,
    createdAtMs: claim.createdAtMs,
    attempts: claim.attempt,
  };
  if (claim.attempt >= queue.maxAttempts) {
    const { nowMs, reason } = failure;
    const result = await bury(operation, queue, { id: claim.id, row, reason, nowMs }).commit();
    return result.ok ? "dead" : "lost";
  }
  const dueAtMs = failure.nowMs + backoffFor(queue, claim.attempt, failure.random);
  operation.set(outboxRowKey(queue.name, dueAtMs, claim.id), row);
  return (await operation.commit()).ok ? "retried" : "lost";
}

function backoffFor<Payload>(
  queue: OutboxQueue<Payload>,
  attempt: number,
  random: number,
): number {
  const pauseMs = queue.backoffMs[Math.min(attempt, queue.backoffMs.length) - 1];
  invariant(pauseMs !== undefined, `Queue ${queue.name} has no back-off`);
  return Math.round(pauseMs / 2 + pauseMs / 2 * random);
}

/** When the next row of the queue is due; `undefined` if there is none. */
export async function nextDueAtMs<Payload>(
  kv: Deno.Kv,
  queue: OutboxQueue<Payload>,
): Promise<number | undefined> {
  const rows = kv.list({ prefix: outboxQueuePrefix(queue.name) }, { limit: 1 });
  for await (const { key } of rows) {
    const dueAtMs = key.at(-2);
    return typeof dueAtMs === "number" ? dueAtMs : undefined;
  }
  return undefined;
}

function isDeadLetter(value: unknown): value is DeadLetter {
  return typeof value === "object" && value !== null && "reason" in value && "payload" in value;
}

/** The rows that were given up, at most `count` of them. */
export async function listDeadLetters<Payload>(
  kv: Deno.Kv,
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

/** Puts a dead letter back into its queue, due at once, with fresh attempts. `false` if there is none of that id. */
export async function reviveDeadLetter<Payload>(
  kv: Deno.Kv,
  queue: OutboxQueue<Payload>,
  options: { readonly id: string; readonly nowMs: number },
): Promise<boolean> {
  const entry = await kv.get(outboxDeadKey(queue.name, options.id));
  if (!isDeadLetter(entry.value)) return false;
  const row: StoredRow = {
    payload: entry.value.payload,
    createdAtMs: entry.value.createdAtMs,
    attempts: 0,
  };
  const result = await kv.atomic().check(entry).delete(entry.key)
    .set(outboxRowKey(queue.name, options.nowMs, options.id), row).commit();
  return result.ok;
}
