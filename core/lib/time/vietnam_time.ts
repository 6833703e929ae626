/**
 * Vietnam's local time, UTC+7 all year, by which customers, banks and the tax office count days.
 */
import { dayMs, hourMs } from "./durations.ts";

/** Milliseconds by which the clocks of Vietnam are ahead of UTC. */
export const vietnamOffsetMs = 7 * hourMs;
let lastDayNumber = -1;
let lastDay = "";

/** Numbers the days of Vietnam's calendar: two moments of one day have the same number. */
export function vietnamDayNumber(atMs: number): number {
  return Math.floor((atMs + vietnamOffsetMs) / dayMs);
}

/**
 * Returns the day of a moment in Vietnam, as `2026-11-20`.
 *
 * @example
 * ```ts
 * import { vietnamDay } from "./vietnam_time.ts";
 * const day = vietnamDay(Date.UTC(2026, 10, 20, 17, 30));
 * if (day !== "2026-11-21") throw new Error(day);
 * ```
 */
export function vietnamDay(atMs: number): string {
  const dayNumber = vietnamDayNumber(atMs);
  // Nearly every receipt is of the same day as the one before, and formatting a date is expensive.
  if (dayNumber !== lastDayNumber) {
    lastDay = new Date(dayNumber * dayMs).toISOString().slice(0, 10);
    lastDayNumber = dayNumber;
  }
  return lastDay;
}

/**
 * Returns when a day begins in Vietnam.
 *
 * @param day as {@linkcode vietnamDay} writes it
 */
export function vietnamDayStartMs(day: string): number {
  return Date.parse(`${day}T00:00:00+07:00`);
}

/**
 * Returns the day `count` days later (earlier if negative).
 *
 * @example
 * ```ts
 * import { shiftDay } from "./vietnam_time.ts";
 * if (shiftDay("2026-03-01", -1) !== "2026-02-28") throw new Error();
 * ```
 */
export function shiftDay(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);
}

/**
 * Returns the month of a day.
 *
 * @example
 * ```ts
 * import { monthOfDay } from "./vietnam_time.ts";
 * if (monthOfDay("2026-03-01") !== "2026-03") throw new Error();
 * ```
 */
export function monthOfDay(day: string): string {
  return day.slice(0, "2026-03".length);
}

/**
 * Returns the month `count` months later (earlier if negative).
 *
 * @example
 * ```ts
 * import { shiftMonth } from "./vietnam_time.ts";
 * if (shiftMonth("2026-01", -1) !== "2025-12") throw new Error();
 * ```
 */
export function shiftMonth(month: string, count: number): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return monthOfDay(new Date(Date.UTC(year, number - 1 + count, 1)).toISOString());
}

/** Returns the first day of a month. */
export function firstDayOfMonth(month: string): string {
  return `${month}-01`;
}

/**
 * Returns the first and the last day of a month.
 *
 * @example
 * ```ts
 * import { daysOfMonth } from "./vietnam_time.ts";
 * if (daysOfMonth("2026-02").toDay !== "2026-02-28") throw new Error();
 * ```
 */
export function daysOfMonth(month: string): { readonly fromDay: string; readonly toDay: string } {
  const toDay = shiftDay(firstDayOfMonth(shiftMonth(month, 1)), -1);
  return { fromDay: firstDayOfMonth(month), toDay };
}

/** Lists every day from the first to the last, both included. */
export function daysBetween(fromDay: string, toDay: string): string[] {
  const days: string[] = [];
  for (let day = fromDay; day <= toDay; day = shiftDay(day, 1)) days.push(day);
  return days;
}

/**
 * Returns when the day or month of a moment ends in Vietnam.
 *
 * @example
 * ```ts
 * import { vietnamPeriodEndMs } from "./vietnam_time.ts";
 * const end = new Date(vietnamPeriodEndMs("month", Date.UTC(2026, 11, 31, 16))).toISOString();
 * if (end !== "2026-12-31T17:00:00.000Z") throw new Error(end);
 * ```
 */
export function vietnamPeriodEndMs(period: "day" | "month", atMs: number): number {
  const there = new Date(atMs + vietnamOffsetMs);
  const [year, month, day] = [there.getUTCFullYear(), there.getUTCMonth(), there.getUTCDate()];
  const end = period === "day" ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
  return end - vietnamOffsetMs;
}

/**
 * Writes a moment in Vietnam's time for programs: ISO 8601 with the offset, to the millisecond.
 *
 * @example
 * ```ts
 * import { vietnamIsoTime } from "./vietnam_time.ts";
 * const time = vietnamIsoTime(Date.UTC(2026, 10, 20, 17, 30));
 * if (time !== "2026-11-21T00:30:00.000+07:00") throw new Error(time);
 * ```
 */
export function vietnamIsoTime(atMs: number): string {
  return new Date(atMs + vietnamOffsetMs).toISOString().replace("Z", "+07:00");
}

/** Writes date and time in Vietnam for people, as `2026-11-20 14:02:37`. */
export function vietnamDateTime(atMs: number): string {
  return new Date(atMs + vietnamOffsetMs).toISOString().slice(0, 19).replace("T", " ");
}

/**
 * Parses a moment in Vietnam's time as forms send it: a day, with or without hours and minutes; `undefined` if
 * it is none.
 *
 * @example
 * ```ts
 * import { parseVietnamMoment } from "./vietnam_time.ts";
 * if (parseVietnamMoment("2026-11-21") !== Date.UTC(2026, 10, 20, 17)) throw new Error("day");
 * if (parseVietnamMoment("2026-11-21T09:30") !== Date.UTC(2026, 10, 21, 2, 30)) throw new Error("time");
 * if (parseVietnamMoment("2026-02-30") !== undefined) throw new Error("no such day");
 * ```
 */
export function parseVietnamMoment(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::\d{2})?)?$/.exec(text);
  if (match === null) return undefined;
  const [, day = "", time = "00:00"] = match;
  const atMs = Date.parse(`${day}T${time}:00+07:00`);
  return !Number.isNaN(atMs) && vietnamDay(atMs) === day ? atMs : undefined;
}
