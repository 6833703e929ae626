/** Writes days as people read them, in both languages. */
import type { Locale } from "../base/locale.ts";

const englishMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/**
 * Writes a day in the form of a language.
 *
 * @param day such as `2026-11-05`
 *
 * @example
 * ```ts
 * import { dayText } from "./day_text.ts";
 * if (dayText("2026-11-05", "en") !== "5 Nov 2026") throw new Error("English");
 * if (dayText("2026-11-05", "vi") !== "05/11/2026") throw new Error("Vietnamese");
 * ```
 */
export function dayText(day: string, locale: Locale): string {
  const [year = "", month = "", date = ""] = day.split("-");
  return locale === "vi"
    ? `${date}/${month}/${year}`
    : `${Number(date)} ${englishMonths[Number(month) - 1] ?? month} ${year}`;
}
