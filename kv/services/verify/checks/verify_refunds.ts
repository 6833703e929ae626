/**
 * Checks that sums of refunds, also those by tag, equal the refund lines of the ledger, each in the cell of its call,
 * and that no call got back more than it cost.
 */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { type AccountId, idTimeMs, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { type CallTag, tagText } from "../../../../core/billing/usage/call_tags.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { listBatchRows } from "../../../engine/store/read_ahead.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  daySumCellOf,
  ledgerPrefix,
  refundSumsOfPrefix,
  tagRefundOf,
  tagRefundsPrefix,
} from "../../../engine/schema/keys.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import { maxReceiptsPerRead, readReceipts } from "../../../money/receipts/receipts.ts";
import { refundOperationId, refundSum } from "../../../money/ledger/refunds.ts";
import { type DaySumCell, daySumCell } from "../../../money/receipts/day_sums.ts";
import { sumId } from "./verify_sums.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** Names the calls of a cell with a tag. */
function taggedId(cell: DaySumCell, tag: CallTag): string {
  return `${sumId(cell)} with ${tagText(tag)}`;
}

/** Whether a ledger row is a refund of a call. */
function isRefund(value: unknown): value is LedgerEntry {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "refund";
}

/**
 * Lists what is wrong with the refunds of one account, also that a row cannot be read. Its refunds bound the memory.
 *
 * @param keptDay the day up to which receipts were dropped: refunds of its calls and of earlier ones have nothing to be
 *   compared with, but for the seals of the lines
 */
export async function refundDisagreements(
  kv: KeyValueStore,
  accountId: AccountId,
  keptDay: string | undefined,
): Promise<string[]> {
  const found: string[] = [];
  try {
    await findDisagreements(kv, accountId, keptDay, found);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    found.push(error.message);
  }
  return found;
}

async function findDisagreements(
  kv: KeyValueStore,
  accountId: AccountId,
  keptDay: string | undefined,
  found: string[],
): Promise<void> {
  const lines = new Map<RequestId, LedgerEntry>();
  const page = { batchSize: listBatchRows };
  for await (const { value } of kv.list({ prefix: ledgerPrefix(accountId) }, page)) {
    if (!isRefund(value)) continue;
    const { ledgerId, requestId, operationId } = value;
    if (requestId === undefined || operationId !== refundOperationId(requestId)) {
      found.push(`the refund ${ledgerId} does not name its call`);
    } else lines.set(requestId, value);
  }
  const right = await sumLines(kv, { accountId, keptDay, lines }, found);
  const compare = (entry: Deno.KvEntry<unknown>, { day }: DaySumCell, cell: string) => {
    if (isDropped(day, keptDay)) return;
    if (refundSum(entry) !== right.get(cell)) found.push(`the refunds of ${cell} are wrong`);
    right.delete(cell);
  };
  for await (const entry of kv.list({ prefix: refundSumsOfPrefix(accountId) }, page)) {
    const cell = daySumCellOf(entry.key);
    compare(entry, cell, sumId(cell));
  }
  for await (const entry of kv.list({ prefix: tagRefundsPrefix(accountId) }, page)) {
    const cell = tagRefundOf(entry.key);
    compare(entry, cell, taggedId(cell, cell.tag));
  }
  for (const cell of right.keys()) found.push(`the refunds of ${cell} are not summed up`);
}

/** Whether receipts of a day may be gone: a call may end in the day after its own. */
function isDropped(day: string, keptDay: string | undefined): boolean {
  return keptDay !== undefined && day <= keptDay;
}

async function sumLines(
  kv: KeyValueStore,
  { accountId, keptDay, lines }: {
    readonly accountId: AccountId;
    readonly keptDay: string | undefined;
    readonly lines: ReadonlyMap<RequestId, LedgerEntry>;
  },
  found: string[],
): Promise<Map<string, bigint>> {
  const sums = new Map<string, bigint>();
  const missing = new Set(lines.keys());
  const ids = [...missing];
  for (let at = 0; at < ids.length; at += maxReceiptsPerRead) {
    for (const receipt of await readReceipts(kv, ids.slice(at, at + maxReceiptsPerRead))) {
      const amountMicroVnd = lines.get(receipt.requestId)?.amountMicroVnd ?? 0n;
      if (receipt.accountId !== accountId) continue;
      missing.delete(receipt.requestId);
      if (amountMicroVnd > receipt.costMicroVnd) {
        const [back, paid] = [amountMicroVnd, receipt.costMicroVnd].map(formatVnd);
        found.push(`${back} VND went back of ${paid} for ${receipt.requestId}`);
      }
      if (isDropped(daySumCell(receipt).day, keptDay)) continue;
      const cell = daySumCell(receipt);
      const tagged = receipt.tags?.map((tag) => taggedId(cell, tag)) ?? [];
      for (const name of [sumId(cell), ...tagged]) {
        sums.set(name, (sums.get(name) ?? 0n) + amountMicroVnd);
      }
    }
  }
  for (const requestId of missing) {
    if (isDropped(vietnamDay(idTimeMs("request", requestId)), keptDay)) continue;
    found.push(`the refunded call ${requestId} has no receipt`);
  }
  return sums;
}
