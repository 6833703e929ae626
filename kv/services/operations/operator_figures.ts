/**
 * Computes the figures of the operator's overview by bounded scans. Rows may change during a scan,
 * so the sums are approximate on a live store.
 */
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { type BankNoticeRow, getBankNotice } from "../../money/payments/bank_notices.ts";
import {
  accountOfKey,
  bankNoticesSince,
  daySumCellOf,
  daySumsPrefix,
  leasesPrefix,
  noticeOfKey,
  refundSumsPrefix,
  walletsPrefix,
} from "../../engine/schema/keys.ts";
import { leaseRow } from "../../money/balances/leases.ts";
import { refundSum } from "../../money/ledger/refunds.ts";
import { usageSum } from "../../money/receipts/day_sums.ts";
import { walletRow } from "../../money/balances/wallets.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Most rows of one kind that the overview sums: a second or two of reading. */
const maxScanRows = 200_000;

/** Most bank notices that the overview reads one by one. */
const maxScanEvents = 5_000;

/** Sums of money of the whole service. */
export interface OperatorFigures {
  /**
   * The balances of all customers: Σ wallets and leases. Calls that are settled but not in the
   * lease rows yet may still be included.
   */
  readonly liabilityMicroVnd: bigint;
  readonly wallets: number;
  /** Cost of calls less refunds, today and in the last 30 days including today. */
  readonly revenueTodayMicroVnd: bigint;
  readonly revenueMonthMicroVnd: bigint;
  /** Top-ups credited of the notices that arrived today, and of those of the last 30 days. */
  readonly creditedTodayMicroVnd: bigint;
  readonly creditedMonthMicroVnd: bigint;
  /** The same by the day on which the notices arrived; days without any are absent. */
  readonly creditedByDay: ReadonlyMap<string, bigint>;
  /** Set if there were more rows than the bound: the sums are too low. */
  readonly partial: boolean;
}

const monthMs = 30 * dayMs;

/** Reads the figures. Takes a few seconds on a large store: do not call it per request. */
export async function readOperatorFigures(
  kv: KeyValueStore,
  nowMs: number,
): Promise<OperatorFigures> {
  const liability = await readLiability(kv);
  const revenue = await readRevenue(kv, nowMs);
  const credited = await readCredited(kv, nowMs);
  return {
    liabilityMicroVnd: liability.sum,
    wallets: liability.wallets,
    revenueTodayMicroVnd: revenue.today,
    revenueMonthMicroVnd: revenue.month,
    creditedTodayMicroVnd: credited.today,
    creditedMonthMicroVnd: credited.sum,
    creditedByDay: credited.days,
    partial: liability.partial || revenue.partial || credited.partial,
  };
}

const scan = { limit: maxScanRows, batchSize: listBatchRows };

async function readLiability(kv: KeyValueStore) {
  let sum = 0n;
  let wallets = 0;
  let leases = 0;
  for await (const entry of kv.list<unknown>({ prefix: walletsPrefix() }, scan)) {
    sum += walletRow(accountOfKey(entry.key), entry).availableMicroVnd;
    wallets++;
  }
  for await (const entry of kv.list<unknown>({ prefix: leasesPrefix() }, scan)) {
    sum += leaseRow(entry).remainingMicroVnd;
    leases++;
  }
  const partial = wallets >= maxScanRows || leases >= maxScanRows;
  return { sum, wallets, partial };
}

async function readRevenue(kv: KeyValueStore, nowMs: number) {
  const calls = await sumOfDays(
    kv,
    daySumsPrefix(),
    nowMs,
    ({ value }) => usageSum(value).costMicroVnd,
  );
  const refunds = await sumOfDays(kv, refundSumsPrefix(), nowMs, refundSum);
  return {
    today: calls.today - refunds.today,
    month: calls.month - refunds.month,
    partial: calls.partial || refunds.partial,
  };
}

/** Sums rows whose key has the day behind the account. */
async function sumOfDays(
  kv: KeyValueStore,
  prefix: Deno.KvKey,
  nowMs: number,
  amountOf: (entry: Deno.KvEntry<unknown>) => bigint,
) {
  const todaysDay = vietnamDay(nowMs);
  const monthStart = vietnamDay(nowMs - 29 * dayMs);
  let today = 0n;
  let month = 0n;
  let rows = 0;
  for await (const entry of kv.list<unknown>({ prefix }, scan)) {
    rows++;
    const { day } = daySumCellOf(entry.key);
    if (day < monthStart) continue;
    const amountMicroVnd = amountOf(entry);
    month += amountMicroVnd;
    if (day === todaysDay) today += amountMicroVnd;
  }
  return { today, month, partial: rows >= maxScanRows };
}

async function readCredited(kv: KeyValueStore, nowMs: number) {
  const rows = kv.list(bankNoticesSince(nowMs - monthMs), { limit: maxScanEvents });
  const days = new Map<string, bigint>();
  let sum = 0n;
  let count = 0;
  for await (const { key } of rows) {
    count++;
    const row: BankNoticeRow | null = (await getBankNotice(kv, noticeOfKey(key))).value;
    if (row?.state.kind !== "credited") continue;
    sum += row.event.amountMicroVnd;
    const day = vietnamDay(row.receivedAtMs);
    days.set(day, (days.get(day) ?? 0n) + row.event.amountMicroVnd);
  }
  const today = days.get(vietnamDay(nowMs)) ?? 0n;
  return { sum, today, days, partial: count >= maxScanEvents };
}
