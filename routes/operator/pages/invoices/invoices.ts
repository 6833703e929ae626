/**
 * `/operator/invoices`: the queue, its export, and one request from "requested" to "sent".
 *
 * - Folder `routes/operator/pages/invoices/`: the operator's pages about VAT invoices.
 * - In: decisions and files of operators.
 * - Out: HTML, exports, invoices in new states.
 * - Never: moves money.
 */
import { Hono } from "hono";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { fileResponse } from "../../../dashboard/customer/invoices/invoices_views.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps } from "../base/deps.ts";
import type { OperatorPage } from "../base/page.ts";
import { attach, invoiceOf, invoicePage, move } from "./invoice_page.tsx";
import { exportQueue, queuePage } from "./invoice_queue.tsx";

function createOperatorInvoicePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/invoices", (c) => queuePage(c, deps));
  app.post("/operator/invoices/export", (c) => exportQueue(c, deps));
  app.get("/operator/invoices/:id", (c) => invoicePage(c, deps));
  app.post("/operator/invoices/:id/move", (c) => move(c, deps));
  app.post("/operator/invoices/:id/files", (c) => attach(c, deps));
  app.get("/operator/invoices/:id/files/:fileId", async (c) => {
    const invoice = await invoiceOf(c, deps);
    return invoice === undefined ? await notFoundPage(c) : await fileResponse(c, deps.kv, invoice);
  });
  return app;
}

export const operatorInvoicePages: OperatorPage = {
  link: { href: "/operator/invoices", label: { en: "Invoices", vi: "Hoá đơn" } },
  routes: createOperatorInvoicePages,
};
