/** One invoice request: its facts, its next states and its files. */
import { parseId } from "../../../../core/lib/ids/ids.ts";
import type { Invoice } from "../../../../core/trade/invoices/invoice.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { attachInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import { getInvoice, moveInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { mailInvoiceRejected, mailInvoiceSent } from "../../../../kv/money/payments/topup_mails.ts";
import { Card, FileField, PostForm, SubmitButton } from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import {
  InvoiceFacts,
  InvoiceFiles,
} from "../../../dashboard/customer/invoices/invoices_views.tsx";
import type { OperatorDeps } from "../base/deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "../base/frame.tsx";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { frameTexts } from "../base/texts.ts";
import { MoveForms, moveOf } from "./move_forms.tsx";

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
