/** Reads and rebuilds what accounts used per day, key and model. */
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import { walletWriteAttempts } from "../wallet/limits.ts";
import {
  accountOfKey,
  accountsPrefix,
  dayCopyKey,
  daySumCellOf,
  daySumsOfDayKey,
  daySumsOfPrefix,
} from "../schema/keys.ts";
import { indexedAmong, listIndexed } from "./receipt_index.ts";
import { maxReceiptsPerRead, readReceipts, readTail } from "./receipts.ts";
import { readRefunds } from "../ledger/refunds.ts";
import {
  addReceipts,
  addUsage,
  type DayRange,
  type DaySumCell,
  daySumCell,
  daySumCellKey,
  endOfDays,
  noUsage,
  sameUsage,
  type UsageSum,
  usageSum,
} from "./day_sums.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

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
  return [...rows.values()].sort((one, other) => cellId(one) < cellId(other) ? -1 : 1);
}

/**
 * Reads day sums, then the calls that are not in them yet; repeats both if the indexer moved calls
 * in between.
 */
async function readSums(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
): Promise<Map<string, SumRow>> {
  for (let attempt = 1;; attempt++) {
    const tail = await readTail(kv, accountId);
    const before = await indexedAmong(kv, accountId, tail);
    const rows = await readRows(kv, accountId, range);
    const after = await indexedAmong(kv, accountId, tail);
    if (after.size !== before.size && attempt < walletWriteAttempts) continue;
    const open = tail.filter((requestId) => !after.has(requestId));
    for (const receipt of await readReceipts(kv, open)) {
      const cell = daySumCell(receipt);
      if (cell.day < range.fromDay || cell.day > range.toDay) continue;
      const known = rows.get(cellId(cell));
      const usage = addReceipts(known?.usage ?? noUsage, [receipt]);
      rows.set(cellId(cell), { ...cell, usage });
    }
    return rows;
  }
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
  for await (const { key, value } of kv.list<unknown>(selector)) {
    const cell = daySumCellOf(key);
    rows.set(cellId(cell), { ...cell, usage: usageSum(value) });
  }
  return rows;
}

/** The result of rebuilding day sums. */
export interface RebuiltDaySums {
  /** Number of rows that were wrong. */
  readonly corrected: number;
  /** Set if the indexer changed a row during every attempt, so that the row was not checked. */
  readonly isMoving: boolean;
}

/**
 * Recomputes the day sums of an account from its indexed receipts and corrects rows that differ.
 * Safe beside a live service: a row that the indexer changes meanwhile is left to the next attempt.
 */
export async function rebuildDaySums(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<RebuiltDaySums> {
  let corrected = 0;
  for (let attempt = 0; attempt < walletWriteAttempts; attempt++) {
    // Versions are read before receipts: a receipt indexed in between changes the version.
    const stored = new Map<string, Deno.KvEntry<unknown>>();
    for await (const entry of kv.list<unknown>({ prefix: daySumsOfPrefix(accountId) })) {
      stored.set(cellId(daySumCellOf(entry.key)), entry);
    }
    const right = await sumIndexed(kv, accountId);
    let moved = false;
    for (const id of new Set([...stored.keys(), ...right.keys()])) {
      const outcome = await correctRow(kv, stored.get(id), right.get(id));
      if (outcome === "moved") moved = true;
      if (outcome === "corrected") corrected++;
    }
    if (!moved) return { corrected, isMoving: false };
  }
  return { corrected, isMoving: true };
}

/** Runs {@linkcode rebuildDaySums} for every account, one after the other. */
export async function rebuildAllDaySums(kv: KeyValueStore, signal?: AbortSignal): Promise<{
  readonly accounts: number;
  readonly corrected: number;
  /** Accounts whose rows kept changing. */
  readonly moving: readonly AccountId[];
}> {
  let accounts = 0;
  let corrected = 0;
  const moving: AccountId[] = [];
  for await (const { key } of kv.list({ prefix: accountsPrefix() })) {
    signal?.throwIfAborted();
    const accountId = accountOfKey(key);
    const rebuilt = await rebuildDaySums(kv, accountId);
    accounts++;
    corrected += rebuilt.corrected;
    if (rebuilt.isMoving) moving.push(accountId);
  }
  return { accounts, corrected, moving };
}

async function sumIndexed(kv: KeyValueStore, accountId: AccountId): Promise<Map<string, SumRow>> {
  const rows = new Map<string, SumRow>();
  let some: RequestId[] = [];
  const add = async () => {
    for (const receipt of await readReceipts(kv, some)) {
      const cell = daySumCell(receipt);
      const usage = addReceipts(rows.get(cellId(cell))?.usage ?? noUsage, [receipt]);
      rows.set(cellId(cell), { ...cell, usage });
    }
    some = [];
  };
  for await (const requestId of listIndexed(kv, accountId)) {
    some.push(requestId);
    if (some.length >= maxReceiptsPerRead) await add();
  }
  await add();
  return rows;
}

async function correctRow(
  kv: KeyValueStore,
  stored: Deno.KvEntry<unknown> | undefined,
  right: SumRow | undefined,
): Promise<"right" | "corrected" | "moved"> {
  if (stored && right && sameUsage(usageSum(stored.value), right.usage)) {
    return await correctCopy(kv, stored, right);
  }
  const key = stored ? stored.key : right ? daySumCellKey(right) : undefined;
  if (key === undefined) return "right";
  const op = kv.atomic().check({ key, versionstamp: stored?.versionstamp ?? null });
  if (right) op.set(key, right.usage);
  else op.delete(key);
  const copy = dayCopyKey(daySumCellOf(key));
  if (right?.usage.providers !== undefined) op.set(copy, right.usage);
  else op.delete(copy);
  const result = await op.commit();
  return result.ok ? "corrected" : "moved";
}

/** Corrects the copy of a day sum that is right. */
async function correctCopy(
  kv: KeyValueStore,
  stored: Deno.KvEntry<unknown>,
  right: SumRow,
): Promise<"right" | "corrected" | "moved"> {
  if (right.usage.providers === undefined) return "right";
  const copy = await kv.get<unknown>(dayCopyKey(right));
  if (copy.value !== null && sameUsage(usageSum(copy.value), right.usage)) return "right";
  const { ok } = await kv.atomic().check(stored).set(copy.key, right.usage).commit();
  return ok ? "corrected" : "moved";
}
