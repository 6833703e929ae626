/** `/families/…`: the models of one family, as customers know a vendor: prices, state now, and answered calls of 90 days. */
import { type Context, Hono } from "hono";
import type { Model } from "../../../../core/catalog/catalog.ts";
import { type CountedDay, sumOf } from "../../../../core/routing/history/availability.ts";
import { Card, DataTable } from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { englishCount } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { priceLines } from "../../text/model_prices.ts";
import { Kind, priceLine, speedText, Status } from "../models/views.tsx";
import { formatShare, historyOf, HistoryStrip, PublicHistory } from "../status/history_strip.tsx";

const texts = defineTexts({
  both: {
    history: ["Answered calls, 90 days", "Lượt gọi được trả lời, 90 ngày"],
    models: ["Models", "Mô hình"],
    model: ["Model", "Mô hình"],
    price: ["Price", "Giá"],
    now: ["Now", "Hiện tại"],
    uptime: ["Answered", "Được trả lời"],
    speed: ["First token", "Token đầu tiên"],
    all: ["All models", "Mọi mô hình"],
    status: ["Status", "Trạng thái"],
  },
  en: {
    description: (family: string) =>
      `Models of ${family}: prices in VND, state now, and answered calls of 90 days.`,
    lead: (count: number) => englishCount(String(count), "model", "models"),
  },
  vi: {
    description: (family) =>
      `Mô hình ${family}: giá bằng VND, trạng thái hiện tại và lượt gọi được trả lời trong 90 ngày.`,
    lead: (count) => `${count} mô hình`,
  },
});

/** The address of the page of a family. */
export function familyPath({ family }: Pick<Model, "family">): string {
  return `/families/${encodeURIComponent(family)}`;
}

/** The name of a family as a heading has it. */
export function familyName({ family }: Pick<Model, "family">): string {
  return family.slice(0, 1).toUpperCase() + family.slice(1);
}

/** The counts of some models alone. */
function countsOf(rows: readonly CountedDay[], models: readonly Model[]): CountedDay[] {
  const ids = new Set(models.map(({ id }) => id));
  return rows.map(({ day, counts }) => ({
    day,
    counts: Object.fromEntries(Object.entries(counts).filter(([id]) => ids.has(id))),
  }));
}

function Models({ models, rows, deps, locale }: {
  models: readonly Model[];
  rows: readonly CountedDay[];
  deps: DashboardDeps;
  locale: Locale;
}) {
  const t = texts[locale];
  const counts = rows.map((row) => row.counts);
  return (
    <DataTable
      label={t.models}
      rows={models.map((model) => ({ model, sum: sumOf(counts, model.id) }))}
      columns={[
        {
          head: t.model,
          phone: "first",
          cell: ({ model }) => (
            <>
              <a href={`/models/${encodeURIComponent(model.id)}`}>{model.displayName}</a>
              <div class="model-line wide-only">
                <Kind model={model} locale={locale} />
              </div>
            </>
          ),
        },
        {
          head: t.price,
          phone: "below",
          cell: ({ model }) => (
            <>{priceLines(model.price, deps.catalog.listRate, locale).map(priceLine)}</>
          ),
        },
        {
          head: t.now,
          phone: "first-end",
          cell: ({ model }) => (
            <Status status={deps.modelStatus?.(model.id) ?? "up"} locale={locale} />
          ),
        },
        {
          head: t.uptime,
          kind: "number",
          phone: "second",
          cell: ({ sum }) => sum === undefined ? "–" : formatShare(sum.uptime, locale),
        },
        {
          head: t.speed,
          kind: "number",
          phone: "second-end",
          cell: ({ sum }) => speedText(sum?.p50FirstOutputMs, locale),
        },
      ]}
    />
  );
}

async function familyPage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const models = deps.catalog.models.filter(({ family }) => family === c.req.param("family"));
  const [first] = models;
  if (first === undefined) return await notFoundPage(c);
  const name = familyName(first);
  const rows = countsOf(await history.rows(), models);
  return await renderPage(
    c,
    {
      title: name,
      lead: t.lead(models.length),
      description: t.description(name),
      styles: ["public.css"],
    },
    <>
      <Card title={t.history}>
        <HistoryStrip days={historyOf(rows, { today: history.today() })} locale={locale} />
      </Card>
      <Card title={t.models}>
        <Models models={models} rows={rows} deps={deps} locale={locale} />
      </Card>
      <p>
        <a href="/models">← {t.all}</a> · <a href="/status">{t.status}</a>
      </p>
    </>,
  );
}

function createFamilyPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>().get("/families/:family", (c) => familyPage(c, deps, history));
}

export const familyPages: PageDeclaration<DashboardDeps> = {
  isShared: true,
  routes: createFamilyPage,
};
