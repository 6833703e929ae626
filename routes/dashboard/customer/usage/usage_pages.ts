/**
 * `/usage` and `/receipts`: registers the pages of usage and receipts.
 *
 * - Folder `routes/dashboard/customer/usage/`: the pages of usage and receipts, and their export.
 * - In: a range of days and filters.
 * - Out: HTML, CSV, JSON.
 * - Never: moves money or changes a receipt.
 */
import { Hono } from "hono";
import type { DashboardDeps } from "../../page/deps.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { exportForms, jsonListForm } from "../../../usage_api/usage_export.ts";
import { exportFile } from "./export.ts";
import { proofFile, receiptPage, searchedCall } from "./receipt_page.tsx";
import { removeViewForm, saveViewForm } from "./saved_views.tsx";
import { liveCalls, usagePage } from "./usage_page.tsx";
import type { PageDeclaration } from "../../page/page.ts";

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
