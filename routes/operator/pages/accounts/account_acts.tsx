/**
 * The list of accounts, and the acts on one: notes, blocking, changes of its wallet, rate limits.
 *
 * - Folder `routes/operator/pages/accounts/`: the operator's pages about customers.
 * - In: searches, and forms with a reason.
 * - Out: HTML, blocked accounts, adjustments, requests for approval.
 * - Never: sets a balance: money only moves.
 */
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import {
  Card,
  DataTable,
  FormIdField,
  formIdField,
  Money,
  Notice,
  Pager,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { accountOf, accountPage, AccountState } from "./account_page.tsx";
import { adjustAccount } from "../../operations/money/movements.ts";
import {
  limitAccount,
  noteAccount,
  signOutAccount,
  turnAccount,
} from "../../operations/accounts.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  ReasonField,
  renderOperatorPage,
  SearchForm,
} from "../base/frame.tsx";
import { confirmAct, seenField } from "../dossier/dossier_view.tsx";
import { frameTexts } from "../base/texts.ts";
import { loadRates, RateForm, rateProblem, readRateForm } from "./rate_card.tsx";
import { Hono } from "hono";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { accountsLabel, accountTexts } from "../base/account_texts.ts";
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
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { Person } from "../base/linked_text.tsx";
import { defined } from "../../../../core/lib/base/defined.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import { BlockConsequences, SignOutConsequences } from "./customer_cards.tsx";
import { readCustomer } from "./customer_reading.ts";
import { customerTexts } from "./customer_texts.ts";

/** Blocks or unblocks an account. */
async function block(c: OperatorContext, deps: OperatorDeps, blocked: boolean) {
  const account = await accountOf(c, deps);
  if (account === undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  const wanted = { account: account.id, blocked, reason };
  const turned = await turnAccount.run(deps, wanted, actOf(c, deps));
  if (!turned.ok) {
    const problem = t.problems[turned.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "block", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, blocked ? "blocked" : "unblocked");
}

/** Ends all sessions of an account. */
async function signOut(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const reason = (await readForm(c)).text("reason");
  const ended = await signOutAccount.run(deps, { account: account.id, reason }, actOf(c, deps));
  if (!ended.ok) {
    const problem = t.problems[ended.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "sign-out", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, "signedOut");
}

/** Changes a wallet, or requests the approval of a second operator above the limit of one. */
async function adjust(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const [amount, reason] = [form.text("amount"), form.text("reason")];
  const formId = form.formId() ?? "";
  const seen = form.text(seenField);
  const wanted = { account: account.id, vnd: amount, reason, operationId: formId, seen };
  const result = await adjustAccount.run(deps, wanted, actOf(c, deps));
  if (result.ok) {
    return result.body.status === "asked"
      ? doneAt(c, "/operator/approvals", "asked")
      : doneAt(c, `/operator/accounts/${account.id}`, "adjusted");
  }
  const refuse = (problem: string) => accountActPage(c, deps, { account, act: "adjust", problem });
  if (result.why === "input") {
    const problems: Readonly<Record<string, string>> = {
      vnd: t.problems.amount,
      reason: t.problems.reason,
    };
    return await refuse(problems[result.field] ?? t.problems.busy);
  }
  if (result.why === "account") return await refuse(t.problems.target);
  if (result.why !== "changed") return await refuse(t.problems[result.why]);
  return await confirmAct(c, deps, result.act, {
    action: `/operator/accounts/${account.id}/adjust`,
    fields: { amount, reason, [formIdField]: formId },
    back: `/operator/accounts/${account.id}`,
    under: "/operator/accounts",
    problem: seen === "" ? undefined : t.problems.changed,
    gone: () => refuse(t.problems.target),
  });
}

/** Sets the limits that the form has. */
async function setLimits(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const { locale } = c.get("visitor");
  const t = frameTexts[locale];
  const form = await readForm(c);
  const read = readRateForm(form);
  if (!read.ok) {
    return await accountActPage(c, deps, {
      account,
      act: "limits",
      problem: rateProblem(read.problem, locale),
    });
  }
  const { limits, models } = read;
  const wanted = { account: account.id, limits, models, reason: form.text("reason") };
  const set = await limitAccount.run(deps, wanted, actOf(c, deps));
  if (!set.ok) {
    const problem = set.why === "models"
      ? rateProblem("model", locale)
      : t.problems[set.why === "input" ? "reason" : "busy"];
    return await accountActPage(c, deps, { account, act: "limits", problem });
  }
  return doneAt(c, `/operator/accounts/${account.id}`, "switched");
}

/** Adds a note about the customer. */
async function note(c: OperatorContext, deps: OperatorDeps) {
  const account = await accountOf(c, deps);
  if (account === undefined || account.deletedAtMs !== undefined) return await notFoundPage(c);
  const text = (await readForm(c)).text("text");
  const added = await noteAccount.run(deps, { account: account.id, text }, actOf(c, deps));
  if (!added.ok) return await accountPage(c, deps, account, text);
  return doneAt(c, `/operator/accounts/${account.id}`, "noted");
}

// The operator's pages about accounts: search, statement, blocking, changes of a wallet.

// `/operator/accounts`: the list of customers, with a search.

/** Customers of a page: each costs a read for its last call. */
const pageRows = 50;

/** Milliseconds for which the sums of 30 days are kept, which are a scan. */
const chargedKeptMs = 60_000;

/** Reads what customers were charged, or gives what was read not long before. */
type ChargedOf = () => Promise<ChargedSums>;

/** Keeps the sums of one scan for all pages of the list. */
function keptCharged({ kv, clock }: OperatorDeps): ChargedOf {
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
async function accountListPage(
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

// The pages of acts on an account: what the act does, and the form that does it.

/** The acts that have a page. */
const accountActs = ["adjust", "limits", "sign-out", "block"] as const;

/** One of them. */
type AccountAct = typeof accountActs[number];

/** Shows the page of an act; `problem` explains why the form that was sent had no effect. */
async function accountActPage(
  c: OperatorContext,
  deps: OperatorDeps,
  { account, act, problem }: {
    readonly account: Account;
    readonly act: AccountAct;
    readonly problem?: string;
  },
) {
  const visitor = c.get("visitor");
  const t = customerTexts[visitor.locale];
  const who = accountName(account);
  const path = `/operator/accounts/${account.id}`;
  const titles = {
    adjust: t.adjust,
    limits: t.limits,
    "sign-out": t.signOutTitle(who),
    block: account.blockedAtMs === undefined ? t.blockTitle(who) : t.unblockTitle(who),
  };
  return await renderOperatorPage(
    c,
    { title: titles[act], lead: <a href={path}>{who}</a>, problem },
    <>
      {act === "adjust" && <AdjustCard account={account} deps={deps} visitor={visitor} />}
      {act === "limits" && (
        <RateForm
          account={account}
          limits={await loadRates(deps, account)}
          deps={deps}
          visitor={visitor}
        />
      )}
      {act === "sign-out" && (
        <Card>
          <SignOutConsequences
            account={account}
            view={await readCustomer(deps, account)}
            locale={visitor.locale}
          />
          <PostForm visitor={visitor} action={`${path}/sign-out`}>
            <ReasonField locale={visitor.locale} />
            <SubmitButton tone="danger">{t.signOutButton}</SubmitButton>
          </PostForm>
        </Card>
      )}
      {act === "block" && (
        <Card>
          <BlockConsequences
            account={account}
            view={await readCustomer(deps, account)}
            locale={visitor.locale}
          />
          <BlockForm account={account} visitor={visitor} />
        </Card>
      )}
      <p>
        <a href={path}>{t.back}</a>
      </p>
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
    <Card>
      <p>{t.adjustText(formatMoney(deps.topup.approvalAboveMicroVnd, visitor.locale))}</p>
      <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/adjust`}>
        {/* A form that is sent twice moves money once. */}
        <FormIdField />
        <TextField name="amount" label={t.adjustField} required maxlength={20} />
        <ReasonField locale={visitor.locale} />
        <SubmitButton>{t.adjustButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function BlockForm({ account, visitor }: { account: Account; visitor: Visitor }) {
  const t = accountTexts[visitor.locale];
  const isBlocked = account.blockedAtMs !== undefined;
  return (
    <PostForm
      visitor={visitor}
      action={`/operator/accounts/${account.id}/${isBlocked ? "unblock" : "block"}`}
    >
      <ReasonField locale={visitor.locale} />
      <SubmitButton tone={isBlocked ? "primary" : "danger"}>
        {isBlocked ? t.unblock : t.block}
      </SubmitButton>
    </PostForm>
  );
}

/** Registers the pages of accounts. */
function createAccountsPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const chargedOf = keptCharged(deps);
  app.get("/operator/accounts", (c) => accountListPage(c, deps, chargedOf));
  app.get("/operator/accounts/:id", async (c) => {
    const account = await accountOf(c, deps);
    return account === undefined ? await notFoundPage(c) : await accountPage(c, deps, account);
  });
  for (const act of accountActs) {
    app.get(`/operator/accounts/:id/${act}`, async (c) => {
      const account = await accountOf(c, deps);
      return account === undefined || account.deletedAtMs !== undefined
        ? await notFoundPage(c)
        : await accountActPage(c, deps, { account, act });
    });
  }
  app.post("/operator/accounts/:id/sign-out", (c) => signOut(c, deps));
  app.post("/operator/accounts/:id/note", (c) => note(c, deps));
  app.post("/operator/accounts/:id/block", (c) => block(c, deps, true));
  app.post("/operator/accounts/:id/unblock", (c) => block(c, deps, false));
  app.post("/operator/accounts/:id/adjust", (c) => adjust(c, deps));
  app.post("/operator/accounts/:id/limits", (c) => setLimits(c, deps));
  return app;
}

export const accountsPages: OperatorPage = {
  link: { href: "/operator/accounts", label: accountsLabel },
  routes: createAccountsPages,
};
