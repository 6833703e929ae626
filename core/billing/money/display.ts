/** Formats money and numbers for people, exactly: never through a float. */
import type { Locale } from "../../lib/base/locale.ts";
import { formatVnd } from "./micro_vnd.ts";

const marks: Readonly<Record<Locale, { group: string; point: string }>> = {
  vi: { group: ".", point: "," },
  en: { group: ",", point: "." },
};

/**
 * Formats a decimal text (`-1234.5`) with the separators of the language.
 *
 * @example
 * ```ts
 * import { formatDecimal } from "./display.ts";
 * if (formatDecimal("1234567.25", "vi") !== "1.234.567,25") throw new Error();
 * ```
 */
export function formatDecimal(text: string, locale: Locale): string {
  const negative = text.startsWith("-");
  const [whole = "", fraction] = text.slice(negative ? 1 : 0).split(".");
  const { group, point } = marks[locale];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  const digits = fraction === undefined ? grouped : grouped + point + fraction;
  return negative ? `−${digits}` : digits;
}

/**
 * Formats an amount in µVND: `100.000 ₫` in Vietnamese, `₫100,000` in English. No digit other than
 * trailing zeros is dropped; a single decimal gets a second one.
 *
 * @example
 * ```ts
 * import { formatMoney } from "./display.ts";
 * if (formatMoney(100_000_000_000n, "vi") !== "100.000\u00a0₫") throw new Error();
 * if (formatMoney(-1_245_000n, "en") !== "−₫1.245") throw new Error();
 * ```
 */
export function formatMoney(amountMicroVnd: bigint, locale: Locale): string {
  return withSign(formatVnd(amountMicroVnd), locale);
}

/**
 * Counts the decimals that the amounts of a column need, so that all of them are shown with as many.
 *
 * @example
 * ```ts
 * import { decimalsOf, formatMoneyTo } from "./display.ts";
 * const amounts = [1_800_000n, 180_000n];
 * const shown = amounts.map((one) => formatMoneyTo(one, "en", decimalsOf(amounts))).join();
 * if (shown !== "₫1.80,₫0.18") throw new Error(shown);
 * ```
 */
export function decimalsOf(amountsMicroVnd: readonly bigint[]): number {
  const needed = amountsMicroVnd.map((one) => formatVnd(one).split(".")[1]?.length ?? 0);
  const most = Math.max(0, ...needed);
  return most === 1 ? 2 : most;
}

/** Formats an amount with at least so many decimals; like {@linkcode formatMoney}, it drops no digit. */
export function formatMoneyTo(amountMicroVnd: bigint, locale: Locale, decimals: number): string {
  const [whole = "", fraction = ""] = formatVnd(amountMicroVnd).split(".");
  const padded = fraction.padEnd(decimals, "0");
  return withSign(padded === "" ? whole : `${whole}.${padded}`, locale);
}

/** Adds the sign of the currency to a decimal text. One decimal alone looks like a slip: amounts have none, or two or more. */
function withSign(vnd: string, locale: Locale): string {
  const text = formatDecimal(/\.\d$/.test(vnd) ? `${vnd}0` : vnd, locale);
  if (locale === "vi") return `${text}\u00a0₫`;
  return text.startsWith("−") ? `−₫${text.slice(1)}` : `₫${text}`;
}

/**
 * Formats money shortly: whole VND from 100 ₫ up, below two decimals or none, halves rounded away
 * from zero. Show the exact sum beside it, in a title or a table.
 *
 * @example
 * ```ts
 * import { formatMoneyShort } from "./display.ts";
 * if (formatMoneyShort(123_456_789_000n, "en") !== "₫123,457") throw new Error();
 * if (formatMoneyShort(1_245_000n, "en") !== "₫1.25") throw new Error();
 * if (formatMoneyShort(5_600_000n, "vi") !== "5,60\u00a0₫") throw new Error();
 * ```
 */
export function formatMoneyShort(amountMicroVnd: bigint, locale: Locale): string {
  const magnitude = amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
  const stepMicroVnd = magnitude >= 100_000_000n ? 1_000_000n : 10_000n;
  const rounded = (magnitude + stepMicroVnd / 2n) / stepMicroVnd * stepMicroVnd;
  const shown = formatVnd(rounded);
  return withSign(amountMicroVnd < 0n && rounded > 0n ? `-${shown}` : shown, locale);
}
