/**
 * `/operator`: sums of the whole service, open work, and the verification of the ledger.
 *
 * - Folder `routes/operator/pages/overview/`: the operator's overview: sums of the service, open work, traffic, the
 *   verification of the ledger.
 * - In: figures of the store, kept for a minute.
 * - Out: HTML.
 * - Never: moves money.
 */
import { Hono } from "hono";
import { listApprovals } from "../../../../kv/services/operations/approvals.ts";
import {
  listReviews,
  listUnmatched,
  listUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { listInvoices } from "../../../../kv/money/invoices/invoices.ts";
import {
  type OperatorFigures,
  readOperatorFigures,
} from "../../../../kv/services/operations/operator_figures.ts";
import { bankMatchLateMs } from "../../../../kv/money/payments/topup_checks.ts";
import { verifyMoney } from "../../../../kv/services/verify/verify_books.ts";
import {
  Card,
  Money,
  Notice,
  PostForm,
  Stat,
  Stats,
  SubmitButton,
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
import { ProblemLines } from "../base/problem_lines.tsx";
import { type KnownPriceWarnings, PriceWarnings, readPriceWarnings } from "../margins/warnings.tsx";
import { serviceTexts } from "../service/service_texts.ts";
import { readTraffic, type Traffic, TrafficCards } from "./traffic.tsx";

/** Milliseconds for which the overview's figures are kept. */
const operatorFiguresMs = 60_000;

/** More than this many of anything is shown as "100+". */
const countedRows = 100;

/** What costs a scan, and is kept for a while: several operators share one. */
interface Scanned {
  readonly figures: OperatorFigures;
  readonly traffic: Traffic;
  readonly warnings: KnownPriceWarnings;
}

type FiguresOf = () => Promise<Scanned>;

function cachedFigures(deps: OperatorDeps): FiguresOf {
  const kept = keptFor<Scanned>({ clock: deps.clock, keptMs: operatorFiguresMs, most: 1 });
  return () =>
    kept("figures", async () => {
      const nowMs = deps.clock.nowMs();
      const [figures, traffic, warnings] = await Promise.all([
        readOperatorFigures(deps.kv, nowMs),
        readTraffic(deps, nowMs),
        readPriceWarnings(deps),
      ]);
      return { figures, traffic, warnings };
    });
}

interface Todo {
  readonly href: string;
  readonly text: string;
}

function counted(count: number, locale: Locale): string {
  return count >= countedRows ? `${countedRows}+` : formatCount(count, locale);
}

async function todos(deps: OperatorDeps, locale: Locale): Promise<Todo[]> {
  const t = serviceTexts[locale];
  const { kv } = deps;
  const [reviews, unreadable, unmatched, approvals, requested, exported] = await Promise.all([
    listReviews(kv, countedRows),
    listUnreadable(kv),
    listUnmatched(kv, countedRows),
    listApprovals(kv, countedRows),
    listInvoices(kv, { count: countedRows, state: "requested" }),
    listInvoices(kv, { count: countedRows, state: "exported" }),
  ]);
  const lateBefore = deps.clock.nowMs() - bankMatchLateMs;
  const rows = [
    ["/operator/review", t.reviews, reviews.length],
    ["/operator/review/unreadable", t.unreadable, unreadable.length],
    [
      "/operator/bank",
      t.unmatched,
      unmatched.filter((one) => one.receivedAtMs < lateBefore).length,
    ],
    ["/operator/approvals", t.approvals, approvals.filter((one) => one.state === "pending").length],
    ["/operator/invoices", t.invoices, requested.length + exported.length],
    ["/operator/service?state=trouble", t.routesDown, routesDown(deps)],
  ] as const;
  return rows.filter(([, , count]) => count > 0)
    .map(([href, text, count]) => ({ href, text: text(counted(count, locale)) }));
}

/** The routes that a fault or an operator has taken out of use. */
function routesDown(deps: OperatorDeps): number {
  return deps.routes().filter(({ switched, operations }) =>
    switched !== undefined || Object.values(operations).some(({ state }) => state === "open")
  ).length;
}

async function overviewPage(
  c: OperatorContext,
  deps: OperatorDeps,
  figuresOf: FiguresOf,
  proof?: Proof,
) {
  const visitor = c.get("visitor");
  const t = serviceTexts[visitor.locale];
  const [{ figures, traffic, warnings }, waiting] = await Promise.all([
    figuresOf(),
    todos(deps, visitor.locale),
  ]);
  return await renderOperatorPage(
    c,
    {},
    <>
      {proof !== undefined && <ProofNotice proof={proof} locale={visitor.locale} />}
      {figures.partial && <Notice tone="warning">{t.partial}</Notice>}
      <PriceWarnings known={warnings} locale={visitor.locale} />
      <Figures figures={figures} locale={visitor.locale} />
      <TrafficCards traffic={traffic} locale={visitor.locale} />
      <Card title={t.todo}>
        {waiting.length === 0 ? <p class="muted">{t.nothing}</p> : (
          <ul>
            {waiting.map(({ href, text }) => (
              <li>
                <a href={href}>{text}</a>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title={t.verify}>
        <p>{t.verifyText}</p>
        <PostForm visitor={visitor} action="/operator/verify">
          <SubmitButton tone="plain">{t.verifyButton}</SubmitButton>
        </PostForm>
      </Card>
    </>,
  );
}

function Figures({ figures, locale }: { figures: OperatorFigures; locale: Locale }) {
  const t = serviceTexts[locale];
  return (
    <Stats>
      <Stat label={t.liability} note={t.liabilityNote(formatCount(figures.wallets, locale))}>
        <Money microVnd={figures.liabilityMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.creditedToday}>
        <Money microVnd={figures.creditedTodayMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.revenueToday}>
        <Money microVnd={figures.revenueTodayMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.revenueMonth}>
        <Money microVnd={figures.revenueMonthMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.creditedMonth}>
        <Money microVnd={figures.creditedMonthMicroVnd} locale={locale} />
      </Stat>
    </Stats>
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
  const { books, topups } = await verifyMoney(deps.kv, { masterKeys, nowMs: clock.nowMs() });
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

/** Registers the overview. */
function createOverviewPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const figuresOf = cachedFigures(deps);
  app.get("/operator", (c) => overviewPage(c, deps, figuresOf));
  app.post("/operator/verify", async (c) => {
    return await overviewPage(c, deps, figuresOf, await prove(deps));
  });
  return app;
}

export const overviewPages: OperatorPage = {
  link: { href: "/operator", label: { en: "Overview", vi: "Tổng quan" } },
  routes: createOverviewPages,
};
