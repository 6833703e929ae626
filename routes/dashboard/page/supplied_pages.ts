/**
 * Reads the pages that the operator supplies: terms, privacy, contact and a changelog, as Markdown files in one folder.
 *
 * They are read once, when the pages are loaded: a change is shown after a restart.
 */
import { type Locale, locales } from "../text/i18n.ts";

/** The pages, by the name of their file and of their path. */
export const suppliedNames = ["terms", "privacy", "contact", "changelog"] as const;

/** The name of a page. */
export type SuppliedName = typeof suppliedNames[number];

/** The texts of the pages that there are. */
export type SuppliedPages = ReadonlyMap<SuppliedName, Readonly<Record<Locale, string>>>;

/** Characters of a page: terms of a large service are a tenth. */
const maxPageChars = 512 * 1024;

function readText(path: string): string | undefined {
  try {
    const text = Deno.readTextFileSync(path);
    if (text.length > maxPageChars) throw new RangeError(`${path} is larger than 512 KB`);
    return text;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Reads a file for each page: its name, the language if there is a file for each, and `md`, with points between.
 * A language without a file of its own shows the text of the other one.
 *
 * @throws {Deno.errors.NotFound} if the folder does not exist
 * @throws {RangeError} if a file is too large
 */
export function readSuppliedPages(folder: string): SuppliedPages {
  Deno.statSync(folder);
  const pages = new Map<SuppliedName, Record<Locale, string>>();
  for (const name of suppliedNames) {
    const common = readText(`${folder}/${name}.md`);
    const texts = locales.map((locale) => readText(`${folder}/${name}.${locale}.md`));
    const any = common ?? texts.find((text) => text !== undefined);
    if (any === undefined) continue;
    const own = (locale: Locale) => texts[locales.indexOf(locale)] ?? any;
    pages.set(name, { en: own("en"), vi: own("vi") });
  }
  return pages;
}
