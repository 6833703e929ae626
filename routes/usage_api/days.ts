/** Calendar days of the ledger: `YYYY-MM-DD` in Vietnam time. */

const dayMs = 86_400_000;

/**
 * Returns the day `count` days later (earlier if negative).
 *
 * @example
 * ```ts
 * import { shiftDay } from "./days.ts";
 * if (shiftDay("2026-03-01", -1) !== "2026-02-28") throw new Error();
 * ```
 */
export function shiftDay(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);
}

/** Parses a day from outside: a real date in the form of an `<input type="date">`. */
export function parseDay(text: string | undefined): string | undefined {
  if (text === undefined || !/^[2-9]\d{3}-\d{2}-\d{2}$/.test(text)) return undefined;
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(atMs) || shiftDay(text, 0) !== text ? undefined : text;
}

/** Lists every day from the first to the last, both included. */
export function daysBetween(fromDay: string, toDay: string): string[] {
  const days: string[] = [];
  for (let day = fromDay; day <= toDay; day = shiftDay(day, 1)) days.push(day);
  return days;
}
