/** What is wrong with one page, by its source alone. */
import type { Role } from "../../core/people/organisations/acts.ts";
import { mayVisit } from "../../routes/dashboard/page/page_acts.ts";
import { type HtmlElement, type HtmlPage, type HtmlText, isWithin } from "./html_page.ts";
import { type TextTables, wordsOf } from "./text_tables.ts";

/** Attributes that name ids of the same page. */
const idReferences = [
  "for",
  "aria-labelledby",
  "aria-describedby",
  "aria-controls",
  "popovertarget",
  "commandfor",
  "form",
  "list",
];

/** What a page is compared with. */
export interface PageSurroundings {
  readonly locale: "vi" | "en";
  readonly tables: TextTables;
  /** The role in the organisation that is shown; `undefined`: nobody is signed in. */
  readonly role: Role | undefined;
  /** Whether a form can be posted to a path. */
  readonly takesPost: (path: string) => boolean;
}

function documentProblems({ elements, texts }: HtmlPage, locale: string): string[] {
  const html = elements.find(({ name }) => name === "html");
  const title = texts.find(({ within }) => within?.name === "title")?.text ?? "";
  return [
    ...html?.attributes["lang"] === locale ? [] : [`lang is ${html?.attributes["lang"]}`],
    ...title === "" ? ["there is no title"] : [],
    ...elements.filter(({ name }) => name === "h1").length === 1 ? [] : ["there is not one h1"],
  ];
}

function idProblems({ elements }: HtmlPage): string[] {
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const { attributes: { id } } of elements) {
    if (id === undefined) continue;
    if (seen.has(id)) problems.push(`id ${id} is there twice`);
    seen.add(id);
  }
  for (const { name, attributes } of elements) {
    for (const reference of idReferences) {
      const ids = attributes[reference]?.split(" ").filter((one) => one !== "") ?? [];
      const missing = ids.filter((id) => !seen.has(id));
      problems.push(...missing.map((id) => `${name} ${reference} names ${id}, which is not there`));
    }
  }
  return problems;
}

/** Where a form goes, also by one of its buttons. */
function formProblems({ elements }: HtmlPage, { role, takesPost }: PageSurroundings): string[] {
  const isPost = ({ attributes }: HtmlElement) => attributes["method"]?.toLowerCase() === "post";
  const actions = elements.flatMap((element) => {
    const { name, attributes: { action, formaction, "hx-post": posted } } = element;
    if (posted !== undefined) return [posted];
    if (name === "form") return isPost(element) ? [action ?? ""] : [];
    return formaction !== undefined ? [formaction] : [];
  });
  return [...new Set(actions)].flatMap((action) => {
    const path = action.split("?")[0] ?? "";
    if (!takesPost(path)) return [`no form can be posted to ${action}`];
    const isOffered = role === undefined || mayVisit({ role }, path, "POST");
    return isOffered ? [] : [`a form is offered to the role ${role} and refused: ${action}`];
  });
}

/** Texts in which words of any language may stand: what people and programs wrote, and code. */
function isForeign(element: HtmlElement): boolean {
  const { name, attributes } = element;
  return ["code", "pre", "kbd", "samp", "textarea", "script"].includes(name) ||
    attributes["translate"] === "no" || attributes["data-copy"] !== undefined ||
    name !== "html" && attributes["lang"] !== undefined;
}

/** E-mail addresses, URLs, host names, ids and names of files are of no language. */
const addresses =
  /\S+@\S+|https?:\S+|\b(?:[\w-]+\.)+(?:com|vn|dev|io|example|json|csv|md|ts|py)\b\S*|\b[a-z]{3}_[0-9a-z]{20,}\b|\/[\w/:.-]+/giu;

/** Values that were put into a text without being one. */
const rawValue = /\b(?:undefined|NaN|null)\b|\[object \w+\]/u;

/** Names as programs write them: `snake_case`, `camelCase`. */
const identifier = /\b[a-z][a-z0-9]*_[a-z0-9_]+\b|\b[a-z]+[A-Z][A-Za-z0-9]*\b/u;

/** Names that people write so. */
const spelledSo = /\b(?:macOS|iOS|iPhone|iPad|cURL|eBay|openSUSE|tokenId|txId)\b/gu;

/** A text without what is of no language. */
function languageOf({ text }: HtmlText, { names }: TextTables): string {
  return [addresses, names, spelledSo].reduce((rest, one) => rest.replaceAll(one, " "), text)
    .replaceAll("\u00a0", " ");
}

/** An amount of money, in the form of either language. */
const amount = /₫\d[\d.,]*\d|₫\d|\d[\d.,]*[\u00a0 ]?₫/gu;

/** A time in milliseconds or seconds; in Vietnamese, whole seconds that one has to wait are written out. */
const duration = /(?<![\p{L}\d.,:_-])\d[\d.,]*[\u00a0 ]?m?s(?![\p{L}\d])/gu;

/** A percentage. */
const percentage = /\d[\d.,]*[\u00a0 ]?%/gu;

/** The forms of amounts and times, which `text/format.ts` writes: no decimals, or so many that two compare. */
const figureForms = {
  en: {
    amount: /^₫\d{1,3}(?:,\d{3})*(?:\.\d{2,6})?$/u,
    duration:
      /^(?:\d{1,3}[\u00a0 ]ms|\d\.\d\d[\u00a0 ]s|\d{1,3}(?:,\d{3})*\d(?:\.\d)?[\u00a0 ]s|\d[\u00a0 ]s)$/u,
    percentage: /^\d{1,3}(?:,\d{3})*(?:\.\d{1,2})?\u00a0%$/u,
  },
  vi: {
    amount: /^\d{1,3}(?:\.\d{3})*(?:,\d{2,6})?[\u00a0 ]₫$/u,
    duration:
      /^(?:\d{1,3}[\u00a0 ]ms|\d,\d\d[\u00a0 ]s|\d{1,3}(?:\.\d{3})*\d(?:,\d)?[\u00a0 ]s|\d[\u00a0 ]s)$/u,
    percentage: /^\d{1,3}(?:\.\d{3})*(?:,\d{1,2})?\u00a0%$/u,
  },
} as const;

/** Lists amounts, times and percentages that another formatter has written than that of the pages. */
function figureProblems({ texts }: HtmlPage, locale: "vi" | "en"): string[] {
  const forms = figureForms[locale];
  return texts.filter(({ within }) => !isWithin(within, isForeign)).flatMap(({ text }) =>
    [
      ...[...text.matchAll(amount)].filter(([one]) => !forms.amount.test(one)),
      ...[...text.matchAll(duration)].filter(([one]) => !forms.duration.test(one)),
      ...[...text.matchAll(percentage)].filter(([one]) => !forms.percentage.test(one)),
    ].map(([one]) => `form of a figure: ${one.replaceAll("\u00a0", " ")} in ${text}`)
  );
}

function textProblems(page: HtmlPage, { locale, tables }: PageSurroundings): string[] {
  const problems = new Set<string>();
  for (const text of page.texts) {
    if (isWithin(text.within, isForeign)) continue;
    const said = languageOf(text, tables);
    if (rawValue.test(said)) problems.add(`raw value: ${text.text}`);
    if (identifier.test(said)) problems.add(`raw code: ${text.text}`);
    if (locale !== "vi") continue;
    const english = wordsOf(said).filter((word) => tables.englishWords.has(word));
    if (english.length > 0) problems.add(`English (${english.join(", ")}): ${text.text}`);
  }
  return [...problems];
}

/** Lists what is wrong with a page. */
export function pageProblems(page: HtmlPage, surroundings: PageSurroundings): string[] {
  return [
    ...documentProblems(page, surroundings.locale),
    ...idProblems(page),
    ...formProblems(page, surroundings),
    ...textProblems(page, surroundings),
    ...figureProblems(page, surroundings.locale),
  ];
}
