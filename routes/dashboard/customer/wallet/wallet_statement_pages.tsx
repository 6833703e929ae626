/** `/wallet/statement`: the statement as a page and as CSV. */
import type { Context } from "hono";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { readStatement, type Statement } from "../../../../kv/money/ledger/statement.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { parseDay } from "../../../usage_api/range.ts";
import { Card, Icon, Notice, SubmitButton, TextField } from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { statementCsv } from "./wallet_statement_csv.ts";
import type { WalletDeps } from "./deps.ts";
import { StatementTable } from "./wallet_statement.tsx";
import { walletTexts } from "./wallet_texts.ts";

type PageContext = Context<DashboardEnv>;

interface ReadStatement {
  readonly statement: Statement;
  readonly balanceMicroVnd: bigint;
}

/** Ledger, usage and balance are read one after the other; they are read again if a call came in between. */
async function statementOf(c: PageContext, deps: WalletDeps): Promise<ReadStatement> {
  const { account } = c.get("signedIn");
  const today = vietnamDay(deps.clock.nowMs());
  const fromDay = parseDay(c.req.query("from")) ?? `${today.slice(0, 7)}-01`;
  const toDay = parseDay(c.req.query("to")) ?? today;
  for (let attempt = 1;; attempt++) {
    const statement = await readStatement(deps.kv, account.id, { fromDay, toDay });
    const { totalMicroVnd } = await deps.wallet.balance(account.id);
    const matches = toDay < today || statement.closingMicroVnd === totalMicroVnd;
    if (matches || attempt === 3) return { statement, balanceMicroVnd: totalMicroVnd };
  }
}

/** Answers with the statement of a period. */
export async function statementPage(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const t = walletTexts[locale];
  const { statement, balanceMicroVnd } = await statementOf(c, deps);
  const { fromDay, toDay } = statement;
  const isOpen = toDay >= vietnamDay(deps.clock.nowMs());
  const csv = `/wallet/statement.csv?from=${fromDay}&to=${toDay}`;
  return await renderPage(
    c,
    {
      title: t.statement,
      lead: t.statementLead,
      actions: (
        <a href={csv} class="button outline secondary small" download>
          <Icon name="download" /> {t.csv}
        </a>
      ),
    },
    <Card>
      <form method="get" class="inline-form">
        <TextField name="from" label={t.from} type="date" value={fromDay} />
        <TextField name="to" label={t.to} type="date" value={toDay} />
        <SubmitButton tone="plain">{t.show}</SubmitButton>
      </form>
      {isOpen && statement.closingMicroVnd !== balanceMicroVnd && (
        <Notice tone="info">{t.moving}</Notice>
      )}
      <StatementTable statement={statement} locale={locale} />
    </Card>,
  );
}

/** Sends the statement of a period as CSV. */
export async function statementDownload(c: PageContext, deps: WalletDeps) {
  const { statement } = await statementOf(c, deps);
  const name = `statement-${statement.fromDay}-${statement.toDay}.csv`;
  return c.body(statementCsv(statement), 200, csvDownloadHeaders(name));
}
