/**
 * `/search`: leads to a call by its request id, and finds pages, models, keys, guides, endpoints and error codes by name.
 * The field at the top of every page shows the same while one types.
 *
 * - Folder `routes/dashboard/public/search/`: the search of the top bar.
 * - In: what was typed.
 * - Out: a redirect to the one thing that is meant, or a list.
 * - Never: finds anything of another account, or tells whether an address has one.
 */
import { type Context, Hono } from "hono";
import { Card, Empty, Icon, TextField } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import { defineTexts } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { type DocumentSource, documentSource } from "../docs/reference.tsx";
import {
  callPath,
  findNamed,
  type Found,
  type FoundGroup,
  type FoundKind,
  maxQueryChars,
} from "./find.ts";

/** Things of each kind that are listed on the page, and under the field. */
const maxListed = 20;
const maxSuggested = 4;

const texts = defineTexts({
  both: {
    title: ["Search", "Tìm kiếm"],
    field: ["A request id, or a word", "Mã lượt gọi, hoặc một từ"],
    button: ["Search", "Tìm"],
    nothing: ["No results", "Không tìm thấy kết quả"],
  },
  en: {
    kinds: {
      customers: "Customers",
      providers: "Providers",
      operatorPages: "Operator pages",
      pages: "Pages",
      models: "Models",
      keys: "API keys",
      guides: "Guides",
      endpoints: "API reference",
      codes: "Error codes",
      requests: "Requests",
    } satisfies Record<FoundKind | "requests", string>,
    nothingHint:
      "Pages, models, API keys and endpoints are found by a part of their name, guides by any word, calls by their whole id.",
  },
  vi: {
    kinds: {
      customers: "Khách hàng",
      providers: "Nhà cung cấp",
      operatorPages: "Trang vận hành",
      pages: "Trang",
      models: "Mô hình",
      keys: "Khoá API",
      guides: "Hướng dẫn",
      endpoints: "Tài liệu API",
      codes: "Mã lỗi",
      requests: "Lượt gọi",
    },
    nothingHint:
      "Trang, mô hình, khoá API và endpoint được tìm theo một phần tên, hướng dẫn theo bất kỳ từ nào, lượt gọi theo cả mã.",
  },
});

/** Finds what was typed: the path of the call that it names, or things by their kinds. */
async function search(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  source: DocumentSource,
  maxOfKind: number,
) {
  const query = (c.req.query("q") ?? "").trim().slice(0, maxQueryChars);
  const path = await callPath(c, deps, query);
  const isNamed = path === undefined && query !== "";
  const groups = isNamed ? await findNamed(c, deps, { query, maxOfKind, source }) : [];
  return { query, path, groups };
}

function FoundList({ group: { kind, found }, t }: {
  group: FoundGroup;
  t: (typeof texts)["en"];
}) {
  return (
    <Card title={t.kinds[kind]}>
      <ul class="ranking">
        {found.map(({ href, name, note }) => (
          <li>
            <a href={href}>{name}</a> {note !== undefined && <span class="muted">{note}</span>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The one thing that has the name; guides are found by words that may be anywhere in them. */
function onlyMeant(groups: readonly FoundGroup[]): Found | undefined {
  const named = groups.filter(({ kind }) => kind !== "guides");
  const [only, ...others] = (named.length === 0 ? groups : named).flatMap(({ found }) => found);
  return others.length === 0 ? only : undefined;
}

async function searchPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  source: DocumentSource,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const { query, path, groups } = await search(c, deps, source, maxListed);
  if (path !== undefined) return c.redirect(path, 303);
  const meant = onlyMeant(groups);
  if (meant !== undefined) return c.redirect(meant.href, 303);
  return await renderPage(
    c,
    { title: t.title },
    <>
      <Card>
        <form method="get" action="/search" class="inline-form">
          <TextField
            name="q"
            type="search"
            label={t.field}
            value={query}
            maxlength={maxQueryChars}
          />
          <button type="submit">
            <Icon name="search" /> {t.button}
          </button>
        </form>
        {query !== "" && groups.length === 0 && (
          <Empty title={t.nothing}>
            <p>{t.nothingHint}</p>
          </Empty>
        )}
      </Card>
      {groups.map((group) => <FoundList key={group.kind} group={group} t={t} />)}
    </>,
  );
}

function Option({ found: { href, name, note }, id }: { found: Found; id: string }) {
  return (
    <a
      href={href}
      role="option"
      id={id}
      class="palette-option"
      tabindex={-1}
      aria-selected="false"
    >
      <span>{name}</span>
      {note !== undefined && <small class="muted">{note}</small>}
    </a>
  );
}

/** `/search/suggestions`: the options of the list under the field. */
async function suggestions(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  source: DocumentSource,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const { query, path, groups } = await search(c, deps, source, maxSuggested);
  if (path === undefined && groups.length === 0) return c.html(<p class="muted">{t.nothing}</p>);
  return await c.html(
    <>
      {path !== undefined && (
        <div role="group" aria-label={t.kinds.requests}>
          <p class="nav-group" aria-hidden="true">{t.kinds.requests}</p>
          <Option found={{ href: path, name: query }} id="suggested-call" />
        </div>
      )}
      {groups.map(({ kind, found }) => (
        <div role="group" aria-label={t.kinds[kind]}>
          <p class="nav-group" aria-hidden="true">{t.kinds[kind]}</p>
          {found.map((one, at) => (
            <Option key={one.href} found={one} id={`suggested-${kind}-${at}`} />
          ))}
        </div>
      ))}
    </>,
  );
}

function createSearchPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const source = documentSource(deps.baseUrl, () => deps.catalog);
  return new Hono<DashboardEnv>()
    .use("/search", requireAccount)
    .use("/search/*", requireAccount)
    .get("/search", (c) => searchPage(c, deps, source))
    .get("/search/suggestions", (c) => suggestions(c, deps, source));
}

export const searchPages: PageDeclaration<DashboardDeps> = { routes: createSearchPage };
