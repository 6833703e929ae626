/**
 * Site files that crawlers ask for (`/robots.txt`, `/sitemap.xml`, `/favicon.ico`), and the pages that the operator
 * supplies (`/terms`, `/privacy`, `/contact`, `/changelog`).
 *
 * - Folder `routes/dashboard/public/site/`: files about the site as a whole, and the operator's own texts.
 * - In: the list of public pages, Markdown of the operator.
 * - Out: text, XML, HTML.
 * - Never: renders HTML that a text contains.
 */
import { type Context, Hono } from "hono";
import { assetPath } from "../../assets/assets.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { familyPath } from "../model/family_page.tsx";
import { guides } from "../docs/guides/guides.ts";
import { tagPath } from "../docs/docs_frame.tsx";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { layoutTexts } from "../../frame/layout_texts.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { tags } from "../../../openapi/operation.ts";
import { type SuppliedName, suppliedNames } from "../../page/supplied_pages.ts";
import { Marked } from "../docs/guide_view.tsx";

// Renders the part of Markdown that texts of terms and changelogs need: headings, paragraphs, lists, code, links, bold.
// HTML in a text is shown as it is written.

/** A block of a text. */
type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly string[] }
  | { readonly kind: "code"; readonly text: string };

/** The title of a text, which is its first heading, and what follows. */
export interface MarkdownText {
  readonly title: string | undefined;
  readonly blocks: readonly Block[];
}

const bullet = /^\s*[-*+]\s+(.*)$/;
const numbered = /^\s*\d+[.)]\s+(.*)$/;

/** Takes the lines of a list; lines that are indented continue an item. */
function takeList(lines: readonly string[], from: number): { block: Block; next: number } {
  const mark = bullet.test(lines[from] ?? "") ? bullet : numbered;
  const items: string[] = [];
  let at = from;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [, item] = mark.exec(line) ?? [];
    if (item !== undefined) items.push(item);
    else if (/^\s+\S/.test(line) && items.length > 0) items.push(`${items.pop()} ${line.trim()}`);
    else break;
  }
  return { block: { kind: "list", ordered: mark === numbered, items }, next: at };
}

/**
 * Splits a text into blocks.
 *
 * @example
 * ```ts
 * import { parseMarkdown } from "./site_files.tsx";
 * const { title, blocks } = parseMarkdown("# Terms\n\nOne\ntwo.\n\n- a\n  b\n- c\n");
 * if (title !== "Terms" || blocks.map(({ kind }) => kind).join() !== "paragraph,list") throw new Error(title);
 * ```
 */
export function parseMarkdown(text: string): MarkdownText {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let title: string | undefined;
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    const { 1: marks, 2: heading } = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) ?? [];
    if (line.trim() === "") {
      at++;
    } else if (marks !== undefined && heading !== undefined) {
      if (title === undefined && blocks.length === 0) title = heading;
      else blocks.push({ kind: "heading", level: marks.length, text: heading });
      at++;
    } else if (line.startsWith("```")) {
      const end = lines.indexOf("```", at + 1);
      const last = end === -1 ? lines.length : end;
      blocks.push({ kind: "code", text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
    } else if (bullet.test(line) || numbered.test(line)) {
      const { block, next } = takeList(lines, at);
      blocks.push(block);
      at = next;
    } else {
      const from = at;
      while (at < lines.length && isPlain(lines[at] ?? "")) at++;
      // A line that looks like the start of another block and is none is a paragraph of its own.
      at = Math.max(at, from + 1);
      blocks.push({ kind: "paragraph", text: lines.slice(from, at).join(" ") });
    }
  }
  return { title, blocks };
}

function isPlain(line: string): boolean {
  return line.trim() !== "" && !/^(?:#{1,6}\s|```)/.test(line) && !bullet.test(line) &&
    !numbered.test(line);
}

function item(text: string) {
  return (
    <li>
      <Marked text={text} />
    </li>
  );
}

function blockView(block: Block) {
  switch (block.kind) {
    case "heading":
      return block.level <= 2 ? <h2>{block.text}</h2> : <h3>{block.text}</h3>;
    case "paragraph":
      return (
        <p>
          <Marked text={block.text} />
        </p>
      );
    case "list":
      return block.ordered ? <ol>{block.items.map(item)}</ol> : <ul>{block.items.map(item)}</ul>;
    case "code":
      return (
        <pre tabindex={0}>
          <code>{block.text}</code>
        </pre>
      );
  }
}

/** The blocks of a text. */
function Markdown({ blocks }: Pick<MarkdownText, "blocks">) {
  return <div class="prose">{blocks.map(blockView)}</div>;
}

/** Seconds for which crawlers may keep these files. */
const fileSeconds = 3_600;

const cached = { "cache-control": `public, max-age=${fileSeconds}` } as const;

/** Paths that no search engine should show: they need an account, or are for one browser. */
const privatePaths = [
  "/operator",
  "/account",
  "/keys",
  "/usage",
  "/wallet",
  "/invoices",
  "/webhooks",
  "/reset",
];

/** Lists the pages that anybody may see and find. */
function publicPaths({ catalog, suppliedPages }: DashboardDeps): string[] {
  return [
    "/",
    "/models",
    ...catalog.models.map(({ id }) => `/models/${encodeURIComponent(id)}`),
    ...new Set(catalog.models.map(familyPath)),
    "/connect",
    "/docs",
    "/docs/tools",
    ...guides.map(({ slug }) => `/docs/${slug}`),
    ...Object.keys(tags).map(tagPath),
    "/status",
    ...[...suppliedPages?.keys() ?? []].map((name) => `/${name}`),
  ];
}

function robots(c: Context<DashboardEnv>, { baseUrl }: DashboardDeps) {
  const lines = [
    "User-agent: *",
    ...privatePaths.map((path) => `Disallow: ${path}`),
    "",
    `Sitemap: ${baseUrl}/sitemap.xml`,
    "",
  ];
  return c.text(lines.join("\n"), 200, cached);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function sitemap(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const urls = publicPaths(deps).map((path) =>
    `<url><loc>${escapeXml(deps.baseUrl + path)}</loc></url>`
  );
  const xml = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join("\n")}
</urlset>
`;
  return c.body(xml, 200, { ...cached, "content-type": "application/xml; charset=utf-8" });
}

async function suppliedPage(c: Context<DashboardEnv>, deps: DashboardDeps, name: SuppliedName) {
  const { locale } = c.get("visitor");
  const text = deps.suppliedPages?.get(name)?.[locale];
  if (text === undefined) return await notFoundPage(c);
  const { title = layoutTexts[locale].supplied[name], blocks } = parseMarkdown(text);
  return await renderPage(
    c,
    { title, description: title, styles: ["public.css"] },
    <Markdown blocks={blocks} />,
  );
}

function createSite(deps: DashboardDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>()
    .get("/robots.txt", (c) => robots(c, deps))
    .get("/sitemap.xml", (c) => sitemap(c, deps))
    .get("/favicon.ico", (c) => c.redirect(assetPath("favicon.svg"), 302));
  for (const name of suppliedNames) app.get(`/${name}`, (c) => suppliedPage(c, deps, name));
  return app;
}

export const sitePages: PageDeclaration<DashboardDeps> = { isShared: true, routes: createSite };
