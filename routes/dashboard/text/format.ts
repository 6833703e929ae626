/** Formats numbers, money and times for people. */
import { formatDecimal } from "../../../core/billing/money/display.ts";
import type { Locale } from "./i18n.ts";

export { formatMoney, formatMoneyShort } from "../../../core/billing/money/display.ts";

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

const dateFormats = new Map<string, Intl.DateTimeFormat>();

/** Returns a format of dates. Making one takes as long as a hundred uses of it, and pages have hundreds of dates. */
function dateFormat(locale: Locale, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  // The options are those of this file: a dozen formats.
  const name = locale + JSON.stringify(options);
  let format = dateFormats.get(name);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(tags[locale], options);
    dateFormats.set(name, format);
  }
  return format;
}

/** Formats day and time to the second in {@linkcode displayTimeZone}. */
export function formatDateTime(atMs: number, locale: Locale): string {
  return dateFormat(locale, {
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
  return dateFormat(locale, {
    timeZone: displayTimeZone,
    day: "2-digit",
    month: locale === "en" ? "short" : "2-digit",
    year: "numeric",
  }).format(atMs);
}

/** Formats what one bar of a chart stands for: `14:00` or `20 Nov` on an axis, with the day and the year in full. */
export function formatBucket(
  fromMs: number,
  grain: "hour" | "day" | "month",
  locale: Locale,
  form: "short" | "long",
): string {
  const month = locale === "en" ? "short" : "2-digit";
  const part = (options: Intl.DateTimeFormatOptions) =>
    dateFormat(locale, { timeZone: displayTimeZone, ...options }).format(fromMs);
  const year = form === "long" ? { year: "numeric" as const } : {};
  if (grain === "month") return part({ month, year: "numeric" });
  const day = () => part({ day: "numeric", month, ...year });
  if (grain === "day") return day();
  const hour = part({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  if (form === "long") return `${day()}, ${hour}`;
  // Midnight is where the day is said.
  return hour === "00:00" ? day() : hour;
}

/** Formats a part of a whole: `0.4 %` in English and `0,4 %` in Vietnamese, a whole percent from 10 % on. */
export function formatPercent(part: number, locale: Locale): string {
  const percent = part * 100;
  return `${formatDecimal(percent.toFixed(percent >= 10 || percent === 0 ? 0 : 1), locale)}\u00a0%`;
}
