/** The form of an invoice request, with errors beside each field. */
import {
  type BuyerForm,
  type BuyerProblem,
  type BuyerResult,
  maxNoteChars,
  type SettingsResult,
} from "../../../../core/trade/invoices/invoice.ts";
import type { TopupOrder } from "../../../../kv/money/payments/topups.ts";
import type { CommonRefusal, Refused } from "../../../acts/operation.ts";
import {
  Card,
  CheckboxField,
  fieldsOf,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import { invoiceTexts } from "./invoices_texts.ts";
import type { Visitor } from "../../page/visitor.ts";

/** Reads the form as posted. */
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

/** The buyer of a form as acts read it: a form has every field, so that nothing is taken from what is known. */
export function sentBuyer({ confirmed, ...typed }: BuyerForm) {
  return { ...typed, taxCodeConfirmed: confirmed };
}

const fields = ["taxCode", "legalName", "address", "email", "phone"] as const;

/**
 * The fields of a buyer for which an act was refused.
 *
 * @param read what the form says by its own rules
 */
export function refusedFields(
  outcome: Refused<string> | CommonRefusal,
  read: BuyerResult | SettingsResult,
): readonly BuyerProblem[] {
  if ("why" in outcome) return outcome.why === "buyer" && !read.ok ? read.problems : [];
  if (outcome.common !== "input") return [];
  const wrong = new Set(outcome.issues.map(({ field }) => field.split(".").at(-1)));
  return fields.filter((field) => wrong.has(field)).map((field) => ({ field, what: "form" }));
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

export interface BuyerProps {
  readonly form: BuyerForm;
  readonly problems: readonly BuyerProblem[];
  readonly locale: Locale;
  /** No field is required: the form edits settings, it is no request. */
  readonly optional?: boolean;
}

/** The label, content and problem of each field of a buyer. */
function buyerFields({ form, problems, locale }: BuyerProps) {
  const found = problems.map((one) => [one.field, wordsFor(one, locale)] as const);
  // The first problem of a field is the one that it shows.
  const errors: Partial<Record<BuyerProblem["field"], string>> = Object.fromEntries(
    found.reverse(),
  );
  return fieldsOf<BuyerProblem["field"]>(invoiceTexts[locale], form, errors);
}

/** The form that requests an invoice for an order. */
export function InvoiceForm({ visitor, order, note, isNoteWrong, ...buyer }: {
  visitor: Visitor;
  order: TopupOrder;
  form: BuyerForm;
  note: string;
  isNoteWrong: boolean;
  problems: readonly BuyerProblem[];
}) {
  const { locale } = visitor;
  const t = invoiceTexts[locale];
  return (
    <Card>
      <PostForm visitor={visitor} action="/invoices">
        <input type="hidden" name="order" value={order.code} />
        <BuyerFields {...buyer} locale={locale} />
        <TextField
          name="note"
          label={t.note}
          value={note}
          maxlength={maxNoteChars}
          rows={2}
          error={isNoteWrong ? t.badForm : undefined}
        />
        <p class="muted">{t.frozen}</p>
        <SubmitButton>{t.send}</SubmitButton>
      </PostForm>
    </Card>
  );
}

/** The fields of a buyer. */
export function BuyerFields(props: BuyerProps) {
  return (
    <>
      <TaxpayerFields {...props} />
      <ContactFields {...props} />
    </>
  );
}

/** The fields of the buyer's name and tax code. A tax code that looks wrong can be confirmed. */
function TaxpayerFields(props: BuyerProps) {
  const { form, problems, locale } = props;
  const t = invoiceTexts[locale];
  const field = buyerFields(props);
  const isRequired = props.optional !== true;
  const asksToConfirm = form.confirmed || problems.some(({ what }) => what === "confirm");
  return (
    <>
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
        {...field("taxCode")}
        hint={t.taxCodeHint}
        inputmode="numeric"
        maxlength={20}
      />
      {asksToConfirm && (
        <CheckboxField name="confirmed" label={t.confirmCode} checked={form.confirmed} />
      )}
      <TextField
        {...field("legalName")}
        hint={t.legalNameHint}
        autocomplete="organization"
        required={isRequired}
        maxlength={400}
      />
    </>
  );
}

/** The fields of the buyer's address and mail. */
function ContactFields(props: BuyerProps) {
  const field = buyerFields(props);
  const required = props.optional !== true;
  return (
    <>
      <TextField
        {...field("address")}
        autocomplete="street-address"
        required={required}
        maxlength={400}
      />
      <div class="fields">
        <TextField
          {...field("email")}
          type="email"
          autocomplete="email"
          required={required}
          maxlength={254}
        />
        <TextField {...field("phone")} autocomplete="tel" maxlength={20} />
      </div>
    </>
  );
}
