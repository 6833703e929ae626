/**
 * `/operator/accounts/:id`: one customer as support needs it. Acts in the head; what is wrong for them from top to
 * bottom: figures, calls, keys with their limits, errors in words, money; beside it notes, facts and mails. The whole
 * ledger, orders with invoices, and who signed in are tabs.
 */
import { formatMoney } from "../../../../core/billing/money/display.ts";
import { ActivityTable } from "../../../dashboard/customer/activity/activity_table.tsx";
import { activityTexts } from "../../../dashboard/customer/activity/activity_texts.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Account,
  accountName,
  getAccount,
  hasOnlyBooks,
} from "../../../../kv/people/accounts/accounts.ts";
import { Badge, Card, chartAssets, Notice } from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { StatementTable } from "../../../dashboard/customer/wallet/wallet_statement.tsx";
import { OrderTable } from "../../../dashboard/customer/wallet/wallet_views.tsx";
import { accountTexts } from "../base/account_texts.ts";
import { type OperatorContext, type OperatorDeps, renderOperatorPage } from "../base/frame.tsx";
import { InvoiceTable } from "../invoices/invoice_queue.tsx";
import {
  ActsCard,
  CallsCard,
  type CardProps,
  CustomerActions,
  CustomerFigures,
  ErrorsCard,
  FactsCard,
  KeysCard,
  MailsCard,
  MoneyCard,
  NotesCard,
  RatesCard,
} from "./customer_cards.tsx";
import { readCustomer } from "./customer_reading.ts";
import { customerTexts } from "./customer_texts.ts";

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
  if (hasOnlyBooks(account)) return <Badge tone="neutral">{t.organisationDeleted}</Badge>;
  return account.blockedAtMs === undefined
    ? <Badge tone="good">{t.open}</Badge>
    : <Badge tone="bad">{t.blocked}</Badge>;
}

/** The views of the page; calls have a page of their own. */
const customerViews = ["dossier", "ledger", "orders", "access"] as const;

type CustomerTab = typeof customerViews[number];

/** The tabs under the title. */
function CustomerTabs({ account, current, locale }: {
  account: Account;
  current: CustomerTab;
  locale: Locale;
}) {
  const t = customerTexts[locale];
  const path = `/operator/accounts/${account.id}`;
  const [dossier, ...others] = customerViews;
  const link = (tab: CustomerTab, href: string) => (
    <a href={href} aria-current={tab === current ? "page" : undefined}>{t.tabs[tab]}</a>
  );
  return (
    <nav class="subtabs" aria-label={t.tabsLabel}>
      {link(dossier, path)}
      <a href={`/operator/calls?account=${account.id}`}>{t.tabs.calls}</a>
      {others.map((tab) => link(tab, `${path}?tab=${tab}`))}
    </nav>
  );
}

/** Dossier of what is wrong for the customer, from top to bottom; the acts with their consequences stand last. */
function Dossier({ card, deps, typedNote, visitor }: {
  card: CardProps;
  deps: OperatorDeps;
  typedNote: string | undefined;
  visitor: Visitor;
}) {
  const { account, view } = card;
  return (
    <>
      <div class="today dossier">
        <div>
          <CallsCard {...card} />
          <KeysCard {...card} />
          <ErrorsCard {...card} />
          <MoneyCard {...card} />
        </div>
        <div>
          <NotesCard account={account} view={view} typed={typedNote} visitor={visitor} />
          <RatesCard {...card} />
          <FactsCard {...card} />
          <MailsCard {...card} />
        </div>
      </div>
      {account.deletedAtMs === undefined && (
        <ActsCard account={account} view={view} deps={deps} locale={visitor.locale} />
      )}
    </>
  );
}

/** The view of a tab. */
function CustomerTabBody({ tab, ...props }: {
  tab: CustomerTab;
  card: CardProps;
  deps: OperatorDeps;
  typedNote: string | undefined;
  visitor: Visitor;
}) {
  const { card: { view, locale } } = props;
  const t = accountTexts[locale];
  switch (tab) {
    case "dossier":
      return <Dossier {...props} />;
    case "ledger":
      return (
        <Card title={t.statement}>
          <StatementTable statement={view.statement} locale={locale} />
        </Card>
      );
    case "orders":
      return (
        <>
          <Card title={t.orders}>
            {view.orders.length === 0
              ? <p class="muted">{customerTexts[locale].noOrders}</p>
              : (
                <OrderTable
                  orders={view.orders}
                  nowMs={view.nowMs}
                  locale={locale}
                  linked={false}
                />
              )}
          </Card>
          <Card title={t.invoices}>
            <InvoiceTable invoices={view.invoices} locale={locale} />
          </Card>
        </>
      );
    case "access":
      return (
        <Card title={activityTexts[locale].title}>
          <ActivityTable lines={view.activity} locale={locale} showsOperators />
        </Card>
      );
  }
}

/** Shows the page. `typedNote` is a note that was refused, for the field. */
export async function accountPage(
  c: OperatorContext,
  deps: OperatorDeps,
  account: Account,
  typedNote?: string,
) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const asked = c.req.query("tab");
  const tab = customerViews.find((one) => one === asked) ?? "dossier";
  const view = await readCustomer(deps, account);
  const card = { account, view, locale };
  return await renderOperatorPage(
    c,
    {
      title: accountName(account),
      lead: (
        <>
          <AccountState account={account} locale={locale} /> <code>{account.id}</code>
        </>
      ),
      actions: account.deletedAtMs === undefined && (
        <CustomerActions account={account} locale={locale} />
      ),
      ...chartAssets,
      ...typedNote !== undefined && { status: 400 as const },
    },
    <>
      <CustomerTabs account={account} current={tab} locale={locale} />
      {account.blockedReason !== undefined && (
        <Notice tone="warning">{account.blockedReason}</Notice>
      )}
      {account.givenUpMicroVnd !== undefined && (
        <Notice tone="info">
          {customerTexts[locale].givenUp(formatMoney(account.givenUpMicroVnd, locale))}
        </Notice>
      )}
      <CustomerFigures {...card} />
      <CustomerTabBody tab={tab} card={card} deps={deps} typedNote={typedNote} visitor={visitor} />
    </>,
  );
}
