/**
 * The operator's pages. Mounted behind the dashboard's visitor, CSRF guard and security headers.
 *
 * - Folder `routes/operator/pages/`: the operator's pages as one app; each page is in a folder below.
 * - In: requests of operators.
 * - Out: HTML, acts with their audit lines.
 * - Never: shows that it exists to an account that is not named in `GATEWAY_OPERATORS`.
 */
import type { Hono, MiddlewareHandler } from "hono";
import { navigationOf } from "../../dashboard/page/navigation.ts";
import { type PageDeclaration, servedPaths } from "../../dashboard/page/page.ts";
import type { DashboardEnv } from "../../dashboard/page/visitor.ts";
import { accountsPages } from "./accounts/account_acts.ts";
import { announcementPages } from "./service/announcements.tsx";
import { approvalPages } from "./review/approvals.tsx";
import { auditPages } from "./review/audit_log.tsx";
import { campaignPages } from "./campaigns/campaigns.tsx";
import { callPages } from "./calls/calls.tsx";
import { cataloguePages } from "./catalogue/catalogue.tsx";
import { claimsPages } from "./claims/claims.tsx";
import type { OperatorDeps, OperatorPage } from "./base/frame.tsx";
import { createOperatorGate } from "./base/gate.tsx";
import { marginPages } from "./margins/margin_pages.ts";
import { operatorInvoicePages } from "./invoices/invoice_queue.tsx";
import { overviewPages } from "./overview/overview.tsx";
import { bankPages } from "./payments/bank.tsx";
import { reviewPages } from "./review/review.tsx";
import { servicePages } from "./service/service.tsx";

/** The pages, in the order of the navigation. A page that is not listed here is not served. */
const pages: readonly OperatorPage[] = [
  overviewPages,
  reviewPages,
  bankPages,
  accountsPages,
  callPages,
  approvalPages,
  operatorInvoicePages,
  campaignPages,
  marginPages,
  claimsPages,
  servicePages,
  cataloguePages,
  announcementPages,
  auditPages,
];

/**
 * Builds everything under `/operator`: only for accounts named in `GATEWAY_OPERATORS`, with a second factor. The gate
 * comes first and guards every page behind it.
 */
export function createOperatorPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const mounted = pages.map(({ link, routes }) => ({ link, app: routes(deps) }));
  // Below `/operator` the second segment of a path decides which page it belongs to.
  const navigation = navigationOf(
    mounted.map(({ link, app }) => ({ entry: link, paths: servedPaths(app) })),
    1,
  );
  const app = createOperatorGate(deps);
  const provideNavigation: MiddlewareHandler<DashboardEnv> = async (c, next) => {
    c.set("operatorNavigation", navigation);
    await next();
  };
  app.use("/operator", provideNavigation);
  app.use("/operator/*", provideNavigation);
  for (const page of mounted) app.route("/", page.app);
  return app;
}

/** The operator's pages as one page of the dashboard. */
export const operatorPages: PageDeclaration<OperatorDeps> = {
  navigation: {
    href: "/operator",
    icon: "operator",
    group: "account",
    label: { en: "Operator", vi: "Vận hành" },
    operatorsOnly: true,
  },
  routes: createOperatorPages,
};
