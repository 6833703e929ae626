/** The queue of invoice requests, and its export for the provider of electronic invoices. */
import type { Invoice, InvoiceState } from "../../../../core/trade/invoices/invoice.ts";
import { invoicesAsCsv, invoicesAsJson } from "../../../../core/trade/invoices/invoice_export.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { listInvoices, moveInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { Card, PostForm, SelectField, SubmitButton } from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import { csvDownloadHeaders } from "../../../http/csv_download.ts";
import type { OperatorDeps } from "../base/deps.ts";
import { type OperatorContext, operatorOf, renderOperatorPage } from "../base/frame.tsx";
import { InvoiceTable } from "./invoice_views.tsx";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

const shownInvoices = 200;
/** Requests in one export; the rest follows in the next. */
const exportedInvoices = 1_000;

const states: readonly InvoiceState[] = [
  "requested",
  "exported",
  "issued",
  "sent",
  "rejected",
  "replaced",
];

function parseState(text: string | undefined): InvoiceState | undefined {
  return states.find((state) => state === text);
}

/** Shows the requests, the latest first, in one state or in all. */
export async function queuePage(c: OperatorContext, deps: OperatorDeps) {
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
              ...states.map((value) => ({ value, label: names[value] })),
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
export async function exportQueue(c: OperatorContext, deps: OperatorDeps) {
  const format = (await readForm(c)).text("format") === "json" ? "json" : "csv";
  const open = [
    ...await listInvoices(deps.kv, { count: exportedInvoices, state: "requested" }),
    ...await listInvoices(deps.kv, { count: exportedInvoices, state: "exported" }),
  ];
  const invoices: Invoice[] = [];
  for (const invoice of open.reverse()) {
    if (invoice.state !== "requested") {
      invoices.push(invoice);
      continue;
    }
    const moved = await moveInvoice(deps.kv, {
      id: invoice.id,
      move: { to: "exported" },
      operator: operatorOf(c),
      nowMs: deps.clock.nowMs(),
    });
    // A request that was moved or rejected meanwhile is left out.
    if (moved.ok) invoices.push(moved.invoice);
  }
  const name = `invoices-${vietnamDay(deps.clock.nowMs())}.${format}`;
  if (format === "csv") return c.body(invoicesAsCsv(invoices), 200, csvDownloadHeaders(name));
  return c.body(invoicesAsJson(invoices), 200, {
    "content-type": "application/json; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}
