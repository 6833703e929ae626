/** Stores video tasks: written together with their charge, read by their owner only. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, VideoId } from "../../../core/lib/ids/ids.ts";
import {
  type FinalVideoState,
  isFinal,
  pollPauseMs,
  type VideoStep,
  type VideoTask,
} from "../../../core/media/video/task.ts";
import {
  openVideoKey,
  openVideosPrefix,
  videoKey,
  videoOf,
  videosBesideSelector,
} from "../../engine/schema/keys.ts";
import { type ClaimedKey, writeVideoTask } from "../calls/idempotency.ts";
import { addToOutbox, type OutboxQueue } from "../../engine/outbox/outbox.ts";
import type { Attachment } from "../../money/wallet/mod.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { readReceipt } from "../../money/receipts/receipts.ts";
import { addWebhookEvent } from "../../people/webhooks/events.ts";
import { refundCall } from "../../money/ledger/refunds.ts";
import { systemReasonText } from "../../money/ledger/system_reasons.ts";

/**
 * Milliseconds of a claim on a poll: twice the longest duration of a poll, so that two never run at
 * once.
 */
const videoPollClaimMs = 60_000;

/**
 * Attempts of one poll, practically unlimited: a provider is asked until the deadline of the task,
 * and a failing store until it works again, since money depends on it.
 */
const videoPollAttempts = 1_000_000;

/** Milliseconds between attempts of a poll that failed. */
const videoPollPausesMs = [2_000, 5_000, 15_000, 30_000, 60_000] as const;

/** Most video tasks on one page of a list, as the video API allows. */
export const maxVideoListRows = 100;

/** Orders of a list: oldest or newest first. */
export const videoListOrders = ["asc", "desc"] as const;

/**
 * Most open video tasks that one sweep reads; polls do the work, the sweep only finds lost ones.
 */
const maxVideoSweepRows = 10_000;

/** The payload of a poll: the task and its account. */
export interface VideoPoll {
  readonly accountId: AccountId;
  readonly videoId: VideoId;
  /** Times in a row that the provider did not know the task; absent: it did last time. */
  readonly unknownTimes?: number;
}

function readPoll(stored: unknown): VideoPoll {
  const isPoll = typeof stored === "object" && stored !== null &&
    "accountId" in stored && typeof stored.accountId === "string" &&
    "videoId" in stored && typeof stored.videoId === "string";
  if (!isPoll) throw new TypeError("Not a poll of a video task");
  const poll = { accountId: stored.accountId as AccountId, videoId: stored.videoId as VideoId };
  return "unknownTimes" in stored && typeof stored.unknownTimes === "number"
    ? { ...poll, unknownTimes: stored.unknownTimes }
    : poll;
}

/** The outbox queue of polls. */
export const videoPolls: OutboxQueue<VideoPoll> = {
  name: "video-polls",
  parse: readPoll,
  claimMs: videoPollClaimMs,
  maxAttempts: videoPollAttempts,
  backoffMs: videoPollPausesMs,
};

/** The index row of a task that has not ended. */
export interface OpenVideo {
  readonly accountId: AccountId;
  readonly deadlineAtMs: number;
}

/** A task as it was read, with the version that a check needs. */
export interface VideoTaskRow {
  readonly task: VideoTask;
  readonly key: Deno.KvKey;
  readonly versionstamp: string;
}

/**
 * Returns the rows of a new task for the settlement that charges it: the task, its index entry, its
 * first poll, and its idempotency key if it has one. They become visible together with the receipt
 * or not at all.
 */
export function newTaskRows(task: VideoTask, claim?: ClaimedKey): Attachment {
  invariant(task.state === "queued", "a new task is queued");
  return {
    mutations: claim === undefined ? 3 : 4,
    apply(op) {
      if (claim !== undefined) writeVideoTask(op, claim, task);
      op.set(videoKey(task.accountId, task.id), task);
      const open: OpenVideo = { accountId: task.accountId, deadlineAtMs: task.deadlineAtMs };
      op.set(openVideoKey(task.id), open);
      addToOutbox(op, videoPolls, {
        id: task.id,
        payload: { accountId: task.accountId, videoId: task.id },
        nowMs: task.createdAtMs,
        dueAtMs: task.createdAtMs + pollPauseMs({ ageMs: 0, retryAfterMs: undefined }),
      });
    },
  };
}

/** Whether a stored value is a video task. */
export function isVideoTask(value: unknown): value is VideoTask {
  return typeof value === "object" && value !== null && "id" in value && "state" in value &&
    "costMicroVnd" in value && typeof value.costMicroVnd === "bigint";
}

/** Reads a task of this account; `undefined` for a foreign id, as for an unknown one. */
export async function readVideo(
  kv: KeyValueStore,
  accountId: AccountId,
  videoId: VideoId,
): Promise<VideoTaskRow | undefined> {
  const entry = await kv.get(videoKey(accountId, videoId));
  if (entry.versionstamp === null) return undefined;
  invariant(isVideoTask(entry.value), `video ${videoId}: not a task`);
  return { task: entry.value, key: entry.key, versionstamp: entry.versionstamp };
}

/** The query of a list. */
export interface VideoListQuery {
  readonly limit: number;
  readonly order: typeof videoListOrders[number];
  /** The last id of the previous page. */
  readonly after: VideoId | undefined;
}

/** Lists the tasks of an account by time of creation, one page of them. */
export async function listVideos(
  kv: KeyValueStore,
  accountId: AccountId,
  query: VideoListQuery,
): Promise<{ readonly tasks: readonly VideoTask[]; readonly hasMore: boolean }> {
  const limit = Math.min(query.limit, maxVideoListRows);
  const selector = videosBesideSelector(accountId, query.after, query.order);
  const tasks: VideoTask[] = [];
  const rows = kv.list(selector, { limit: limit + 1, reverse: query.order === "desc" });
  for await (const { value } of rows) {
    invariant(isVideoTask(value), "the videos of an account are tasks");
    tasks.push(value);
  }
  return { tasks: tasks.slice(0, limit), hasMore: tasks.length > limit };
}

/**
 * Deletes an ended task. `false` if it changed meanwhile.
 *
 * @throws {InvariantError} if the task has not ended: cancel it instead
 */
export async function forgetVideo(kv: KeyValueStore, row: VideoTaskRow): Promise<boolean> {
  invariant(isFinal(row.task.state), "only ended tasks are deleted");
  return (await kv.atomic().check(row).delete(row.key).commit()).ok;
}

/**
 * Lists open tasks whose deadline passed before `deadlineBeforeMs`, at most `maxVideoSweepRows`.
 */
export async function listOverdueVideos(
  kv: KeyValueStore,
  deadlineBeforeMs: number,
): Promise<VideoPoll[]> {
  const overdue: VideoPoll[] = [];
  const rows = kv.list<OpenVideo>({ prefix: openVideosPrefix() }, { limit: maxVideoSweepRows });
  for await (const { key, value } of rows) {
    if (value.deadlineAtMs >= deadlineBeforeMs) continue;
    overdue.push({ accountId: value.accountId, videoId: videoOf(key) });
  }
  return overdue;
}

// Changes the state of a task. The new state, the refund and the end of the poll that caused it are
// one atomic write, so two pollers, or a poller and a cancelling owner, never refund twice and
// never lose a refund.

/**
 * Adds rows and checks of the caller to the same atomic write, e.g. the end of its claim. At most
 * five checks.
 */
export type AlsoCommit = (operation: AtomicWrite) => void;

/**
 * Writes a step. The refund is the charge on the receipt, which is less than the price if the
 * wallet could not pay all of it.
 *
 * @returns the stored task, or `undefined` if the row or a check of the caller failed and nothing
 * was written
 * @throws if the store does not answer; reading the task again and repeating the step is safe
 */
export async function commitStep(
  kv: KeyValueStore,
  row: VideoTaskRow,
  step: VideoStep,
  options: { readonly nowMs: number; readonly also?: AlsoCommit },
): Promise<VideoTask | undefined> {
  invariant(!isFinal(row.task.state), "ended tasks never change");
  invariant(!step.refund || isFinal(step.task.state), "only an end is refunded");
  const write = (operation: AtomicWrite, task: VideoTask) => {
    operation.check(row).set(row.key, task);
    if (isFinal(task.state)) {
      operation.delete(openVideoKey(task.id));
      addEndEvent(operation, { ...task, state: task.state }, options.nowMs);
    }
    options.also?.(operation);
  };
  const receipt = step.refund ? await receiptOf(kv, row.task) : undefined;
  if (receipt === undefined || receipt.costMicroVnd === 0n) {
    const operation = kv.atomic();
    write(operation, step.task);
    return (await operation.commit()).ok ? step.task : undefined;
  }
  let refunded: VideoTask | undefined;
  const result = await refundCall(kv, receipt, {
    reason: systemReasonText({
      kind: "video",
      videoId: row.task.id,
      state: step.task.state === "cancelled" ? "cancelled" : "failed",
      amountMicroVnd: receipt.costMicroVnd,
    }),
    atMs: options.nowMs,
    attach: (operation, entry) => {
      refunded = { ...step.task, refundId: entry.ledgerId };
      write(operation, refunded);
    },
  });
  switch (result.status) {
    case "applied":
      invariant(refunded !== undefined, "a refund is written with its task");
      return { ...refunded, refundId: result.entry.ledgerId };
    case "conflict":
    case "duplicate": // somebody else ended the task, together with this very refund
      return undefined;
    case "mismatch":
    case "insufficient":
      invariant(false, `The refund of ${row.task.id} was used for something else`);
  }
}

/** Adds the webhook about the end of a task. */
function addEndEvent(
  operation: AtomicWrite,
  { id, accountId, requestId, model, state }: VideoTask & { readonly state: FinalVideoState },
  nowMs: number,
): void {
  const data = { video_id: id, request_id: requestId, model, status: state };
  addWebhookEvent(operation, accountId, { type: "video.ended", data }, nowMs);
}

async function receiptOf(kv: KeyValueStore, task: VideoTask): Promise<Receipt> {
  const receipt = await readReceipt(kv, task.requestId);
  invariant(receipt?.accountId === task.accountId, `video ${task.id}: its receipt is missing`);
  return receipt;
}
