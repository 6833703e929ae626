/** Reads what accounts used per day, key and model. */
import { readAhead } from "../../engine/store/read_ahead.ts";
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { CallTag } from "../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { walletWriteAttempts } from "../balances/leases.ts";
import { daySumCellOf, daySumsOfDayKey } from "../../engine/schema/keys.ts";
import { indexedAmong } from "../receipts/receipt_index.ts";
import { readReceipts, readTail } from "../receipts/receipts.ts";
import { readRefunds, readTagRefunds } from "./refunds.ts";
import { readTagRows, type TagChoice, type TagRow } from "../receipts/tag_sums.ts";
import {
  addCounts,
  addReceipts,
  addUsage,
  type DayRange,
  type DaySumCell,
  daySumCell,
  endOfDays,
  noUsage,
  type UsageSum,
  usageSum,
} from "../receipts/day_sums.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A sum of receipts, and how much of its cost was refunded. */
export interface Usage extends UsageSum {
  readonly refundedMicroVnd: bigint;
}

/** The usage of one model by one key on one day. */
export interface UsageRow extends DaySumCell {
  readonly usage: Usage;
}

/** Usage of nothing. */
export const nothingUsed: Usage = { ...noUsage, refundedMicroVnd: 0n };

/** Adds two usages. */
export function addUp(one: Usage, other: Usage): Usage {
  const refundedMicroVnd = one.refundedMicroVnd + other.refundedMicroVnd;
  return { ...addUsage(one, other), refundedMicroVnd };
}

/** Computes the cost of calls less what was refunded. */
export function netCostMicroVnd({ costMicroVnd, refundedMicroVnd }: Usage): bigint {
  return costMicroVnd - refundedMicroVnd;
}

function cellId({ day, keyId, model }: DaySumCell): string {
  return `${day} ${keyId} ${model}`;
}

/** Sums of receipts by cell. */
type SumRow = DaySumCell & { readonly usage: UsageSum };

/**
 * Reads the usage of a range of days, including calls settled this second, ordered by day, key and
 * model. Refunds are read first: a receipt exists before its refund, so no refund is read without
 * its call.
 */
export async function readUsage(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
): Promise<UsageRow[]> {
  const refunds = await readRefunds(kv, accountId, range);
  const sums = await readSums(kv, accountId, range);
  const rows = new Map<string, UsageRow>();
  for (const [id, row] of sums) {
    rows.set(id, { ...row, usage: { ...row.usage, refundedMicroVnd: 0n } });
  }
  for (const { refundedMicroVnd, ...cell } of refunds) {
    const { usage } = rows.get(cellId(cell)) ?? { usage: nothingUsed };
    rows.set(cellId(cell), { ...cell, usage: { ...usage, refundedMicroVnd } });
  }
  return [...rows.values()].sort((one, other) => ascending(cellId(one), cellId(other)));
}

async function readSums(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
): Promise<Map<string, SumRow>> {
  const { rows, open } = await withUnindexed(
    kv,
    accountId,
    range,
    () => readRows(kv, accountId, range),
  );
  for (const { receipt, cell } of open) {
    const known = rows.get(cellId(cell));
    const usage = addReceipts(known?.usage ?? noUsage, [receipt]);
    rows.set(cellId(cell), { ...cell, usage });
  }
  return rows;
}

/**
 * Reads sums, then the calls of the range that are not in them yet; repeats both if the indexer moved calls in between.
 */
async function withUnindexed<Rows>(
  kv: KeyValueStore,
  accountId: AccountId,
  { fromDay, toDay }: DayRange,
  read: () => Promise<Rows>,
): Promise<{
  readonly rows: Rows;
  readonly open: readonly { readonly receipt: Receipt; readonly cell: DaySumCell }[];
}> {
  for (let attempt = 1;; attempt++) {
    const tail = await readTail(kv, accountId);
    const before = await indexedAmong(kv, accountId, tail);
    const rows = await read();
    const after = await indexedAmong(kv, accountId, tail);
    if (after.size !== before.size && attempt < walletWriteAttempts) continue;
    const open = tail.filter((requestId) => !after.has(requestId));
    const receipts = await readReceipts(kv, open);
    return {
      rows,
      open: receipts.map((receipt) => ({ receipt, cell: daySumCell(receipt) }))
        .filter(({ cell: { day } }) => day >= fromDay && day <= toDay),
    };
  }
}

/** The usage of one tag, model and key on one day. */
export interface TagUsageRow extends UsageRow {
  readonly tag: CallTag;
}

/**
 * Reads the usage of the calls with a tag, or with any tag of a key, in a range of days, including calls settled this
 * second. A cell may have several rows: all readers sum them. Refunds are read first, as in {@linkcode readUsage}.
 */
export async function readTagUsage(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
  choice: TagChoice,
): Promise<TagUsageRow[]> {
  const refunds = await readTagRefunds(kv, accountId, range, choice);
  const read = () => readTagRows(kv, accountId, range, choice);
  const { rows, open } = await withUnindexed(kv, accountId, range, read);
  const unindexed = open.flatMap(({ receipt, cell }) =>
    (receipt.tags ?? []).filter((tag) => fitsChoice(tag, choice)).map((tag): TagRow => {
      const usage = { ...noUsage };
      addCounts(usage, receipt);
      return { ...cell, tag, usage };
    })
  );
  return [
    ...[...rows, ...unindexed].map((row) => ({
      ...row,
      usage: { ...row.usage, refundedMicroVnd: 0n },
    })),
    ...refunds.map(({ refundedMicroVnd, ...cell }) => ({
      ...cell,
      usage: { ...nothingUsed, refundedMicroVnd },
    })),
  ];
}

function fitsChoice({ key, value }: CallTag, choice: TagChoice): boolean {
  return key === choice.key && (choice.value === undefined || value === choice.value);
}

/** Reads the day sums of one day, without the calls that are not in them yet. */
export async function readDaySumsOfDay(
  kv: KeyValueStore,
  accountId: AccountId,
  day: string,
): Promise<{ readonly cell: DaySumCell; readonly usage: UsageSum }[]> {
  const rows = await readRows(kv, accountId, { fromDay: day, toDay: day });
  return [...rows.values()].map(({ usage, ...cell }) => ({ cell, usage }));
}

async function readRows(
  kv: KeyValueStore,
  accountId: AccountId,
  { fromDay, toDay }: DayRange,
): Promise<Map<string, SumRow>> {
  const rows = new Map<string, SumRow>();
  const selector = {
    start: daySumsOfDayKey(accountId, fromDay),
    end: daySumsOfDayKey(accountId, endOfDays(toDay)),
  };
  for await (const { key, value } of readAhead<unknown>(kv, selector)) {
    const cell = daySumCellOf(key);
    const usage = usageSum(value);
    // A sum of no calls stands in place of an archived one that was wrong.
    if (usage.calls > 0) rows.set(cellId(cell), { ...cell, usage });
  }
  return rows;
}
