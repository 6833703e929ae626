/**
 * Money back for calls that were charged: a line of the ledger that names the call, once for each call, and a sum per
 * day, key and model, written in the same atomic. So a key's limits and the usage pages know of a refund without
 * looking through the ledger; the sums of receipts stay what they are, since receipts never change.
 *
 * A refund counts on the day of its call, whenever it came.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { daySumCellOf, ledgerOperationKey, refundSumDayKey, refundSumKey } from "../schema/keys.ts";
import { credit, type LedgerEntry, type Movement, type MovementResult } from "./ledger.ts";
import { type DayRange, endOfDays, type RollupCell, rollupCell } from "../receipts/rollups.ts";
import { type AtomicWrite, keysPerRead, type KeyValueStore } from "../store/key_value_store.ts";

/** The stored sum. */
interface RefundSum {
  readonly refundedMicroVnd: bigint;
}

/** The cause of a refund in the ledger: one for each call, for ever. */
export function refundOperationId(requestId: RequestId): string {
  return `refund:${requestId}`;
}

/**
 * Gives back what a call cost. The caller's checks and rows go into the same atomic: at most six checks, since the
 * ledger takes three and the sum one.
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
      await addToSum(kv, op, rollupCell(receipt), costMicroVnd);
    },
  });
}

/** The sum changes only together with its wallet, so two refunds at once meet there and one is tried anew. */
async function addToSum(
  kv: KeyValueStore,
  op: AtomicWrite,
  { accountId, day, keyId, model }: RollupCell,
  amountMicroVnd: bigint,
): Promise<void> {
  const entry = await kv.get(refundSumKey(accountId, day, keyId, model));
  const sum: RefundSum = { refundedMicroVnd: refundSum(entry) + amountMicroVnd };
  op.check(entry).set(entry.key, sum);
}

/**
 * What went back, as a row says; nothing where there is none.
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

/** What went back of the calls of one day, key and model. */
export interface RefundRow extends RollupCell {
  readonly refundedMicroVnd: bigint;
}

/** The refunds of calls in a range of days. */
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

/**
 * The refunds of these calls, by request id. Only videos can be refunded: other calls are paid when their result is
 * there, so nothing is looked up for them.
 */
export async function readRefundsOf(
  kv: KeyValueStore,
  receipts: readonly Receipt[],
): Promise<ReadonlyMap<RequestId, LedgerEntry>> {
  const ids = receipts.filter(({ kind, costMicroVnd }) => kind === "video" && costMicroVnd > 0n)
    .map(({ requestId }) => requestId);
  const found = new Map<RequestId, LedgerEntry>();
  for (let at = 0; at < ids.length; at += keysPerRead) {
    const keys = ids.slice(at, at + keysPerRead)
      .map((requestId) => ledgerOperationKey(refundOperationId(requestId)));
    for (const { value } of await kv.getMany<(LedgerEntry | null)[]>(keys)) {
      if (value?.requestId !== undefined) found.set(value.requestId, value);
    }
  }
  return found;
}
