/**
 * Computes the figures of the operator's overview by bounded scans. Rows may change during a scan,
 * so the sums are approximate on a live store.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
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
  const charged = await readCharged(kv, nowMs);
  const credited = await readCredited(kv, nowMs - monthMs);
  return {
    liabilityMicroVnd: liability.sum,
    wallets: liability.wallets,
    revenueTodayMicroVnd: charged.todayMicroVnd,
    revenueMonthMicroVnd: charged.monthMicroVnd,
    creditedTodayMicroVnd: credited.byDay.get(vietnamDay(nowMs)) ?? 0n,
    creditedMonthMicroVnd: credited.byDay.values().reduce((sum, day) => sum + day, 0n),
    creditedByDay: credited.byDay,
    partial: liability.partial || charged.partial || credited.partial,
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

/** Charges to customers in the last 30 days, less refunds. */
export interface ChargedSums {
  readonly todayMicroVnd: bigint;
  readonly monthMicroVnd: bigint;
  readonly byAccount: ReadonlyMap<AccountId, bigint>;
  /** Set if there were more rows than the bound: the sums are too low. */
  readonly partial: boolean;
}

/** Reads what customers were charged. Takes a second or two on a large store: do not call it per request. */
export async function readCharged(kv: KeyValueStore, nowMs: number): Promise<ChargedSums> {
  const sums = { month: 0n, byDay: new Map<string, bigint>(), byAccount: new Map() };
  const calls = await addDays(
    kv,
    daySumsPrefix(),
    nowMs,
    sums,
    ({ value }) => usageSum(value).costMicroVnd,
  );
  const refunds = await addDays(kv, refundSumsPrefix(), nowMs, sums, (row) => -refundSum(row));
  return {
    todayMicroVnd: sums.byDay.get(vietnamDay(nowMs)) ?? 0n,
    monthMicroVnd: sums.month,
    byAccount: sums.byAccount,
    partial: calls >= maxScanRows || refunds >= maxScanRows,
  };
}

/** Adds rows whose key has the day behind the account; returns how many were read. */
async function addDays(
  kv: KeyValueStore,
  prefix: Deno.KvKey,
  nowMs: number,
  sums: { month: bigint; byDay: Map<string, bigint>; byAccount: Map<AccountId, bigint> },
  amountOf: (entry: Deno.KvEntry<unknown>) => bigint,
): Promise<number> {
  const monthStart = vietnamDay(nowMs - 29 * dayMs);
  let rows = 0;
  // None of these days has left the store.
  for await (const entry of kv.list<unknown>({ prefix }, { ...scan, isWithoutArchive: true })) {
    rows++;
    const { accountId, day } = daySumCellOf(entry.key);
    if (day < monthStart) continue;
    const amountMicroVnd = amountOf(entry);
    sums.month += amountMicroVnd;
    sums.byDay.set(day, (sums.byDay.get(day) ?? 0n) + amountMicroVnd);
    sums.byAccount.set(accountId, (sums.byAccount.get(accountId) ?? 0n) + amountMicroVnd);
  }
  return rows;
}

/** Top-ups credited of the notices that arrived since a moment. */
export interface CreditedSums {
  /** By the day on which the notices arrived; days without any are absent. */
  readonly byDay: ReadonlyMap<string, bigint>;
  /** Set if there were more notices than the bound: the sums are too low. */
  readonly partial: boolean;
}

/** Reads what top-ups brought since a moment. */
export async function readCredited(kv: KeyValueStore, sinceMs: number): Promise<CreditedSums> {
  const rows = kv.list(bankNoticesSince(sinceMs), { limit: maxScanEvents });
  const byDay = new Map<string, bigint>();
  let count = 0;
  for await (const { key } of rows) {
    count++;
    const row: BankNoticeRow | null = (await getBankNotice(kv, noticeOfKey(key))).value;
    if (row?.state.kind !== "credited") continue;
    const day = vietnamDay(row.receivedAtMs);
    byDay.set(day, (byDay.get(day) ?? 0n) + row.event.amountMicroVnd);
  }
  return { byDay, partial: count >= maxScanEvents };
}
