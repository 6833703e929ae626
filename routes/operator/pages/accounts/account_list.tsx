/** `/operator/accounts`: the list of customers, with a search. */
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  type Account,
  findAccountByEmail,
  getAccount,
  listAccounts,
} from "../../../../kv/people/accounts/accounts.ts";
import { getTopupOrder } from "../../../../kv/money/payments/topups.ts";
import { Card, DataTable, Notice, Pager, Time } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { AccountState } from "./account_page.tsx";
import { accountsLabel, accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  renderOperatorPage,
  SearchForm,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

const pageRows = 50;

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
export async function accountListPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const query = (c.req.query("q") ?? "").trim();
  if (query !== "") {
    const found = await findAccount(deps, query);
    if (found !== undefined) return c.redirect(`/operator/accounts/${found.id}`, 303);
  }
  const after = parseId("account", c.req.query("after") ?? "");
  const page = await listAccounts(deps.kv, {
    limit: pageRows,
    ...defined({ after }),
  });
  return await renderOperatorPage(
    c,
    {},
    <Card>
      {query !== "" && <Notice tone="warning">{t.notFound}</Notice>}
      <SearchForm query={query} hint={t.searchHint} locale={locale} />
      <AccountTable accounts={page.accounts} locale={locale} />
      <Pager
        next={page.next === undefined ? undefined : `/operator/accounts?after=${page.next}`}
        locale={locale}
      />
    </Card>,
  );
}

function AccountTable({ accounts, locale }: { accounts: readonly Account[]; locale: Locale }) {
  const t = accountTexts[locale];
  return (
    <DataTable
      label={accountsLabel[locale]}
      rows={accounts}
      columns={[
        {
          head: frameTexts[locale].account,
          cell: ({ id, email }) => <a href={`/operator/accounts/${id}`}>{email ?? id}</a>,
        },
        {
          head: t.created,
          cell: ({ createdAtMs }) => <Time atMs={createdAtMs} locale={locale} relative />,
        },
        { head: t.state, cell: (account) => <AccountState account={account} locale={locale} /> },
      ]}
    />
  );
}
