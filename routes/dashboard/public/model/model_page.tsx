/**
 * `/models/…`: one model: price, limits, availability and speed of 30 days, and code to call it.
 *
 * - Folder `routes/dashboard/public/model/`: the page of one model.
 * - In: the catalogue, the state of its routes, the public history.
 * - Out: HTML, also for visitors.
 * - Never: names a route, or to visitors a provider.
 */
import { operationPath } from "../docs/docs_frame.tsx";
import { type Context, Hono } from "hono";
import type { Model } from "../../../../core/catalog/catalog.ts";
import { type ProviderFacts, providerFacts } from "../../../../core/catalog/data_policy.ts";
import { sumOf } from "../../../../core/routing/history/availability.ts";
import { exampleModels } from "../../../openapi/example_models.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  CodeBlock,
  type Column,
  CopyButton,
  DataTable,
  Fact,
  Stat,
  Stats,
  TableFrame,
  Tag,
} from "../../components/mod.ts";
import { RecipeList } from "../../customer/connect/connect.tsx";
import { keyPlaceholder } from "../../customer/connect/recipes.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardDeps, ModelStatus } from "../../page/deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { decimalsOf, formatCount, formatDuration, formatMoneyTo } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { playgroundKinds } from "../../customer/playground/models.ts";
import { historyOf, HistoryStrip, PublicHistory } from "../status/history_strip.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { familyName, familyPath } from "./family_page.tsx";
import { modelTexts } from "./model_texts.ts";
import { microVndOf, type WrittenVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { furtherLines, priceLines } from "../../text/model_prices.ts";

interface Row {
  readonly name: string;
  readonly amount: string;
  readonly unit: string;
}

/** Prices of tokens of the catalogue. */
interface Rates {
  readonly vndPerMtok: WrittenVnd;
  readonly outputVndPerMtok?: WrittenVnd | undefined;
  readonly cacheReadVndPerMtok?: WrittenVnd | undefined;
  readonly cacheWriteVndPerMtok?: WrittenVnd | undefined;
  readonly cacheWriteHourVndPerMtok?: WrittenVnd | undefined;
}

/** The rates that a price has, in µVND. */
function amountsOf(rates: Rates): bigint[] {
  const {
    vndPerMtok,
    outputVndPerMtok,
    cacheReadVndPerMtok,
    cacheWriteVndPerMtok,
    cacheWriteHourVndPerMtok,
  } = rates;
  return [
    vndPerMtok,
    outputVndPerMtok,
    cacheReadVndPerMtok,
    cacheWriteVndPerMtok,
    cacheWriteHourVndPerMtok,
  ].flatMap((vnd) => vnd === undefined ? [] : [microVndOf(vnd)]);
}

function tokenRows(
  rates: Rates,
  { unit, decimals, locale }: { unit: string; decimals: number; locale: Locale },
): Row[] {
  const t = modelTexts[locale];
  const row = (name: string, vnd: WrittenVnd | undefined): Row[] =>
    vnd === undefined
      ? []
      : [{ name, amount: formatMoneyTo(microVndOf(vnd), locale, decimals), unit }];
  return [
    ...row(t.input, rates.vndPerMtok),
    ...row(t.output, rates.outputVndPerMtok ?? rates.vndPerMtok),
    ...row(t.cacheRead, rates.cacheReadVndPerMtok),
    ...row(t.cacheWrite, rates.cacheWriteVndPerMtok),
    ...row(t.cacheWriteHour, rates.cacheWriteHourVndPerMtok),
  ];
}

function rowsOf({ price }: Model, listRate: number, locale: Locale): Row[] {
  const t = modelTexts[locale];
  if (price.unit !== "token") {
    return priceLines(price, listRate, locale)
      .map(({ amount, unit }) => ({ name: t.price, amount, unit }));
  }
  const { longPrompt } = price;
  const decimals = decimalsOf([price, ...longPrompt === undefined ? [] : [longPrompt]]
    .flatMap(amountsOf));
  const rows = (rates: Rates, unit: string) => tokenRows(rates, { unit, decimals, locale });
  const above = longPrompt === undefined
    ? []
    : rows(longPrompt, t.above(formatCount(longPrompt.aboveTokens, locale)));
  const further = furtherLines(price, listRate, locale)
    .map(({ amount, unit }): Row => ({ name: unit, amount, unit: "" }));
  return [...rows(price, t.perMtok), ...above, ...further];
}

function priceRow({ name, amount, unit }: Row) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">
        <strong class="money">{amount}</strong>
      </td>
      <td class="muted">{unit}</td>
    </tr>
  );
}

/** The table. */
function ModelPrices({ model, listRate, locale }: {
  model: Model;
  listRate: number;
  locale: Locale;
}) {
  return (
    <TableFrame label={modelTexts[locale].prices}>
      <table class="model-prices">
        <tbody>{rowsOf(model, listRate, locale).map(priceRow)}</tbody>
      </table>
    </TableFrame>
  );
}

/** Days of the page's history. */
const shownDays = 30;

const statusTones: Readonly<Record<ModelStatus, BadgeTone>> = {
  up: "good",
  degraded: "busy",
  down: "bad",
};

function Speed({ sum, locale }: { sum: ReturnType<typeof sumOf>; locale: Locale }) {
  const t = modelTexts[locale];
  const { p50FirstOutputMs: p50, p95FirstOutputMs: p95 } = sum ?? {};
  if (p50 === undefined) return <Stat label={t.speed} note={t.noCalls}>–</Stat>;
  const note = p95 === undefined ? t.speedOf : t.speedNote(formatDuration(p95, locale));
  return <Stat label={t.speed} note={note}>≤ {formatDuration(p50, locale)}</Stat>;
}

function Limits({ model, locale }: { model: Model; locale: Locale }) {
  const t = modelTexts[locale];
  return (
    <>
      <Stat label={t.context} note={t.tokens}>{formatCount(model.contextWindow, locale)}</Stat>
      <Stat label={t.maxOutput} note={t.tokens}>{formatCount(model.maxOutputTokens, locale)}</Stat>
    </>
  );
}

function Providers({ model, deps, locale }: PartProps) {
  const t = modelTexts[locale];
  const said = (fact: boolean | undefined) => fact === undefined ? t.unknown : fact ? t.yes : t.no;
  const columns: Column<ProviderFacts>[] = [
    { head: t.provider, cell: ({ name }) => <code>{name}</code> },
    { head: t.region, cell: ({ regions }) => regions.join(", ") || t.unknown },
    { head: t.trains, cell: ({ trains }) => said(trains) },
    { head: t.retains, cell: ({ retains }) => said(retains) },
  ];
  const rows = providerFacts(model, deps.catalog.providers);
  return (
    <Card title={t.providers}>
      <DataTable label={t.providers} columns={columns} rows={rows} />
    </Card>
  );
}

interface PartProps {
  readonly model: Model;
  readonly deps: DashboardDeps;
  readonly locale: Locale;
}

async function Call({ model, deps, locale }: PartProps) {
  const t = modelTexts[locale];
  const { modelEndpoints } = await import("./model_endpoints.ts");
  const { baseUrl, catalog } = deps;
  const examples = exampleModels(catalog);
  const { operations, curl } = modelEndpoints(model.kind, model.id, { baseUrl, examples });
  const isChat = model.kind === "chat";
  return (
    <>
      <Card title={t.takes}>
        <dl class="facts">
          {isChat && <Fact name={t.modalities}>{model.vision ? t.takesPictures : t.takesText}
          </Fact>}
          <Fact name={t.endpoints}>
            {operations.map(({ id, path, tag }) => (
              <div>
                <a href={operationPath(tag, id)}>
                  <code>{path}</code>
                </a>
              </div>
            ))}
          </Fact>
        </dl>
        {isChat && <p class="muted">{t.anyStyle}</p>}
      </Card>
      <Card title={t.code}>
        {isChat
          ? (
            <RecipeList
              facts={{ baseUrl, model: model.id, key: keyPlaceholder }}
              withSdks
              locale={locale}
            />
          )
          : <CodeBlock code={curl} name="curl" what={t.code} locale={locale} />}
      </Card>
    </>
  );
}

async function modelPage(c: Context<DashboardEnv>, deps: DashboardDeps, history: PublicHistory) {
  const { catalog } = deps;
  const model = catalog.find(c.req.param("id") ?? "");
  if (model === undefined) return await notFoundPage(c);
  if (model.id !== c.req.param("id")) {
    return c.redirect(`/models/${encodeURIComponent(model.id)}`, 301);
  }
  const { locale, signedIn } = c.get("visitor");
  const t = modelTexts[locale];
  const status = deps.modelStatus?.(model.id) ?? "up";
  const rows = await history.rows();
  const today = history.today();
  const days = historyOf(rows, { today, days: shownDays, modelId: model.id });
  const recent = rows.filter(({ day }) => day > today - shownDays).map(({ counts }) => counts);
  return await renderPage(
    c,
    {
      title: model.displayName,
      description: t.description(model.displayName, t.kinds[model.kind]),
      lead: (
        <>
          <code>{model.id}</code> <CopyButton text={model.id} what={model.id} locale={locale} />
          {" "}
          <Tag>{t.kinds[model.kind]}</Tag>{" "}
          <Badge tone={statusTones[status]}>{t.statuses[status]}</Badge>
        </>
      ),
      actions: signedIn === undefined
        ? (
          <>
            {deps.trial !== undefined && model.kind === "chat" && (
              <a
                class="button outline secondary"
                href={`/try?${new URLSearchParams({ model: model.id })}`}
              >
                {t.tryFirst}
              </a>
            )}
            <a class="button" href="/sign-up">{t.start}</a>
          </>
        )
        : mayVisit(signedIn, "/playground") &&
          playgroundKinds.some((kind) => kind === model.kind) && (
          <a class="button" href={`/playground?${new URLSearchParams({ model: model.id })}`}>
            {t.tryIt}
          </a>
        ),
      styles: ["public.css"],
    },
    <>
      <Stats>
        {model.kind === "chat" && <Limits model={model} locale={locale} />}
        <Speed sum={sumOf(recent, model.id)} locale={locale} />
      </Stats>
      <div class="columns">
        <Card title={t.prices}>
          <ModelPrices model={model} listRate={catalog.listRate} locale={locale} />
        </Card>
        <Card title={t.history}>
          <HistoryStrip days={days} locale={locale} />
          {model.aliases.length > 0 && <p class="muted">{t.aliases}: {model.aliases.join(", ")}</p>}
        </Card>
      </div>
      {signedIn !== undefined && <Providers model={model} deps={deps} locale={locale} />}
      {await Call({ model, deps, locale })}
      <p>
        <a href="/models">← {t.all}</a> ·{" "}
        <a href={familyPath(model)}>{t.family(familyName(model))}</a>
      </p>
    </>,
  );
}

function createModelPage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>().get("/models/:id", (c) => modelPage(c, deps, history));
}

export const oneModelPage: PageDeclaration<DashboardDeps> = {
  isShared: true,
  routes: createModelPage,
};
