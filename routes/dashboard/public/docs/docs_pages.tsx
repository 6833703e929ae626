/**
 * `/docs`: guides, settings of tools and the API reference; `/llms.txt` has all of it as text.
 *
 * - Folder `routes/dashboard/public/docs/`: the documentation for customers.
 * - In: texts of guides, the OpenAPI document, names of models.
 * - Out: HTML that needs no script, and plain text.
 * - Never: reads the store, or says of an endpoint what the OpenAPI document does not.
 */
import { type Context, Hono } from "hono";
import { exampleModels } from "../../../openapi/example_models.ts";
import { tags } from "../../../openapi/operation.ts";
import { Card } from "../../components/mod.ts";
import { RecipeList } from "../../customer/connect/connect.tsx";
import { keyPlaceholder } from "../../customer/connect/recipes.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { docsTexts, factsOf, renderDocs, tagNames, tagPath } from "./docs_frame.tsx";
import { GuideView } from "./guide_view.tsx";
import { guides } from "./guides/guides.ts";
import { llmsText } from "./llms_text.ts";
import {
  type DocumentSource,
  documentSource,
  endpointOf,
  idOf,
  operationsOf,
  OperationView,
  ReferenceIndex,
} from "./reference.tsx";

/** Seconds for which a client may keep `/llms.txt`: it changes with a release or the catalogue. */
const llmsTextSeconds = 300;

async function indexPage(c: Context<DashboardEnv>, deps: DashboardDeps, source: DocumentSource) {
  const { locale } = c.get("visitor");
  const t = docsTexts[locale];
  const document = await source();
  return await renderDocs(
    c,
    deps,
    t,
    (
      <>
        <ul class="doc-cards">
          {guides.map(({ slug, texts }) => {
            const { title, lead } = texts(factsOf(deps))[locale];
            return (
              <li class="card">
                <h2>
                  <a href={`/docs/${slug}`}>{title}</a>
                </h2>
                <p>{lead}</p>
              </li>
            );
          })}
          <li class="card">
            <h2>
              <a href="/docs/tools">{t.tools}</a>
            </h2>
            <p>{t.toolsLead}</p>
          </li>
        </ul>
        <Card title={t.reference}>
          <ul class="doc-list">
            {tagNames.map((tag) => (
              <li>
                <a href={tagPath(tag)}>{t.tags[tag]}</a>{" "}
                <span class="muted">{t.pages(operationsOf(document, tag).length)}</span>
              </li>
            ))}
          </ul>
        </Card>
        <Card title={t.machine}>
          <ul class="doc-list">
            <li>
              <a href="/openapi.json">/openapi.json</a> <span class="muted">{t.openApi}</span>
            </li>
            <li>
              <a href="/llms.txt">/llms.txt</a> <span class="muted">{t.llms}</span>
            </li>
          </ul>
        </Card>
      </>
    ),
  );
}

async function referencePage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  source: DocumentSource,
) {
  const { locale } = c.get("visitor");
  const t = docsTexts[locale];
  const tag = tagNames.find((name) => name.toLowerCase() === c.req.param("tag"));
  if (tag === undefined) return await notFoundPage(c);
  const page = {
    title: `${t.reference}: ${t.tags[tag]}`,
    lead: t.referenceLead(deps.baseUrl),
    description: `${t.reference}: ${t.tags[tag]}. ${tags[tag]}`,
  };
  const document = await source();
  return await renderDocs(
    c,
    deps,
    page,
    (
      <Card>
        <ReferenceIndex document={document} tag={tag} />
      </Card>
    ),
  );
}

async function operationPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  source: DocumentSource,
) {
  const { locale } = c.get("visitor");
  const tag = tagNames.find((name) => name.toLowerCase() === c.req.param("tag"));
  const document = await source();
  const found = tag === undefined
    ? undefined
    : operationsOf(document, tag).find((one) => idOf(one) === c.req.param("operation"));
  if (tag === undefined || found === undefined) return await notFoundPage(c);
  const t = docsTexts[locale];
  const { summary } = found.operation;
  const endpoint = endpointOf(found);
  const title = typeof summary === "string" ? summary : endpoint;
  const page = {
    // The document has one language; what is called is the same in each.
    title: locale === "en" ? title : endpoint,
    lead: t.referenceLead(deps.baseUrl),
    description: `${endpoint}: ${title}`,
  };
  return await renderDocs(
    c,
    deps,
    page,
    (
      <>
        <div class="reference">
          <OperationView {...found} document={document} server={deps.baseUrl} locale={locale} />
        </div>
        <p>
          <a href={tagPath(tag)}>← {t.tags[tag]}</a>
        </p>
      </>
    ),
  );
}

async function toolsPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = docsTexts[locale];
  const page = { title: t.tools, lead: t.toolsLead, description: t.toolsLead };
  const facts = { ...factsOf(deps), key: keyPlaceholder };
  return await renderDocs(c, deps, page, <RecipeList facts={facts} locale={locale} />);
}

async function guidePage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const guide = guides.find(({ slug }) => slug === c.req.param("guide"));
  if (guide === undefined) return await notFoundPage(c);
  const text = guide.texts(factsOf(deps))[locale];
  const page = { title: text.title, lead: text.lead, description: text.lead };
  return await renderDocs(
    c,
    deps,
    page,
    <GuideView guide={text} reader={c.get("visitor").signedIn} locale={locale} />,
  );
}

async function llmsPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { customerOperations } = await import("../../../openapi/document.ts");
  const { catalog } = deps;
  const text = llmsText({
    ...factsOf(deps),
    brand: c.get("visitor").brand.name,
    operations: customerOperations(exampleModels(catalog)),
    models: catalog.models,
  });
  return c.text(text, 200, { "cache-control": `public, max-age=${llmsTextSeconds}` });
}

function createDocs(deps: DashboardDeps): Hono<DashboardEnv> {
  const source = documentSource(deps.baseUrl, () => deps.catalog);
  return new Hono<DashboardEnv>()
    .get("/docs", (c) => indexPage(c, deps, source))
    .get("/docs/api/:tag", (c) => referencePage(c, deps, source))
    .get("/docs/api/:tag/:operation", (c) => operationPage(c, deps, source))
    .get("/docs/tools", (c) => toolsPage(c, deps))
    .get("/docs/:guide", (c) => guidePage(c, deps))
    .get("/llms.txt", (c) => llmsPage(c, deps));
}

export const docsPages: PageDeclaration<DashboardDeps> = {
  isShared: true,
  navigation: {
    href: "/docs",
    icon: "docs",
    group: "build",
    label: { en: "Documentation", vi: "Tài liệu" },
    publicLink: { label: { en: "Docs", vi: "Tài liệu" }, wideOnly: true },
  },
  routes: createDocs,
};
