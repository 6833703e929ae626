/** The form of the usual invoice details: tax code, name, address and mail. */
import type { BuyerForm, BuyerProblem } from "../../../../core/trade/invoices/invoice.ts";
import { Card, PostForm, SubmitButton } from "../../components/mod.ts";
import { BuyerFields } from "../invoices/invoices_form.tsx";
import type { Visitor } from "../../page/visitor.ts";
import { accountTexts } from "./texts.ts";

/** The card with the form of the invoice details. */
export function InvoiceDetailsCard({ visitor, form, problems }: {
  visitor: Visitor;
  form: BuyerForm;
  problems: readonly BuyerProblem[];
}) {
  const { locale } = visitor;
  const t = accountTexts[locale];
  return (
    <Card title={t.invoice} id="invoice-details">
      <p class="muted">{t.invoiceText}</p>
      <PostForm visitor={visitor} action="/account/invoice">
        <BuyerFields form={form} problems={problems} locale={locale} optional />
        <SubmitButton tone="plain">{t.invoiceButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}
