/** Reads ranges of days from queries of pages and of the API. */
import { daysBetween, shiftDay, vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import type { DayRange } from "../../kv/money/receipts/day_sums.ts";
import { wrongParameter } from "../http/query.ts";
import type { Clock } from "../../core/lib/time/clock.ts";

// Calendar days of the ledger: `YYYY-MM-DD` in Vietnam time.

export { daysBetween, shiftDay };

/**
 * Parses a day from outside: a real date in the form of an `<input type="date">`, of this millennium, so that the days
 * around it have the same form.
 */
export function parseDay(text: string | undefined): string | undefined {
  if (text === undefined || !/^2\d{3}-\d{2}-\d{2}$/.test(text)) return undefined;
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(atMs) || shiftDay(text, 0) !== text ? undefined : text;
}

// Keeps results for a while, by name: several readers share one that costs a scan.

/**
 * Returns a function that computes a result, or gives the one that it computed under the same name not long before. A
 * failure is not kept.
 *
 * @example
 * ```ts
 * import { keptFor } from "./range.ts";
 * let runs = 0;
 * const kept = keptFor<number>({ clock: { nowMs: () => 0 }, keptMs: 1_000, most: 2 });
 * const run = () => Promise.resolve(++runs);
 * if (await kept("a", run) !== 1 || await kept("a", run) !== 1) throw new Error("computed twice");
 * ```
 */
export function keptFor<Value>({ clock, keptMs, most }: {
  readonly clock: Pick<Clock, "nowMs">;
  readonly keptMs: number;
  /** Results in memory at once; the oldest makes room. */
  readonly most: number;
}): (name: string, compute: () => Promise<Value>) => Promise<Value> {
  const kept = new Map<string, { readonly atMs: number; readonly value: Promise<Value> }>();
  return (name, compute) => {
    const nowMs = clock.nowMs();
    const known = kept.get(name);
    if (known !== undefined && nowMs - known.atMs < keptMs) return known.value;
    const value = compute();
    kept.delete(name);
    kept.set(name, { atMs: nowMs, value });
    value.catch(() => kept.delete(name));
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}

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
