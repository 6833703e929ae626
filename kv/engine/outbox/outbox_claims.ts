/**
 * Claims rows of the outbox, and finishes, postpones or retries them; one worker has a row at a
 * time.
 */
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { outboxDueSelector, outboxRowKey, outboxRowOf } from "../schema/keys.ts";
import type { OutboxQueue, StoredOutboxRow } from "./outbox.ts";
import { bury } from "./outbox_dead_letters.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/**
 * Rows that one worker claims at once: enough to keep its lanes busy, few enough that no claim
 * expires.
 */
const maxOutboxClaims = 32;

/** Milliseconds for which rows of a later version wait for one of its instances: a release that is rolled back returns by then. */
const laterVersionWaitMs = 7 * dayMs;

/** Milliseconds after which such a row is looked at again. */
const laterVersionPauseMs = 10 * minuteMs;

/** A row that belongs to this worker until {@linkcode claimedUntilMs}. */
export interface OutboxClaim<Payload> {
  readonly id: string;
  readonly payload: Payload;
  readonly createdAtMs: number;
  /**
   * 1 for the first attempt. Claims are counted, so a row that kills its workers runs out of
   * attempts too.
   */
  readonly attempt: number;
  readonly claimedUntilMs: number;
  readonly versionstamp: string;
}

function isStoredRow(value: unknown): value is StoredOutboxRow {
  return typeof value === "object" && value !== null && "payload" in value &&
    "createdAtMs" in value && typeof value.createdAtMs === "number" &&
    "attempts" in value && typeof value.attempts === "number";
}

/**
 * Claims up to `count` due rows, oldest first, except rows that another worker takes meanwhile.
 * Rows that cannot be read or have no attempts left become dead letters.
 */
export async function claimDue<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  options: { readonly nowMs: number; readonly count: number },
): Promise<OutboxClaim<Payload>[]> {
  const { nowMs } = options;
  const count = Math.min(options.count, maxOutboxClaims);
  const due = await Array.fromAsync(
    kv.list(outboxDueSelector(queue.name, nowMs), { limit: count }),
  );
  const claims: OutboxClaim<Payload>[] = [];
  for (const entry of due) {
    const claim = await claimRow(kv, queue, entry, nowMs);
    if (claim !== undefined) claims.push(claim);
  }
  return claims;
}

async function claimRow<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  entry: Deno.KvEntry<unknown>,
  nowMs: number,
): Promise<OutboxClaim<Payload> | undefined> {
  const { id } = outboxRowOf(entry.key);
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
    const isLater = queue.isOfLaterVersion?.(stored.payload) === true;
    if (isLater && nowMs < stored.createdAtMs + laterVersionWaitMs) {
      await move.set(outboxRowKey(queue.name, nowMs + laterVersionPauseMs, id), stored).commit();
      return undefined;
    }
    await bury(move, queue, { id, row: stored, reason: "unreadable", nowMs }).commit();
    return undefined;
  }
  const claimedUntilMs = nowMs + queue.claimMs;
  const claimed: StoredOutboxRow = { ...stored, attempts: stored.attempts + 1 };
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

function claimKey<Payload>(queue: OutboxQueue<Payload>, claim: OutboxClaim<Payload>): Deno.KvKey {
  return outboxRowKey(queue.name, claim.claimedUntilMs, claim.id);
}

/**
 * Adds to an atomic write: the work is done. The write fails if the claim was lost. Needs one check
 * of the ten that an atomic write may have.
 */
export function finishClaim<Payload>(
  operation: AtomicWrite,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
): void {
  const key = claimKey(queue, claim);
  operation.check({ key, versionstamp: claim.versionstamp }).delete(key);
}

/**
 * Adds to an atomic write: this step succeeded, and the next one is due at `dueAtMs`. Attempts
 * start at 0 again. The write fails if the claim was lost.
 */
export function postponeClaim<Payload>(
  operation: AtomicWrite,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
  next: { readonly dueAtMs: number; readonly payload?: Payload },
): void {
  finishClaim(operation, queue, claim);
  const row: StoredOutboxRow = {
    payload: next.payload ?? claim.payload,
    createdAtMs: claim.createdAtMs,
    attempts: 0,
  };
  operation.set(outboxRowKey(queue.name, next.dueAtMs, claim.id), row);
}

/**
 * Ends a failed attempt: the row is due again after the back-off of the queue, or becomes a dead
 * letter.
 *
 * @param failure.random 0 (included) to 1: spreads the pause
 * @param failure.reason a fixed word for the dead letter, never the text of a provider
 * @returns `lost` if another worker has taken the row meanwhile
 */
export async function retryClaim<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
  claim: OutboxClaim<Payload>,
  failure: { readonly nowMs: number; readonly random: number; readonly reason: string },
): Promise<"retried" | "dead" | "lost"> {
  const operation = kv.atomic();
  finishClaim(operation, queue, claim);
  const row: StoredOutboxRow = {
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
