/** The form of an invoice request, with what is wrong beside each field. */
import type { BuyerForm, BuyerProblem, InvoiceBuyer } from "../../core/topup/invoice.ts";
import type { TopupOrder } from "../../kv/topups.ts";
import {
  Card,
  CheckboxField,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "./components/mod.ts";
import type { PostedForm } from "./form_data.ts";
import type { Locale } from "./i18n.ts";
import { invoiceTexts } from "./invoices_texts.ts";
import type { Visitor } from "./visitor.ts";

/** A form before anything was typed: the buyer of the last request, or just the e-mail address of the account. */
export function blankForm(profile: InvoiceBuyer | undefined, email: string | undefined): BuyerForm {
  return {
    type: profile?.type ?? "company",
    taxCode: profile?.taxCode ?? "",
    legalName: profile?.legalName ?? "",
    address: profile?.address ?? "",
    email: profile?.email ?? email ?? "",
    phone: profile?.phone ?? "",
    confirmed: profile?.taxCodeConfirmed === true,
  };
}

/** The form as it was posted. */
export function postedBuyer(form: PostedForm): BuyerForm {
  return {
    type: form.text("type"),
    taxCode: form.text("taxCode"),
    legalName: form.text("legalName"),
    address: form.text("address"),
    email: form.text("email"),
    phone: form.text("phone"),
    confirmed: form.text("confirmed") === "yes",
  };
}

function wordsFor(problem: BuyerProblem, locale: Locale): string {
  const t = invoiceTexts[locale];
  switch (problem.what) {
    case "required":
      return t.required;
    case "confirm":
      return t.doubts[problem.doubt ?? "check_digit"];
    case "form":
      return problem.field === "taxCode" ? t.badTaxCode : t.badForm;
  }
}

export function InvoiceForm({ visitor, order, form, note, problems }: {
  visitor: Visitor;
  order: TopupOrder;
  form: BuyerForm;
  note: string;
  problems: readonly BuyerProblem[];
}) {
  const { locale } = visitor;
  const t = invoiceTexts[locale];
  const error = (field: BuyerProblem["field"]): string | undefined => {
    const problem = problems.find((one) => one.field === field);
    return problem === undefined ? undefined : wordsFor(problem, locale);
  };
  const asksToConfirm = form.confirmed || problems.some(({ what }) => what === "confirm");
  return (
    <Card>
      <PostForm visitor={visitor} action="/invoices">
        <input type="hidden" name="order" value={order.code} />
        <SelectField
          name="type"
          label={t.type}
          value={form.type}
          options={[
            { value: "company", label: t.types.company },
            { value: "person", label: t.types.person },
          ]}
        />
        <TextField
          name="taxCode"
          label={t.taxCode}
          hint={t.taxCodeHint}
          value={form.taxCode}
          inputmode="numeric"
          maxlength={20}
          error={error("taxCode")}
        />
        {asksToConfirm && (
          <CheckboxField name="confirmed" label={t.confirmCode} checked={form.confirmed} />
        )}
        <TextField
          name="legalName"
          label={t.legalName}
          hint={t.legalNameHint}
          value={form.legalName}
          autocomplete="organization"
          required
          maxlength={400}
          error={error("legalName")}
        />
        <TextField
          name="address"
          label={t.address}
          value={form.address}
          autocomplete="street-address"
          required
          maxlength={400}
          error={error("address")}
        />
        <div class="fields">
          <TextField
            name="email"
            label={t.email}
            type="email"
            value={form.email}
            autocomplete="email"
            required
            maxlength={254}
            error={error("email")}
          />
          <TextField
            name="phone"
            label={t.phone}
            value={form.phone}
            autocomplete="tel"
            maxlength={20}
            error={error("phone")}
          />
        </div>
        <TextField name="note" label={t.note} value={note} maxlength={500} rows={2} />
        <p class="muted">{t.frozen}</p>
        <SubmitButton>{t.send}</SubmitButton>
      </PostForm>
    </Card>
  );
}
