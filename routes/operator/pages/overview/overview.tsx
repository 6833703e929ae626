/**
 * `/operator`: the page of today. What to do first, money in and out with its margin, how providers fare, what is wrong,
 * and the verification of the ledger.
 *
 * - Folder `routes/operator/pages/overview/`: the operator's page of today.
 * - In: figures of the store, kept for a minute; what waits, read each time.
 * - Out: HTML.
 * - Never: moves money.
 */
import { Hono } from "hono";
import { readOperatorFigures } from "../../../../kv/services/operations/operator_figures.ts";
import { readMargins } from "../../../../kv/money/costs/margins.ts";
import { verifyAndSign } from "../../../../kv/services/proofs/verify_and_sign.ts";
import {
  Card,
  chartAssets,
  Icon,
  type IconName,
  Money,
  Notice,
  PostForm,
  SubmitButton,
  Time,
} from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { keptFor } from "../../../usage_api/range.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { ProblemLines } from "../base/linked_text.tsx";
import { countWaiting, readWaiting, type Waiting, type WaitingKind } from "../base/waiting.ts";
import { serviceTexts } from "../service/service_texts.ts";
import { AlarmsCard, type KnownTrouble, readTrouble } from "./alarms.tsx";
import {
  type MoneyByDay,
  MoneyCard,
  MoneyFigures,
  type MoneyOfMonth,
  moneySpan,
  moneyView,
  readYear,
  spanDays,
} from "./money_card.tsx";
import { ProvidersCard, type ProvidersHealth, readProvidersHealth } from "./provider_health.tsx";
import { todayTexts } from "./today_texts.ts";
import { LastErrorsCard, readTraffic, type Traffic, TrafficCards } from "./traffic.tsx";
import { maxCounted } from "../../../dashboard/page/places.ts";

const icons: Readonly<Record<WaitingKind, IconName>> = {
  reviews: "bank",
  unmatched: "bank",
  unreadable: "bank",
  approvals: "operator",
  catalogue_refused: "models",
  underpriced: "warning",
  routes: "status",
  invoices: "invoice",
};

function counted(count: number, locale: Locale): string {
  return count >= maxCounted ? `${maxCounted}+` : formatCount(count, locale);
}

function Row({ one, locale }: { one: Waiting; locale: Locale }) {
  const t = todayTexts[locale];
  return (
    <li>
      <span class={`mark ${one.isWrong ? "bad" : "busy"}`}>
        <Icon name={icons[one.kind]} />
      </span>
      <span class="what">
        <strong>{t.waiting[one.kind](counted(one.count, locale))}</strong>
        {one.about !== "" && <small class="muted" title={one.about}>{one.about}</small>}
      </span>
      <span class="age">
        {one.sinceMs !== undefined && <Time atMs={one.sinceMs} locale={locale} relative />}
      </span>
      <span class="sum">
        {one.sumMicroVnd !== undefined && <Money microVnd={one.sumMicroVnd} locale={locale} />}
      </span>
      <a href={one.href} class="button outline secondary small">{t.acts[one.kind]}</a>
    </li>
  );
}

/** The list, the most urgent first. */
function TodoList({ waiting, locale }: { waiting: readonly Waiting[]; locale: Locale }) {
  const t = todayTexts[locale];
  const since = waiting.flatMap(({ sinceMs }) => sinceMs ?? []);
  return (
    <Card
      title={
        <>
          {t.todo}{" "}
          {waiting.length > 0 && <span class="count">{formatCount(waiting.length, locale)}</span>}
        </>
      }
      actions={since.length > 0 && (
        <span class="muted">
          {t.oldest} <Time atMs={Math.min(...since)} locale={locale} relative />
        </span>
      )}
    >
      {waiting.length === 0 ? <p class="muted">{t.nothing}</p> : (
        <ul class="todo">
          {waiting.map((one) => <Row key={one.kind} one={one} locale={locale} />)}
        </ul>
      )}
    </Card>
  );
}

/** Milliseconds for which the figures of the page are kept. */
const figuresKeptMs = 60_000;

/** Readings that cost a scan, and are kept for a while: several operators share one. */
interface Scanned {
  readonly money: MoneyOfMonth;
  readonly traffic: Traffic;
  readonly providers: ProvidersHealth;
  readonly trouble: KnownTrouble;
}

type Scan = () => Promise<Scanned>;

function keptScan(deps: OperatorDeps): Scan {
  const kept = keptFor<Scanned>({ clock: deps.clock, keptMs: figuresKeptMs, most: 1 });
  return () =>
    kept("figures", async () => {
      const nowMs = deps.clock.nowMs();
      const [figures, margins, traffic, providers, trouble] = await Promise.all([
        readOperatorFigures(deps.kv, nowMs),
        readMargins(deps.kv, spanDays("30d", nowMs)),
        readTraffic(deps, nowMs),
        readProvidersHealth(deps, nowMs),
        readTrouble(deps, nowMs),
      ]);
      return { money: { nowMs, figures, margins }, traffic, providers, trouble };
    });
}

/** The page's scans, each kept for a while; the one of a year is made for those who ask for it. */
interface KeptScans {
  readonly today: Scan;
  readonly year: () => Promise<MoneyByDay>;
}

function keptYear({ kv, clock }: OperatorDeps): KeptScans["year"] {
  const kept = keptFor<MoneyByDay>({ clock, keptMs: figuresKeptMs, most: 1 });
  return () => kept("year", () => readYear(kv, clock.nowMs()));
}

async function todayPage(c: OperatorContext, deps: OperatorDeps, scans: KeptScans, proof?: Proof) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = todayTexts[locale];
  const span = moneySpan(c.req.query("span"));
  const [{ money, traffic, providers, trouble }, year, waiting] = await Promise.all([
    scans.today(),
    span === "12m" ? scans.year() : undefined,
    readWaiting(deps),
  ]);
  const shown = year ??
    { ...money, span, creditedByDay: money.figures.creditedByDay, isPartial: false };
  const verified = trouble.books.verified.daily;
  return await renderOperatorPage(
    c,
    {
      lead: (
        <>
          <Time atMs={money.nowMs} locale={locale} /> · {t.verifiedAt}{" "}
          {verified === undefined
            ? t.never
            : <Time atMs={verified.atMs} locale={locale} relative />}
        </>
      ),
      actions: (
        <>
          <PostForm visitor={visitor} action="/operator/verify">
            <SubmitButton tone="plain">{serviceTexts[locale].verifyButton}</SubmitButton>
          </PostForm>
          <a href="/operator/announcements" class="button outline secondary">{t.announce}</a>
        </>
      ),
      waiting: countWaiting(waiting),
      ...chartAssets,
    },
    <>
      {proof !== undefined && <ProofNotice proof={proof} locale={locale} />}
      <MoneyFigures money={money} locale={locale} />
      <div class="today">
        <div>
          <TodoList waiting={waiting} locale={locale} />
          <MoneyCard
            money={shown}
            view={moneyView(c.req.query("money"))}
            nowMs={money.nowMs}
            locale={locale}
          />
        </div>
        <div>
          <ProvidersCard health={providers} reports={deps.routes()} locale={locale} />
          <AlarmsCard
            deps={deps}
            trouble={trouble}
            providers={providers}
            nowMs={deps.clock.nowMs()}
            locale={locale}
          />
          <LastErrorsCard traffic={traffic} locale={locale} />
        </div>
      </div>
      <TrafficCards traffic={traffic} locale={locale} />
      {(money.figures.partial || money.margins.isPartial) && <p class="muted">{t.partial}</p>}
    </>,
  );
}

/** The result of the verification. */
interface Proof {
  readonly accounts: number;
  readonly receipts: number;
  readonly problems: readonly string[];
  readonly problemCount: number;
  readonly moving: number;
  /** The last day of the chain of checkpoints. */
  readonly sealedDay: string | undefined;
}

async function prove(deps: OperatorDeps): Promise<Proof> {
  const { masterKeys, clock } = deps;
  const nowMs = clock.nowMs();
  const origin = deps.baseUrl;
  const { books, topups } = await verifyAndSign(deps.kv, { masterKeys, nowMs, origin });
  return {
    accounts: books.accounts,
    receipts: books.receipts,
    problems: [
      ...books.problems.map(({ accountId, kind, detail }) =>
        `${accountId ?? ""} ${kind}: ${detail}`
      ),
      ...topups.problems,
    ].slice(0, 50),
    problemCount: books.problemCount + topups.problems.length,
    moving: books.moving.length,
    sealedDay: books.sealed?.day,
  };
}

function ProofNotice({ proof, locale }: { proof: Proof; locale: Locale }) {
  const t = serviceTexts[locale];
  const [accounts, receipts] = [proof.accounts, proof.receipts].map((n) => formatCount(n, locale));
  return (
    <>
      {proof.problemCount === 0
        ? (
          <Notice tone="success">
            {t.proven(accounts ?? "", receipts ?? "")}
            {proof.sealedDay !== undefined && ` ${t.sealedTo(proof.sealedDay)}`}
          </Notice>
        )
        : (
          <Notice tone="danger" title={t.problems(formatCount(proof.problemCount, locale))}>
            <ProblemLines problems={proof.problems} locale={locale} />
          </Notice>
        )}
      {proof.moving > 0 && (
        <Notice tone="info">{t.moving(formatCount(proof.moving, locale))}</Notice>
      )}
    </>
  );
}

/** Registers the page of today. */
function createOverviewPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const scans: KeptScans = { today: keptScan(deps), year: keptYear(deps) };
  app.get("/operator", (c) => todayPage(c, deps, scans));
  app.post("/operator/verify", async (c) => {
    return await todayPage(c, deps, scans, await prove(deps));
  });
  return app;
}

export const overviewPages: OperatorPage = {
  link: { href: "/operator", label: { en: "Today", vi: "Hôm nay" } },
  routes: createOverviewPages,
};
