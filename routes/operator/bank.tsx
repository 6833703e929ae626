/** `/operator/bank`: the journal, second sources, the comparison of bank and ledger, and the export of paid top-ups. */
import { Hono } from "hono";
import { formatVnd } from "../../core/money/micro_vnd.ts";
import { csvFile } from "../../core/topup/csv.ts";
import { vietnamDateTime, vietnamDay } from "../../core/vietnam_time.ts";
import {
  type BankEventRow,
  type JournalMark,
  journalMark,
  listBankEvents,
} from "../../kv/bank_events.ts";
import { bankSources } from "../../core/topup/bank_event.ts";
import { writeAuditLine } from "../../kv/operator_audit.ts";
import { checkTopups, type TopupCheck } from "../../kv/topup_checks.ts";
import { listUnreadable } from "../../kv/unreadable_notices.ts";
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
} from "../dashboard/components/mod.ts";
import { readForm } from "../dashboard/form_data.ts";
import type { Locale } from "../dashboard/i18n.ts";
import type { DashboardEnv, Visitor } from "../dashboard/visitor.ts";
import { type ImportResult, importStatement } from "../topup/statement_import.ts";
import type { SepayPollResult } from "../topup/sepay_poll.ts";
import { parseDay } from "../usage_api/days.ts";
import { bankTexts } from "./bank_texts.ts";
import type { OperatorDeps } from "./deps.ts";
import { type OperatorContext, operatorOf, renderOperatorPage } from "./frame.tsx";
import { NoticeTable } from "./notice_views.tsx";
import { formatCount } from "../dashboard/format.ts";
import { frameTexts } from "./texts.ts";
import { unreadablePath } from "./unreadable.tsx";

const pageRows = 50;

/** A place in the journal as part of an address. */
function markText(row: BankEventRow): string {
  return `${row.receivedAtMs}:${row.event.source}:${row.event.id}`;
}

function parseMark(text: string): JournalMark | undefined {
  const [at, source, ...id] = text.split(":");
  const known = bankSources.find((one) => one === source);
  const receivedAtMs = Number(at);
  const isMark = known !== undefined && Number.isSafeInteger(receivedAtMs) && id.length > 0;
  return isMark ? { receivedAtMs, source: known, id: id.join(":") } : undefined;
}

interface BankResults {
  readonly imported?: ImportResult;
  readonly polled?: SepayPollResult;
  readonly checked?: TopupCheck;
  /** Notices that are in none of the sums that were checked. */
  readonly unreadable?: number;
  readonly problem?: string;
}

async function bankPage(c: OperatorContext, deps: OperatorDeps, results: BankResults = {}) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = bankTexts[locale];
  const before = parseMark(c.req.query("before") ?? "");
  const rows = await listBankEvents(deps.kv, {
    count: pageRows,
    ...(before !== undefined && { before }),
  });
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return await renderOperatorPage(
    c,
    { section: "bank", lead: t.bankLead, problem: results.problem },
    <>
      <Outcome results={results} locale={locale} />
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
        <ExportCard nowMs={deps.clock.nowMs()} locale={locale} />
      </div>
      <Card title={t.journal}>
        <NoticeTable rows={rows} label={t.journal} locale={locale} />
        <Pager
          next={last === undefined
            ? undefined
            : `/operator/bank?before=${encodeURIComponent(markText(last))}`}
          locale={locale}
        />
      </Card>
    </>,
  );
}

/** What the last act found. */
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
            {problems.slice(0, 50).map((problem) => <p key={problem}>{problem}</p>)}
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
        <TextField name="from" label={t.from} type="date" value={`${today.slice(0, 7)}-01`} />
        <TextField name="to" label={t.to} type="date" value={today} />
        <SubmitButton tone="plain">{t.download}</SubmitButton>
      </form>
    </Card>
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
  const imported = await importStatement(deps.intake, await file.text(), account.account);
  await writeAuditLine(deps.kv, operatorOf(c), {
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

/**
 * Credited transfers of a period, oldest first, whoever asked for an invoice or not. A notice may be credited long after
 * it came, so the whole journal is read.
 */
async function creditedRows(
  deps: OperatorDeps,
  fromDay: string,
  toDay: string,
): Promise<BankEventRow[]> {
  const rows: BankEventRow[] = [];
  let before: JournalMark | undefined;
  for (;;) {
    const page = await listBankEvents(deps.kv, {
      count: 500,
      ...(before !== undefined && { before }),
    });
    for (const row of page) {
      if (row.state.kind !== "credited") continue;
      const day = vietnamDay(row.state.atMs);
      if (day >= fromDay && day <= toDay) rows.push(row);
    }
    const last = page.at(-1);
    if (last === undefined) return rows.reverse();
    before = journalMark(last);
  }
}

async function topupsCsv(c: OperatorContext, deps: OperatorDeps) {
  const today = vietnamDay(deps.clock.nowMs());
  const fromDay = parseDay(c.req.query("from")) ?? `${today.slice(0, 7)}-01`;
  const toDay = parseDay(c.req.query("to")) ?? today;
  const rows = await creditedRows(deps, fromDay, toDay);
  const lines = rows.map(({ event, state }) => [
    state.kind === "credited" ? vietnamDateTime(state.atMs) : "",
    vietnamDateTime(event.time.atMs),
    `${event.source}:${event.id}`,
    event.reference ?? "",
    state.kind === "credited" ? state.accountId : "",
    state.kind === "credited" ? state.orderCode ?? "" : "",
    formatVnd(event.amountMicroVnd),
  ]);
  const header = [
    "credited_at",
    "bank_time",
    "notice",
    "bank_reference",
    "account",
    "order_code",
    "amount_vnd",
  ];
  return c.body(csvFile([header, ...lines]), 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="topups-${fromDay}-${toDay}.csv"`,
  });
}

/** The bank pages. */
export function createBankPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/bank", (c) => bankPage(c, deps));
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
