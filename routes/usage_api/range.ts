/** Ranges of days in queries. */
import { GatewayError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { DayRange } from "../../kv/usage.ts";
import { parseDay, shiftDay } from "./days.ts";

/** A range as asked for, or the last 30 days; the end is never in the future. */
export function dayRange(
  asked: { readonly from?: string | undefined; readonly to?: string | undefined },
  today: string,
): DayRange {
  const to = parseDay(asked.to) ?? today;
  const toDay = to > today ? today : to;
  const from = parseDay(asked.from) ?? shiftDay(toDay, -29);
  return { fromDay: from > toDay ? toDay : from, toDay };
}

/** The moments that a range covers, Vietnam time. */
export function rangeMs({ fromDay, toDay }: DayRange): { fromMs: number; untilMs: number } {
  return {
    fromMs: Date.parse(`${fromDay}T00:00:00+07:00`),
    untilMs: Date.parse(`${shiftDay(toDay, 1)}T00:00:00+07:00`),
  };
}

/** The range cut to its last days when it is too long to read at once. */
export function boundedRange(range: DayRange): { range: DayRange; cut: boolean } {
  const first = shiftDay(range.toDay, 1 - limits.usageDays);
  return range.fromDay >= first
    ? { range, cut: false }
    : { range: { fromDay: first, toDay: range.toDay }, cut: true };
}

/** Reads a day of an API query. @throws {GatewayError} if it is given and is no date */
export function requireDay(text: string | undefined, param: string): string | undefined {
  if (text === undefined) return undefined;
  const day = parseDay(text);
  if (day === undefined) {
    throw new GatewayError("invalid_request", `${param}: must be a date like 2026-11-20`, {
      param,
    });
  }
  return day;
}
