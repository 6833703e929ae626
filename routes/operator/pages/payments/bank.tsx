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
import { bankSources } from "../../../../core/trade/bank/bank_notice.ts";
import {
  type BankNoticeRow,
  type JournalMark,
  listBankNotices,
} from "../../../../kv/money/payments/bank_notices.ts";
import { writeAuditLine } from "../../../../kv/people/audit/operator_audit.ts";
import { checkTopups } from "../../../../kv/money/payments/topup_checks.ts";
import { listUnreadable } from "../../../../kv/money/payments/unreadable_notices.ts";
import { Card, Pager } from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { importStatement } from "../../../payments/statement_import.ts";
import { topupsCsv } from "./bank_export.ts";
import { bankTexts } from "../base/bank_texts.ts";
import { BankActs, type BankResults, Outcome } from "./bank_views.tsx";
import type { OperatorDeps } from "../base/deps.ts";
import { type OperatorContext, operatorOf, renderOperatorPage } from "../base/frame.tsx";
import { NoticeTable } from "../base/notice_views.tsx";
import { frameTexts } from "../base/texts.ts";
import type { OperatorPage } from "../base/page.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

/** The path of the bank page. */
export const bankPath = "/operator/bank";

const pageRows = 50;

/** Writes a position in the journal as a query parameter. */
function markText(row: BankNoticeRow): string {
  return `${row.receivedAtMs}:${row.event.source}:${row.event.id}`;
}

function parseMark(text: string): JournalMark | undefined {
  const [at, source, ...id] = text.split(":");
  const known = bankSources.find((one) => one === source);
  const receivedAtMs = Number(at);
  const isMark = known !== undefined && Number.isSafeInteger(receivedAtMs) && id.length > 0;
  return isMark ? { receivedAtMs, source: known, id: id.join(":") } : undefined;
}

async function bankPage(c: OperatorContext, deps: OperatorDeps, results: BankResults = {}) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = bankTexts[locale];
  const before = parseMark(c.req.query("before") ?? "");
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
            : `/operator/bank?before=${encodeURIComponent(markText(last))}`}
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
  link: { href: bankPath, label: { en: "Bank", vi: "Ngân hàng" } },
  routes: createBankPages,
};
