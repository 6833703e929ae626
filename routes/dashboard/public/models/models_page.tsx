/**
 * `/models`: the list of models with their prices, and two of them side by side, also for visitors.
 *
 * - Folder `routes/dashboard/public/models/`: the list of models, searched, ordered, as a table or as cards.
 * - In: the catalogue, the state of its routes, the public history, and what the visitor asks for.
 * - Out: HTML, also for visitors.
 * - Never: names a provider or a route.
 */
import { type Context, Hono } from "hono";
import type { Catalog, Model, ModelKind } from "../../../../core/catalog/catalog.ts";
import { sumOf } from "../../../../core/routing/history/availability.ts";
import {
  Card,
  type Column,
  DataTable,
  Empty,
  SelectField,
  TextField,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { PublicHistory } from "../status/history_strip.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { modelListTexts } from "./texts.ts";
import {
  chatFigure,
  comparedMicroVnd,
  Kind,
  type ListedModel,
  listPriceLine,
  ModelCards,
  ModelTable,
  priceLine,
  speedText,
  Status,
} from "./views.tsx";
import type { Child } from "hono/jsx";
import { priceLines } from "../../text/model_prices.ts";

/** Trait that is compared. */
interface Trait {
  readonly name: string;
  readonly of: (listed: ListedModel) => Child;
}

function traitsOf(listRate: number, locale: Locale): readonly Trait[] {
  const t = modelListTexts[locale];
  const linesOf = ({ model }: ListedModel) => priceLines(model.price, listRate, locale);
  return [
    { name: t.kind, of: ({ model }) => <Kind model={model} locale={locale} /> },
    { name: t.priceVnd, of: (listed) => <>{linesOf(listed).map(priceLine)}</> },
    { name: t.listPrice, of: (listed) => <>{linesOf(listed).map(listPriceLine)}</> },
    { name: t.context, of: ({ model }) => chatFigure(model, model.contextWindow, locale) },
    { name: t.output, of: ({ model }) => chatFigure(model, model.maxOutputTokens, locale) },
    { name: t.speed, of: ({ firstOutputMs }) => speedText(firstOutputMs, locale) },
    { name: t.status, of: ({ status }) => <Status status={status} locale={locale} /> },
  ];
}

/** The table, and the choice of both models. */
function ComparedModels({ models, choices, listRate, locale }: {
  readonly models: readonly [ListedModel, ListedModel];
  readonly choices: readonly string[];
  readonly listRate: number;
  readonly locale: Locale;
}) {
  const t = modelListTexts[locale];
  const options = choices.map((value) => ({ value, label: value }));
  const columns: readonly Column<Trait>[] = [
    { head: t.trait, cell: ({ name }) => name },
    ...models.map((listed): Column<Trait> => ({
      head: listed.model.displayName,
      cell: ({ of }) => of(listed),
    })),
  ];
  return (
    <>
      <form method="get" action="/compare" class="toolbar" data-autosubmit>
        <SelectField name="a" label={t.firstModel} value={models[0].model.id} options={options} />
        <SelectField name="b" label={t.secondModel} value={models[1].model.id} options={options} />
        <noscript>
          <button type="submit" class="outline secondary">{t.apply}</button>
        </noscript>
      </form>
      <Card>
        <DataTable label={t.compare} columns={columns} rows={traitsOf(listRate, locale)} />
      </Card>
      <p>
        {models.map(({ model }) => (
          <>
            <a href={`/models/${encodeURIComponent(model.id)}`}>{model.displayName}</a>
            {" "}
          </>
        ))}
        <a href="/models">← {t.title}</a>
      </p>
    </>
  );
}

// Chooses and orders the models of the list.

/** The kinds, in the order in which the page offers them. */
const listedKinds: readonly ModelKind[] = [
  "chat",
  "image",
  "speech",
  "video",
  "embedding",
  "transcription",
  "rerank",
  "moderation",
  "completion",
];

/** The orders of the list; the empty one is that of the catalogue. */
const sorts = ["", "price", "context", "speed"] as const;
export type Sort = typeof sorts[number];

/** Choice of the visitor. */
export interface ModelChoice {
  readonly search: string;
  readonly kind: ModelKind | "";
  readonly sort: Sort;
}

/** Characters of a search: longer than the longest name. */
const maxSearchChars = 100;

/** Reads a choice; what is unknown counts as not given. */
function readChoice(query: (name: string) => string | undefined): ModelChoice {
  return {
    search: (query("q") ?? "").slice(0, maxSearchChars),
    kind: listedKinds.find((name) => name === query("kind")) ?? "",
    sort: sorts.find((name) => name === query("sort")) ?? "",
  };
}

function fits(model: Model, words: readonly string[], kind: string): boolean {
  if (kind !== "" && model.kind !== kind) return false;
  const text = [model.id, model.displayName, model.family, ...model.aliases].join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function byPrice(one: Model, other: Model): number {
  // Prices of different kinds and units do not compare.
  const kinds = listedKinds.indexOf(one.kind) - listedKinds.indexOf(other.kind);
  if (kinds !== 0) return kinds;
  const isToken = ({ price }: Model) => price.unit === "token" ? 0 : 1;
  const units = isToken(one) - isToken(other);
  if (units !== 0) return units;
  const difference = comparedMicroVnd(one) - comparedMicroVnd(other);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function contextOf({ kind, contextWindow }: Model): number {
  return kind === "chat" ? contextWindow : -1;
}

/**
 * Lists the chosen models in the chosen order.
 *
 * @param speedOf milliseconds to the first output; models without calls come last
 */
function chooseModels(
  { models }: Pick<Catalog, "models">,
  { search, kind, sort }: ModelChoice,
  speedOf: (model: Model) => number | undefined,
): readonly Model[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const chosen = models.filter((model) => fits(model, words, kind));
  switch (sort) {
    case "":
      return chosen;
    case "price":
      return chosen.toSorted(byPrice);
    case "context":
      return chosen.toSorted((one, other) => contextOf(other) - contextOf(one));
    case "speed":
      return chosen.toSorted((one, other) =>
        (speedOf(one) ?? Number.MAX_SAFE_INTEGER) - (speedOf(other) ?? Number.MAX_SAFE_INTEGER)
      );
  }
}

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

/** Finds the speed of models in the last weeks. */
async function speeds(history: PublicHistory): Promise<(model: Model) => number | undefined> {
  const today = history.today();
  const recent = (await history.rows()).filter(({ day }) => day > today - speedDays)
    .map(({ counts }) => counts);
  return ({ id }) => sumOf(recent, id)?.p50FirstOutputMs;
}

function listed(
  { modelStatus }: DashboardDeps,
  model: Model,
  speedOf: (model: Model) => number | undefined,
): ListedModel {
  return {
    model,
    status: modelStatus?.(model.id) ?? "up",
    firstOutputMs: speedOf(model),
  };
}

async function modelsPage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { locale, signedIn } = c.get("visitor");
  const t = modelListTexts[locale];
  const choice = readChoice((name) => c.req.query(name));
  const view = views.find((name) => name === c.req.query("view")) ?? "table";
  const speedOf = await speeds(history);
  const models = chooseModels(deps.catalog, choice, speedOf)
    .map((model) => listed(deps, model, speedOf));
  const list = { models, listRate: deps.catalog.listRate, locale };
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      description: t.description,
      actions: (
        <>
          {deps.trial !== undefined && signedIn === undefined && (
            <a class="button outline" href="/try">{t.tryOne}</a>
          )}
          <a class="button outline" href="/compare">{t.compare}</a>
        </>
      ),
    },
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

/** `/compare`: two models side by side; the first two of a kind if none are named. */
async function comparePage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { locale } = c.get("visitor");
  const t = modelListTexts[locale];
  const { catalog } = deps;
  const [first, second] = catalog.models;
  const one = catalog.find(c.req.query("a") ?? "") ?? first;
  const other = catalog.find(c.req.query("b") ?? "") ??
    catalog.models.find(({ id, kind }) => kind === one?.kind && id !== one.id) ?? second ?? one;
  if (one === undefined || other === undefined) return await notFoundPage(c);
  const speedOf = await speeds(history);
  return await renderPage(
    c,
    { title: t.compare, lead: t.lead, description: t.compareDescription },
    <ComparedModels
      models={[listed(deps, one, speedOf), listed(deps, other, speedOf)]}
      choices={catalog.models.map(({ id }) => id)}
      listRate={catalog.listRate}
      locale={locale}
    />,
  );
}

function createModelPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>()
    .get("/models", (c) => modelsPage(c, deps, history))
    .get("/compare", (c) => comparePage(c, deps, history));
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
