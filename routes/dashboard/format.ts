/** Formats numbers, money and times for people. */
import { formatDecimal } from "../../core/billing/display.ts";
import type { Locale } from "./i18n.ts";

export { formatMoney, formatMoneyShort } from "../../core/billing/display.ts";

/** The time zone of all times on pages; the machine-readable form is beside them. */
const displayTimeZone = "Asia/Ho_Chi_Minh";

const tags: Readonly<Record<Locale, string>> = { vi: "vi-VN", en: "en-GB" };

/** Formats a count with separators. */
export function formatCount(count: number | bigint, locale: Locale): string {
  return formatDecimal(count.toString(), locale);
}

/**
 * Formats a count with its English noun. Vietnamese nouns have one form.
 *
 * @param count as {@linkcode formatCount} wrote it
 *
 * @example
 * ```ts
 * import { englishCount } from "./format.ts";
 * if (englishCount("1", "route", "routes") !== "1 route") throw new Error("many of one");
 * if (englishCount("1,000", "route", "routes") !== "1,000 routes") throw new Error("one of many");
 * ```
 */
export function englishCount(count: string, one: string, many: string): string {
  return `${count} ${count === "1" ? one : many}`;
}

/** Formats a duration: `1.2 s` from one second, `340 ms` below. */
export function formatDuration(ms: number, locale: Locale): string {
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  return `${formatDecimal((ms / 1000).toFixed(ms < 10_000 ? 2 : 1), locale)}\u00a0s`;
}

/** Formats day and time to the second in {@linkcode displayTimeZone}. */
export function formatDateTime(atMs: number, locale: Locale): string {
  return new Intl.DateTimeFormat(tags[locale], {
    timeZone: displayTimeZone,
    day: "2-digit",
    month: locale === "en" ? "short" : "2-digit",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(atMs);
}

/** Formats a day in {@linkcode displayTimeZone}. */
export function formatDate(atMs: number, locale: Locale): string {
  return new Intl.DateTimeFormat(tags[locale], {
    timeZone: displayTimeZone,
    day: "2-digit",
    month: locale === "en" ? "short" : "2-digit",
    year: "numeric",
  }).format(atMs);
}
