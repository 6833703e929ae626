/**
 * `/operator/calls`: the calls of all customers or of one, and one call by its id.
 *
 * - Folder `routes/operator/pages/calls/`: the operator's log of calls.
 * - In: a request id, a customer, how calls ended.
 * - Out: HTML with the metadata of calls, routes included.
 * - Never: shows a prompt or an answer, which are not stored, or changes anything.
 */
import { Hono } from "hono";
import { normaliseEmail } from "../../../../core/accounts/email_address.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids.ts";
import { findAccountByEmail } from "../../../../kv/accounts/accounts.ts";
import { Card, Notice, Pager, TextField } from "../../../dashboard/components/mod.ts";
import { ErrorFields, FindCall } from "../../../dashboard/usage/filter_form.tsx";
import type { DashboardEnv } from "../../../dashboard/visitor/visitor.ts";
import type { ErrorFilter } from "../../../usage_api/call_filter.ts";
import { takeCalls, takeCallsOfAll } from "../../../usage_api/call_scan.ts";
import type { OperatorDeps } from "../deps.ts";
import { type OperatorContext, renderOperatorPage } from "../frame.tsx";
import type { OperatorPage } from "../page.ts";
import { frameTexts } from "../texts.ts";
import { callPage } from "./call_page.tsx";
import { OperatorCallTable } from "./call_rows.tsx";
import { callsLabel, callTexts } from "./texts.ts";

/** Calls on one page. */
const callsPerPage = 50;

function given(text: string | undefined): string | undefined {
  const trimmed = text?.trim().slice(0, 256);
  return trimmed === "" ? undefined : trimmed;
}

/** The customer whom a search names by id or address; `undefined` if there is none. */
async function accountIdOf({ kv }: OperatorDeps, text: string): Promise<AccountId | undefined> {
  const id = parseId("account", text);
  if (id !== undefined) return id;
  const email = normaliseEmail(text);
  return email === undefined ? undefined : (await findAccountByEmail(kv, email))?.id;
}

function queryOf(account: string | undefined, filter: ErrorFilter, before?: string): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ account, ...filter, before })) {
    if (value !== undefined) query.set(name, value);
  }
  return query.toString();
}

/** Reads a page of calls; none for a customer who does not exist. */
async function readCalls(
  { kv, clock }: OperatorDeps,
  accountId: AccountId | undefined,
  filter: ErrorFilter & { readonly before: ReturnType<typeof beforeOf> },
) {
  if (accountId === undefined) return await takeCallsOfAll(kv, filter, callsPerPage);
  const all = { accountId, fromMs: 0, untilMs: clock.nowMs() + 1 };
  return await takeCalls(kv, { ...filter, ...all }, callsPerPage);
}

const beforeOf = (c: OperatorContext) => parseId("request", c.req.query("before") ?? "");

async function callListPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = callTexts[locale];
  const asked = parseId("request", given(c.req.query("id")) ?? "");
  if (asked !== undefined) return c.redirect(`/operator/calls/${asked}`, 303);
  const account = given(c.req.query("account"));
  const accountId = account === undefined ? undefined : await accountIdOf(deps, account);
  const isUnknown = account !== undefined && accountId === undefined;
  const filter: ErrorFilter = {
    status: given(c.req.query("status")),
    error: given(c.req.query("error")),
  };
  const before = beforeOf(c);
  const { calls, next } = isUnknown
    ? { calls: [], next: undefined }
    : await readCalls(deps, accountId, { ...filter, before });
  return await renderOperatorPage(
    c,
    { lead: t.lead },
    <>
      <Card>
        <FindCall action="/operator/calls" locale={locale} />
        {given(c.req.query("id")) !== undefined && <Notice tone="warning">{t.noCall}</Notice>}
      </Card>
      <Card>
        <form method="get" class="inline-form" data-autosubmit>
          <TextField name="account" type="search" label={t.account} value={account} />
          <ErrorFields filter={filter} locale={locale} />
          <button type="submit" class="outline secondary">{frameTexts[locale].show}</button>
        </form>
        {isUnknown && <Notice tone="warning">{t.notFound}</Notice>}
        <OperatorCallTable calls={calls} locale={locale} />
        <Pager
          previous={before === undefined
            ? undefined
            : `/operator/calls?${queryOf(account, filter)}`}
          next={next === undefined
            ? undefined
            : `/operator/calls?${queryOf(account, filter, next)}`}
          locale={locale}
        />
      </Card>
    </>,
  );
}

/** Registers the pages of calls. */
function createCallPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/operator/calls", (c) => callListPage(c, deps))
    .get("/operator/calls/:id", (c) => callPage(c, deps));
}

export const callPages: OperatorPage = {
  link: { href: "/operator/calls", label: callsLabel },
  routes: createCallPages,
};
