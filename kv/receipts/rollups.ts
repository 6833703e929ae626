/**
 * Day sums: what an account used per day, key and model. Derived from receipts by the indexer, never the source of
 * money; they can be thrown away and built again.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId, ApiKeyId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { Writable } from "../../core/lib/writable.ts";
import { rollupKey } from "../schema/keys.ts";

/** The stored value, and what readers add up. All but the money are safe integers. */
export interface UsageSum {
  readonly calls: number;
  /** Calls that ended `failed`; they are free. */
  readonly failedCalls: number;
  readonly estimatedCalls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly units: number;
  readonly costMicroVnd: bigint;
  readonly shortfallMicroVnd: bigint;
  readonly latencyMs: number;
  /** Sum over the calls that had an output … */
  readonly firstOutputMs: number;
  /** … and how many those are. */
  readonly firstOutputCalls: number;
}

/** What one row stands for. */
export interface RollupCell {
  readonly accountId: AccountId;
  /** `YYYY-MM-DD`, Vietnam time. */
  readonly day: string;
  readonly keyId: ApiKeyId;
  readonly model: string;
}

/** Days as `YYYY-MM-DD`, Vietnam time. */
export interface DayRange {
  readonly fromDay: string;
  /** Included. */
  readonly toDay: string;
}

/** Sorts after every key of the day and before the next day: the end of a list up to a day, with the day. */
export function endOfDays(lastDay: string): string {
  return `${lastDay}~`;
}

/** No calls at all. */
export const noUsage: UsageSum = {
  calls: 0,
  failedCalls: 0,
  estimatedCalls: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  units: 0,
  costMicroVnd: 0n,
  shortfallMicroVnd: 0n,
  latencyMs: 0,
  firstOutputMs: 0,
  firstOutputCalls: 0,
};

/** The row that a receipt belongs to. By the start of the call, which never changes. */
export function rollupCell(receipt: Receipt): RollupCell {
  const { accountId, keyId, model } = receipt;
  return { accountId, day: vietnamDay(receipt.startedAtMs), keyId, model };
}

export function rollupCellKey(cell: RollupCell): Deno.KvKey {
  return rollupKey(cell.accountId, cell.day, cell.keyId, cell.model);
}

/** Adds a receipt to a sum in place. */
export function addReceipt(total: Writable<UsageSum>, receipt: Receipt): void {
  invariant(receipt.costMicroVnd >= 0n, "a receipt never lowers a sum");
  const { usage } = receipt;
  total.calls++;
  if (receipt.outcome === "failed") total.failedCalls++;
  if (receipt.estimated) total.estimatedCalls++;
  if (usage) {
    total.inputTokens += usage.input;
    total.cacheReadTokens += usage.cacheRead;
    total.cacheWriteTokens += usage.cacheWrite;
    total.outputTokens += usage.output;
  }
  total.units += receipt.units;
  total.costMicroVnd += receipt.costMicroVnd;
  total.shortfallMicroVnd += receipt.shortfallMicroVnd;
  total.latencyMs += receipt.latencyMs;
  if (receipt.firstOutputMs !== undefined) {
    total.firstOutputMs += receipt.firstOutputMs;
    total.firstOutputCalls++;
  }
}

/** The sum with the receipts added. */
export function addReceipts(sum: UsageSum, receipts: Iterable<Receipt>): UsageSum {
  const total = { ...sum };
  for (const receipt of receipts) addReceipt(total, receipt);
  return total;
}

/** Both together. */
export function addUsage(one: UsageSum, other: UsageSum): UsageSum {
  return {
    calls: one.calls + other.calls,
    failedCalls: one.failedCalls + other.failedCalls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    inputTokens: one.inputTokens + other.inputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    units: one.units + other.units,
    costMicroVnd: one.costMicroVnd + other.costMicroVnd,
    shortfallMicroVnd: one.shortfallMicroVnd + other.shortfallMicroVnd,
    latencyMs: one.latencyMs + other.latencyMs,
    firstOutputMs: one.firstOutputMs + other.firstOutputMs,
    firstOutputCalls: one.firstOutputCalls + other.firstOutputCalls,
  };
}

/** Whether two sums say the same. */
export function sameUsage(one: UsageSum, other: UsageSum): boolean {
  return one.calls === other.calls && one.failedCalls === other.failedCalls &&
    one.estimatedCalls === other.estimatedCalls && one.inputTokens === other.inputTokens &&
    one.cacheReadTokens === other.cacheReadTokens &&
    one.cacheWriteTokens === other.cacheWriteTokens && one.outputTokens === other.outputTokens &&
    one.units === other.units && one.costMicroVnd === other.costMicroVnd &&
    one.shortfallMicroVnd === other.shortfallMicroVnd && one.latencyMs === other.latencyMs &&
    one.firstOutputMs === other.firstOutputMs && one.firstOutputCalls === other.firstOutputCalls;
}

/** @throws {InvariantError} if the row is not a sum */
export function usageSum(value: unknown): UsageSum {
  invariant(
    typeof value === "object" && value !== null && "costMicroVnd" in value &&
      typeof value.costMicroVnd === "bigint" && value.costMicroVnd >= 0n,
    "not a day sum",
  );
  return { ...noUsage, ...value, costMicroVnd: value.costMicroVnd };
}
