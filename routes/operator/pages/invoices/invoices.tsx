/**
 * `/operator/invoices`: the queue, its export, and one request from "requested" to "sent".
 *
 * - Folder `routes/operator/pages/invoices/`: the operator's pages about VAT invoices.
 * - In: decisions and files of operators.
 * - Out: HTML, exports, invoices in new states.
 * - Never: moves money.
 */
import { Hono } from "hono";
import { parseId } from "../../../../core/lib/ids.ts";
import {
  type Invoice,
  type InvoiceState,
  mayMoveInvoice,
} from "../../../../core/invoices/invoice.ts";
import { invoicesAsCsv, invoicesAsJson } from "../../../../core/invoices/invoice_export.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getAccount } from "../../../../kv/accounts/accounts.ts";
import { attachInvoiceFile } from "../../../../kv/invoices/invoice_files.ts";
import {
  getInvoice,
  type InvoiceMove,
  listInvoices,
  moveInvoice,
} from "../../../../kv/invoices/invoices.ts";
import { mailInvoiceRejected, mailInvoiceSent } from "../../../../kv/payments/topup_mails.ts";
import {
  Card,
  FileField,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { type PostedForm, readForm } from "../../../dashboard/form_data.ts";
import { invoiceTexts } from "../../../dashboard/invoices/invoices_texts.ts";
import {
  fileResponse,
  InvoiceFacts,
  InvoiceFiles,
} from "../../../dashboard/invoices/invoices_views.tsx";
import type { DashboardEnv, Visitor } from "../../../dashboard/visitor/visitor.ts";
import { csvDownloadHeaders } from "../../../http/csv_download.ts";
import { parseDay } from "../../../usage_api/days.ts";
import type { OperatorDeps } from "../deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "../frame.tsx";
import { InvoiceTable } from "./invoice_views.tsx";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { ReasonField } from "../reason_field.tsx";
import { frameTexts } from "../texts.ts";
import type { OperatorPage } from "../page.ts";

const shownInvoices = 200;
/** One export; the rest waits for the next. */
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

async function queuePage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = operatorInvoiceTexts[visitor.locale];
  const state = parseState(c.req.query("state"));
  const invoices = await listInvoices(deps.kv, {
    count: shownInvoices,
    ...(state !== undefined && { state }),
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

/** Hands out what is requested or under way, and marks the requested ones: they are with the provider now. */
async function exportQueue(c: OperatorContext, deps: OperatorDeps) {
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
    // One that somebody moved or rejected just now is left out.
    if (moved.ok) invoices.push(moved.invoice);
  }
  const name = `invoices-${vietnamDay(deps.clock.nowMs())}.${format}`;
  if (format === "csv") return c.body(invoicesAsCsv(invoices), 200, csvDownloadHeaders(name));
  return c.body(invoicesAsJson(invoices), 200, {
    "content-type": "application/json; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}

async function invoiceOf(c: OperatorContext, deps: OperatorDeps): Promise<Invoice | undefined> {
  const id = parseId("invoice", c.req.param("id") ?? "");
  return id === undefined ? undefined : (await getInvoice(deps.kv, id)).value ?? undefined;
}

async function invoicePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const invoice = await invoiceOf(c, deps);
  if (invoice === undefined) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = operatorInvoiceTexts[locale];
  return await renderOperatorPage(
    c,
    {
      title: invoice.buyer.legalName,
      lead: (
        <>
          {invoice.id} ·{" "}
          <a href={`/operator/accounts/${invoice.accountId}`}>{frameTexts[locale].account}</a>
        </>
      ),
      problem,
    },
    <>
      <InvoiceFacts invoice={invoice} locale={locale} />
      <MoveForms invoice={invoice} visitor={visitor} today={vietnamDay(deps.clock.nowMs())} />
      <Card title={invoiceTexts[locale].files}>
        <InvoiceFiles invoice={invoice} base="/operator/invoices" locale={locale} />
        <PostForm visitor={visitor} action={`/operator/invoices/${invoice.id}/files`} multipart>
          <FileField name="file" label={t.file} accept=".pdf,.xml" />
          <SubmitButton tone="plain">{t.attach}</SubmitButton>
        </PostForm>
      </Card>
    </>,
  );
}

/** What may be done next. Issued invoices are never edited, only replaced. */
function MoveForms({ invoice, visitor, today }: {
  invoice: Invoice;
  visitor: Visitor;
  today: string;
}) {
  const t = operatorInvoiceTexts[visitor.locale];
  const names = invoiceTexts[visitor.locale];
  const action = `/operator/invoices/${invoice.id}/move`;
  const may = (to: InvoiceState) => mayMoveInvoice(invoice.state, to);
  const negative = may("rejected") ? "rejected" : may("replaced") ? "replaced" : undefined;
  return (
    <div class="columns">
      {may("issued") && (
        <Card title={t.issue}>
          <PostForm visitor={visitor} action={action}>
            <input type="hidden" name="to" value="issued" />
            <TextField name="series" label={names.series} required maxlength={20} />
            <TextField name="number" label={names.number} required maxlength={30} />
            <TextField name="date" label={names.issuedOn} type="date" value={today} required />
            <TextField name="authorityCode" label={names.authority} maxlength={100} />
            <TextField name="lookupCode" label={names.lookup} maxlength={100} />
            <SubmitButton>{t.issue}</SubmitButton>
          </PostForm>
        </Card>
      )}
      {may("sent") && (
        <Card title={t.send}>
          <p>{t.sendText(invoice.buyer.email)}</p>
          <PostForm visitor={visitor} action={action}>
            <input type="hidden" name="to" value="sent" />
            <SubmitButton>{t.send}</SubmitButton>
          </PostForm>
        </Card>
      )}
      {negative !== undefined && (
        <Card title={t[negative]}>
          <p>{t[`${negative}Text`]}</p>
          <PostForm visitor={visitor} action={action} confirm={`${t[negative]}?`}>
            <input type="hidden" name="to" value={negative} />
            <ReasonField locale={visitor.locale} />
            <SubmitButton tone="danger">{t[negative]}</SubmitButton>
          </PostForm>
        </Card>
      )}
    </div>
  );
}

function moveOf(form: PostedForm): InvoiceMove | "fields" | "reason" | "refused" {
  const to = form.text("to");
  switch (to) {
    case "issued": {
      const [series, number] = [form.text("series"), form.text("number")];
      const date = parseDay(form.text("date"));
      if (series === "" || number === "" || date === undefined) return "fields";
      const authorityCode = form.text("authorityCode");
      const lookupCode = form.text("lookupCode");
      return {
        to,
        issued: {
          series,
          number,
          date,
          ...(authorityCode !== "" && { authorityCode }),
          ...(lookupCode !== "" && { lookupCode }),
        },
      };
    }
    case "sent":
      return { to };
    case "rejected":
    case "replaced": {
      const reason = form.text("reason");
      return reason === "" ? "reason" : { to, reason };
    }
    default:
      return "refused";
  }
}

async function move(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].problems;
  const invoice = await invoiceOf(c, deps);
  if (invoice === undefined) return await notFoundPage(c);
  const step = moveOf(await readForm(c));
  if (typeof step === "string") return await invoicePage(c, deps, t[step]);
  const account = await getAccount(deps.kv, invoice.accountId);
  const nowMs = deps.clock.nowMs();
  const moved = await moveInvoice(deps.kv, {
    id: invoice.id,
    move: step,
    operator: operatorOf(c),
    nowMs,
    attach(operation, changed) {
      if (step.to === "sent") mailInvoiceSent(operation, changed, account, nowMs);
      if (step.to === "rejected") mailInvoiceRejected(operation, changed, account, nowMs);
    },
  });
  if (!moved.ok) return await invoicePage(c, deps, t[moved.why]);
  deps.hintMail();
  return doneAt(c, `/operator/invoices/${invoice.id}`, "moved");
}

async function attach(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].problems;
  const invoice = await invoiceOf(c, deps);
  if (invoice === undefined) return await notFoundPage(c);
  const file = (await readForm(c)).file("file");
  if (file === undefined) return await invoicePage(c, deps, t.file);
  const result = await attachInvoiceFile(deps.kv, {
    id: invoice.id,
    name: file.name,
    bytes: await file.bytes(),
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
  });
  if (!result.ok) return await invoicePage(c, deps, t[result.why]);
  return doneAt(c, `/operator/invoices/${invoice.id}`, "attached");
}

/** The invoice pages of operators. */
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
