/** Aggregates usage rows (day × key × model): totals, per day, per key, per model. */
import { ascending } from "../../core/lib/base/ascending.ts";
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import {
  addUp,
  netCostMicroVnd,
  nothingUsed,
  type Usage,
  type UsageRow,
} from "../../kv/money/ledger/usage.ts";
import { daysBetween } from "./range.ts";
import { keyMember, type KeyOwner } from "../../core/limits/budgets.ts";
import { readKeyOwners } from "../../kv/people/api_keys/api_keys.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { vietnamDay, vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { readRefusedHours } from "../../kv/services/calls/refused_hours.ts";
import { addHour, emptyHour, type HourSum, readHours } from "../../kv/money/receipts/hour_sums.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { hourMs } from "../../core/lib/time/durations.ts";

// Sums up how calls fared in some hours: how many failed, how long they took, and which models were called.

/** Health of the calls of some hours. */
export interface Health {
  /** Calls with a receipt. */
  readonly calls: HourSum;
  readonly refused: number;
  readonly models: ReadonlyMap<string, HourSum>;
  readonly accounts: ReadonlyMap<AccountId, HourSum>;
  /** There were more rows than may be read: the figures are too low. */
  readonly isPartial: boolean;
}

/** Rows that one reading sums: a second or two. */
const maxRows = 60_000;

function sumFor<Name>(sums: Map<Name, HourSum>, name: Name): HourSum {
  const known = sums.get(name) ?? emptyHour();
  sums.set(name, known);
  return known;
}

/** Reads the hours that begin within a period, of one account or of all. */
export async function readHealth(
  kv: KeyValueStore,
  { fromMs, untilMs, accountId }: {
    readonly fromMs: number;
    readonly untilMs: number;
    readonly accountId?: AccountId | undefined;
  },
): Promise<Health> {
  const calls = emptyHour();
  const models = new Map<string, HourSum>();
  const accounts = new Map<AccountId, HourSum>();
  let refused = 0;
  let rows = 0;
  for (const day of daysBetween(vietnamDay(fromMs), vietnamDay(untilMs - 1))) {
    const dayMs = vietnamDayStartMs(day);
    const isWithin = (hour: number) => {
      const atMs = dayMs + hour * hourMs;
      return atMs > fromMs - hourMs && atMs < untilMs;
    };
    for await (const { cell, sums } of readHours(kv, day, accountId)) {
      if (++rows > maxRows) break;
      for (const [hour, sum] of sums.hours) {
        if (!isWithin(hour)) continue;
        addHour(calls, sum);
        addHour(sumFor(models, cell.model), sum);
        addHour(sumFor(accounts, cell.accountId), sum);
      }
    }
    for await (const { hours } of readRefusedHours(kv, day, accountId)) {
      if (++rows > maxRows) break;
      for (const [hour, errors] of hours) {
        if (isWithin(hour)) { for (const count of errors.values()) refused += count; }
      }
    }
  }
  return { calls, refused, models, accounts, isPartial: rows > maxRows };
}

/** The part of all calls that failed or were refused; `undefined` if there were none. */
export function errorRate({ calls, refused }: Pick<Health, "calls" | "refused">) {
  const all = calls.calls + refused;
  return all === 0 ? undefined : (calls.failed + refused) / all;
}

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
    return left === right ? other.calls - one.calls : ascending(right, left);
  });
}

/** Groups of keys. */
const keyGroups = {
  member: keyMember,
  team: ({ teamId }) => teamId,
} as const satisfies Record<string, (owner: KeyOwner) => string | undefined>;

/** A group of keys. */
export type KeyGroup = keyof typeof keyGroups;

/** Whether calls can be grouped by it through their keys. */
export function isKeyGroup(name: string): name is KeyGroup {
  return Object.hasOwn(keyGroups, name);
}

/** Reads which member or team the keys of an account belong to now. Returns the id by key; empty: to none. */
export async function readKeyGroups(
  kv: KeyValueStore,
  accountId: AccountId,
  group: KeyGroup,
): Promise<(keyId: string) => string> {
  const owners = await readKeyOwners(kv, accountId);
  return (keyId) => {
    const owner = owners.get(keyId);
    return owner === undefined ? "" : keyGroups[group](owner) ?? "";
  };
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
