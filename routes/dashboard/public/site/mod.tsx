/**
 * What crawlers ask for (`/robots.txt`, `/sitemap.xml`, `/favicon.ico`), and the pages that the operator supplies
 * (`/terms`, `/privacy`, `/changelog`).
 *
 * - Folder `routes/dashboard/public/site/`: files about the site as a whole, and the operator's own texts.
 * - In: the list of public pages, Markdown of the operator.
 * - Out: text, XML, HTML.
 * - Never: renders HTML that a text contains.
 */
import { type Context, Hono } from "hono";
import { assetPath } from "../../assets/assets.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { guides } from "../docs/guides/mod.ts";
import { tagPath } from "../docs/docs_frame.tsx";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { layoutTexts } from "../../frame/layout_texts.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { tags } from "../../../openapi/operation.ts";
import { Markdown, parseMarkdown } from "./markdown.tsx";
import { type SuppliedName, suppliedNames } from "../../page/supplied_pages.ts";

/** Seconds for which crawlers may keep these files. */
const fileSeconds = 3_600;

const cached = { "cache-control": `public, max-age=${fileSeconds}` } as const;

/** Paths that no search engine should show: they need an account, or are for one browser. */
const privatePaths = ["/operator", "/account", "/keys", "/usage", "/wallet", "/invoices", "/reset"];

/** Lists the pages that anybody may see and find. */
function publicPaths({ catalog, suppliedPages }: DashboardDeps): string[] {
  return [
    "/",
    "/models",
    ...catalog.models.map(({ id }) => `/models/${encodeURIComponent(id)}`),
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
