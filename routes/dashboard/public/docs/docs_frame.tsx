/** The frame of the documentation: its contents beside the page. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { tags } from "../../../openapi/operation.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { docsTexts } from "./docs_texts.ts";
import type { GuideFacts } from "./guides/guide.ts";
import { guides } from "./guides/mod.ts";

/** Returns what guides name of a service. */
export function factsOf({ baseUrl, catalog }: DashboardDeps): GuideFacts {
  return { baseUrl, model: catalog.defaultModel.id };
}

/** The path of a group of the reference. */
export function tagPath(tag: string): string {
  return `/docs/api/${tag.toLowerCase()}`;
}

interface DocsPage {
  readonly title: string;
  readonly lead: string;
  readonly description: string;
}

/** Renders a page of the documentation. */
export function renderDocs(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  page: DocsPage,
  body: Child,
) {
  const { locale } = c.get("visitor");
  const t = docsTexts[locale];
  const here = c.req.path;
  const link = (href: string, text: string) => (
    <li>
      <a href={href} aria-current={href === here ? "page" : undefined}>{text}</a>
    </li>
  );
  return renderPage(
    c,
    { ...page, styles: ["docs.css"] },
    <div class="docs">
      <nav class="docs-contents" aria-label={t.title}>
        <h2>{t.guides}</h2>
        <ul>
          {guides.map(({ slug, texts }) =>
            link(`/docs/${slug}`, texts(factsOf(deps))[locale].title)
          )}
          {link("/docs/tools", t.tools)}
        </ul>
        <h2>{t.reference}</h2>
        <ul>{Object.keys(tags).map((tag) => link(tagPath(tag), tag))}</ul>
      </nav>
      <div class="docs-page">{body}</div>
    </div>,
  );
}
