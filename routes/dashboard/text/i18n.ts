/**
 * Chooses between Vietnamese and English. Each page keeps its own texts beside its markup.
 *
 * - Folder `routes/dashboard/text/`: languages and formats: choosing a language, numbers, money, times, prices as
 *   lines of text.
 * - In: values, and what the browser asks for.
 * - Out: text in Vietnamese or English.
 * - Never: holds the texts of a page: they are beside its markup.
 */
import { parseTypedCount } from "../../../core/billing/money/read_amount.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";

/** The largest rate limit that a form takes. */
const maxTypedLimit = 999_999_999;

/** Reads a rate limit. */
export function parseTypedLimit(text: string): number | undefined {
  return parseTypedCount(text, maxTypedLimit);
}

export type { Locale };

/** All languages, in the order in which pages offer them. */
export const locales: readonly Locale[] = ["vi", "en"];

/** The name of each language in that language. */
export const localeNames: Readonly<Record<Locale, string>> = { vi: "Tiếng Việt", en: "English" };

/**
 * Declares the texts of a page in both languages; a text that one of them lacks does not compile.
 *
 * @example
 * ```ts
 * import { defineTexts } from "./i18n.ts";
 * const texts = defineTexts({
 *   en: { title: "Keys", left: (count: number) => `${count} left` },
 *   vi: { title: "Khoá API", left: (count) => `còn ${count}` },
 * });
 * if (texts.vi.left(3) !== "còn 3") throw new Error();
 * ```
 */
export function defineTexts<Texts extends object>(
  tables: { readonly en: Texts; readonly vi: NoInfer<Texts> },
): Readonly<Record<Locale, Texts>> {
  return tables;
}

/** Parses a locale from outside. */
export function parseLocale(text: string | undefined): Locale | undefined {
  return locales.find((locale) => locale === text);
}

/**
 * Chooses a language for an `accept-language` header; English if it names neither.
 *
 * @example
 * ```ts
 * import { acceptedLocale } from "./i18n.ts";
 * if (acceptedLocale("vi-VN,vi;q=0.9,en;q=0.8") !== "vi") throw new Error();
 * if (acceptedLocale("fr-FR,en;q=0.5,vi;q=0.7") !== "vi") throw new Error();
 * if (acceptedLocale(undefined) !== "en") throw new Error();
 * ```
 */
export function acceptedLocale(header: string | undefined): Locale {
  let best: { locale: Locale; weight: number } | undefined;
  for (const part of (header ?? "").slice(0, 500).split(",")) {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const locale = parseLocale(tag.split("-")[0]);
    const q = parameters.map((text) => /^\s*q=([\d.]+)$/.exec(text)?.[1]).find((q) => q);
    const weight = q === undefined ? 1 : Number(q);
    if (locale !== undefined && weight > 0 && weight > (best?.weight ?? 0)) {
      best = { locale, weight };
    }
  }
  return best?.locale ?? "en";
}
