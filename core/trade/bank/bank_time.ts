/** Parses times as banks write them: Vietnam's local time, often without a zone or seconds. */
import { vietnamDayNumber, vietnamOffsetMs } from "../../lib/time/vietnam_time.ts";

/** The precision of a source's times. Two sources are compared at the coarser of theirs. */
export type BankTimePrecision = "second" | "minute" | "day";

/** A moment as a bank states it. */
export interface BankTime {
  /** Start of the second, minute or day, in ms since 1970. */
  readonly atMs: number;
  readonly precision: BankTimePrecision;
}

const stepMs: Record<BankTimePrecision, number> = {
  second: 1_000,
  minute: 60_000,
  day: 86_400_000,
};

function fromParts(
  year: number,
  month: number,
  day: number,
  clock: readonly (string | undefined)[],
): BankTime | undefined {
  const [hour, minute, second] = clock;
  const values = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0)] as const;
  if (values[0] > 23 || values[1] > 59 || values[2] > 59 || year < 2000 || year > 2199) {
    return undefined;
  }
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  // Date.UTC turns 31 April into 1 May, so a date that comes back different is refused.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const ofDayMs = (values[0] * 3_600 + values[1] * 60 + values[2]) * 1_000;
  const precision = hour === undefined ? "day" : second === undefined ? "minute" : "second";
  return { atMs: midnight + ofDayMs - vietnamOffsetMs, precision };
}

/**
 * Reads `2026-11-20 14:02:37`, `2026-11-20T14:02:37+07:00`, `20/11/2026 14:02` or `20-11-2026`.
 *
 * Day comes before month when the year is last, as everywhere in Vietnam. The zone of a time is
 * respected if it has one.
 *
 * @example
 * ```ts
 * import { parseBankTime } from "./bank_time.ts";
 * const time = parseBankTime("2026-11-20 14:02:37");
 * if (time?.atMs !== Date.parse("2026-11-20T07:02:37Z")) throw new Error("wrong zone");
 * ```
 */
export function parseBankTime(text: string): BankTime | undefined {
  const trimmed = text.trim();
  if (/^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(trimmed)) {
    const atMs = Date.parse(trimmed);
    return Number.isFinite(atMs)
      ? { atMs: Math.floor(atMs / 1_000) * 1_000, precision: "second" }
      : undefined;
  }
  const clock = String.raw`(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?`;
  const yearFirst = new RegExp(String.raw`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${clock}$`)
    .exec(trimmed);
  if (yearFirst !== null) {
    const [, year, month, day, ...rest] = yearFirst;
    return fromParts(Number(year), Number(month), Number(day), rest);
  }
  const dayFirst = new RegExp(String.raw`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})${clock}$`)
    .exec(trimmed);
  if (dayFirst === null) return undefined;
  const [, day, month, year, ...rest] = dayFirst;
  return fromParts(Number(year), Number(month), Number(day), rest);
}

/** Whether two times may be the same moment, at the coarser precision of the two. */
export function sameBankTime(left: BankTime, right: BankTime): boolean {
  const step = Math.max(stepMs[left.precision], stepMs[right.precision]);
  const slot = (time: BankTime) => Math.floor((time.atMs + vietnamOffsetMs) / step);
  return slot(left) === slot(right);
}

/** Counts the days of Vietnam's calendar between two times: 0 on the same day. */
export function vietnamDaysApart(left: BankTime, right: BankTime): number {
  return Math.abs(vietnamDayNumber(left.atMs) - vietnamDayNumber(right.atMs));
}
