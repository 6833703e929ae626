/** A guide: a text in both languages, as data, so that pages and `/llms.txt` are made of the same words. */
import type { Locale } from "../../../text/i18n.ts";

/** Facts that the texts and snippets of guides name. */
export interface GuideFacts {
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Id of the default model. */
  readonly model: string;
}

/** A code example. */
export interface GuideCode {
  /** Its language, or the file that it belongs into. */
  readonly name: string;
  readonly code: string;
}

/** A part of a guide. Texts have `code` in backquotes, links as `[text](/path)`, and `**bold**`. */
export interface GuideSection {
  readonly title: string;
  readonly text: readonly string[];
  readonly code?: readonly GuideCode[];
  /** Rows of a table; the first is its head. */
  readonly table?: readonly (readonly string[])[];
  /** The first cell of a row is a code, which an address can name as its fragment. */
  readonly hasCodes?: true;
}

/** A guide in one language. */
export interface GuideText {
  readonly title: string;
  readonly lead: string;
  readonly sections: readonly GuideSection[];
}

/** A guide with its place under `/docs/`. */
export interface Guide {
  readonly slug: string;
  readonly texts: (facts: GuideFacts) => Readonly<Record<Locale, GuideText>>;
}

/** A piece of a text with marks. */
export type Inline =
  | { readonly kind: "text" | "code" | "strong"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly href: string };

/** Code, a link to a page or an address, and bold text. */
const marks = /`([^`]+)`|\[([^\]]+)\]\(((?:\/|#|https?:\/\/|mailto:)[^)\s]*)\)|\*\*([^*]+)\*\*/g;

/**
 * Splits a text at its marks.
 *
 * @example
 * ```ts
 * import { inlines } from "./guide.ts";
 * const kinds = inlines("See [errors](/docs/errors) and `429`.").map(({ kind, text }) => `${kind}:${text}`);
 * if (kinds.join("|") !== "text:See |link:errors|text: and |code:429|text:.") throw new Error(kinds.join("|"));
 * ```
 */
export function inlines(text: string): readonly Inline[] {
  const pieces: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(marks)) {
    const [whole, code, label, href, strong] = match;
    if (match.index > from) pieces.push({ kind: "text", text: text.slice(from, match.index) });
    if (code !== undefined) pieces.push({ kind: "code", text: code });
    else if (strong !== undefined) pieces.push({ kind: "strong", text: strong });
    else pieces.push({ kind: "link", text: label ?? "", href: href ?? "" });
    from = match.index + whole.length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}
