/** `/operator/accounts`: the list of customers, with a search. */
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  type Account,
  accountName,
  findAccountByEmail,
  getAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { type Customer, listCustomers } from "../../../../kv/services/operations/customer_list.ts";
import {
  type ChargedSums,
  readCharged,
} from "../../../../kv/services/operations/operator_figures.ts";
import { keptFor } from "../../../usage_api/range.ts";
import { getTopupOrder } from "../../../../kv/money/payments/topups.ts";
import { Card, DataTable, Money, Notice, Pager, Time } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { Person } from "../base/linked_text.tsx";
import { AccountState } from "./account_page.tsx";
import { accountsLabel, accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  renderOperatorPage,
  SearchForm,
} from "../base/frame.tsx";
import { defined } from "../../../../core/lib/base/defined.ts";

/** Customers of a page: each costs a read for its last call. */
const pageRows = 50;

/** Milliseconds for which the sums of 30 days are kept, which are a scan. */
const chargedKeptMs = 60_000;

/** Reads what customers were charged, or gives what was read not long before. */
export type ChargedOf = () => Promise<ChargedSums>;

/** Keeps the sums of one scan for all pages of the list. */
export function keptCharged({ kv, clock }: OperatorDeps): ChargedOf {
  const kept = keptFor<ChargedSums>({ clock, keptMs: chargedKeptMs, most: 1 });
  return () => kept("charged", () => readCharged(kv, clock.nowMs()));
}

/** Finds the account that a search names. */
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

/** Shows the customers, or the result of a search. */
export async function accountListPage(
  c: OperatorContext,
  deps: OperatorDeps,
  chargedOf: ChargedOf,
) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const query = (c.req.query("q") ?? "").trim();
  if (query !== "") {
    const found = await findAccount(deps, query);
    if (found !== undefined) return c.redirect(`/operator/accounts/${found.id}`, 303);
  }
  const after = parseId("account", c.req.query("after") ?? "");
  const [page, charged] = await Promise.all([
    listCustomers(deps.kv, { limit: pageRows, ...defined({ after }) }, deps.clock.nowMs()),
    chargedOf(),
  ]);
  return await renderOperatorPage(
    c,
    { scripts: ["log.js"] },
    <Card>
      {query !== "" && <Notice tone="warning">{t.notFound}</Notice>}
      <SearchForm query={query} hint={t.searchHint} locale={locale} />
      <CustomerTable customers={page.customers} charged={charged} locale={locale} />
      <Pager
        next={page.next === undefined ? undefined : `/operator/accounts?after=${page.next}`}
        locale={locale}
      />
    </Card>,
  );
}

function CustomerTable({ customers, charged, locale }: {
  customers: readonly Customer[];
  charged: ChargedSums;
  locale: Locale;
}) {
  const t = accountTexts[locale];
  return (
    <DataTable
      label={accountsLabel[locale]}
      rows={customers}
      columns={[
        {
          head: t.customer,
          kind: "long",
          sortable: true,
          cell: ({ account }) => (
            <a href={`/operator/accounts/${account.id}`}>
              <Person address={accountName(account)} />
            </a>
          ),
        },
        {
          head: t.state,
          cell: ({ account }) => <AccountState account={account} locale={locale} />,
        },
        {
          head: t.balance,
          kind: "number",
          sortable: true,
          cell: ({ balanceMicroVnd }) => <Money microVnd={balanceMicroVnd} locale={locale} />,
        },
        {
          head: t.spend,
          kind: "number",
          sortable: true,
          cell: ({ account: { id } }) => (
            <Money microVnd={charged.byAccount.get(id) ?? 0n} locale={locale} />
          ),
        },
        {
          head: t.lastCall,
          kind: "one-line",
          sortable: true,
          cell: ({ lastCallAtMs }) =>
            lastCallAtMs === undefined
              ? "–"
              : <Time atMs={lastCallAtMs} locale={locale} relative />,
        },
        {
          head: t.created,
          kind: "one-line",
          wideOnly: true,
          sortable: true,
          cell: ({ account: { createdAtMs } }) => (
            <Time atMs={createdAtMs} locale={locale} dateOnly />
          ),
        },
      ]}
    />
  );
}
