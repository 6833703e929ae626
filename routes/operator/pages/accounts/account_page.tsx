/** `/operator/accounts/:id`: one customer's wallet and statement, with the forms to change or block it. */
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { listAccountInvoices } from "../../../../kv/money/invoices/invoices.ts";
import { readStatement } from "../../../../kv/money/ledger/statement.ts";
import { listTopupOrders } from "../../../../kv/money/payments/topups.ts";
import {
  Badge,
  Card,
  FormIdField,
  Money,
  Notice,
  PostForm,
  Stat,
  Stats,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { StatementTable } from "../../../dashboard/customer/wallet/wallet_statement.tsx";
import { OrderTable } from "../../../dashboard/customer/wallet/wallet_views.tsx";
import { accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  ReasonField,
  renderOperatorPage,
} from "../base/frame.tsx";
import { InvoiceTable } from "../invoices/invoice_queue.tsx";
import { loadRates, RateCard } from "./rate_card.tsx";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const statementMs = 90 * dayMs;

/** Finds the account that the path names. */
export async function accountOf(
  c: OperatorContext,
  deps: OperatorDeps,
): Promise<Account | undefined> {
  const id = parseId("account", c.req.param("id") ?? "");
  return id === undefined ? undefined : await getAccount(deps.kv, id);
}

/** The state of an account as a badge. */
export function AccountState({ account, locale }: { account: Account; locale: Locale }) {
  const t = accountTexts[locale].states;
  if (account.deletedAtMs !== undefined) return <Badge tone="neutral">{t.deleted}</Badge>;
  return account.blockedAtMs === undefined
    ? <Badge tone="good">{t.open}</Badge>
    : <Badge tone="bad">{t.blocked}</Badge>;
}

/** `problem` explains why the form that was sent had no effect. */
export async function accountPage(
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
  const [balance, statement, orders, invoices, limits] = await Promise.all([
    deps.wallet.balance(account.id),
    readStatement(deps.kv, account.id, period),
    listTopupOrders(deps.kv, account.id, { count: 20 }),
    listAccountInvoices(deps.kv, account.id, 20),
    loadRates(deps, account),
  ]);
  return await renderOperatorPage(
    c,
    {
      title: account.email ?? account.id,
      lead: account.id,
      actions: <AccountState account={account} locale={locale} />,
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
      <p>
        <a href={`/operator/calls?account=${account.id}`}>{t.calls}</a>
      </p>
      {account.blockedReason !== undefined && (
        <Notice tone="warning">{account.blockedReason}</Notice>
      )}
      {account.deletedAtMs === undefined && (
        <div class="columns">
          <AdjustCard account={account} deps={deps} visitor={visitor} />
          <BlockCard account={account} visitor={visitor} />
        </div>
      )}
      {account.deletedAtMs === undefined && (
        <RateCard account={account} limits={limits} deps={deps} visitor={visitor} />
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
      >
        {/* A form that is sent twice moves money once. */}
        <FormIdField />
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
