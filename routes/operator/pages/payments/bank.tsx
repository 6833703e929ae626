/**
 * `/operator/bank`: the journal of notices, second sources, the comparison of bank and ledger, and the export of paid
 * top-ups.
 *
 * - Folder `routes/operator/pages/payments/`: the operator's pages about bank notices and top-ups.
 * - In: decisions of operators, statement files.
 * - Out: HTML, exports, notices credited or set aside.
 * - Never: credits a likely order without an operator's decision.
 */
import { Hono } from "hono";
import {
  type BankNoticeRow,
  type JournalMark,
  journalMark,
  journalMarkText,
  listBankNotices,
  listUnreadable,
  parseJournalMark,
} from "../../../../kv/money/payments/bank_notices.ts";
import { writeAuditLine } from "../../../../kv/people/audit/operator_audit.ts";
import { checkTopups, type TopupCheck } from "../../../../kv/money/payments/topup_checks.ts";
import {
  Card,
  FileField,
  Money,
  Notice,
  Pager,
  PostForm,
  SelectField,
  Stat,
  Stats,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import {
  type ImportResult,
  importStatement,
  type SepayPollResult,
} from "../../../payments/sepay_poll.ts";
import { ProblemLines } from "../base/linked_text.tsx";
import { bankTexts } from "../base/bank_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { NoticeTable } from "../base/notice_views.tsx";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  firstDayOfMonth,
  monthOfDay,
  vietnamDay,
  vietnamIsoTime,
} from "../../../../core/lib/time/vietnam_time.ts";
import { type CsvColumn, csvFile } from "../../../../core/lib/base/csv.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { unreadablePath } from "./unreadable.tsx";

// Exports paid top-ups for accounting.

/** A notice whose money is in a wallet. */
interface CreditedRow {
  readonly event: BankNoticeRow["event"];
  readonly state: Extract<BankNoticeRow["state"], { kind: "credited" }>;
}

const topupColumns: readonly CsvColumn<CreditedRow>[] = [
  { name: "credited_at", cell: ({ state }) => vietnamIsoTime(state.atMs) },
  { name: "transferred_at", cell: ({ event }) => vietnamIsoTime(event.time.atMs) },
  { name: "notice", cell: ({ event }) => `${event.source}:${event.id}` },
  { name: "bank_reference", cell: ({ event }) => event.reference },
  { name: "account", cell: ({ state }) => state.accountId },
  { name: "order_code", cell: ({ state }) => state.orderCode },
  { name: "amount_vnd", cell: ({ event }) => formatVnd(event.amountMicroVnd) },
];

/**
 * Reads the credited transfers of a period, oldest first, with or without an invoice request. A notice may be credited
 * long after it arrived, so the whole journal is read.
 */
async function creditedRows(
  deps: OperatorDeps,
  fromDay: string,
  toDay: string,
): Promise<CreditedRow[]> {
  const rows: CreditedRow[] = [];
  let before: JournalMark | undefined;
  for (;;) {
    const page = await listBankNotices(deps.kv, {
      count: 500,
      ...defined({ before }),
    });
    for (const { event, state } of page) {
      if (state.kind !== "credited") continue;
      const day = vietnamDay(state.atMs);
      if (day >= fromDay && day <= toDay) rows.push({ event, state });
    }
    const last = page.at(-1);
    if (last === undefined) return rows.reverse();
    before = journalMark(last);
  }
}

/** Answers with the credited transfers of the requested days as CSV. */
async function topupsCsv(c: OperatorContext, deps: OperatorDeps) {
  const today = vietnamDay(deps.clock.nowMs());
  const fromDay = parseDay(c.req.query("from")) ?? firstDayOfMonth(monthOfDay(today));
  const toDay = parseDay(c.req.query("to")) ?? today;
  const rows = await creditedRows(deps, fromDay, toDay);
  const name = `topups-${fromDay}-${toDay}.csv`;
  return c.body(csvFile(topupColumns, rows), 200, csvDownloadHeaders(name));
}

// Parts of the bank page: its forms, and the result of the last act.

/** The result of the last act. */
export interface BankResults {
  readonly imported?: ImportResult;
  readonly polled?: SepayPollResult;
  readonly checked?: TopupCheck;
  /** Notices that are in none of the sums that were compared. */
  readonly unreadable?: number;
  readonly problem?: string;
}

/** The result of the last act as a message. */
function Outcome({ results, locale }: { results: BankResults; locale: Locale }) {
  const t = bankTexts[locale];
  const { imported, polled, checked, unreadable = 0 } = results;
  return (
    <>
      {imported !== undefined && (
        <Notice tone={imported.problems.length === 0 ? "success" : "warning"}>
          <p>{t.imported(imported.rows, imported.fresh)}</p>
          {imported.problems.slice(0, 20).map(({ line, what }) => (
            <p key={line}>{t.line(line, what)}</p>
          ))}
        </Notice>
      )}
      {polled?.ok === true && <Notice tone="success">{t.polled(polled.seen, polled.fresh)}</Notice>}
      {polled?.ok === false && (
        <Notice tone="warning">
          {t.pollFailed([polled.why, polled.status].filter(Boolean).join(" "))}
        </Notice>
      )}
      {checked !== undefined && <CheckResult checked={checked} locale={locale} />}
      {unreadable > 0 && (
        <Notice tone="warning">
          <a href={unreadablePath}>{t.stillUnreadable(formatCount(unreadable, locale))}</a>
        </Notice>
      )}
    </>
  );
}

function CheckResult({ checked, locale }: { checked: TopupCheck; locale: Locale }) {
  const t = bankTexts[locale];
  const { totals, problems } = checked;
  return (
    <>
      {problems.length === 0
        ? <Notice tone="success">{t.checked}</Notice>
        : (
          <Notice tone="danger" title={t.found(problems.length)}>
            <ProblemLines problems={problems} locale={locale} />
          </Notice>
        )}
      <Stats>
        {([
          ["received", totals.receivedMicroVnd],
          ["credited", totals.creditedMicroVnd],
          ["suspense", totals.suspenseMicroVnd],
          ["refunded", totals.refundedMicroVnd],
          ["other", totals.otherMicroVnd],
        ] as const).map(([name, microVnd]) => (
          <Stat label={t.totals[name]}>
            <Money microVnd={microVnd} locale={locale} />
          </Stat>
        ))}
      </Stats>
    </>
  );
}

/** The forms of the bank page. */
function BankActs({ deps, visitor }: { deps: OperatorDeps; visitor: Visitor }) {
  const t = bankTexts[visitor.locale];
  return (
    <div class="columns">
      <ImportCard deps={deps} visitor={visitor} />
      {deps.poll !== undefined && (
        <Card title={t.poll}>
          <p>{t.pollText}</p>
          <PostForm visitor={visitor} action="/operator/bank/poll">
            <SubmitButton tone="plain">{t.pollButton}</SubmitButton>
          </PostForm>
        </Card>
      )}
      <Card title={t.check}>
        <p>{t.checkText}</p>
        <PostForm visitor={visitor} action="/operator/bank/check">
          <SubmitButton tone="plain">{t.checkButton}</SubmitButton>
        </PostForm>
      </Card>
      <ExportCard nowMs={deps.clock.nowMs()} locale={visitor.locale} />
    </div>
  );
}

function ImportCard({ deps, visitor }: { deps: OperatorDeps; visitor: Visitor }) {
  const t = bankTexts[visitor.locale];
  return (
    <Card title={t.import}>
      <p>{t.importText}</p>
      <PostForm visitor={visitor} action="/operator/bank/import" multipart>
        <SelectField
          name="account"
          label={t.receivingAccount}
          options={deps.topup.receivingAccounts.map(({ account, bankName }) => ({
            value: account,
            label: `${bankName} ${account}`,
          }))}
        />
        <FileField name="statement" label={t.file} accept=".csv,text/csv" />
        <SubmitButton tone="plain">{t.importButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function ExportCard({ nowMs, locale }: { nowMs: number; locale: Locale }) {
  const t = bankTexts[locale];
  const today = vietnamDay(nowMs);
  return (
    <Card title={t.exportTopups}>
      <p>{t.exportText}</p>
      <form method="get" action="/operator/bank/topups.csv" class="inline-form">
        <TextField
          name="from"
          label={t.from}
          type="date"
          value={firstDayOfMonth(monthOfDay(today))}
        />
        <TextField name="to" label={t.to} type="date" value={today} />
        <SubmitButton tone="plain">{t.download}</SubmitButton>
      </form>
    </Card>
  );
}

/** The path of the bank page. */
export const bankPath = "/operator/bank";

const pageRows = 50;

async function bankPage(c: OperatorContext, deps: OperatorDeps, results: BankResults = {}) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = bankTexts[locale];
  const before = parseJournalMark(c.req.query("before") ?? "");
  const rows = await listBankNotices(deps.kv, {
    count: pageRows,
    ...defined({ before }),
  });
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return await renderOperatorPage(
    c,
    { lead: t.bankLead, problem: results.problem },
    <>
      <Outcome results={results} locale={locale} />
      <BankActs deps={deps} visitor={visitor} />
      <Card title={t.journal}>
        <NoticeTable rows={rows} label={t.journal} locale={locale} />
        <Pager
          next={last === undefined
            ? undefined
            : `/operator/bank?before=${encodeURIComponent(journalMarkText(journalMark(last)))}`}
          locale={locale}
        />
      </Card>
    </>,
  );
}

async function importFile(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const file = form.file("statement");
  const account = deps.topup.receivingAccounts.find((to) => to.account === form.text("account"));
  if (file === undefined || account === undefined) {
    return await bankPage(c, deps, { problem: t.problems.file });
  }
  const operator = operatorOf(c);
  const text = await file.text();
  const imported = await importStatement(deps.intake, text, account.account, operator);
  await writeAuditLine(deps.kv, operator, {
    act: "statement_imported",
    subject: account.account,
    detail: `${imported.rows} rows, ${imported.fresh} new, ${imported.problems.length} problems`,
    atMs: deps.clock.nowMs(),
  });
  return await bankPage(c, deps, { imported });
}

async function pollNow(c: OperatorContext, deps: OperatorDeps) {
  if (deps.poll === undefined) return await bankPage(c, deps);
  const polled = await deps.poll();
  await writeAuditLine(deps.kv, operatorOf(c), {
    act: "notices_polled",
    subject: "sepay-poll",
    detail: polled.ok ? `${polled.seen} seen, ${polled.fresh} new` : polled.why,
    atMs: deps.clock.nowMs(),
  });
  return await bankPage(c, deps, { polled });
}

/** Registers the bank pages. */
function createBankPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get(bankPath, (c) => bankPage(c, deps));
  app.post("/operator/bank/import", (c) => importFile(c, deps));
  app.post("/operator/bank/poll", (c) => pollNow(c, deps));
  app.post("/operator/bank/check", async (c) => {
    const checked = await checkTopups(deps.kv, deps.clock.nowMs());
    const unreadable = (await listUnreadable(deps.kv)).length;
    return await bankPage(c, deps, { checked, unreadable });
  });
  app.get("/operator/bank/topups.csv", (c) => topupsCsv(c, deps));
  return app;
}

export const bankPages: OperatorPage = {
  link: { href: bankPath, label: { en: "All notices", vi: "Mọi thông báo" } },
  routes: createBankPages,
};
