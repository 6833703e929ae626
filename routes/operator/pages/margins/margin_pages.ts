/**
 * The operator's pages about what calls cost: margins, and sheets to hold against invoices of providers.
 *
 * - Folder `routes/operator/pages/margins/`: costs and margins for operators.
 * - In: a period, a grouping, a provider.
 * - Out: HTML and CSV files.
 * - Never: shown to a customer, or changes anything.
 */
import { Hono } from "hono";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps, OperatorPage } from "../base/frame.tsx";
import { marginsFile, marginsPage } from "./margins_page.tsx";
import { sheetFile, sheetPage } from "./sheet_page.tsx";
import { marginsLabel, marginTexts } from "./texts.ts";

function createMarginPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/operator/margins", (c) => marginsPage(c, deps))
    .get("/operator/margins/export.csv", (c) => marginsFile(c, deps))
    .get("/operator/margins/sheet", (c) => sheetPage(c, deps))
    .get("/operator/margins/sheet.csv", (c) => sheetFile(c, deps));
}

export const marginPages: OperatorPage = {
  link: { href: "/operator/margins", label: marginsLabel },
  views: [{
    href: "/operator/margins/sheet",
    label: { en: marginTexts.en.sheet, vi: marginTexts.vi.sheet },
  }],
  routes: createMarginPages,
};
