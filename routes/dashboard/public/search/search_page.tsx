/**
 * `/search`: leads to a call by its request id, and finds pages, models and keys by name.
 *
 * - Folder `routes/dashboard/public/search/`: the search of the top bar.
 * - In: what was typed.
 * - Out: a redirect to the one thing that is meant, or a list.
 * - Never: finds anything of another account.
 */
import { type Context, Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { Card, Empty, Icon, TextField } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import { defineTexts } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

/** Things of each kind that are listed. */
const maxFound = 20;

const texts = defineTexts({
  en: {
    title: "Search",
    field: "A request id, a page, a model or a key",
    button: "Search",
    pages: "Pages",
    models: "Models",
    keys: "Keys",
    nothing: "No results",
    nothingHint: "Keys and models are found by a part of their name, calls by their whole id.",
  },
  vi: {
    title: "Tìm kiếm",
    field: "Mã lượt gọi, trang, mô hình hoặc khoá API",
    button: "Tìm",
    pages: "Trang",
    models: "Mô hình",
    keys: "Khoá API",
    nothing: "Không tìm thấy kết quả",
    nothingHint: "Khoá API và mô hình được tìm theo một phần tên, lượt gọi theo cả mã.",
  },
});

interface Found {
  readonly href: string;
  readonly name: string;
}

/** The name without case and without the marks of Vietnamese, which few type in a search. */
function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").replace(/đ/gi, "d").toLowerCase();
}

async function findNames(c: Context<DashboardEnv>, deps: DashboardDeps, query: string) {
  const { visitor, signedIn, navigation } = c.var;
  const wanted = plain(query);
  const named = (all: readonly Found[]) =>
    all.filter(({ name }) => plain(name).includes(wanted)).slice(0, maxFound);
  const pages = (navigation?.items ?? []).map(({ entry }) => entry)
    .filter(({ operatorsOnly }) => operatorsOnly !== true || signedIn.isOperator)
    .map(({ href, label }) => ({ href, name: label[visitor.locale] }));
  const keys = await listApiKeys(deps.kv, signedIn.account.id);
  return {
    pages: named(pages),
    models: named(
      [...deps.catalog.models.values()].map(({ id }) => ({
        href: `/models/${encodeURIComponent(id)}`,
        name: id,
      })),
    ),
    keys: named(keys.map(({ id, name }) => ({ href: `/keys/${id}`, name }))),
  };
}

/** The page of a call: an operator's, if it is a call of another account and the visitor is one. */
async function callPath(c: Context<DashboardEnv>, { kv }: DashboardDeps, text: string) {
  const requestId = parseId("request", text);
  if (requestId === undefined) return undefined;
  const { account, isOperator } = c.get("signedIn");
  if (!isOperator) return `/receipts/${requestId}`;
  const call = await readReceipt(kv, requestId) ?? await readRefusedCall(kv, requestId);
  return call === undefined || call.accountId === account.id
    ? `/receipts/${requestId}`
    : `/operator/calls/${requestId}`;
}

async function searchPage(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const query = (c.req.query("q") ?? "").trim().slice(0, 80);
  const path = await callPath(c, deps, query);
  if (path !== undefined) return c.redirect(path, 303);
  const found = query === "" ? undefined : await findNames(c, deps, query);
  const groups = found === undefined ? [] : ([
    [t.pages, found.pages],
    [t.models, found.models],
    [t.keys, found.keys],
  ] as const).filter(([, some]) => some.length > 0);
  const [only] = groups;
  if (groups.length === 1 && only?.[1].length === 1) return c.redirect(only[1][0]!.href, 303);
  return await renderPage(
    c,
    { title: t.title },
    <>
      <Card>
        <form method="get" action="/search" class="inline-form">
          <TextField name="q" type="search" label={t.field} value={query} maxlength={80} />
          <button type="submit">
            <Icon name="search" /> {t.button}
          </button>
        </form>
        {found !== undefined && groups.length === 0 && (
          <Empty title={t.nothing}>
            <p>{t.nothingHint}</p>
          </Empty>
        )}
      </Card>
      {groups.map(([title, some]) => (
        <Card title={title}>
          <ul class="ranking">
            {some.map(({ href, name }) => (
              <li>
                <a href={href}>{name}</a>
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </>,
  );
}

function createSearchPage(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/search", requireAccount)
    .get("/search", (c) => searchPage(c, deps));
}

export const searchPages: PageDeclaration<DashboardDeps> = { routes: createSearchPage };
