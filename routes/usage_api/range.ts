/** Reads ranges of days from queries of pages and of the API. */
import { vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import { wrongParameter } from "../http/query.ts";
import { parseDay, shiftDay } from "./days.ts";

/** Days of usage read at once: a year would be a thousand rows per key and model. */
export const maxUsageDays = 92;

/**
 * Reads the range of a page's query, by default the last 30 days; the end is never in the future. A
 * wrong range becomes the nearest valid one, which the page shows; programs get an error instead
 * ({@linkcode requireRange}).
 */
export function dayRange(
  asked: { readonly from?: string | undefined; readonly to?: string | undefined },
  today: string,
): DayRange {
  const to = parseDay(asked.to) ?? today;
  const toDay = to > today ? today : to;
  const from = parseDay(asked.from) ?? shiftDay(toDay, -29);
  return { fromDay: from > toDay ? toDay : from, toDay };
}

/** Returns the first and last moment of a range in Vietnam time. */
export function rangeMs({ fromDay, toDay }: DayRange): { fromMs: number; untilMs: number } {
  return {
    fromMs: vietnamDayStartMs(fromDay),
    untilMs: vietnamDayStartMs(shiftDay(toDay, 1)),
  };
}

/** Cuts a range to its last days if it is too long to read at once. */
export function boundedRange(range: DayRange): { range: DayRange; cut: boolean } {
  const first = shiftDay(range.toDay, 1 - maxUsageDays);
  return range.fromDay >= first
    ? { range, cut: false }
    : { range: { fromDay: first, toDay: range.toDay }, cut: true };
}

function requireDay(query: URLSearchParams, param: string): string | undefined {
  const text = query.get(param);
  if (text === null) return undefined;
  const day = parseDay(text);
  if (day === undefined) throw wrongParameter(param, "must be a date like 2026-11-20");
  return day;
}

/**
 * Reads the range of an API query. Without `from` it begins at `firstDay`, or 29 days before its
 * end; an end in the future becomes today.
 *
 * @throws {GatewayError} if a day is no date, or the range ends before it begins
 */
export function requireRange(query: URLSearchParams, today: string, firstDay?: string): DayRange {
  const from = requireDay(query, "from");
  const to = requireDay(query, "to");
  const range = dayRange({ from: from ?? firstDay, to }, today);
  if (from !== undefined && from > range.toDay) {
    throw wrongParameter("from", to === undefined ? "is in the future" : "must not be after to");
  }
  return range;
}
