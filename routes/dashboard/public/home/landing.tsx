/** The landing page of visitors who are not signed in. */
import type { Context } from "hono";
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import {
  Badge,
  type BadgeTone,
  type Column,
  DataTable,
  Icon,
  Money,
  SelectField,
  Stat,
  Stats,
  TextField,
  Time,
} from "../../components/mod.ts";
import { keyPlaceholder, recipes, snippets } from "../../customer/connect/recipes.ts";
import type { DashboardDeps, ModelStatus } from "../../page/deps.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import { priceLines } from "../../text/model_prices.ts";
import {
  formatShare,
  type HistoryDay,
  historyOf,
  HistoryStrip,
  type PublicHistory,
  uptimeOf,
} from "../status/history_strip.tsx";
import type { BooksState } from "../../../../kv/services/verify/last_verification.ts";
import { formatCount, formatDuration, formatMoney, formatPercentage } from "../../text/format.ts";
import { sumOf } from "../../../../core/routing/history/availability.ts";
import type { RunningOffers } from "../../../../kv/money/credits/running_offers.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { Bill } from "../../customer/usage/receipt_bill.tsx";
import { Timing } from "../../customer/usage/receipt_card.tsx";
import { type CodeTab, CodeTabs } from "../../customer/connect/code_tabs.tsx";
import { familyName, familyPath } from "../model/family_page.tsx";
import { landingTexts } from "./landing_texts.ts";
import { microVndOf, type WrittenVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { applyPrice, costOfTokens } from "../../../../core/billing/price.ts";
import { parseTypedCount } from "../../../../core/billing/money/read_amount.ts";

// The calculator of the landing page: tokens and calls of a day become a cost of a month. A form, so it needs no script.

/** Days of a month in the estimate. */
const daysOfMonth = 30n;

/** Largest figure of a field: no model takes more tokens, and nobody makes more calls in a day. */
const maxFigure = 100_000_000;

const texts = defineTexts({
  en: {
    title: "What will it cost?",
    model: "Model",
    input: "Prompt tokens",
    output: "Output tokens",
    calls: "Calls per day",
    count: "Calculate",
    perCall: "One call",
    perMonth: "A month",
    note: "1,000 tokens are about 750 English words, or 500 Vietnamese ones.",
  },
  vi: {
    title: "Tốn bao nhiêu?",
    model: "Mô hình",
    input: "Token của prompt",
    output: "Token đầu ra",
    calls: "Lượt gọi mỗi ngày",
    count: "Tính",
    perCall: "Một lượt gọi",
    perMonth: "Một tháng",
    note: "1.000 token khoảng 750 từ tiếng Anh, hoặc 500 từ tiếng Việt.",
  },
});

/** Question that the form asks. */
export interface Question {
  readonly model: Model;
  readonly input: number;
  readonly output: number;
  readonly calls: number;
}

function figure(text: string | undefined, otherwise: number): number {
  // An answer of no tokens can be asked for; no count of things is 0.
  if (text?.trim() === "0") return 0;
  const typed = parseTypedCount(text ?? "", Number.MAX_SAFE_INTEGER);
  return typed === undefined ? otherwise : Math.min(typed, maxFigure);
}

/** Models that are priced by the token. */
function pricedByToken({ models }: Pick<Catalog, "models">): readonly Model[] {
  return models.filter(({ kind, price }) => kind === "chat" && price.unit === "token");
}

/** Reads the query; wrong figures become the usual ones. */
function questionOf(c: Context<DashboardEnv>, catalog: Catalog): Question | undefined {
  const models = pricedByToken(catalog);
  const asked = models.find(({ id }) => id === c.req.query("model"));
  const model = asked ?? models.find(({ id }) => id === catalog.defaultModel.id) ?? models[0];
  return model === undefined ? undefined : {
    model,
    input: figure(c.req.query("in"), 2_000),
    output: figure(c.req.query("out"), 500),
    calls: figure(c.req.query("calls"), 100),
  };
}

/**
 * Computes what a call costs.
 *
 * @returns µVND
 */
export function costOfCall({ model, input, output }: Omit<Question, "calls">): bigint {
  const usage = { input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  return costOfTokens(applyPrice(model.price), usage);
}

/** The calculator; nothing where no model is priced by the token. */
function Calculator({ c, catalog, locale }: {
  c: Context<DashboardEnv>;
  catalog: Catalog;
  locale: Locale;
}) {
  const t = texts[locale];
  const question = questionOf(c, catalog);
  if (question === undefined) return null;
  const { model, input, output, calls } = question;
  const perCallMicroVnd = costOfCall(question);
  return (
    <section class="landing-section" id="calculator">
      <h2>{t.title}</h2>
      <form
        method="get"
        action="/#calculator"
        class="card calculator"
        hx-get="/"
        hx-trigger="input delay:200ms, submit"
        hx-target="#cost"
        hx-select="#cost"
        hx-swap="outerHTML"
      >
        <div class="calculator-fields">
          <SelectField
            name="model"
            label={t.model}
            value={model.id}
            options={pricedByToken(catalog)
              .map(({ id, displayName }) => ({ value: id, label: displayName }))}
          />
          <TextField name="in" label={t.input} value={String(input)} inputmode="numeric" />
          <TextField name="out" label={t.output} value={String(output)} inputmode="numeric" />
          <TextField name="calls" label={t.calls} value={String(calls)} inputmode="numeric" />
          <noscript>
            <button type="submit" class="outline secondary">{t.count}</button>
          </noscript>
        </div>
        <div class="calculator-cost" id="cost" aria-live="polite">
          <p>
            <span>{t.perMonth}</span>
            <strong>
              <Money
                microVnd={perCallMicroVnd * BigInt(calls) * daysOfMonth}
                locale={locale}
              />
            </strong>
          </p>
          <p>
            <span>{t.perCall}</span>
            <Money microVnd={perCallMicroVnd} locale={locale} />
          </p>
          <small class="muted">{t.note}</small>
        </div>
      </form>
    </section>
  );
}

// Where every đồng goes, as a picture: the wallet before, while and after a call, with the sums of an example.

/** The example: a top-up, and a call whose answer is a quarter of what it may be at most. */
const example = {
  topUpMicroVnd: 200_000_000_000n,
  input: 2_000,
  output: 500,
  maxOutput: 2_000,
} as const;

/** Widths of the picture's parts, in hundredths of the wallet; wide enough to be seen, so not to scale. */
const drawn = { held: 36, paid: 12 } as const;

/** A wallet: what is free, what is held, what was paid. */
function Wallet({ held = 0, paid = 0 }: { held?: number; paid?: number }) {
  const free = 100 - held - paid;
  return (
    <svg class="purse" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      <rect class="purse-free" width={free} height="12" />
      <rect class="purse-held" x={free} width={held} height="12" />
      <rect class="purse-paid" x={free + held} width={paid} height="12" />
    </svg>
  );
}

/** The picture; without sums where the default model is not priced by the token. */
function MoneyPath({ catalog, offers, locale }: {
  catalog: Catalog;
  offers: DashboardDeps["offers"];
  locale: Locale;
}) {
  const t = landingTexts[locale];
  const { defaultModel: model } = catalog;
  const priced = model.price.unit === "token";
  const cost = (output: number) =>
    priced ? costOfCall({ model, input: example.input, output }) : undefined;
  const [held, paid] = [cost(example.maxOutput), cost(example.output)];
  const pictures = [
    { wallet: <Wallet />, sum: example.topUpMicroVnd },
    { wallet: <Wallet held={drawn.held} />, sum: held },
    { wallet: <Wallet paid={drawn.paid} />, sum: paid },
    {
      wallet: <Wallet paid={drawn.paid} />,
      sum: paid === undefined ? undefined : example.topUpMicroVnd - paid,
    },
  ];
  return (
    <ol class="money-path">
      {t.steps.map(({ title, text, textWithTransfer, sum: label }, at) => {
        const { wallet, sum } = pictures[at] ?? {};
        return (
          <li>
            {wallet}
            <h3>{title}</h3>
            {sum !== undefined && (
              <p class="money-path-sum">
                {label} <Money microVnd={sum} locale={locale} />
              </p>
            )}
            <p>{offers.bankTransfer ? textWithTransfer ?? text : text}</p>
          </li>
        );
      })}
    </ol>
  );
}

/** Models in the table of prices: one row per family. */
const shownModels = 24;

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
  // The one that most read comes first.
  const sdks = snippets(facts.baseUrl, facts.model).chat
    .toSorted((one, other) => Number(other.name === "Python") - Number(one.name === "Python"));
  const tools = recipes({ ...facts, key: keyPlaceholder })
    .filter(({ name }) => name === "Claude Code" || name === "Codex")
    .map(({ name, code }) => ({
      name,
      code: code.map((part) => part.code).join("\n\n"),
      language: code[0]?.name ?? name,
    }));
  return [...sdks, ...tools];
}

/** Promises beside the buttons: only what is given today. */
function promisesOf(
  { offers: { invoices } }: DashboardDeps,
  running: RunningOffers,
  locale: Locale,
) {
  const t = landingTexts[locale];
  const money = (microVnd: bigint) => formatMoney(microVnd, locale);
  const [bonus] = running.bonuses;
  return [
    running.signup === undefined ? t.noCard : t.credit(money(running.signup.amountMicroVnd)),
    bonus !== undefined && t.bonus(
      bonus.gift.kind === "percent"
        ? formatPercentage(bonus.gift.percent, locale)
        : money(bonus.gift.amountMicroVnd),
      bonus.minTopupMicroVnd === undefined ? undefined : money(bonus.minTopupMicroVnd),
    ),
    t.freeFailures,
    invoices && t.vatInvoice,
  ].filter((promise) => promise !== false);
}

function Hero({ deps, running, locale }: PartProps & { readonly running: RunningOffers }) {
  const t = landingTexts[locale];
  return (
    <div class="hero">
      <div>
        <h1>{t.headline.map(sentence)}</h1>
        <p class="lead">{t.lead}</p>
        <div class="actions">
          <a class="button" href="/sign-up">{t.start}</a>
          {deps.trial !== undefined && <a href="/try" class="button outline secondary">{t.tryIt}
          </a>}
          <a href="/models" class="button outline secondary">{t.prices}</a>
        </div>
        <ul class="checks promises">
          {promisesOf(deps, running, locale).map((promise) => (
            <li>
              <Icon name="check" />
              <span>{promise}</span>
            </li>
          ))}
        </ul>
      </div>
      <div class="code-box">
        <CodeTabs tabs={codeTabs(deps)} label={t.change} locale={locale} />
        <SampleAnswer catalog={deps.catalog} locale={locale} />
      </div>
    </div>
  );
}

/** Tokens of the call in the box, and of its answer. */
const greeting = { input: 9, output: 12 } as const;

/** Answer that the code of the box gets back, and what that costs today. */
function SampleAnswer({ catalog, locale }: { catalog: Catalog; locale: Locale }) {
  const t = landingTexts[locale];
  const { defaultModel: model } = catalog;
  if (model.price.unit !== "token") return null;
  return (
    <p class="code-answer">
      <span>
        <Badge tone="good">200</Badge> {t.answer}
      </span>
      <span class="muted">
        {t.tokens(greeting.input, greeting.output)} ·{" "}
        <strong>
          <Money microVnd={costOfCall({ model, ...greeting })} locale={locale} />
        </strong>
      </span>
    </p>
  );
}

/** Questions that a stranger asks first, each with the page that proves the answer. */
function Questions({ deps, locale }: PartProps) {
  const t = landingTexts[locale];
  const { bankTransfer, invoices } = deps.offers;
  const { cost, trust, tools, breaks } = t.strangers;
  const questions = [
    { ...cost, text: bankTransfer ? cost.textWithTransfer : cost.text },
    { ...trust, text: invoices ? `${trust.text} ${t.invoices}` : trust.text },
    tools,
    breaks,
  ];
  return (
    <ul class="points">
      {questions.map(({ title, text, href, link }) => (
        <li class="card">
          <h2>{title}</h2>
          <p>{text}</p>
          <p>
            <a href={href}>{link}</a>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** All models by family, in the order of the catalogue; the first of each where there are many. */
function modelsOfFamilies({ models }: Pick<Catalog, "models">): readonly Model[] {
  const families = [...Map.groupBy(models, ({ kind, family }) => `${kind} ${family}`).values()];
  const shown = models.length <= shownModels
    ? families.flat()
    : families.flatMap(([first]) => first === undefined ? [] : [first]);
  return shown.slice(0, shownModels);
}

/** Columns of prices by the token: in and out beside each other; another unit stands in the last one. */
function tokenPriceColumns({ deps, locale }: PartProps): readonly Column<Model>[] {
  const t = landingTexts[locale];
  const amount = (vnd: WrittenVnd) => (
    <span class="money">{formatMoney(microVndOf(vnd), locale)}</span>
  );
  return [
    {
      head: t.input,
      kind: "number",
      phone: "second",
      cell: ({ price }) =>
        price.unit === "token" && (
          <>
            {amount(price.vndPerMtok)} <span class="phone-only">{t.inWord}</span>
          </>
        ),
    },
    {
      head: t.output,
      kind: "number",
      phone: "second-end",
      cell: ({ price }) => {
        if (price.unit !== "token") return <PriceText price={price} deps={deps} locale={locale} />;
        return (
          <>
            {amount(price.outputVndPerMtok ?? price.vndPerMtok)}{" "}
            <span class="phone-only">{t.outWord}</span>
          </>
        );
      },
    },
  ];
}

/** The first line of a price. */
function PriceText({ price, deps, locale }: PartProps & { readonly price: Model["price"] }) {
  const [line] = priceLines(price, deps.catalog.listRate, locale);
  return (
    <>
      <strong class="money">{line?.amount}</strong> <small class="muted">{line?.unit}</small>
    </>
  );
}

function priceColumns(
  { deps, locale, isByToken }: PartProps & { readonly isByToken: boolean },
): readonly Column<Model>[] {
  const t = landingTexts[locale];
  const price: Column<Model> = {
    head: t.price,
    phone: "below",
    cell: (model) => <PriceText price={model.price} deps={deps} locale={locale} />,
  };
  return [
    {
      head: t.model,
      phone: "first",
      cell: ({ id, displayName, family }) => (
        <span class="model-face">
          <a class="face" href={familyPath({ family })} aria-label={familyName({ family })}>
            <span aria-hidden="true">{displayName.slice(0, 1).toUpperCase()}</span>
          </a>
          <a href={`/models/${encodeURIComponent(id)}`}>{displayName}</a>
        </span>
      ),
    },
    ...isByToken ? tokenPriceColumns({ deps, locale }) : [price],
    {
      head: t.status,
      phone: "first-end",
      cell: ({ id }) => {
        const status = deps.modelStatus?.(id) ?? "up";
        return <Badge tone={statusTones[status]}>{t.statuses[status]}</Badge>;
      },
    },
  ];
}

/** The models in two tables beside each other: those that chat, and the others. */
function Prices({ deps, locale }: PartProps) {
  const t = landingTexts[locale];
  const models = modelsOfFamilies(deps.catalog);
  const groups = [
    {
      name: t.chatModels,
      rows: models.filter(({ kind }) => kind === "chat"),
      isByToken: true,
    },
    {
      name: t.otherModels,
      rows: models.filter(({ kind }) => kind !== "chat"),
      isByToken: false,
    },
  ];
  return (
    <section class="landing-section">
      <h2>{t.live}</h2>
      <p class="muted">
        {t.liveLead} <a href="/models">{t.allModels}</a>
      </p>
      <div class="columns price-tables">
        {groups.filter(({ rows }) => rows.length > 0).map(({ name, rows, isByToken }) => (
          <div class="card">
            <h3>
              {name} {isByToken && <small class="muted">{t.perMtok}</small>}
            </h3>
            <DataTable
              label={`${t.live}: ${name}`}
              columns={priceColumns({ deps, locale, isByToken })}
              rows={rows}
            />
          </div>
        ))}
      </div>
    </section>
  );
}

/** Tokens of the call whose receipt is shown: a turn of an agent with most of its prompt cached. */
const sampleUsage = { input: 1_179, cacheRead: 18_400, cacheWrite: 0, output: 880, reasoning: 0 };

/** Attempts of that call: the first provider was overloaded, the second one answered. */
const sampleTimes = {
  attempts: [
    { route: "", outcome: "upstream_overloaded", ms: 400 },
    { route: "", outcome: "ok", ms: 372 },
  ],
  firstOutputMs: 790,
  latencyMs: 2_320,
} as const;

/** Facts that can be checked: the models, the share of answered calls, and that the books agree. */
function Facts({ deps, days, firstOutputMs, books, locale }: PartProps & {
  readonly days: readonly HistoryDay[];
  /** The median over these days; absent: there were no calls. */
  readonly firstOutputMs: number | undefined;
  readonly books: BooksState;
}) {
  const t = landingTexts[locale].facts;
  const answered = uptimeOf(days);
  const { daily } = books.verified;
  // A service that nobody has called yet has nothing to show but its models, which the page lists below.
  if (answered === undefined && daily?.problems !== 0) return null;
  return (
    <Stats>
      <Stat label={t.modelsNote} note={<a href="/models">{t.all}</a>}>
        {t.models(formatCount(deps.catalog.models.length, locale))}
      </Stat>
      {answered !== undefined && (
        <Stat
          label={t.answered}
          note={<a href="/status">{landingTexts[locale].status}</a>}
        >
          {formatShare(answered, locale)}
        </Stat>
      )}
      {firstOutputMs !== undefined && (
        <Stat label={t.median} note={<a href="/models?sort=speed">{t.byModel}</a>}>
          ≤ {formatDuration(firstOutputMs, locale)}
        </Stat>
      )}
      {daily?.problems === 0 && (
        <Stat
          label={t.verifiedNote}
          note={
            <>
              <Time atMs={daily.atMs} locale={locale} /> · <a href="/proofs">{t.proofs}</a>
            </>
          }
        >
          {t.verified}
        </Stat>
      )}
    </Stats>
  );
}

/** The bill of one call at the prices of today; nothing where no model is priced by the token. */
function SampleReceipt({ catalog, locale }: { catalog: Catalog; locale: Locale }) {
  const t = landingTexts[locale];
  const model = catalog.models.find(({ price }) => price.unit === "token");
  if (model === undefined) return null;
  const price = applyPrice(model.price);
  const receipt = {
    price,
    usage: sampleUsage,
    units: 0,
    estimated: false,
    outcome: "completed",
    status: 200,
    ...sampleTimes,
    costMicroVnd: costOfTokens(price, sampleUsage),
    shortfallMicroVnd: 0n,
  } as const;
  return (
    <section class="landing-section beside">
      <div>
        <h2>{t.receipt}</h2>
        <p class="muted">{t.receiptLead}</p>
        <ul class="checks">
          {t.receiptPoints.map(({ title, text }) => (
            <li>
              <Icon name="check" />
              <span>
                <strong>{title}</strong> {text}
              </span>
            </li>
          ))}
        </ul>
        <p>
          <a href="/proofs">{t.proofs}</a> · <a href="/docs/billing">{t.billing}</a>
        </p>
      </div>
      <div class="card">
        <h3>{t.receiptOf(model.displayName)}</h3>
        <Bill receipt={receipt} refund={undefined} locale={locale} />
        <Timing receipt={sampleTimes} locale={locale} />
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

/** Facts that the landing page shows beside the catalogue; each is read at most once in a while. */
export interface LandingFacts {
  readonly history: PublicHistory;
  readonly books: () => Promise<BooksState>;
  readonly running: () => Promise<RunningOffers>;
}

/** Shows the landing page. */
export async function landingPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  { history, books, running }: LandingFacts,
) {
  const { locale } = c.get("visitor");
  const t = landingTexts[locale];
  const rows = await history.rows();
  const today = history.today();
  const days = historyOf(rows, { today, days: shownDays });
  const recent = rows.filter(({ day }) => day > today - shownDays).map(({ counts }) => counts);
  return await renderPage(
    c,
    {
      title: t.title(c.get("visitor").brand.name),
      description: t.description,
      bare: true,
      styles: ["public.css"],
    },
    <div class="landing">
      <Hero deps={deps} running={await running()} locale={locale} />
      <Facts
        deps={deps}
        days={days}
        firstOutputMs={sumOf(recent)?.p50FirstOutputMs}
        books={await books()}
        locale={locale}
      />
      <Questions deps={deps} locale={locale} />
      <SampleReceipt catalog={deps.catalog} locale={locale} />
      <Prices deps={deps} locale={locale} />
      <Calculator c={c} catalog={deps.catalog} locale={locale} />
      <section class="landing-section">
        <h2>{t.path}</h2>
        <MoneyPath catalog={deps.catalog} offers={deps.offers} locale={locale} />
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
