/*
 * Renders Markdown as elements. It knows what models write: headings, lists, tables, quotes, code, links, emphasis.
 * Everything becomes elements and text nodes, so HTML in it is text; links lead to http, https and mail addresses only.
 */
import { copyButton, element } from "./dom.js";

/* Lists and quotes inside each other, and marks inside marks; deeper ones are text, so that none exhausts the stack. */
const deepest = 6;

/* Characters of a line that can begin a block of its own: bounds the work of the patterns for blocks. */
const longestBlockLine = 4_000;

/*
 * The marks of a line, each tried where its first character is. The text between two marks is bounded, so that marks
 * that are never closed cost little.
 */
const marks = {
  "`": [/(`{1,8})([^`\n](?:[^\n]{0,498}?[^`\n])?)\1(?!`)/y],
  "*": [
    /\*\*(?=\S)([^\n]{0,399}?[^\s*]\*?)\*\*/y,
    /\*(?=[^\s*])([^\n*]{1,400}?)\*(?![\p{L}\p{N}*])/uy,
  ],
  "_": [
    /__(?=\S)([^\n]{0,399}?\S)__/y,
    /_(?=[^\s_])([^\n_]{1,400}?)_(?![\p{L}\p{N}_])/uy,
  ],
  "~": [/~~([^~\n]{1,400})~~/y],
  // The target is taken whole, since a shorter one never ends the link.
  "[": [/\[([^\]\n]{1,300})\]\((?=([^)\s]{1,2000}))\2(?:\s[^)\n]{0,200})?\)/y],
  "!": [/!\[([^\]\n]{1,300})\]\((?=([^)\s]{1,2000}))\2(?:\s[^)\n]{0,200})?\)/y],
  h: [/https?:\/\/[^\s<>()]{1,2000}[^\s<>().,;:!?'"*_`]/y],
};

function safeAddress(text) {
  const url = URL.parse(text);
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol)
    ? url.href
    : undefined;
}

function link(label, target, depth) {
  const href = safeAddress(target);
  if (href === undefined) return document.createTextNode(label);
  const made = element("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" });
  made.append(...inline(label, depth));
  return made;
}

/* The element of a match. `which`: the pattern of its mark that matched. */
function marked(mark, which, [all, first, second], depth) {
  switch (mark) {
    case "`":
      return element("code", { textContent: second.trim() || second });
    case "*":
    case "_":
      return element(which === 0 ? "strong" : "em", {}, ...inline(first, depth));
    case "~":
      return element("del", {}, ...inline(first, depth));
    case "h":
      return link(all, all, deepest + 1);
    default:
      return link(first, second, depth);
  }
}

/* Inside a word, as in `snake_case_name` and `2*3*4`, a single mark is no emphasis. */
function isInsideWord(text, at) {
  return at > 0 && /[\p{L}\p{N}]/u.test(text[at - 1]);
}

/* The patterns that may match at a place. Two stars are bold even inside a word: some languages write no spaces. */
function patternsAt(text, at) {
  const patterns = marks[text[at]];
  if (!/[*_h]/.test(text[at]) || !isInsideWord(text, at)) return patterns;
  return text[at] === "*" ? patterns.slice(0, 1) : [];
}

/* Characters of a link, more than its pattern takes. */
const longestLink = 2_600;

/* Whether the end of a link may follow. `ends.at`: the next one, which is kept, so that each is searched for once. */
function mayEndLink(text, at, ends) {
  if (ends.at < at) {
    const next = text.indexOf(")", at);
    ends.at = next < 0 ? Infinity : next;
  }
  return ends.at - at <= longestLink;
}

function matchAt(text, at, ends) {
  if ((text[at] === "[" || text[at] === "!") && !mayEndLink(text, at, ends)) return undefined;
  for (const [which, pattern] of patternsAt(text, at).entries()) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) return { which, match };
  }
  return undefined;
}

function inline(text, depth = 0) {
  const nodes = [];
  const mark = /[`*_~[!h]/g;
  const ends = { at: -1 };
  let from = 0;
  while (depth <= deepest) {
    const at = mark.exec(text)?.index;
    if (at === undefined) break;
    const found = matchAt(text, at, ends);
    if (found === undefined) continue;
    if (at > from) nodes.push(document.createTextNode(text.slice(from, at)));
    nodes.push(marked(text[at], found.which, found.match, depth + 1));
    from = mark.lastIndex = at + found.match[0].length;
  }
  if (from < text.length) nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const heading = /^ {0,3}(#{1,6})\s+(?=\S)(.*)$/;
const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
const quote = /^ {0,3}> ?/;
const rule = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const tableRule = /^\|? *:?-+:? *(?:\| *:?-+:? *)*\|?$/;

function isBlockStart(line, next) {
  if (line.length > longestBlockLine) return false;
  return fence.test(line) || heading.test(line) || bullet.test(line) || quote.test(line) ||
    rule.test(line) || isTableStart(line, next);
}

function isTableStart(line, next) {
  return line.includes("|") && next !== undefined && next.includes("-") &&
    next.length <= longestBlockLine && tableRule.test(next.trim());
}

/* A block of code with its button. The region can be scrolled by keyboard. */
function codeBlock(text, language, words) {
  const pre = element(
    "pre",
    { tabIndex: 0, attributes: { role: "group", "aria-label": language || "code" } },
    element("code", { textContent: text }),
  );
  return element("div", { className: "code-block" }, pre, copyButton(text, words));
}

function readFence(lines, from, words) {
  const [, mark, language] = fence.exec(lines[from]);
  let to = from + 1;
  while (to < lines.length && !isFenceEnd(lines[to], mark)) to++;
  return {
    node: codeBlock(lines.slice(from + 1, to).join("\n"), language, words),
    next: to + 1,
  };
}

function isFenceEnd(line, mark) {
  const text = line.trim();
  return text.length >= mark.length && text === mark[0].repeat(text.length);
}

function readQuote(lines, from, words, depth) {
  let to = from;
  while (to < lines.length && quote.test(lines[to])) to++;
  const inner = lines.slice(from, to).map((line) => line.replace(quote, ""));
  return { node: element("blockquote", {}, ...blocks(inner, words, depth + 1)), next: to };
}

/* A line of a list belongs to an item if it is indented, or empty and before an indented one. */
function readItem(lines, from, words, depth) {
  const [mark] = bullet.exec(lines[from]);
  const inner = [lines[from].slice(mark.length)];
  let to = from + 1;
  for (; to < lines.length; to++) {
    const line = lines[to];
    if (/^\s*$/.test(line)) {
      if (!/^\s{2,}\S/.test(lines[to + 1] ?? "")) break;
      inner.push("");
    } else if (/^\s{2,}/.test(line)) {
      inner.push(line.slice(Math.min(mark.length, line.search(/\S/))));
    } else if (isBlockStart(line, lines[to + 1])) break;
    else inner.push(line);
  }
  const children = blocks(inner, words, depth + 1);
  const [only] = children;
  // An item of one paragraph is not spaced like a paragraph.
  const tight = children.length > 0 && only.tagName === "P"
    ? [...only.childNodes, ...children.slice(1)]
    : children;
  return { node: element("li", {}, ...tight), next: to };
}

function readList(lines, from, words, depth) {
  const first = bullet.exec(lines[from])[2];
  const ordered = /\d/.test(first);
  const list = element(ordered ? "ol" : "ul");
  if (ordered && Number.parseInt(first) !== 1) list.start = Number.parseInt(first);
  let at = from;
  for (;;) {
    const item = readItem(lines, at, words, depth);
    list.append(item.node);
    at = item.next;
    const after = /^\s*$/.test(lines[at] ?? "x") ? at + 1 : at;
    const mark = bullet.exec(lines[after] ?? "");
    if (mark === null || rule.test(lines[after]) || /\d/.test(mark[2]) !== ordered) break;
    at = after;
  }
  return { node: list, next: at };
}

function cellsOf(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function readTable(lines, from) {
  const heads = cellsOf(lines[from]);
  let to = from + 2;
  while (to < lines.length && lines[to].includes("|")) to++;
  const row = (line) =>
    element(
      "tr",
      {},
      ...cellsOf(line).slice(0, heads.length).map((cell) => element("td", {}, ...inline(cell))),
    );
  const table = element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...heads.map((cell) => element("th", { scope: "col" }, ...inline(cell))),
      ),
    ),
    element("tbody", {}, ...lines.slice(from + 2, to).map(row)),
  );
  const frame = element(
    "div",
    {
      className: "table-frame",
      tabIndex: 0,
      attributes: { role: "group", "aria-label": heads.join(", ") },
    },
    table,
  );
  return { node: frame, next: to };
}

function readParagraph(lines, from) {
  let to = from + 1;
  while (
    to < lines.length && lines[to].trim() !== "" && !isBlockStart(lines[to], lines[to + 1])
  ) to++;
  return { node: element("p", {}, ...inline(lines.slice(from, to).join("\n"))), next: to };
}

function readBlock(lines, at, words, depth) {
  const line = lines[at];
  if (depth > deepest || line.length > longestBlockLine) return readParagraph(lines, at);
  if (fence.test(line)) return readFence(lines, at, words);
  if (rule.test(line)) return { node: element("hr"), next: at + 1 };
  const head = heading.exec(line);
  if (head !== null) {
    const node = element(
      "h3",
      { dataset: { level: head[1].length } },
      ...inline(head[2].replace(/(?:^|\s)#+$/, "").trim()),
    );
    return { node, next: at + 1 };
  }
  if (quote.test(line)) return readQuote(lines, at, words, depth);
  if (bullet.test(line)) return readList(lines, at, words, depth);
  if (isTableStart(line, lines[at + 1])) return readTable(lines, at);
  return readParagraph(lines, at);
}

function blocks(lines, words, depth) {
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    if (lines[at].trim() === "") at++;
    else {
      const { node, next } = readBlock(lines, at, words, depth);
      nodes.push(node);
      at = next;
    }
  }
  return nodes;
}

/** Renders a text as elements. `words`: the labels of copy buttons. */
export function renderMarkdown(text, words) {
  return blocks(text.replaceAll("\r\n", "\n").split("\n"), words, 0);
}
