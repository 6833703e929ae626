/** Usage rows (day × key × model) folded for pages: totals, per day, per key, per model. */
import type { UsageRow } from "../../kv/usage.ts";
import { addUsage, noUsage, type UsageSum } from "../../kv/rollups.ts";

/** The sum of rows. */
export function totalUsage(rows: readonly UsageRow[]): UsageSum {
  return rows.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
}

/** Rows folded by what `nameOf` says, the dearest first. */
export function usageBy(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
): [name: string, usage: UsageSum][] {
  const sums = new Map<string, UsageSum>();
  for (const row of rows) {
    const name = nameOf(row);
    sums.set(name, addUsage(sums.get(name) ?? noUsage, row.usage));
  }
  return [...sums].sort(([, one], [, other]) =>
    one.costMicroVnd === other.costMicroVnd
      ? other.calls - one.calls
      : one.costMicroVnd < other.costMicroVnd
      ? 1
      : -1
  );
}

/** Rows from a day on. */
export function usageSince(rows: readonly UsageRow[], fromDay: string): UsageRow[] {
  return rows.filter((row) => row.day >= fromDay);
}

/** What was billed as tokens. */
export function billedTokens(usage: UsageSum): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
}
