/** Numbers, money and times as people read them. Money stays exact: it is never turned into a float. */
import { formatVnd } from "../../core/money/micro_vnd.ts";
import type { Locale } from "../../kv/accounts.ts";

/** All times on pages are shown in this zone; the machine-readable form is beside them. */
export const displayTimeZone = "Asia/Ho_Chi_Minh";

const tags: Readonly<Record<Locale, string>> = { vi: "vi-VN", en: "en-GB" };
const marks: Readonly<Record<Locale, { group: string; point: string }>> = {
  vi: { group: ".", point: "," },
  en: { group: ",", point: "." },
};

function groupDigits(digits: string, separator: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, separator);
}

/**
 * A decimal text (`-1234.5`) with the separators of the language.
 *
 * @example
 * ```ts
 * import { formatDecimal } from "./format.ts";
 * if (formatDecimal("1234567.25", "vi") !== "1.234.567,25") throw new Error();
 * ```
 */
export function formatDecimal(text: string, locale: Locale): string {
  const negative = text.startsWith("-");
  const [whole = "", fraction] = text.slice(negative ? 1 : 0).split(".");
  const { group, point } = marks[locale];
  const digits = groupDigits(whole, group) + (fraction === undefined ? "" : point + fraction);
  return negative ? `−${digits}` : digits;
}

/**
 * An amount in µVND as money: `100.000 ₫` in Vietnamese, `₫100,000` in English. Every digit that counts is shown.
 *
 * @example
 * ```ts
 * import { formatMoney } from "./format.ts";
 * if (formatMoney(100_000_000_000n, "vi") !== "100.000\u00a0₫") throw new Error();
 * if (formatMoney(-1_245_000n, "en") !== "−₫1.245") throw new Error();
 * ```
 */
export function formatMoney(amountMicroVnd: bigint, locale: Locale): string {
  const text = formatDecimal(formatVnd(amountMicroVnd), locale);
  if (locale === "vi") return `${text}\u00a0₫`;
  return text.startsWith("−") ? `−₫${text.slice(1)}` : `₫${text}`;
}

/**
 * Money for a glance: whole VND from 100 ₫ up, two decimals below, rounded down to zero. The exact sum belongs beside
 * it, in a title or a table.
 *
 * @example
 * ```ts
 * import { formatMoneyShort } from "./format.ts";
 * if (formatMoneyShort(123_456_789_000n, "en") !== "₫123,456") throw new Error();
 * if (formatMoneyShort(1_245_000n, "en") !== "₫1.24") throw new Error();
 * ```
 */
export function formatMoneyShort(amountMicroVnd: bigint, locale: Locale): string {
  const magnitude = amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
  const stepMicroVnd = magnitude >= 100_000_000n ? 1_000_000n : 10_000n;
  return formatMoney(amountMicroVnd - amountMicroVnd % stepMicroVnd, locale);
}

/** A count with separators. */
export function formatCount(count: number | bigint, locale: Locale): string {
  return formatDecimal(count.toString(), locale);
}

/** `1.2 s` from a second up, `340 ms` below. */
export function formatDuration(ms: number, locale: Locale): string {
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  return `${formatDecimal((ms / 1000).toFixed(ms < 10_000 ? 2 : 1), locale)}\u00a0s`;
}

/** Day and minute in {@linkcode displayTimeZone}. */
export function formatDateTime(atMs: number, locale: Locale): string {
  return new Intl.DateTimeFormat(tags[locale], {
    timeZone: displayTimeZone,
    day: "2-digit",
    month: locale === "en" ? "short" : "2-digit",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(atMs);
}

/** Day in {@linkcode displayTimeZone}. */
export function formatDate(atMs: number, locale: Locale): string {
  return new Intl.DateTimeFormat(tags[locale], {
    timeZone: displayTimeZone,
    day: "2-digit",
    month: locale === "en" ? "short" : "2-digit",
    year: "numeric",
  }).format(atMs);
}
