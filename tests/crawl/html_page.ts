/** Reads HTML as pages write it: elements with their attributes and parents, and the texts between them. */

/** An element. */
export interface HtmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly parent: HtmlElement | undefined;
}

/** A text that is read or heard: between elements, or in an attribute that is shown. */
export interface HtmlText {
  readonly text: string;
  readonly within: HtmlElement | undefined;
}

/** A page, in the order of its source. */
export interface HtmlPage {
  readonly elements: readonly HtmlElement[];
  readonly texts: readonly HtmlText[];
}

const voidElements: ReadonlySet<string> = new Set(
  "area base br col embed hr img input link meta source track wbr".split(" "),
);

/** Elements whose content is no markup. */
const rawElements: ReadonlySet<string> = new Set(["script", "style", "textarea", "title"]);

const shownAttributes = ["title", "aria-label", "placeholder", "alt", "data-confirm", "data-label"];

const tagPattern =
  /<(\/?)([a-z][\w-]*)((?:\s+[^\s=>/]+(?:=(?:"[^"]*"|'[^']*'|[^\s>]*))?)*)\s*\/?>/giy;
const attributePattern = /([^\s=>/]+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/g;

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  nbsp: " ",
};

/** Replaces character references. */
function unescapeHtml(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    return String.fromCodePoint(decimal === undefined ? parseInt(hex, 16) : Number(decimal));
  });
}

/** Attributes by their source: most tags of a page are on each other page, too. */
const knownAttributes = new Map<string, Readonly<Record<string, string>>>();

function attributesOf(source: string): Readonly<Record<string, string>> {
  const known = knownAttributes.get(source);
  if (known !== undefined) return known;
  const attributes = Object.fromEntries(
    Array.from(
      source.matchAll(attributePattern),
      ([, name = "", a, b, c]) => [name.toLowerCase(), unescapeHtml(a ?? b ?? c ?? "")],
    ),
  );
  knownAttributes.set(source, attributes);
  return attributes;
}

/** Reads a page, or a part of one. */
export function readHtml(html: string): HtmlPage {
  const elements: HtmlElement[] = [];
  const texts: HtmlText[] = [];
  let current: HtmlElement | undefined;
  const addText = (source: string) => {
    const text = unescapeHtml(source).replaceAll(/[^\S\u00a0]+/g, " ").trim();
    if (text !== "") texts.push({ text, within: current });
  };
  let at = 0;
  while (at < html.length) {
    const next = html.indexOf("<", at);
    if (next > at) addText(html.slice(at, next));
    if (next === -1) {
      addText(html.slice(at));
      break;
    }
    tagPattern.lastIndex = next;
    const tag = tagPattern.exec(html);
    if (tag === null) {
      const end = html.startsWith("<!--", next)
        ? html.indexOf("-->", next) + 3
        : html.indexOf(">", next) + 1;
      at = end <= next ? next + 1 : end;
      continue;
    }
    at = tagPattern.lastIndex;
    const name = (tag[2] ?? "").toLowerCase();
    if (tag[1] === "/") {
      let open = current;
      while (open !== undefined && open.name !== name) open = open.parent;
      if (open !== undefined) current = open.parent;
      continue;
    }
    const element: HtmlElement = { name, attributes: attributesOf(tag[3] ?? ""), parent: current };
    elements.push(element);
    for (const shown of shownAttributes) {
      const text = element.attributes[shown]?.trim();
      if (text !== undefined && text !== "") texts.push({ text, within: element });
    }
    if (voidElements.has(name) || tag[0].endsWith("/>")) continue;
    current = element;
    if (!rawElements.has(name)) continue;
    const end = html.indexOf(`</${name}`, at);
    if (name === "title" || name === "textarea") addText(html.slice(at, end));
    at = end === -1 ? html.length : end;
  }
  return { elements, texts };
}

/** Whether an element or one around it is of a kind. */
export function isWithin(
  element: HtmlElement | undefined,
  isOne: (element: HtmlElement) => boolean,
): boolean {
  for (let one = element; one !== undefined; one = one.parent) if (isOne(one)) return true;
  return false;
}
