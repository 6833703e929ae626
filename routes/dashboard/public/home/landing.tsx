/** The landing page of visitors who are not signed in. */
import type { Context } from "hono";
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import { Badge, type BadgeTone, TableFrame } from "../../components/mod.ts";
import { snippets } from "../../customer/connect/connect_snippets.ts";
import { keyPlaceholder, recipes } from "../../customer/connect/recipes.ts";
import type { DashboardDeps, ModelStatus } from "../../page/deps.ts";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import { priceLines } from "../../text/model_prices.ts";
import { HistoryStrip } from "../status/history_strip.tsx";
import { historyOf, type PublicHistory } from "../status/public_history.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { Calculator } from "./calculator.tsx";
import { type CodeTab, CodeTabs } from "../../customer/connect/code_tabs.tsx";
import { landingTexts } from "./landing_texts.ts";
import { MoneyPath } from "./money_path.tsx";

/** Models in the table of prices: the first of each family, so many of them. */
const shownModels = 8;

/** Days of the strip. */
const shownDays = 30;

const statusTones: Readonly<Record<ModelStatus, BadgeTone>> = {
  up: "good",
  degraded: "busy",
  down: "bad",
};

interface PartProps {
  readonly deps: DashboardDeps;
  readonly locale: Locale;
}

/** A sentence of the headline wraps as a whole. */
function sentence(text: string) {
  return (
    <>
      <span>{text}</span>
      {" "}
    </>
  );
}

function codeTabs({ baseUrl, catalog }: DashboardDeps): CodeTab[] {
  const facts = { baseUrl, model: catalog.defaultModel.id };
  const sdks = snippets(facts.baseUrl, facts.model).chat;
  const tools = recipes({ ...facts, key: keyPlaceholder })
    .filter(({ name }) => name === "Claude Code" || name === "Codex")
    .map(({ name, code }) => ({ name, code: code.map((part) => part.code).join("\n\n") }));
  return [...sdks, ...tools];
}

function Hero({ deps, locale }: PartProps) {
  const t = landingTexts[locale];
  return (
    <div class="hero">
      <div>
        <h1>{t.headline.map(sentence)}</h1>
        <p class="lead">{t.lead}</p>
        <div class="actions">
          <a class="button" href="/sign-up">{t.start}</a>
          <a href="/models" class="button outline secondary">{t.prices}</a>
        </div>
      </div>
      <div>
        <p class="hero-caption">
          {t.change} <Badge tone="good">{t.models(deps.catalog.models.length)}</Badge>
        </p>
        <CodeTabs tabs={codeTabs(deps)} label={t.change} locale={locale} />
      </div>
    </div>
  );
}

function pointItem(point: { readonly title: string; readonly text: string }) {
  return (
    <li class="card">
      <h2>{point.title}</h2>
      <p>{point.text}</p>
    </li>
  );
}

function Points({ deps, locale }: PartProps) {
  const t = landingTexts[locale];
  const { bankTransfer, invoices } = deps.offers;
  const points = [
    t.sdk,
    bankTransfer ? t.transfer : t.prepaid,
    invoices ? { ...t.receipts, text: `${t.receipts.text} ${t.invoices}` } : t.receipts,
    t.privacy,
  ];
  return <ul class="points">{points.map(pointItem)}</ul>;
}

/** The first model of each family, in the order of the catalogue. */
function modelsOfFamilies({ models }: Pick<Catalog, "models">): readonly Model[] {
  const families = Map.groupBy(models, ({ kind, family }) => `${kind} ${family}`);
  return [...families.values()].flatMap(([first]) => first === undefined ? [] : [first])
    .slice(0, shownModels);
}

function Prices({ deps, locale }: PartProps) {
  const t = landingTexts[locale];
  const { catalog } = deps;
  return (
    <section class="landing-section">
      <h2>{t.live}</h2>
      <p class="muted">{t.liveLead}</p>
      <div class="card">
        <TableFrame label={t.live}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t.model}</th>
                <th scope="col">{t.price}</th>
                <th scope="col">{t.status}</th>
              </tr>
            </thead>
            <tbody>
              {modelsOfFamilies(catalog).map((model) => {
                const status = deps.modelStatus?.(model.id) ?? "up";
                const [line] = priceLines(model.price, catalog.listRate, locale);
                return (
                  <tr>
                    <td>
                      <a href={`/models/${encodeURIComponent(model.id)}`}>{model.displayName}</a>
                    </td>
                    <td>
                      <strong class="money">{line?.amount}</strong>{" "}
                      <small class="muted">{line?.unit}</small>
                    </td>
                    <td>
                      <Badge tone={statusTones[status]}>{t.statuses[status]}</Badge>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </TableFrame>
        <p>
          <a href="/models">{t.allModels}</a>
        </p>
      </div>
    </section>
  );
}

function faqItem({ question, answer }: { readonly question: string; readonly answer: string }) {
  return (
    <details>
      <summary>{question}</summary>
      <p>{answer}</p>
    </details>
  );
}

/** Shows the landing page. */
export async function landingPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  history: PublicHistory,
) {
  const { locale } = c.get("visitor");
  const t = landingTexts[locale];
  const days = historyOf(await history.rows(), { today: history.today(), days: shownDays });
  return await renderPage(
    c,
    { title: t.title, description: t.description, bare: true, styles: ["public.css"] },
    <div class="landing">
      <Hero deps={deps} locale={locale} />
      <Points deps={deps} locale={locale} />
      <Prices deps={deps} locale={locale} />
      <Calculator c={c} catalog={deps.catalog} locale={locale} />
      <section class="landing-section">
        <h2>{t.path}</h2>
        <MoneyPath catalog={deps.catalog} locale={locale} />
      </section>
      {days.some(({ sum }) => sum !== undefined) && (
        <section class="landing-section">
          <h2>{t.availability}</h2>
          <div class="card">
            <HistoryStrip days={days} locale={locale} />
          </div>
        </section>
      )}
      <section class="landing-section">
        <h2>{t.questions}</h2>
        <div class="card recipes">{t.faq.map(faqItem)}</div>
        <p>
          <a href="/docs">{t.docs}</a>
        </p>
      </section>
    </div>,
  );
}
