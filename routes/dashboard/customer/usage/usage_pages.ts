/**
 * `/usage` and `/receipts`: registers the pages of usage and receipts, and streams the calls of a range as a file.
 *
 * - Folder `routes/dashboard/customer/usage/`: the pages of usage and receipts, and their export.
 * - In: a range of days and filters.
 * - Out: HTML, CSV, JSON.
 * - Never: moves money or changes a receipt.
 */
import { type Context, Hono } from "hono";
import type { DashboardDeps } from "../../page/deps.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import {
  type ExportForm,
  exportForms,
  exportResponse,
  jsonListForm,
} from "../../../usage_api/usage_export.ts";
import { proofFile, receiptPage, searchedCall } from "./receipt_page.tsx";
import { removeViewForm, saveViewForm } from "./saved_views.tsx";
import { liveCalls, usagePage, wrongTagPage } from "./usage_page.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import { may } from "../../../../core/people/organisations/acts.ts";
import { readUsageFilter } from "./filter_bar.tsx";

// Streams the calls of a range as a file: CSV for spreadsheets, JSON for programs.

/** Streams the calls that match the filter of the query. */
async function exportFile(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  form: ExportForm,
): Promise<Response> {
  const { account, role } = c.get("signedIn");
  const filter = readUsageFilter(c, deps.clock.nowMs());
  if (filter.wrongTag !== undefined) return await wrongTagPage(c, deps, filter);
  const { period, keyId, model, tag } = filter;
  const { fromMs, untilMs, range } = period;
  const name = `calls-${range.fromDay}-to-${range.toDay}`;
  return await exportResponse(
    deps.kv,
    { accountId: account.id, fromMs, untilMs, keyId, model, tag },
    form,
    { name, seesKeys: may(role, "view_keys") },
  );
}

function createUsagePages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/usage/*", requireAccount)
    .use("/receipts/*", requireAccount)
    .use("/receipts", requireAccount)
    .get("/usage", (c) => usagePage(c, deps))
    .get("/usage/live", (c) => liveCalls(c, deps))
    .post("/usage/views", (c) => saveViewForm(c, deps))
    .post("/usage/views/remove", (c) => removeViewForm(c, deps))
    .get("/usage/export.csv", (c) => exportFile(c, deps, exportForms.csv))
    .get("/usage/export.json", (c) => exportFile(c, deps, jsonListForm))
    .get("/receipts", (c) => searchedCall(c))
    .get("/receipts/:id", (c) => receiptPage(c, deps))
    .get("/receipts/:id/proof", (c) => proofFile(c, deps));
}

export const usagePages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/usage",
    icon: "usage",
    group: "observe",
    label: { en: "Requests", vi: "Lượt gọi" },
  },
  routes: createUsagePages,
};
