/**
 * Refunds calls that were charged. A refund is a ledger line that names the call, once per call, and an addition to a
 * sum per day, key and model, and to the sums of its tags there, in the same atomic write. So limits, budgets and usage
 * pages know of a refund without searching the ledger; sums of receipts do not change, since receipts never change. A
 * refund counts on the day of its call, whenever it was made.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { CallTag } from "../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  daySumCellOf,
  ledgerOperationKey,
  refundSumDayKey,
  refundSumKey,
  tagRefundDayKey,
  tagRefundKey,
  tagRefundOf,
  tagRefundsOfPrefix,
} from "../../engine/schema/keys.ts";
import { credit, type LedgerEntry, type Movement, type MovementResult } from "./ledger.ts";
import { type DayRange, type DaySumCell, daySumCell, endOfDays } from "../receipts/day_sums.ts";
import type { TagChoice } from "../receipts/tag_sums.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import {
  type AtomicWrite,
  keysPerRead,
  type KeyValueStore,
} from "../../engine/store/key_value_store.ts";
import { keysAtOnce, valuesOfKeys } from "../../engine/store/read_ahead.ts";

/** The stored sum. */
interface RefundSum {
  readonly refundedMicroVnd: bigint;
}

/** Returns the operation id of a refund: one per call, forever. */
export function refundOperationId(requestId: RequestId): string {
  return `refund:${requestId}`;
}

/**
 * Refunds the cost of a call. Checks and rows of the caller go into the same atomic write: at most
 * six checks, since the ledger needs three and the sum one.
 *
 * @throws if the store does not answer; calling again is safe
 */
export async function refundCall(
  kv: KeyValueStore,
  receipt: Receipt,
  options: Pick<Movement, "reason" | "atMs" | "attach">,
): Promise<MovementResult> {
  const { accountId, requestId, costMicroVnd } = receipt;
  return await credit(kv, {
    accountId,
    amountMicroVnd: costMicroVnd,
    kind: "refund",
    operationId: refundOperationId(requestId),
    reason: options.reason,
    atMs: options.atMs,
    requestId,
    attach: async (op, entry) => {
      await options.attach?.(op, entry);
      await addToSums(kv, op, receipt);
    },
  });
}

/**
 * Adds a refund to its sums. Those of its tags change only together with that of its cell, whose check guards all; they
 * are read after it. Of two simultaneous refunds one fails its check and is repeated.
 */
async function addToSums(kv: KeyValueStore, op: AtomicWrite, receipt: Receipt): Promise<void> {
  const cell = daySumCell(receipt);
  const { accountId, day, keyId, model } = cell;
  const add = (entry: Deno.KvEntryMaybe<unknown>) => {
    const refundedMicroVnd = refundSum(entry) + receipt.costMicroVnd;
    op.set(entry.key, { refundedMicroVnd } satisfies RefundSum);
  };
  const whole = await kv.get(refundSumKey(accountId, day, keyId, model));
  op.check(whole);
  add(whole);
  const tagged = (receipt.tags ?? []).map((tag) => tagRefundKey(cell, tag));
  for (const some of groupsOf(tagged, keysPerRead)) {
    for (const entry of await kv.getMany<unknown[]>(some)) add(entry);
  }
}

/**
 * Decodes a sum of refunds; 0 if there is no row.
 *
 * @throws {InvariantError} if the row is not such a sum
 */
export function refundSum(entry: Deno.KvEntryMaybe<unknown>): bigint {
  if (entry.versionstamp === null) return 0n;
  const { value } = entry;
  invariant(
    typeof value === "object" && value !== null && "refundedMicroVnd" in value &&
      typeof value.refundedMicroVnd === "bigint" && value.refundedMicroVnd > 0n,
    "not a sum of refunds",
  );
  return value.refundedMicroVnd;
}

/** The refunds of the calls of one day, key and model. */
export interface RefundRow extends DaySumCell {
  readonly refundedMicroVnd: bigint;
}

/** Reads the refunds of calls in a range of days. */
export async function readRefunds(
  kv: KeyValueStore,
  accountId: AccountId,
  { fromDay, toDay }: DayRange,
): Promise<RefundRow[]> {
  const rows: RefundRow[] = [];
  const selector = {
    start: refundSumDayKey(accountId, fromDay),
    end: refundSumDayKey(accountId, endOfDays(toDay)),
  };
  for await (const entry of kv.list(selector)) {
    rows.push({ ...daySumCellOf(entry.key), refundedMicroVnd: refundSum(entry) });
  }
  return rows;
}

/** The refunds of the calls of one day, key and model that have a tag. */
export interface TagRefundRow extends RefundRow {
  readonly tag: CallTag;
}

/** Reads the refunds of calls with a tag, or with any tag of a key, in a range of days. */
export async function readTagRefunds(
  kv: KeyValueStore,
  accountId: AccountId,
  { fromDay, toDay }: DayRange,
  { key, value }: TagChoice,
): Promise<TagRefundRow[]> {
  const selector = value === undefined ? { prefix: tagRefundsOfPrefix(accountId, key) } : {
    start: tagRefundDayKey(accountId, { key, value }, fromDay),
    end: tagRefundDayKey(accountId, { key, value }, endOfDays(toDay)),
  };
  const rows: TagRefundRow[] = [];
  for await (const entry of kv.list(selector)) {
    const cell = tagRefundOf(entry.key);
    if (cell.day < fromDay || cell.day > toDay) continue;
    rows.push({ ...cell, refundedMicroVnd: refundSum(entry) });
  }
  return rows;
}

/**
 * Reads the refunds of these calls, by request id. Only videos can be refunded (other calls are
 * charged when their result exists), so only they are looked up.
 */
export async function readRefundsOf(
  kv: KeyValueStore,
  receipts: readonly Receipt[],
): Promise<ReadonlyMap<RequestId, LedgerEntry>> {
  const ids = receipts.filter(({ kind, costMicroVnd }) => kind === "video" && costMicroVnd > 0n)
    .map(({ requestId }) => requestId);
  const found = new Map<RequestId, LedgerEntry>();
  for (const some of groupsOf(ids, keysAtOnce)) {
    const keys = some.map((requestId) => ledgerOperationKey(refundOperationId(requestId)));
    for (const entry of await valuesOfKeys<LedgerEntry>(kv, keys)) {
      if (entry?.requestId !== undefined) found.set(entry.requestId, entry);
    }
  }
  return found;
}
