/**
 * `/models`: the list of models with their prices, also for visitors.
 *
 * - Folder `routes/dashboard/public/models/`: the list of models, searched, ordered, as a table or as cards.
 * - In: the catalogue, the state of its routes, the public history, and what the visitor asks for.
 * - Out: HTML, also for visitors.
 * - Never: names a provider or a route.
 */
import { type Context, Hono } from "hono";
import type { Model } from "../../../../core/catalog/catalog.ts";
import { sumOf } from "../../../../core/routing/history/day_history.ts";
import { Card, Empty, SelectField, TextField } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { PublicHistory } from "../status/public_history.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { chooseModels, listedKinds, type ModelChoice, readChoice, sorts } from "./choice.ts";
import { modelListTexts } from "./texts.ts";
import { ModelCards, ModelTable } from "./views.tsx";

/** Days of the speed in the list. */
const speedDays = 30;

const views = ["table", "cards"] as const;
type View = typeof views[number];

function Toolbar({ choice, view, locale }: {
  choice: ModelChoice;
  view: View;
  locale: Locale;
}) {
  const t = modelListTexts[locale];
  return (
    <form
      method="get"
      action="/models"
      class="toolbar"
      hx-get="/models"
      hx-trigger="input delay:200ms, submit"
      hx-target="#models"
      hx-select="#models"
      hx-swap="outerHTML"
      hx-replace-url="true"
    >
      <TextField
        name="q"
        type="search"
        label={t.search}
        value={choice.search}
        placeholder={t.searchHint}
      />
      <SelectField
        name="kind"
        label={t.kind}
        value={choice.kind}
        options={[
          { value: "", label: t.all },
          ...listedKinds.map((value) => ({ value, label: t.kinds[value] })),
        ]}
      />
      <SelectField
        name="sort"
        label={t.sort}
        value={choice.sort}
        options={sorts.map((value) => ({ value, label: t.sorts[value] }))}
      />
      <SelectField
        name="view"
        label={t.view}
        value={view}
        options={views.map((value) => ({ value, label: t.views[value] }))}
      />
      <noscript>
        <button type="submit" class="outline secondary">{t.apply}</button>
      </noscript>
    </form>
  );
}

async function modelsPage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { locale } = c.get("visitor");
  const t = modelListTexts[locale];
  const choice = readChoice((name) => c.req.query(name));
  const view = views.find((name) => name === c.req.query("view")) ?? "table";
  const today = history.today();
  const recent = (await history.rows()).filter(({ day }) => day > today - speedDays)
    .map(({ counts }) => counts);
  const speedOf = ({ id }: Model) => sumOf(recent, id)?.p50FirstOutputMs;
  const models = chooseModels(deps.catalog, choice, speedOf).map((model) => ({
    model,
    status: deps.modelStatus?.(model.id) ?? "up",
    firstOutputMs: speedOf(model),
  }));
  const list = { models, listRate: deps.catalog.listRate, locale };
  return await renderPage(
    c,
    { title: t.title, lead: t.lead, description: t.description },
    <>
      <Toolbar choice={choice} view={view} locale={locale} />
      <div id="models">
        {models.length === 0
          ? (
            <Empty title={t.none}>
              <p>{t.noneHint}</p>
            </Empty>
          )
          : (
            <>
              <p class="muted">{t.found(models.length)}</p>
              {view === "cards" ? <ModelCards {...list} /> : (
                <Card>
                  <ModelTable {...list} />
                </Card>
              )}
            </>
          )}
      </div>
    </>,
  );
}

function createModelPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>().get("/models", (c) => modelsPage(c, deps, history));
}

export const modelPage: PageDeclaration<DashboardDeps> = {
  isShared: true,
  navigation: {
    href: "/models",
    icon: "models",
    group: "manage",
    label: { en: "Models and prices", vi: "Mô hình và giá" },
    publicLink: { label: { en: "Models", vi: "Mô hình" } },
  },
  routes: createModelPage,
};
