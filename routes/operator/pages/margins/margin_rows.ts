/** Orders and names the rows of the margins page and of its file. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  marginBasisPoints,
  type MarginGroup,
  marginGroups,
  marginMicroVnd,
  type Margins,
  type MarginSum,
  noMargin,
  unknownCalls,
  unknownRoute,
} from "../../../../kv/money/costs/margins.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import { boundedRange, dayRange, daysBetween, shiftDay } from "../../../usage_api/range.ts";

// Periods of the pages about costs: presets and days of the query, and the period before.

/** The periods that a page offers. */
export const presets = ["today", "7d", "30d", "month", "last-month"] as const;

/** A period that a page offers. */
export type Preset = typeof presets[number];

/** The chosen period; without a preset it is days of the query. */
export interface Period {
  readonly preset: Preset | undefined;
  readonly range: DayRange;
  /** Equally long, or the month before. */
  readonly before: DayRange;
}

const isPreset = (text: string | undefined): text is Preset =>
  presets.some((preset) => preset === text);

const firstOfMonth = (day: string): string => `${day.slice(0, 8)}01`;

/** The days of a month up to its end, or up to the same day of another. */
function monthBefore({ fromDay, toDay }: DayRange): DayRange {
  const end = shiftDay(firstOfMonth(fromDay), -1);
  const isWhole = firstOfMonth(shiftDay(toDay, 1)) !== firstOfMonth(toDay);
  const day = `${end.slice(0, 8)}${toDay.slice(8)}`;
  return { fromDay: firstOfMonth(end), toDay: isWhole || day > end ? end : day };
}

function spanBefore({ fromDay, toDay }: DayRange): DayRange {
  const days = daysBetween(fromDay, toDay).length;
  return { fromDay: shiftDay(fromDay, -days), toDay: shiftDay(fromDay, -1) };
}

function rangeOf(preset: Preset, today: string): DayRange {
  switch (preset) {
    case "today":
      return { fromDay: today, toDay: today };
    case "7d":
      return { fromDay: shiftDay(today, -6), toDay: today };
    case "30d":
      return { fromDay: shiftDay(today, -29), toDay: today };
    case "month":
      return { fromDay: firstOfMonth(today), toDay: today };
    case "last-month":
      return {
        fromDay: firstOfMonth(shiftDay(firstOfMonth(today), -1)),
        toDay: shiftDay(firstOfMonth(today), -1),
      };
  }
}

/** The last days, over which a model that makes a loss is warned of. */
export function losingDays(nowMs: number): DayRange {
  return rangeOf("7d", vietnamDay(nowMs));
}

/** Period that a query asks for. */
export interface AskedPeriod {
  readonly period?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * Reads the period of a query, by default this month.
 *
 * @example
 * ```ts
 * import { periodOf } from "./margin_rows.ts";
 * const { range, before } = periodOf({ period: "month" }, Date.UTC(2026, 10, 20));
 * if (range.fromDay !== "2026-11-01" || before.toDay !== "2026-10-20") throw new Error(before.toDay);
 * ```
 */
export function periodOf({ period, from, to }: AskedPeriod, nowMs: number): Period {
  const today = vietnamDay(nowMs);
  const hasDays = [from, to].some((text) => text !== undefined && text !== "");
  if (hasDays && !isPreset(period)) {
    const { range } = boundedRange(dayRange({ from, to }, today));
    return { preset: undefined, range, before: spanBefore(range) };
  }
  const preset = isPreset(period) ? period : "month";
  const range = rangeOf(preset, today);
  const isMonth = preset === "month" || preset === "last-month";
  return { preset, range, before: isMonth ? monthBefore(range) : spanBefore(range) };
}

/** Orders of rows. */
const sortings = ["name", "revenue", "cost", "margin", "share", "calls", "unknown"] as const;

/** A way to sort rows. */
export type Sorting = typeof sortings[number];

/** A row of the page. */
export interface MarginRow {
  /** A model, a route with its model, or an id. */
  readonly name: string;
  readonly sum: MarginSum;
  /** The same of the period before. */
  readonly before: MarginSum;
}

/** Reads a grouping of a query, by default by model. */
export function groupOf(text: string | undefined): MarginGroup {
  return marginGroups.find((group) => group === text) ?? "model";
}

/** Reads a sorting of a query; `undefined`: the usual one. */
export function sortingOf(text: string | undefined): Sorting | undefined {
  return sortings.find((sorting) => sorting === text);
}

/** Rows without a value come last, whatever the direction. */
const none = Number.NEGATIVE_INFINITY;

function valueOf({ sum }: MarginRow, by: Exclude<Sorting, "name">): number {
  switch (by) {
    case "revenue":
      return Number(sum.revenueMicroVnd);
    case "cost":
      return Number(sum.costMicroVnd);
    case "margin": {
      const margin = marginMicroVnd(sum);
      return margin === undefined ? none : Number(margin);
    }
    case "share":
      return marginBasisPoints(sum) ?? none;
    case "calls":
      return sum.calls;
    case "unknown":
      return unknownCalls(sum);
  }
}

/** Returns the rows of a grouping, sorted: by the usual sorting days the latest first, others by revenue. */
export function marginRows(
  now: Margins,
  before: Margins,
  { group, sorting, isUp }: {
    readonly group: MarginGroup;
    readonly sorting: Sorting | undefined;
    readonly isUp: boolean;
  },
): MarginRow[] {
  const rows = [...now.by[group]].map(([name, sum]): MarginRow => ({
    name,
    sum,
    before: before.by[group].get(name) ?? noMargin,
  }));
  const by = sorting ?? (group === "day" ? "name" : "revenue");
  const sign = isUp ? 1 : -1;
  return rows.sort((one, other) => {
    const names = ascending(one.name, other.name);
    if (by === "name") return sign * names;
    const [left, right] = [valueOf(one, by), valueOf(other, by)];
    if (left === right) return names;
    if (left === none) return 1;
    if (right === none) return -1;
    return sign * (left - right);
  });
}

/** Splits the name of a row of a route. */
export function routeOfRow(
  name: string,
): { readonly model: string; readonly route: string | undefined } {
  const space = name.indexOf(" ");
  const route = name.slice(space + 1);
  return { model: name.slice(0, space), route: route === unknownRoute ? undefined : route };
}

/** Reads the addresses of customers, by id. */
export async function emailsOf(
  kv: KeyValueStore,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const emails = new Map<string, string>();
  for (const id of ids) {
    const accountId: AccountId | undefined = parseId("account", id);
    const account = accountId === undefined ? undefined : await getAccount(kv, accountId);
    if (account?.email !== undefined) emails.set(id, account.email);
  }
  return emails;
}
