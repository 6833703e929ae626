/**
 * Computes day sums: what an account used per day, key and model. The indexer derives them from
 * receipts; they never move money and can be rebuilt.
 */
import { invariant, type Writable } from "../../../core/lib/base/assert.ts";
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import {
  addProviderReceipt,
  addProviderSums,
  type OwnProviderSums,
  providerSumOf,
  type ProviderSums,
  sameProviderSums,
} from "./provider_sums.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { daySumKey } from "../../engine/schema/keys.ts";

/** The stored sum. All members but the money are safe integers. */
export interface UsageSum {
  readonly calls: number;
  /** Calls that ended as `failed`; they are free. */
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
  /** Sum of the times to first output, over the calls that had an output. */
  readonly firstOutputMs: number;
  /** Number of calls that had an output. */
  readonly firstOutputCalls: number;
  /** Cost of the calls to the operator, for operators only. Absent: no call has a cost. */
  readonly providers?: ProviderSums;
}

/** Cell that one row is the sum of. */
export interface DaySumCell {
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

/**
 * Returns the end of a key range that includes a last day: it sorts after every key of that day and
 * before the next day.
 */
export function endOfDays(lastDay: string): string {
  return `${lastDay}~`;
}

/** The sum of no calls. */
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

/** Returns the cell of a receipt, by the start of its call, which never changes. */
export function daySumCell(receipt: Receipt): DaySumCell {
  const { accountId, keyId, model } = receipt;
  return { accountId, day: vietnamDay(receipt.startedAtMs), keyId, model };
}

/** Returns the store key of a day sum. */
export function daySumCellKey(cell: DaySumCell): Deno.KvKey {
  return daySumKey(cell.accountId, cell.day, cell.keyId, cell.model);
}

/** The version of a sum that has left the store for an archive: another one after each change, and none that a store gives. */
export function archivedSumVersion(revision: number): string {
  return revision === 0 ? firstArchivedVersion : `archived ${revision}`;
}

/** Nearly every archived sum has it, so that all share one text. */
const firstArchivedVersion = "archived 0";

/** Whether the version of a sum is that of an archive. A commit can replace such a row, and not delete it. */
export function isArchivedSum({ versionstamp }: { readonly versionstamp: string | null }): boolean {
  return versionstamp?.startsWith("archived ") === true;
}

/** Adds a receipt to a sum, in place, without what it cost the operator. */
export function addCounts(total: Writable<UsageSum>, receipt: Receipt): void {
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

/** Adds a receipt to a sum whose sums by provider others may refer to: those are replaced. */
export function addReceipt(total: Writable<UsageSum>, receipt: Receipt): void {
  addCounts(total, receipt);
  const providers = addProviderSums(total.providers, providerSumOf(receipt));
  if (providers !== undefined) total.providers = providers;
}

/** A sum to which only its owner refers, with all that is in it. */
export type OwnSum = Writable<Omit<UsageSum, "providers">> & {
  providers?: OwnProviderSums;
};

/** Adds a receipt to a sum as {@linkcode addReceipt} does, without copies. */
export function addReceiptInPlace(total: OwnSum, receipt: Receipt): void {
  addCounts(total, receipt);
  const providers = addProviderReceipt(total.providers, receipt);
  if (providers !== undefined) total.providers = providers;
}

/** Returns the sum with the receipts added. */
export function addReceipts(sum: UsageSum, receipts: Iterable<Receipt>): UsageSum {
  const total = { ...sum };
  for (const receipt of receipts) addReceipt(total, receipt);
  return total;
}

/** Adds two sums. */
export function addUsage(one: UsageSum, other: UsageSum): UsageSum {
  const providers = addProviderSums(one.providers, other.providers);
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
    ...(providers !== undefined && { providers }),
  };
}

/** Whether two sums are equal. */
export function sameUsage(one: UsageSum, other: UsageSum): boolean {
  return one.calls === other.calls && one.failedCalls === other.failedCalls &&
    one.estimatedCalls === other.estimatedCalls && one.inputTokens === other.inputTokens &&
    one.cacheReadTokens === other.cacheReadTokens &&
    one.cacheWriteTokens === other.cacheWriteTokens && one.outputTokens === other.outputTokens &&
    one.units === other.units && one.costMicroVnd === other.costMicroVnd &&
    one.shortfallMicroVnd === other.shortfallMicroVnd && one.latencyMs === other.latencyMs &&
    one.firstOutputMs === other.firstOutputMs && one.firstOutputCalls === other.firstOutputCalls &&
    sameProviderSums(one.providers, other.providers);
}

/** A day sum as it is stored. */
export interface StoredSum extends UsageSum {
  /** Whether the row of its hours was written with it. An indexer of an earlier release leaves this out. */
  readonly hasHours: boolean;
}

/**
 * Validates a stored sum.
 *
 * @throws {InvariantError} if the row is not a sum
 */
export function usageSum(value: unknown): UsageSum {
  const { hasHours: _hasHours, ...sum } = storedSum(value);
  return sum;
}

/** Validates a stored sum and says whether its hours are as new as it. Throws like {@linkcode usageSum}. */
export function storedSum(value: unknown): StoredSum {
  invariant(
    typeof value === "object" && value !== null && "costMicroVnd" in value &&
      typeof value.costMicroVnd === "bigint" && value.costMicroVnd >= 0n,
    "not a day sum",
  );
  const hasHours = "hasHours" in value && value.hasHours === true;
  return { ...noUsage, ...value, costMicroVnd: value.costMicroVnd, hasHours };
}
