/**
 * The queue of invoice requests, its export for the provider of electronic invoices, and the page of one request.
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
  mayMoveInvoice,
} from "../../../../core/trade/invoices/invoice.ts";
import {
  invoicesAsCsv,
  invoicesAsJson,
  type IssuedField,
  type IssuedFieldName,
  issuedFieldNames,
  issuedFields,
} from "../../../../core/trade/invoices/invoice_export.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getInvoice, listInvoices } from "../../../../kv/money/invoices/invoices.ts";
import {
  Card,
  DataTable,
  FileField,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { type PostedForm, readForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import {
  exportInvoices,
  issueInvoice,
  rejectInvoice,
  replaceInvoice,
  sendInvoice,
} from "../../operations/money/invoices.ts";
import {
  actOf,
  doneAt,
  NothingHere,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  ReasonField,
  renderOperatorPage,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import {
  fileResponse,
  InvoiceFacts,
  InvoiceFiles,
  sharedInvoiceColumns,
} from "../../../dashboard/customer/invoices/invoices_views.tsx";
import { Hono } from "hono";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { attachInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import type { OperationAct } from "../../operations/contract/operation.ts";

const operatorInvoiceTexts = defineTexts({
  both: {
    export: ["Export the queue", "Xuất hàng chờ"],
    asCsv: ["Download CSV", "Tải CSV"],
    asJson: ["Download JSON", "Tải JSON"],
    all: ["All", "Tất cả"],
    issue: ["Mark as issued", "Đánh dấu đã phát hành"],
    send: ["Mark as sent", "Đánh dấu đã gửi"],
    rejected: ["Reject", "Từ chối"],
    replaced: ["Replace", "Thay thế"],
    file: ["PDF or XML, at most 2 MB", "PDF hoặc XML, tối đa 2 MB"],
    attach: ["Attach", "Đính kèm"],
  },
  en: {
    lead:
      "Requests for VAT invoices. Issue them with your invoicing provider, then attach number and file here.",
    exportText:
      "Everything requested or in progress, one row per invoice. New requests are marked as in progress.",
    sendText: (email: string) =>
      `An email goes to ${email}, and the files appear in the customer's account.`,
    rejectedText: "The customer is told the reason by email and can ask again with a correction.",
    replacedText:
      "For an issued invoice that is wrong. The customer asks again; the new one names this one.",
  },
  vi: {
    lead:
      "Yêu cầu hoá đơn GTGT. Phát hành ở nhà cung cấp hoá đơn, rồi ghi số và đính kèm tệp tại đây.",
    exportText:
      "Mọi yêu cầu mới hoặc đang xử lý, mỗi hoá đơn một dòng. Yêu cầu mới sẽ chuyển sang đang xử lý.",
    sendText: (email) => `Thư được gửi đến ${email}, và tệp hiện trong tài khoản của khách.`,
    rejectedText: "Khách được báo lý do qua thư và có thể sửa để yêu cầu lại.",
    replacedText:
      "Cho hoá đơn đã phát hành bị sai. Khách yêu cầu lại; hoá đơn mới ghi rõ thay thế hoá đơn này.",
  },
});

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

// One invoice request: its facts, its next states and its files.

// The forms that move an invoice request to its next state, and how they are read.

/** The forms of the next possible states. Issued invoices are never edited, only replaced. */
function MoveForms({ invoice, visitor, today }: {
  invoice: Invoice;
  visitor: Visitor;
  today: string;
}) {
  const t = operatorInvoiceTexts[visitor.locale];
  const action = `/operator/invoices/${invoice.id}/move`;
  const may = (to: InvoiceState) => mayMoveInvoice(invoice.state, to);
  const negative = may("rejected") ? "rejected" : may("replaced") ? "replaced" : undefined;
  return (
    <div class="columns">
      {may("issued") && (
        <Card title={t.issue}>
          <PostForm visitor={visitor} action={action}>
            <input type="hidden" name="to" value="issued" />
            {issuedFieldNames.map((name) => (
              <IssuedInput key={name} name={name} today={today} locale={visitor.locale} />
            ))}
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

function IssuedInput({ name, today, locale }: {
  name: IssuedFieldName;
  today: string;
  locale: Locale;
}) {
  const { input, maxChars, isNeeded }: IssuedField = issuedFields[name];
  const label = invoiceTexts[locale].issuedFields[name];
  return input === "day"
    ? <TextField name={name} label={label} type="date" value={today} required={isNeeded} />
    : <TextField name={name} label={label} required={isNeeded} maxlength={maxChars} />;
}

/** The acts of the forms, by the state that they lead to. */
const moves = {
  issued: (deps: OperatorDeps, invoice: string, { text }: PostedForm, act: OperationAct) =>
    issueInvoice.run(deps, { invoice, ...recordOf(issuedFieldNames, text) }, act),
  sent: (deps: OperatorDeps, invoice: string, _form: PostedForm, act: OperationAct) =>
    sendInvoice.run(deps, { invoice }, act),
  rejected: (deps: OperatorDeps, invoice: string, { text }: PostedForm, act: OperationAct) =>
    rejectInvoice.run(deps, { invoice, reason: text("reason") }, act),
  replaced: (deps: OperatorDeps, invoice: string, { text }: PostedForm, act: OperationAct) =>
    replaceInvoice.run(deps, { invoice, reason: text("reason") }, act),
} as const;

function isMove(to: string): to is keyof typeof moves {
  return Object.hasOwn(moves, to);
}

/** Finds the invoice that the path names. */
async function invoiceOf(
  c: OperatorContext,
  deps: OperatorDeps,
): Promise<Invoice | undefined> {
  const id = parseId("invoice", c.req.param("id") ?? "");
  return id === undefined ? undefined : (await getInvoice(deps.kv, id)).value ?? undefined;
}

/** Shows one invoice request. */
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

/** Moves an invoice request to its next state, with the mail about it. */
async function move(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].problems;
  const invoice = await invoiceOf(c, deps);
  if (invoice === undefined) return await notFoundPage(c);
  const form = await readForm(c);
  const to = form.text("to");
  if (!isMove(to)) return await invoicePage(c, deps, t.refused);
  const moved = await moves[to](deps, invoice.id, form, actOf(c, deps));
  if (!moved.ok) {
    const why = moved.why !== "input" ? moved.why : to === "issued" ? "fields" : "reason";
    return await invoicePage(c, deps, t[why]);
  }
  return doneAt(c, `/operator/invoices/${invoice.id}`, "moved");
}

/** Attaches a file to an invoice. */
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
