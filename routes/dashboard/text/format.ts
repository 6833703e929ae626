/** Formats numbers, money and times for people. */
import { formatDecimal } from "../../../core/billing/money/display.ts";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import type { Locale } from "./i18n.ts";

export {
  decimalsOf,
  formatMoney,
  formatMoneyShort,
  formatMoneyTo,
} from "../../../core/billing/money/display.ts";

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

/** Milliseconds up to which seconds have two decimals: what is rounded to ten seconds has one. */
const belowTenSecondsMs = 9_995;

/** Formats a duration: `340 ms`, `1.25 s` from one second, `12.5 s` from ten. Scripts have the same in `figures.js`. */
export function formatDuration(ms: number, locale: Locale): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)}\u00a0ms`;
  return `${formatDecimal((ms / 1000).toFixed(ms < belowTenSecondsMs ? 2 : 1), locale)}\u00a0s`;
}

/** The parts of a moment in Vietnam time, as digits. */
interface Moment {
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  readonly minute: string;
  readonly second: string;
}

/** The moment as `YYYY-MM-DDThh:mm:ss`, cut up: a format of the platform takes a hundred times as long to make. */
function momentOf(atMs: number): Moment {
  const [, year = "", month = "", day = "", hour = "", minute = "", second = ""] =
    /^(\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)/.exec(vietnamIsoTime(atMs)) ?? [];
  return { year, month, day, hour, minute, second };
}

const englishMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Writes a day, a day without its year, or a month. Every date of pages has one of these forms. */
function writtenDate(
  { year, month, day }: Moment,
  locale: Locale,
  parts: "full" | "day" | "month",
): string {
  const name = locale === "en" ? englishMonths[Number(month) - 1] ?? month : month;
  const mark = locale === "en" ? " " : "/";
  const written = { full: [day, name, year], day: [day, name], month: [name, year] };
  return written[parts].join(mark);
}

/** Formats day and time to the second in Vietnam time. */
export function formatDateTime(atMs: number, locale: Locale): string {
  const moment = momentOf(atMs);
  const { hour, minute, second } = moment;
  return `${writtenDate(moment, locale, "full")}, ${hour}:${minute}:${second}`;
}

/** Formats the time of the day in Vietnam, to the minute. */
export function formatClock(atMs: number): string {
  const { hour, minute } = momentOf(atMs);
  return `${hour}:${minute}`;
}

/** Formats a day in Vietnam time. */
export function formatDate(atMs: number, locale: Locale): string {
  return writtenDate(momentOf(atMs), locale, "full");
}

/** Formats what one bar of a chart stands for: `14:00` or `20 Nov` on an axis, with the day and the year in full. */
export function formatBucket(
  fromMs: number,
  grain: "hour" | "day" | "month",
  locale: Locale,
  form: "short" | "long",
): string {
  const moment = momentOf(fromMs);
  if (grain === "month") return writtenDate(moment, locale, "month");
  const day = writtenDate(moment, locale, form === "long" ? "full" : "day");
  if (grain === "day") return day;
  const hour = `${moment.hour}:${moment.minute}`;
  if (form === "long") return `${day}, ${hour}`;
  // Midnight is where the day is said.
  return hour === "00:00" ? day : hour;
}

/** Formats a part of a whole: `0.4 %` in English and `0,4 %` in Vietnamese, a whole percent from 10 % on. */
export function formatPercent(part: number, locale: Locale): string {
  const percent = part * 100;
  return formatPercentage(percent, locale, Math.abs(percent) >= 10 || percent === 0 ? 0 : 1);
}

/** Formats a number of hundredths. All percentages of pages have this form: the sign never begins a line. */
export function formatPercentage(percent: number, locale: Locale, decimals?: number): string {
  const text = decimals === undefined ? String(percent) : percent.toFixed(decimals);
  return `${formatDecimal(text, locale)}\u00a0%`;
}
