/** `/operator/accounts`: find a customer, read the statement, block, give or take money. */
import { Hono } from "hono";
import { normaliseEmail } from "../../core/accounts/email_address.ts";
import { type AccountId, parseId } from "../../core/ids.ts";
import { microVndPerVnd } from "../../core/money/micro_vnd.ts";
import { parseOrderCode } from "../../core/topup/order_code.ts";
import { parseWrittenAmount } from "../../core/topup/statement_csv.ts";
import { type Account, findAccountByEmail, getAccount, listAccounts } from "../../kv/accounts.ts";
import { setBlocked } from "../../kv/account_blocking.ts";
import { adjustWallet, requestApproval } from "../../kv/approvals.ts";
import { listAccountInvoices } from "../../kv/invoices.ts";
import { vietnamDay } from "../../kv/rollups.ts";
import { readStatement } from "../../kv/statement.ts";
import { getTopupOrder, listTopupOrders } from "../../kv/topups.ts";
import {
  Badge,
  Card,
  DataTable,
  Money,
  Notice,
  Pager,
  PostForm,
  Stat,
  Stats,
  SubmitButton,
  TextField,
  Time,
} from "../dashboard/components/mod.ts";
import { notFoundPage } from "../dashboard/error_pages.tsx";
import { readForm } from "../dashboard/form_data.ts";
import { formatMoney } from "../dashboard/format.ts";
import type { Locale } from "../dashboard/i18n.ts";
import type { DashboardEnv, Visitor } from "../dashboard/visitor.ts";
import { StatementTable } from "../dashboard/wallet_statement.tsx";
import { OrderTable } from "../dashboard/wallet_views.tsx";
import { accountTexts } from "./account_texts.ts";
import type { OperatorDeps } from "./deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "./frame.tsx";
import { InvoiceTable } from "./invoice_views.tsx";
import { SearchForm } from "./list_parts.tsx";
import { ReasonField } from "./reason_field.tsx";
import { frameTexts } from "./texts.ts";

const pageRows = 50;
const statementMs = 90 * 86_400_000;

/** The account that a search means. */
async function findAccount(deps: OperatorDeps, query: string): Promise<Account | undefined> {
  const id = parseId("account", query);
  if (id !== undefined) return await getAccount(deps.kv, id);
  const code = parseOrderCode(query.toUpperCase());
  if (code !== undefined) {
    const order = (await getTopupOrder(deps.kv, code)).value;
    return order === null ? undefined : await getAccount(deps.kv, order.accountId);
  }
  const email = normaliseEmail(query);
  return email === undefined ? undefined : await findAccountByEmail(deps.kv, email);
}

async function listPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const query = (c.req.query("q") ?? "").trim();
  if (query !== "") {
    const found = await findAccount(deps, query);
    if (found !== undefined) return c.redirect(`/operator/accounts/${found.id}`, 303);
  }
  const cursor = c.req.query("cursor");
  const page = await listAccounts(deps.kv, {
    limit: pageRows,
    ...(cursor !== undefined && { cursor }),
  });
  return await renderOperatorPage(
    c,
    { section: "accounts" },
    <Card>
      {query !== "" && <Notice tone="warning">{t.notFound}</Notice>}
      <SearchForm query={query} hint={t.searchHint} locale={locale} />
      <AccountTable accounts={page.accounts} locale={locale} />
      <Pager
        next={page.cursor === undefined
          ? undefined
          : `/operator/accounts?cursor=${encodeURIComponent(page.cursor)}`}
        locale={locale}
      />
    </Card>,
  );
}

function StateBadge({ account, locale }: { account: Account; locale: Locale }) {
  const t = accountTexts[locale].states;
  if (account.deletedAtMs !== undefined) return <Badge tone="neutral">{t.deleted}</Badge>;
  return account.blockedAtMs === undefined
    ? <Badge tone="good">{t.open}</Badge>
    : <Badge tone="bad">{t.blocked}</Badge>;
}

function AccountTable({ accounts, locale }: { accounts: readonly Account[]; locale: Locale }) {
  const t = accountTexts[locale];
  return (
    <DataTable
      label={frameTexts[locale].sections.accounts}
      rows={accounts}
      columns={[
        {
          head: frameTexts[locale].account,
          cell: ({ id, email }) => <a href={`/operator/accounts/${id}`}>{email ?? id}</a>,
        },
        { head: t.created, cell: ({ createdAtMs }) => <Time atMs={createdAtMs} locale={locale} /> },
        { head: t.state, cell: (account) => <StateBadge account={account} locale={locale} /> },
      ]}
    />
  );
}

async function accountOf(c: OperatorContext, deps: OperatorDeps): Promise<Account | undefined> {
  const id = parseId("account", c.req.param("id") ?? "");
  return id === undefined ? undefined : await getAccount(deps.kv, id);
}

async function accountPage(
  c: OperatorContext,
  deps: OperatorDeps,
  account: Account,
  problem?: string,
) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = accountTexts[locale];
  const nowMs = deps.clock.nowMs();
  const period = { fromDay: vietnamDay(nowMs - statementMs), toDay: vietnamDay(nowMs) };
  const [balance, statement, orders, invoices] = await Promise.all([
    deps.teller.balance(account.id),
    readStatement(deps.kv, account.id, period),
    listTopupOrders(deps.kv, account.id, { count: 20 }),
    listAccountInvoices(deps.kv, account.id, 20),
  ]);
  return await renderOperatorPage(
    c,
    {
      section: "accounts",
      title: account.email ?? account.id,
      lead: account.id,
      actions: <StateBadge account={account} locale={locale} />,
      problem,
    },
    <>
      <Stats>
        <Stat label={t.balance}>
          <Money microVnd={balance.totalMicroVnd} locale={locale} />
        </Stat>
        <Stat label={t.reserved}>
          <Money microVnd={balance.reservedMicroVnd} locale={locale} />
        </Stat>
        <Stat label={t.created}>
          <Time atMs={account.createdAtMs} locale={locale} dateOnly />
        </Stat>
      </Stats>
      {account.blockedReason !== undefined && (
        <Notice tone="warning">{account.blockedReason}</Notice>
      )}
      {account.deletedAtMs === undefined && (
        <div class="columns">
          <AdjustCard account={account} deps={deps} visitor={visitor} />
          <BlockCard account={account} visitor={visitor} />
        </div>
      )}
      <Card title={t.statement}>
        <StatementTable statement={statement} locale={locale} />
      </Card>
      <Card title={t.orders}>
        <OrderTable orders={orders} nowMs={nowMs} locale={locale} linked={false} />
      </Card>
      <Card title={t.invoices}>
        <InvoiceTable invoices={invoices} locale={locale} />
      </Card>
    </>,
  );
}

function AdjustCard({ account, deps, visitor }: {
  account: Account;
  deps: OperatorDeps;
  visitor: Visitor;
}) {
  const t = accountTexts[visitor.locale];
  return (
    <Card title={t.adjust}>
      <p>{t.adjustText(formatMoney(deps.topup.approvalAboveMicroVnd, visitor.locale))}</p>
      <PostForm
        visitor={visitor}
        action={`/operator/accounts/${account.id}/adjust`}
        confirm={t.adjustConfirm}
      >
        {/* A form sent twice moves money once: this id is the cause. */}
        <input type="hidden" name="case" value={crypto.randomUUID()} />
        <TextField name="amount" label={t.adjustField} required maxlength={20} />
        <ReasonField locale={visitor.locale} />
        <SubmitButton tone="danger">{t.adjustButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function BlockCard({ account, visitor }: { account: Account; visitor: Visitor }) {
  const t = accountTexts[visitor.locale];
  const blocked = account.blockedAtMs !== undefined;
  return (
    <Card title={blocked ? t.unblock : t.block}>
      <p>{t.blockText}</p>
      <PostForm
        visitor={visitor}
        action={`/operator/accounts/${account.id}/${blocked ? "unblock" : "block"}`}
        confirm={blocked ? undefined : t.blockConfirm}
      >
        <ReasonField locale={visitor.locale} id="block-reason" />
        <SubmitButton tone={blocked ? "plain" : "danger"}>
          {blocked ? t.unblock : t.block}
        </SubmitButton>
      </PostForm>
    </Card>
  );
}

async function block(c: OperatorContext, deps: OperatorDeps, blocked: boolean) {
  const account = await accountOf(c, deps);
  if (account === undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  if (reason === "") return await accountPage(c, deps, account, t.problems.reason);
  const act = { operator: operatorOf(c), nowMs: deps.clock.nowMs() };
  const changed = await setBlocked(deps.kv, account.id, { blocked, reason }, act);
  if (changed === undefined) return await accountPage(c, deps, account, t.problems.busy);
  return doneAt(c, `/operator/accounts/${account.id}`, blocked ? "blocked" : "unblocked");
}

interface AdjustForm {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly reason: string;
}

async function adjust(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const amountMicroVnd = parseWrittenAmount(form.text("amount"));
  const reason = form.text("reason");
  const isWhole = amountMicroVnd !== undefined && amountMicroVnd !== 0n &&
    amountMicroVnd % microVndPerVnd === 0n;
  if (!isWhole) return await accountPage(c, deps, account, t.problems.amount);
  if (reason === "") return await accountPage(c, deps, account, t.problems.reason);
  const caseId = form.text("case");
  if (!/^[0-9a-f-]{36}$/.test(caseId)) return await accountPage(c, deps, account, t.problems.busy);
  const adjustment: AdjustForm = { accountId: account.id, amountMicroVnd, reason };
  const operator = operatorOf(c);
  const nowMs = deps.clock.nowMs();
  const magnitude = amountMicroVnd < 0n ? -amountMicroVnd : amountMicroVnd;
  if (magnitude > deps.topup.approvalAboveMicroVnd) {
    await requestApproval(deps.kv, { kind: "adjust", ...adjustment }, operator, nowMs);
    return doneAt(c, "/operator/approvals", "asked");
  }
  const result = await adjustWallet(deps.kv, adjustment, { operator, nowMs, caseId });
  if (!result.ok) return await accountPage(c, deps, account, t.problems[result.why]);
  return doneAt(c, `/operator/accounts/${account.id}`, "adjusted");
}

/** The pages of accounts. */
export function createAccountsPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/accounts", (c) => listPage(c, deps));
  app.get("/operator/accounts/:id", async (c) => {
    const account = await accountOf(c, deps);
    return account === undefined ? await notFoundPage(c) : await accountPage(c, deps, account);
  });
  app.post("/operator/accounts/:id/block", (c) => block(c, deps, true));
  app.post("/operator/accounts/:id/unblock", (c) => block(c, deps, false));
  app.post("/operator/accounts/:id/adjust", (c) => adjust(c, deps));
  return app;
}
