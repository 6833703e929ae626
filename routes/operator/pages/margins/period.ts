/** Periods of the pages about costs: presets and days of the query, and the period before. */
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import { daysBetween, shiftDay } from "../../../usage_api/days.ts";
import { boundedRange, dayRange } from "../../../usage_api/range.ts";

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

/** What a query asks for. */
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
 * import { periodOf } from "./period.ts";
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
