/**
 * Verifies the video tasks of a store: every ended task has its money, every open task will be
 * polled again.
 */
import { InvariantError } from "../../../core/lib/base/assert.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { isFinal, type VideoTask } from "../../../core/media/video/task.ts";
import {
  accountOfKey,
  allVideosPrefix,
  ledgerOperationKey,
  openVideoKey,
  openVideosPrefix,
  videoKey,
  videoOf,
  videosOfPrefix,
} from "../../engine/schema/keys.ts";
import type { LedgerEntry } from "../../money/ledger/ledger.ts";
import { readReceipt } from "../../money/receipts/receipts.ts";
import { refundOperationId } from "../../money/ledger/refunds.ts";
import { isVideoTask, type OpenVideo } from "./tasks.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A violated invariant. */
export interface VideoProblem {
  readonly accountId: AccountId;
  readonly kind: "video";
  readonly detail: string;
}

/**
 * Checks each task against its receipt, its refund and the index of open tasks. May run beside a
 * live service: a task and the rows that change with it are read at one moment.
 */
export async function* verifyVideos(kv: KeyValueStore): AsyncGenerator<VideoProblem> {
  for await (
    const { key, value } of kv.list({ prefix: allVideosPrefix() }, {
      batchSize: listBatchRows,
    })
  ) {
    const accountId = accountOfKey(key);
    if (!isVideoTask(value)) {
      yield { accountId, kind: "video", detail: `${videoOf(key)}: not a task` };
      continue;
    }
    for (const detail of await problemsOf(kv, value)) {
      yield { accountId, kind: "video", detail: `${value.id}: ${detail}` };
    }
  }
  yield* openWithoutTask(kv);
}

/**
 * Checks the tasks of one account whose calls, or refunds, are not older than these ids, as
 * {@linkcode verifyVideos} does.
 */
export async function* verifyVideosOf(
  kv: KeyValueStore,
  accountId: AccountId,
  { startId, refundStartId }: { readonly startId: string; readonly refundStartId: string },
): AsyncGenerator<VideoProblem> {
  const page = { batchSize: listBatchRows };
  for await (const { key, value } of kv.list({ prefix: videosOfPrefix(accountId) }, page)) {
    if (!isVideoTask(value)) {
      yield { accountId, kind: "video", detail: `${videoOf(key)}: not a task` };
      continue;
    }
    if (value.requestId < startId && (value.refundId ?? "") < refundStartId) continue;
    for (const detail of await problemsOf(kv, value)) {
      yield { accountId, kind: "video", detail: `${value.id}: ${detail}` };
    }
  }
}

/**
 * Finds index entries of open tasks without a task: open tasks cannot be deleted, so such a task
 * was lost.
 */
export async function* openWithoutTask(kv: KeyValueStore): AsyncGenerator<VideoProblem> {
  const rows = kv.list<OpenVideo>({ prefix: openVideosPrefix() }, {
    batchSize: listBatchRows,
  });
  for await (const { key, value: { accountId } } of rows) {
    const id = videoOf(key);
    const [task, open] = await kv.getMany([videoKey(accountId, id), openVideoKey(id)]);
    if (task.versionstamp === null && open.versionstamp !== null) {
      yield { accountId, kind: "video", detail: `${id}: open, but the task is missing` };
    }
  }
}

async function problemsOf(kv: KeyValueStore, seen: VideoTask): Promise<string[]> {
  const [row, open, movement] = await kv.getMany<[VideoTask, unknown, LedgerEntry]>([
    videoKey(seen.accountId, seen.id),
    openVideoKey(seen.id),
    ledgerOperationKey(refundOperationId(seen.requestId)),
  ]);
  const task = row.value;
  if (task === null) return []; // removed by its owner meanwhile
  let receipt: Receipt | undefined;
  try {
    receipt = await readReceipt(kv, task.requestId);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [error.message];
  }
  if (receipt === undefined) return ["it was never charged"];
  const problems: string[] = [];
  const isOpen = open.versionstamp !== null;
  if (isOpen === isFinal(task.state)) {
    problems.push(isOpen ? `${task.state}, but still open` : `${task.state}, but not open`);
  }
  const refund = movement.value ?? undefined;
  if (task.refundId !== refund?.ledgerId) problems.push("task and ledger disagree on the refund");
  if (refund !== undefined && refund.amountMicroVnd !== receipt.costMicroVnd) {
    const [back, paid] = [refund.amountMicroVnd, receipt.costMicroVnd].map(formatVnd);
    problems.push(`${back} VND went back of ${paid}`);
  }
  const mustRefund = task.state === "failed" && receipt.costMicroVnd > 0n;
  if (mustRefund && refund === undefined) problems.push("failed without a refund");
  const mayRefund = task.state === "failed" || task.state === "cancelled";
  if (refund !== undefined && !mayRefund) problems.push(`${task.state}, but refunded`);
  return problems;
}
