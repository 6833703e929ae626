/**
 * Orders under a key of the client's choosing (`Idempotency-Key`): however often one is sent, it is charged once.
 *
 * The row is written before a provider is asked, and again in the commit that charges the call; so an order that is
 * pending was not charged, and one that was charged is found with its call. A process that dies in between leaves a
 * pending row behind, which ends by itself when the call could no longer run.
 *
 * - Folder `kv/calls/`: rows of calls that a client may send again (`Idempotency-Key`).
 * - In: the key of an order, the hash of its body, its request id.
 * - Out: whether the order is new, runs, or was charged, and rows for the commit that charges it.
 * - Never: holds a prompt or an answer.
 */
import type { OrderKey } from "../../core/calls/request/order_key.ts";
import type { AccountId, RequestId, VideoId } from "../../core/lib/ids.ts";
import { limits } from "../../core/limits.ts";
import { compareAndSet } from "../store/cas.ts";
import { callOrderKey, videoOrderKey } from "../schema/keys.ts";
import type { RowWriter } from "../wallet/mod.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

interface OrderRow {
  readonly fingerprint: string;
  /** The call that ordered. */
  readonly requestId: RequestId;
  /** The store removes the row some time after. */
  readonly expiresAtMs: number;
  /** The task of an order of a video; absent while the order is under way. */
  readonly videoId: VideoId | undefined;
  /** A call that was charged has ended. */
  readonly isOver?: true;
}

/** An order that is this call's to carry out. */
export interface BegunOrder {
  readonly row: OrderRow;
  readonly key: Deno.KvKey;
  readonly versionstamp: string;
}

export type OrderStart =
  | { readonly kind: "begun"; readonly order: BegunOrder }
  /** It was carried out before. */
  | { readonly kind: "ordered"; readonly videoId: VideoId }
  /** It was carried out, and charged, by this call. */
  | { readonly kind: "over"; readonly requestId: RequestId }
  | { readonly kind: "under_way" }
  /** The key was used for another request. */
  | { readonly kind: "other_request" };

export interface OrderInput extends OrderKey {
  /** Keys of videos and of calls that are answered at once do not meet. */
  readonly of: "video" | "call";
  readonly accountId: AccountId;
  readonly requestId: RequestId;
  readonly nowMs: number;
}

function isOrderRow(value: unknown): value is OrderRow {
  return typeof value === "object" && value !== null && "fingerprint" in value &&
    "requestId" in value && "expiresAtMs" in value && typeof value.expiresAtMs === "number";
}

function startOf(row: OrderRow, { fingerprint }: OrderInput): OrderStart {
  if (row.fingerprint !== fingerprint) return { kind: "other_request" };
  if (row.isOver === true) return { kind: "over", requestId: row.requestId };
  return row.videoId === undefined
    ? { kind: "under_way" }
    : { kind: "ordered", videoId: row.videoId };
}

/** Begins an order, or tells what became of the one under this key. Of any number at the same time one begins. */
export async function beginOrder(kv: KeyValueStore, input: OrderInput): Promise<OrderStart> {
  const { accountId, id, requestId, fingerprint, nowMs } = input;
  const key = input.of === "video" ? videoOrderKey(accountId, id) : callOrderKey(accountId, id);
  const expiresAtMs = nowMs + limits.orderUnderWayMs;
  const row: OrderRow = { fingerprint, requestId, expiresAtMs, videoId: undefined };
  const outcome = await compareAndSet<OrderStart>(async () => {
    const found = await kv.get(key);
    if (found.versionstamp !== null && isOrderRow(found.value)) {
      // Written by this very call, whose answer was lost.
      if (found.value.requestId === requestId) {
        return { done: { kind: "begun", order: { row, key, versionstamp: found.versionstamp } } };
      }
      if (found.value.expiresAtMs > nowMs) return { done: startOf(found.value, input) };
    }
    const operation = kv.atomic().check(found)
      .set(key, row, { expireIn: limits.orderUnderWayMs });
    // An answer that was lost is no reason to fail: the next look finds the row, or not.
    const written = await operation.commit().catch(() => undefined);
    if (written?.ok !== true) return "again";
    return { done: { kind: "begun", order: { row, key, versionstamp: written.versionstamp } } };
  }, { attempts: limits.accountWriteAttempts });
  return outcome === "conflict" ? { kind: "under_way" } : outcome.done;
}

/** For the commit that charges a call which is answered at once. */
export function writeOver(writer: RowWriter, { row, key }: BegunOrder, nowMs: number): void {
  const over: OrderRow = { ...row, expiresAtMs: nowMs + limits.orderKeptMs, isOver: true };
  writer.set(key, over, { expireIn: limits.orderKeptMs });
}

/** For the commit that writes down a call which cost nothing and gave nothing: the next one under this key runs. */
export function writeUnordered(writer: RowWriter, { key }: BegunOrder): void {
  writer.delete(key);
}

/** For the commit that charges the task of a video. */
export function writeOrdered(
  writer: RowWriter,
  { row, key }: BegunOrder,
  task: { readonly id: VideoId; readonly createdAtMs: number },
): void {
  const ordered: OrderRow = {
    ...row,
    expiresAtMs: task.createdAtMs + limits.orderKeptMs,
    videoId: task.id,
  };
  writer.set(key, ordered, { expireIn: limits.orderKeptMs });
}

/** Nothing came of it: the next call under this key orders anew. Does nothing to an order that was carried out. */
export async function dropOrder(
  kv: KeyValueStore,
  { key, versionstamp }: BegunOrder,
): Promise<void> {
  await kv.atomic().check({ key, versionstamp }).delete(key).commit();
}
