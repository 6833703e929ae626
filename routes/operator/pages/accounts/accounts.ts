/**
 * The operator's pages about accounts: search, statement, blocking, changes of a wallet.
 *
 * - Folder `routes/operator/pages/accounts/`: the operator's pages about customers.
 * - In: searches, and forms with a reason.
 * - Out: HTML, blocked accounts, adjustments, requests for approval.
 * - Never: sets a balance: money only moves.
 */
import { Hono } from "hono";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { adjust, block, setLimits } from "./account_acts.ts";
import { accountListPage } from "./account_list.tsx";
import { accountOf, accountPage } from "./account_page.tsx";
import type { OperatorDeps } from "../base/deps.ts";
import type { OperatorPage } from "../base/page.ts";
import { accountsLabel } from "../base/account_texts.ts";

/** Registers the pages of accounts. */
function createAccountsPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/accounts", (c) => accountListPage(c, deps));
  app.get("/operator/accounts/:id", async (c) => {
    const account = await accountOf(c, deps);
    return account === undefined ? await notFoundPage(c) : await accountPage(c, deps, account);
  });
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
