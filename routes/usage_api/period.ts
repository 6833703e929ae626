/** The period that a page of usage shows: a preset or days, and the grain of its chart. */
import {
  firstDayOfMonth,
  monthOfDay,
  shiftMonth,
  vietnamDay,
  vietnamDayStartMs,
  vietnamOffsetMs,
} from "../../core/lib/time/vietnam_time.ts";
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import { hourSumsDays } from "../../kv/money/receipts/hour_sums.ts";
import {
  boundedRange,
  dayRange,
  daysBetween,
  maxUsageDays,
  requireRange,
  shiftDay,
} from "./range.ts";
import { wrongParameter } from "../http/query.ts";
import { dayMs, hourMs } from "../../core/lib/time/durations.ts";

/** Periods that one click chooses. */
export const presets = ["1h", "24h", "7d", "30d", "month"] as const;

export type Preset = typeof presets[number];

/** Times that one bar of a chart can stand for. */
export const grains = ["hour", "day", "month"] as const;

export type Grain = typeof grains[number];

/** A period. Its days contain it; its moments are exact. */
export interface Period {
  readonly preset: Preset | "custom";
  readonly range: DayRange;
  readonly fromMs: number;
  /** First moment after it. */
  readonly untilMs: number;
  readonly grain: Grain;
  /** The grains that one may choose. */
  readonly grains: readonly Grain[];
  /** The asked days were cut to the longest possible range. */
  readonly cut: boolean;
}

/** Days with a bar per hour: 168 bars are as many as one can point at. */
const maxHourDays = 8;

/** Days with a bar per day, if no other grain is asked for. */
const maxDayBars = 62;

function parsePreset(text: string | undefined): Preset | undefined {
  return presets.find((preset) => preset === text);
}

function presetDays(preset: Exclude<Preset, "1h" | "24h">, today: string): DayRange {
  const firstOfMonth = `${today.slice(0, 8)}01`;
  const fromDay = preset === "month" ? firstOfMonth : shiftDay(today, preset === "7d" ? -6 : -29);
  return { fromDay, toDay: today };
}

function grainsOf({ fromDay, toDay }: DayRange, today: string): readonly Grain[] {
  const days = daysBetween(fromDay, toDay).length;
  const hasHours = days <= maxHourDays && fromDay >= shiftDay(today, -hourSumsDays);
  return [
    ...hasHours ? ["hour" as const] : [],
    ...days > 1 ? ["day" as const] : [],
    ...days > 28 ? ["month" as const] : [],
  ];
}

function grainOf(asked: string | undefined, grains: readonly Grain[], range: DayRange): Grain {
  const found = grains.find((grain) => grain === asked);
  if (found !== undefined) return found;
  const days = daysBetween(range.fromDay, range.toDay).length;
  if (days <= 2 && grains.includes("hour")) return "hour";
  return days > maxDayBars ? "month" : "day";
}

/** Reads the period of a query: `period`, or `from` and `to`; without them `usual`. */
export function readPeriod(
  asked: {
    readonly period?: string | undefined;
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly grain?: string | undefined;
  },
  nowMs: number,
  usual: Preset = "30d",
): Period {
  const today = vietnamDay(nowMs);
  const isCustom = asked.period === undefined && (asked.from ?? asked.to ?? "") !== "";
  const preset = isCustom ? "custom" : parsePreset(asked.period) ?? usual;
  if (preset === "1h" || preset === "24h") {
    const untilMs = nowMs + 1;
    // From a full hour on, so that list, chart and sums are of the same calls: sums have whole hours.
    const beganMs = nowMs - (preset === "1h" ? hourMs : dayMs);
    const fromMs = beganMs - beganMs % hourMs;
    const range = { fromDay: vietnamDay(fromMs), toDay: today };
    return { preset, range, fromMs, untilMs, grain: "hour", grains: ["hour"], cut: false };
  }
  const { range, cut } = preset === "custom"
    ? boundedRange(dayRange(asked, today))
    : { range: presetDays(preset, today), cut: false };
  const grains = grainsOf(range, today);
  return {
    preset,
    range,
    fromMs: vietnamDayStartMs(range.fromDay),
    untilMs: vietnamDayStartMs(shiftDay(range.toDay, 1)),
    grain: grainOf(asked.grain, grains, range),
    grains,
    cut,
  };
}

/**
 * Reads the period of an API query: `from`, `to` and `interval`, by default the last 30 days.
 *
 * @param inDays the figures know no hours
 * @throws {GatewayError} if the days are wrong or too many, or have no such interval
 */
export function requirePeriod(query: URLSearchParams, nowMs: number, inDays: boolean): Period {
  const { fromDay, toDay } = requireRange(query, vietnamDay(nowMs));
  const asked = query.get("interval") ?? undefined;
  const found = readPeriod({ from: fromDay, to: toDay, grain: asked }, nowMs);
  if (found.cut) throw wrongParameter("from", `at most ${maxUsageDays} days at once`);
  // A chart of one day has hours only; a program may ask for its sum.
  const period = inDays || asked === "day" ? inWholeDays(found) : found;
  if (asked === undefined || period.grain === asked) return period;
  throw wrongParameter("interval", `must be one of ${period.grains.join(", ")} for these days`);
}

/** Whether a period is made of whole days. */
export function isWholeDays({ range, fromMs, untilMs }: Period): boolean {
  return fromMs === vietnamDayStartMs(range.fromDay) &&
    untilMs === vietnamDayStartMs(shiftDay(range.toDay, 1));
}

/** Returns the whole days of a period, for figures that know no hours. */
export function inWholeDays(period: Period): Period {
  const { range } = period;
  const fromMs = vietnamDayStartMs(range.fromDay);
  const untilMs = vietnamDayStartMs(shiftDay(range.toDay, 1));
  const grains = period.grains.filter((grain) => grain !== "hour");
  const grain = period.grain === "hour" ? "day" : period.grain;
  return { ...period, fromMs, untilMs, grain, grains: grains.length === 0 ? ["day"] : grains };
}

/** Returns the part of a period that one bar stands for. */
export function periodOfBar(period: Period, bar: Bucket): Period {
  const fromMs = Math.max(period.fromMs, bar.fromMs);
  const untilMs = Math.max(fromMs + 1, Math.min(period.untilMs, bar.untilMs));
  const range = { fromDay: vietnamDay(fromMs), toDay: vietnamDay(untilMs - 1) };
  return { ...period, range, fromMs, untilMs };
}

/** Returns the period of the same length before another, in whole hours. */
export function periodBefore(period: Period): Period {
  const lengthMs = Math.ceil((period.untilMs - period.fromMs) / hourMs) * hourMs;
  const [fromMs, untilMs] = [period.fromMs - lengthMs, period.fromMs];
  const range = { fromDay: vietnamDay(fromMs), toDay: vietnamDay(untilMs - 1) };
  return { ...period, range, fromMs, untilMs };
}

/** One bar of a chart. */
export interface Bucket {
  /** As {@linkcode bucketRange} reads it: `2026-11`, `2026-11-20` or `2026-11-20T14`. */
  readonly id: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Writes the hour of a moment in Vietnam: `2026-11-20T14`. */
function hourId(atMs: number): string {
  return new Date(atMs + vietnamOffsetMs).toISOString().slice(0, 13);
}

/** Returns the moments that a bar stands for; `undefined` if the text names none. */
export function bucketRange(id: string): Bucket | undefined {
  const [, month = "", day, hour] = /^(\d{4}-\d\d)(?:-(\d\d))?(?:T(\d\d))?$/.exec(id) ?? [];
  const fromMs = day === undefined
    ? vietnamDayStartMs(`${month}-01`)
    : vietnamDayStartMs(`${month}-${day}`) + Number(hour ?? 0) * hourMs;
  if (!Number.isFinite(fromMs) || (day === undefined && hour !== undefined)) return undefined;
  const untilMs = day === undefined
    ? vietnamDayStartMs(firstDayOfMonth(shiftMonth(month, 1)))
    : fromMs + (hour === undefined ? dayMs : hourMs);
  return { id, fromMs, untilMs };
}

/** Lists the bars of a period, oldest first. */
export function bucketsOf({ grain, range, fromMs, untilMs }: Period): Bucket[] {
  if (grain === "hour") {
    const first = fromMs - fromMs % hourMs;
    const count = Math.ceil((untilMs - first) / hourMs);
    return Array.from({ length: count }, (_, at) => {
      const atMs = first + at * hourMs;
      return { id: hourId(atMs), fromMs: atMs, untilMs: atMs + hourMs };
    });
  }
  const days = daysBetween(range.fromDay, range.toDay);
  const ids = grain === "day" ? days : [...new Set(days.map(monthOfDay))];
  return ids.flatMap((id) => bucketRange(id) ?? []);
}
