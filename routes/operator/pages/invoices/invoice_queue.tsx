/**
 * The queue of invoice requests, and its export for the provider of electronic invoices.
 *
 * - Folder `routes/operator/pages/invoices/`: the operator's pages about VAT invoices.
 * - In: decisions and files of operators.
 * - Out: HTML, exports, invoices in new states.
 * - Never: moves money.
 */
import {
  type Invoice,
  type InvoiceState,
  invoiceStates,
} from "../../../../core/trade/invoices/invoice.ts";
import { invoicesAsCsv, invoicesAsJson } from "../../../../core/trade/invoices/invoice_export.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { listInvoices } from "../../../../kv/money/invoices/invoices.ts";
import {
  Card,
  DataTable,
  PostForm,
  SelectField,
  SubmitButton,
  Time,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { exportInvoices } from "../../operations/money/invoices.ts";
import {
  actOf,
  NothingHere,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import {
  fileResponse,
  sharedInvoiceColumns,
} from "../../../dashboard/customer/invoices/invoices_views.tsx";
import { Hono } from "hono";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { attach, invoiceOf, invoicePage, move } from "./invoice_page.tsx";

// The table of invoice requests on the operator's pages.

/** The table of invoice requests. */
export function InvoiceTable({ invoices, locale }: {
  invoices: readonly Invoice[];
  locale: Locale;
}) {
  const t = invoiceTexts[locale];
  const { buyer, total, state } = sharedInvoiceColumns(locale);
  return (
    <DataTable
      label={t.title}
      rows={invoices}
      empty={<NothingHere of="invoices" locale={locale} />}
      columns={[
        {
          head: t.day,
          kind: "one-line",
          cell: (invoice) => (
            <a href={`/operator/invoices/${invoice.id}`}>
              <Time atMs={invoice.requestedAtMs} locale={locale} relative />
            </a>
          ),
        },
        buyer,
        { head: t.taxCode, cell: (invoice) => invoice.buyer.taxCode ?? "" },
        total,
        {
          head: t.issuedFields.number,
          cell: ({ issued }) => issued === undefined ? "" : `${issued.series} ${issued.number}`,
        },
        state,
      ]}
    />
  );
}

const shownInvoices = 200;

function parseState(text: string | undefined): InvoiceState | undefined {
  return invoiceStates.find((state) => state === text);
}

/** Shows the requests, the latest first, in one state or in all. */
async function queuePage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = operatorInvoiceTexts[visitor.locale];
  const state = parseState(c.req.query("state"));
  const invoices = await listInvoices(deps.kv, {
    count: shownInvoices,
    ...defined({ state }),
  });
  const names = invoiceTexts[visitor.locale].states;
  return await renderOperatorPage(
    c,
    { lead: t.lead },
    <>
      <Card title={t.export}>
        <p>{t.exportText}</p>
        <PostForm visitor={visitor} action="/operator/invoices/export" class="actions">
          <SubmitButton tone="plain" name="format" value="csv">{t.asCsv}</SubmitButton>
          <SubmitButton tone="plain" name="format" value="json">{t.asJson}</SubmitButton>
        </PostForm>
      </Card>
      <Card>
        <form method="get" class="inline-form">
          <SelectField
            name="state"
            label={invoiceTexts[visitor.locale].state}
            value={state ?? ""}
            options={[
              { value: "", label: t.all },
              ...invoiceStates.map((value) => ({ value, label: names[value] })),
            ]}
          />
          <SubmitButton tone="plain">{frameTexts[visitor.locale].show}</SubmitButton>
        </form>
        <InvoiceTable invoices={invoices} locale={visitor.locale} />
      </Card>
    </>,
  );
}

/** Exports the requests that are requested or exported, and marks the requested ones as exported. */
async function exportQueue(c: OperatorContext, deps: OperatorDeps) {
  const format = (await readForm(c)).text("format");
  if (format !== "json" && format !== "csv") return await notFoundPage(c);
  const invoices = await exportInvoices(deps, actOf(c, deps));
  const name = `invoices-${vietnamDay(deps.clock.nowMs())}.${format}`;
  if (format === "csv") return c.body(invoicesAsCsv(invoices), 200, csvDownloadHeaders(name));
  return c.body(invoicesAsJson(invoices), 200, {
    "content-type": "application/json; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}

// `/operator/invoices`: the queue, its export, and one request from "requested" to "sent".

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
