/** Aggregates usage rows (day × key × model): totals, per day, per key, per model. */
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import {
  addUp,
  netCostMicroVnd,
  nothingUsed,
  type Usage,
  type UsageRow,
} from "../../kv/money/ledger/usage.ts";
import { daysBetween } from "./days.ts";

/** Sums rows. */
export function totalUsage(rows: readonly UsageRow[]): Usage {
  return rows.reduce((sum, { usage }) => addUp(sum, usage), nothingUsed);
}

/** Groups rows by `nameOf`, the most expensive group first. */
export function usageBy(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
): [name: string, usage: Usage][] {
  const sums = new Map<string, Usage>();
  for (const row of rows) {
    const name = nameOf(row);
    sums.set(name, addUp(sums.get(name) ?? nothingUsed, row.usage));
  }
  return [...sums].sort(([, one], [, other]) => {
    const [left, right] = [netCostMicroVnd(one), netCostMicroVnd(other)];
    return left === right ? other.calls - one.calls : left < right ? 1 : -1;
  });
}

/**
 * Builds the points of a chart with one bar per day: the cost of its calls after refunds, and their
 * number.
 */
export function dayBars(
  rows: readonly UsageRow[],
  { fromDay, toDay }: DayRange,
): { day: string; costMicroVnd: bigint; calls: number }[] {
  const perDay = new Map(usageBy(rows, (row) => row.day));
  return daysBetween(fromDay, toDay).map((day) => {
    const usage = perDay.get(day) ?? nothingUsed;
    return { day, costMicroVnd: netCostMicroVnd(usage), calls: usage.calls };
  });
}

/** Returns the rows from a day on. */
export function usageSince(rows: readonly UsageRow[], fromDay: string): UsageRow[] {
  return rows.filter((row) => row.day >= fromDay);
}

/** Sums the tokens that were billed. */
export function billedTokens(usage: Usage): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
}
