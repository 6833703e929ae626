/** Usage rows (day × key × model) folded for pages: totals, per day, per key, per model. */
import type { DayRange } from "../../kv/receipts/rollups.ts";
import {
  addUp,
  netCostMicroVnd,
  nothingUsed,
  type Usage,
  type UsageRow,
} from "../../kv/receipts/usage.ts";
import { daysBetween } from "./days.ts";

/** The sum of rows. */
export function totalUsage(rows: readonly UsageRow[]): Usage {
  return rows.reduce((sum, { usage }) => addUp(sum, usage), nothingUsed);
}

/** Rows folded by what `nameOf` says, the dearest first. */
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

/** A bar per day of a range: what its calls cost in the end, and how many they were. */
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

/** Rows from a day on. */
export function usageSince(rows: readonly UsageRow[], fromDay: string): UsageRow[] {
  return rows.filter((row) => row.day >= fromDay);
}

/** What was billed as tokens. */
export function billedTokens(usage: Usage): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
}
