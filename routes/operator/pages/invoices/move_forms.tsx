/** The forms that move an invoice request to its next state, and how they are read. */
import {
  type Invoice,
  type InvoiceState,
  mayMoveInvoice,
} from "../../../../core/trade/invoices/invoice.ts";
import type { InvoiceMove } from "../../../../kv/money/invoices/invoices.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { parseDay } from "../../../usage_api/days.ts";
import { operatorInvoiceTexts } from "./invoice_texts.ts";
import { ReasonField } from "../base/reason_field.tsx";

/** The forms of the next possible states. Issued invoices are never edited, only replaced. */
export function MoveForms({ invoice, visitor, today }: {
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
export function moveOf(form: PostedForm): InvoiceMove | "fields" | "reason" | "refused" {
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
