/**
 * The operator's pages. Mounted behind the dashboard's visitor, CSRF guard and security headers.
 *
 * - Folder `routes/operator/pages/`: the operator's pages; this level holds the gate, the frame,
 *   and pages without a folder.
 * - In: requests of operators.
 * - Out: HTML, acts with their audit lines.
 * - Never: shows that it exists to an account that is not named in `GATEWAY_OPERATORS`.
 */
import { Hono } from "hono";
import type { DashboardEnv } from "../../dashboard/visitor/visitor.ts";
import { createAccountsPages } from "./accounts/accounts.ts";
import { createApprovalPages } from "./approvals.tsx";
import { createAuditPages } from "./audit_log.tsx";
import { createBankPages } from "./payments/bank.tsx";
import { createClaimsPages } from "./claims.tsx";
import type { OperatorDeps } from "./deps.ts";
import { createOperatorGate } from "./gate.tsx";
import { createOperatorInvoicePages } from "./invoices/invoices.tsx";
import { createOverviewPages } from "./overview.tsx";
import { createReviewPages } from "./payments/review.tsx";
import { createUnreadablePages } from "./payments/unreadable.tsx";
import { createServicePages } from "./service/service.tsx";

export type { OperatorDeps } from "./deps.ts";

/**
 * Everything under `/operator`: only for accounts named in `GATEWAY_OPERATORS`, with a second factor. The gate comes
 * first; a page that is added behind it is guarded without doing anything for it.
 */
export function createOperatorPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  const pages = [
    createOperatorGate(deps),
    createOverviewPages(deps),
    createReviewPages(deps),
    createUnreadablePages(deps),
    createBankPages(deps),
    createAccountsPages(deps),
    createApprovalPages(deps),
    createOperatorInvoicePages(deps),
    createClaimsPages(deps),
    createServicePages(deps),
    createAuditPages(deps),
  ];
  for (const page of pages) app.route("/", page);
  return app;
}
