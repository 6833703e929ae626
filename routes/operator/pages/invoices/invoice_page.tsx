/** One invoice request: its facts, its next states and its files. */
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Invoice,
  type InvoiceState,
  mayMoveInvoice,
} from "../../../../core/trade/invoices/invoice.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { attachInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import {
  getInvoice,
  type InvoiceMove,
  moveInvoice,
} from "../../../../kv/money/invoices/invoices.ts";
import {
  mailInvoiceRejected,
  mailInvoiceSent,
} from "../../../../kv/money/payments/topup_checks.ts";
import {
  Card,
  FileField,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { type PostedForm, readForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import {
  InvoiceFacts,
  InvoiceFiles,
} from "../../../dashboard/customer/invoices/invoices_views.tsx";
import {
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  ReasonField,
  renderOperatorPage,
} from "../base/frame.tsx";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { frameTexts } from "../base/texts.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { parseDay } from "../../../usage_api/range.ts";

// The forms that move an invoice request to its next state, and how they are read.

/** The forms of the next possible states. Issued invoices are never edited, only replaced. */
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

/** Reads the requested step of a form, or returns the name of a problem. */
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

/** Finds the invoice that the path names. */
export async function invoiceOf(
  c: OperatorContext,
  deps: OperatorDeps,
): Promise<Invoice | undefined> {
  const id = parseId("invoice", c.req.param("id") ?? "");
  return id === undefined ? undefined : (await getInvoice(deps.kv, id)).value ?? undefined;
}

/** Shows one invoice request. */
export async function invoicePage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
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
export async function move(c: OperatorContext, deps: OperatorDeps) {
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

/** Attaches a file to an invoice. */
export async function attach(c: OperatorContext, deps: OperatorDeps) {
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
