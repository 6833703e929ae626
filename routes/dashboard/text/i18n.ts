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

/** Short texts in both languages, by name; some stand in groups. */
interface Pairs {
  readonly [name: string]: Pair | Pairs;
}

/** A text in English and in Vietnamese. */
export type Pair = readonly [en: string, vi: string];

/** The texts of all names of a kind. */
export type NamedPairs<Name extends string> = Readonly<Record<Name, Pair>>;

/** The texts of one language. */
type SideOf<Both extends Pairs> = {
  readonly [Name in keyof Both]: Both[Name] extends Pairs ? SideOf<Both[Name]> : string;
};

/** Takes the texts of one language out of pairs. */
function sideOf<Both extends Pairs>(both: Both | undefined, at: 0 | 1): SideOf<Both>;
function sideOf(both: Pairs = {}, at: 0 | 1): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(both)
      .map(([name, texts]) => [name, isPair(texts) ? texts[at] : sideOf(texts, at)]),
  );
}

function isPair(texts: Pair | Pairs): texts is Pair {
  return Array.isArray(texts);
}

/**
 * Declares the texts of a page in both languages; a text that one of them lacks does not compile. A short one stands in
 * `both`, as a pair: English, Vietnamese.
 *
 * @example
 * ```ts
 * import { defineTexts } from "./i18n.ts";
 * const texts = defineTexts({
 *   both: { title: ["Keys", "Khoá API"] },
 *   en: { left: (count: number) => `${count} left` },
 *   vi: { left: (count) => `còn ${count}` },
 * });
 * if (texts.vi.left(3) !== "còn 3" || texts.vi.title !== "Khoá API") throw new Error();
 * ```
 */
export function defineTexts<Texts extends object, Both extends Pairs = Record<never, never>>(
  { both, en, vi }: { readonly both?: Both; readonly en: Texts; readonly vi: NoInfer<Texts> },
): Readonly<Record<Locale, SideOf<Both> & Texts>> {
  return { en: { ...sideOf(both, 0), ...en }, vi: { ...sideOf(both, 1), ...vi } };
}

/** Declares the texts of a page that are all pairs. */
export function definePairs<Both extends Pairs>(
  both: Both,
): Readonly<Record<Locale, SideOf<Both>>> {
  return { en: sideOf(both, 0), vi: sideOf(both, 1) };
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
