/**
 * Changes the state of a task. The new state, the refund and the end of the poll that caused it are
 * one atomic write, so two pollers, or a poller and a cancelling owner, never refund twice and
 * never lose a refund.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { isFinal, type VideoStep, type VideoTask } from "../../../core/media/video/task.ts";
import { openVideoKey } from "../../engine/schema/keys.ts";
import { readReceipt } from "../../money/receipts/receipts.ts";
import { refundCall } from "../../money/ledger/refunds.ts";
import type { VideoTaskRow } from "./tasks.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

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
    if (isFinal(task.state)) operation.delete(openVideoKey(task.id));
    options.also?.(operation);
  };
  const receipt = step.refund ? await receiptOf(kv, row.task) : undefined;
  if (receipt === undefined || receipt.costMicroVnd === 0n) {
    const operation = kv.atomic();
    write(operation, step.task);
    return (await operation.commit()).ok ? step.task : undefined;
  }
  let refunded: VideoTask | undefined;
  const amount = formatVnd(receipt.costMicroVnd);
  const result = await refundCall(kv, receipt, {
    reason: `Video ${row.task.id} ${step.task.state}: ${amount} VND back`,
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

async function receiptOf(kv: KeyValueStore, task: VideoTask): Promise<Receipt> {
  const receipt = await readReceipt(kv, task.requestId);
  invariant(receipt?.accountId === task.accountId, `video ${task.id}: its receipt is missing`);
  return receipt;
}
