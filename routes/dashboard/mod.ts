/**
 * Builds the dashboard from its pages. `visitor/mounting.ts` loads this file with the first request for a page.
 *
 * - Folder `routes/dashboard/`: the dashboard: its list of pages, and how they become an app.
 * - In: the declarations of pages.
 * - Out: one Hono app.
 * - Never: imports `core/wire/`, `core/calls/` or `core/net/transport/`, here or below: pages reach models only
 *   through the API.
 */
export type { DashboardDeps, Dispatch } from "./page/deps.ts";
export type { PageDeps } from "./page/page_deps.ts";
export type { DashboardEnv } from "./page/visitor.ts";
export { createDashboard } from "./dashboard.ts";
