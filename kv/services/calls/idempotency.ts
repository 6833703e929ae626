/**
 * Stores idempotency keys (`Idempotency-Key`): a call is charged once, however often the client
 * sends it.
 *
 * A call claims its key before it asks a provider, and the commit that charges the call rewrites
 * the row. So a claim that is pending was not charged, and the row of a charged call names it. A
 * process that dies in between leaves a pending claim, which expires when the call could no longer
 * run.
 *
 * - Folder `kv/services/calls/`: rows of idempotency keys, and of refused calls.
 * - In: the hashes of key and body, the request id; the codes and messages of refusals.
 * - Out: whether the key is free, claimed by a running call, or charged, and rows for the commit
 *   that charges the call; refused calls by id and by account.
 * - Never: holds a prompt or an answer.
 */
import type { IdempotencyKey } from "../../../core/calls/body/idempotency_key.ts";
import type { AccountId, RequestId, VideoId } from "../../../core/lib/ids/ids.ts";
import { accountWriteAttempts } from "../../people/accounts/accounts.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { callIdempotencyKey, videoIdempotencyKey } from "../../engine/schema/keys.ts";
import type { RowWriter } from "../../money/wallet/mod.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/**
 * Milliseconds for which a key is remembered after its call: a day, as clients and vendors agree.
 */
export const idempotencyKeptMs = dayMs;

/**
 * Milliseconds for which a running call keeps its claim. After that the call cannot be running any
 * more, and a later one may claim the key.
 */
export const idempotencyClaimMs = 16 * 60_000;

interface IdempotencyRow {
  readonly fingerprint: string;
  /** The call that claimed the key. */
  readonly requestId: RequestId;
  /** The store deletes the row some time later, so a row may outlive this. */
  readonly expiresAtMs: number;
  /** The video task that the call created; absent while the call runs. */
  readonly videoId: VideoId | undefined;
  /** Set once the call was charged and has ended. */
  readonly isOver?: true;
}

/** A key that this call has claimed. */
export interface ClaimedKey {
  readonly row: IdempotencyRow;
  readonly key: Deno.KvKey;
  readonly versionstamp: string;
}

/** The result of claiming a key. */
export type KeyClaim =
  | { readonly kind: "claimed"; readonly claim: ClaimedKey }
  /** An earlier call created this video. */
  | { readonly kind: "done"; readonly videoId: VideoId }
  /** An earlier call was charged. */
  | { readonly kind: "over"; readonly requestId: RequestId }
  | { readonly kind: "under_way" }
  /** The key was used for another request. */
  | { readonly kind: "other_request" };

/** A call that claims a key. */
export interface KeyClaimInput extends IdempotencyKey {
  /** Keys of videos and of other calls are separate: the same key may be used for one of each. */
  readonly of: "video" | "call";
  readonly accountId: AccountId;
  readonly requestId: RequestId;
  readonly nowMs: number;
}

function isIdempotencyRow(value: unknown): value is IdempotencyRow {
  return typeof value === "object" && value !== null && "fingerprint" in value &&
    "requestId" in value && "expiresAtMs" in value && typeof value.expiresAtMs === "number";
}

function startOf(row: IdempotencyRow, { fingerprint }: KeyClaimInput): KeyClaim {
  if (row.fingerprint !== fingerprint) return { kind: "other_request" };
  if (row.isOver === true) return { kind: "over", requestId: row.requestId };
  return row.videoId === undefined ? { kind: "under_way" } : { kind: "done", videoId: row.videoId };
}

/** Claims a key, or says what became of the call that claimed it before. Of simultaneous calls exactly one succeeds. */
export async function claimKey(kv: KeyValueStore, input: KeyClaimInput): Promise<KeyClaim> {
  const { accountId, id, requestId, fingerprint, nowMs } = input;
  const key = input.of === "video"
    ? videoIdempotencyKey(accountId, id)
    : callIdempotencyKey(accountId, id);
  const expiresAtMs = nowMs + idempotencyClaimMs;
  const row: IdempotencyRow = { fingerprint, requestId, expiresAtMs, videoId: undefined };
  const outcome = await compareAndSet<KeyClaim>(async () => {
    const found = await kv.get(key);
    if (found.versionstamp !== null && isIdempotencyRow(found.value)) {
      // This call wrote it, and the answer of the store was lost.
      if (found.value.requestId === requestId) {
        return { done: { kind: "claimed", claim: { row, key, versionstamp: found.versionstamp } } };
      }
      if (found.value.expiresAtMs > nowMs) return { done: startOf(found.value, input) };
    }
    const operation = kv.atomic().check(found)
      .set(key, row, { expireIn: idempotencyClaimMs });
    // The answer of the store may be lost: the next read finds the row, or not.
    const written = await operation.commit().catch(() => undefined);
    if (written?.ok !== true) return "again";
    return { done: { kind: "claimed", claim: { row, key, versionstamp: written.versionstamp } } };
  }, { attempts: accountWriteAttempts });
  return outcome === "conflict" ? { kind: "under_way" } : outcome.done;
}

/** Marks the key as charged, in the commit that charges a call whose answer is the result. */
export function writeCharged(writer: RowWriter, { row, key }: ClaimedKey, nowMs: number): void {
  const over: IdempotencyRow = {
    ...row,
    expiresAtMs: nowMs + idempotencyKeptMs,
    isOver: true,
  };
  writer.set(key, over, { expireIn: idempotencyKeptMs });
}

/** Frees the key in the commit of a call that cost nothing and produced nothing. */
export function writeReleased(writer: RowWriter, { key }: ClaimedKey): void {
  writer.delete(key);
}

/** Frees the key of a charged call in the commit of its refund, unless another call has the key by now. */
export async function freeCharged(
  kv: KeyValueStore,
  op: AtomicWrite,
  { row, key }: ClaimedKey,
): Promise<void> {
  const entry = await kv.get(key);
  if (!isIdempotencyRow(entry.value) || entry.value.requestId !== row.requestId) return;
  op.check(entry).delete(key);
}

/** Links the key to its video task, in the commit that charges the task. */
export function writeVideoTask(
  writer: RowWriter,
  { row, key }: ClaimedKey,
  task: { readonly id: VideoId; readonly createdAtMs: number },
): void {
  const done: IdempotencyRow = {
    ...row,
    expiresAtMs: task.createdAtMs + idempotencyKeptMs,
    videoId: task.id,
  };
  writer.set(key, done, { expireIn: idempotencyKeptMs });
}

/** Deletes the claim of a call that failed, so that the key can be used again. A charged call keeps its row. */
export async function releaseKey(
  kv: KeyValueStore,
  { key, versionstamp }: ClaimedKey,
): Promise<void> {
  await kv.atomic().check({ key, versionstamp }).delete(key).commit();
}
