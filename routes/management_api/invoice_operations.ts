/** Operations on the VAT invoices of an organisation, and on the buyer whom they name. */
import { z } from "zod";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  isoTime,
  listField,
  listOf,
  objectField,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import {
  type BuyerForm,
  buyerFormOf,
  type BuyerProblem,
  type Invoice,
  type InvoiceFile,
  type InvoiceSettings,
  maxNoteChars,
  readBuyerForm,
  readSettingsForm,
} from "../../core/trade/invoices/invoice.ts";
import { vatRateAt } from "../../core/trade/invoices/vat.ts";
import {
  getInvoiceSettings,
  listAccountInvoices,
  maxOrdersPerInvoice,
  type NewInvoiceResult,
  readOwnInvoice,
  requestInvoice,
  setInvoiceSettings,
  usualBuyer,
} from "../../kv/money/invoices/invoices.ts";
import { readOwnOrder } from "../../kv/money/payments/topups.ts";
import { wrongParameter } from "../http/query.ts";
import { invoiceFileResponse } from "../payments/invoice_file.ts";
import { invoiceFields as sumFields } from "../usage_api/statements/statement_json.ts";
import { pagedListing } from "./lists.ts";
import {
  type AnswerShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

const buyerTypes = ["company", "person"] as const;

/** Characters of a member of a buyer that are read at all; what is too long is refused by its own rule. */
const maxTyped = 1_000;
const typed = z.string().max(maxTyped).nullable().optional();
const buyerBody = z.strictObject({
  type: z.enum(buyerTypes).optional(),
  tax_code: typed,
  legal_name: typed,
  address: typed,
  email: typed,
  phone: typed,
  tax_code_confirmed: z.boolean().optional(),
});

type Buyer = z.infer<typeof buyerBody>;

const buyerFields: readonly DescribedField<InvoiceSettings>[] = [
  optional("type", { type: "string", enum: [...buyerTypes] }, ({ type }) => type),
  optional("tax_code", text, ({ taxCode }) => taxCode),
  optional("legal_name", text, ({ legalName }) => legalName),
  optional("address", text, ({ address }) => address),
  optional("email", text, ({ email }) => email),
  optional("phone", text, ({ phone }) => phone),
  // Said by the customer of a tax code that fails its check.
  optional("tax_code_confirmed", { type: "boolean" }, ({ taxCodeConfirmed }) => taxCodeConfirmed),
];

const fileFields: readonly DescribedField<InvoiceFile>[] = [
  always("id", text, ({ fileId }) => fileId),
  always("name", text, ({ name }) => name),
  always("type", text, ({ type }) => type),
  always("bytes", count, ({ bytes }) => bytes),
];

const invoiceFields: readonly DescribedField<Invoice>[] = [
  constant("object", "invoice"),
  ...sumFields,
  always("amount_in_words", text, ({ amountInWords }) => amountInWords),
  always("item_name", text, ({ itemName }) => itemName),
  // The top-ups, or the month, that it is about.
  optional(
    "topups",
    listOf(text),
    ({ basis }) => basis.kind === "orders" ? [...basis.codes] : undefined,
  ),
  optional("month", text, ({ basis }) => basis.kind === "month" ? basis.month : undefined),
  objectField("buyer", "The buyer as printed.", buyerFields, ({ buyer }: Invoice) => buyer),
  always("note", text, ({ note }) => note),
  always("requested_at", dateTime, ({ requestedAtMs }) => isoTime(requestedAtMs)),
  always("changed_at", dateTime, ({ changedAtMs }) => isoTime(changedAtMs)),
  optional("issued_on", { type: "string", format: "date" }, ({ issued }) => issued?.date),
  optional("authority_code", text, ({ issued }) => issued?.authorityCode),
  optional("lookup_code", text, ({ issued }) => issued?.lookupCode),
  optional("rejected_reason", text, ({ rejectedReason }) => rejectedReason),
  // The issued invoice that it replaces.
  optional("replaces", text, ({ replaces }) => replaces),
  listField("files", "A file of the invoice.", fileFields, ({ files }: Invoice) => files),
];

const invoiceShape: AnswerShape = {
  name: "Invoice",
  description: "A request for a VAT invoice, and the invoice once it is issued.",
  fields: invoiceFields,
};

const billingFields: readonly DescribedField<InvoiceSettings>[] = [
  constant("object", "billing_details"),
  ...buyerFields,
];

/** Puts what was sent over what is known: what is left out stays, `null` clears. */
function mergedForm(known: BuyerForm, sent: Buyer): BuyerForm {
  const over = (value: string | null | undefined, old: string) =>
    value === undefined ? old : value ?? "";
  return {
    type: sent.type ?? known.type,
    taxCode: over(sent.tax_code, known.taxCode),
    legalName: over(sent.legal_name, known.legalName),
    address: over(sent.address, known.address),
    email: over(sent.email, known.email),
    phone: over(sent.phone, known.phone),
    // Who sends another tax code confirms that one, if need be.
    confirmed: sent.tax_code_confirmed ?? (sent.tax_code === undefined && known.confirmed),
  };
}

const memberNames: Readonly<Record<BuyerProblem["field"], string>> = {
  taxCode: "tax_code",
  legalName: "legal_name",
  address: "address",
  email: "email",
  phone: "phone",
};

/** Says what is wrong with a buyer. */
function buyerError([problem]: readonly BuyerProblem[], prefix = ""): GatewayError {
  if (problem === undefined) throw new TypeError("a refused buyer has a problem");
  const param = prefix + memberNames[problem.field];
  switch (problem.what) {
    case "required":
      return wrongParameter(param, "is missing");
    case "form":
      return wrongParameter(param, "does not have the right form");
    case "confirm":
      return wrongParameter(
        param,
        "fails its check; if it is right all the same, send tax_code_confirmed: true",
      );
  }
}

/** @throws {GatewayError} where the operator makes no invoices */
function requireOffer({ deps: { topup } }: ManagementCall<unknown>): void {
  if (topup.vatRates.length === 0) {
    throw new GatewayError("not_found", "VAT invoices are not offered here");
  }
}

async function changeBilling(call: ManagementCall<Buyer>): Promise<JsonObject> {
  requireOffer(call);
  const { deps: { kv }, account, by, nowMs, body } = call;
  const known = buyerFormOf(await getInvoiceSettings(kv, account.id), undefined);
  const read = readSettingsForm(mergedForm(known, body));
  if (!read.ok) throw buyerError(read.problems);
  if (!await setInvoiceSettings(kv, account.id, read.settings, { by, nowMs })) {
    throw new GatewayError("overloaded", "The organisation has just changed; try again");
  }
  return fieldsJson(billingFields, read.settings);
}

const billing = {
  path: "/v1/organisation/billing-details",
  answer: {
    name: "BillingDetails",
    description: "The usual buyer, from which requests for invoices take what they do not say.",
    fields: billingFields,
  },
} as const;

const company: JsonObject = {
  type: "company",
  tax_code: "0314409058",
  legal_name: "CÔNG TY TNHH MẪU",
  address: "1 Đường Mẫu, Hà Nội",
  email: "ketoan@example.com",
};

const billingOperations: readonly ManagementOperation[] = [
  {
    ...billing,
    id: "getBillingDetails",
    method: "get",
    summary: "Billing details",
    description: "The usual buyer of invoices.",
    act: "view_invoices",
    errors: [],
    run: async ({ deps, account }) =>
      fieldsJson(billingFields, await getInvoiceSettings(deps.kv, account.id)),
  },
  withBody({
    ...billing,
    id: "changeBillingDetails",
    method: "patch",
    summary: "Change the billing details",
    description:
      "What is left out stays as it is, `null` clears. Invoices that were requested keep theirs.",
    act: "change_invoices",
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: buyerBody, example: company },
    run: changeBilling,
  }),
];

const requestBody = z.strictObject({
  topups: z.array(z.string().max(maxTyped)).min(1).max(maxOrdersPerInvoice),
  buyer: buyerBody.optional(),
  note: z.string().max(maxNoteChars).default(""),
});

/** Why an invoice was not requested. */
function requestError(why: Extract<NewInvoiceResult, { ok: false }>["why"]): GatewayError {
  switch (why) {
    case "order":
      return wrongParameter("topups", "must be paid top-ups of the organisation");
    case "taken":
      return wrongParameter("topups", "what was paid is on an invoice already");
    case "busy":
      return new GatewayError("overloaded", "The top-ups are being changed; try again");
  }
}

async function request(call: ManagementCall<z.infer<typeof requestBody>>): Promise<JsonObject> {
  requireOffer(call);
  const { deps: { kv, topup }, account, by, nowMs, body } = call;
  const rate = vatRateAt(topup.vatRates, nowMs);
  if (rate === undefined) throw new GatewayError("not_found", "No VAT rate applies today");
  const orders = await Promise.all(body.topups.map((code) => readOwnOrder(kv, account.id, code)));
  const codes = orders.flatMap((order) => order === undefined ? [] : [order.code]);
  if (codes.length < orders.length) throw requestError("order");
  const known = buyerFormOf(await usualBuyer(kv, account.id), account.email);
  const read = readBuyerForm(mergedForm(known, body.buyer ?? {}));
  if (!read.ok) throw buyerError(read.problems, "buyer.");
  const made = await requestInvoice(kv, {
    accountId: account.id,
    codes,
    buyer: read.buyer,
    note: body.note,
    rate,
    itemName: topup.invoiceItemName,
    nowMs,
    doneBy: by,
  });
  if (!made.ok) throw requestError(made.why);
  return fieldsJson(invoiceFields, made.invoice);
}

async function invoiceOf({ deps, account, param }: ManagementCall<unknown>): Promise<Invoice> {
  const invoice = await readOwnInvoice(deps.kv, account.id, param("id"));
  if (invoice === undefined) throw new GatewayError("not_found", "There is no such invoice");
  return invoice;
}

const invoicesPath = "/v1/organisation/invoices";

/** The operations. */
export const invoiceOperations: readonly ManagementOperation[] = [
  pagedListing({
    id: "listInvoices",
    path: invoicesPath,
    summary: "Invoices",
    description: "Requests for VAT invoices and what became of them, newest first.",
    act: "view_invoices",
    item: invoiceShape,
    async page({ deps: { kv }, account: { id } }, { count, after }) {
      const before = after === undefined ? undefined : parseId("invoice", after);
      if (after !== undefined && before === undefined) return [];
      return await listAccountInvoices(kv, id, count, before);
    },
    idOf: ({ id }) => id,
    json: (invoice) => fieldsJson(invoiceFields, invoice),
  }),
  withBody({
    id: "requestInvoice",
    method: "post",
    path: invoicesPath,
    summary: "Request an invoice",
    description:
      `For what was paid under at most ${maxOrdersPerInvoice} top-ups and is on no invoice. What \`buyer\` leaves out is taken ` +
      "from the billing details and the last request.",
    act: "change_invoices",
    answer: invoiceShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: requestBody, example: { topups: ["ST9PGD3TVW"], buyer: company } },
    run: request,
  }),
  {
    id: "getInvoice",
    method: "get",
    path: `${invoicesPath}/{id}`,
    summary: "One invoice",
    description: "An invoice by its id, with its files.",
    act: "view_invoices",
    answer: invoiceShape,
    errors: ["not_found"],
    run: async (call) => fieldsJson(invoiceFields, await invoiceOf(call)),
  },
  {
    id: "getInvoiceFile",
    method: "get",
    path: `${invoicesPath}/{id}/files/{file}`,
    summary: "A file of an invoice",
    description: "The PDF or XML of an issued invoice.",
    act: "view_invoices",
    file: { description: "The file.", types: ["application/pdf", "application/xml"] },
    errors: ["not_found"],
    async send(call) {
      const invoice = await invoiceOf(call);
      const file = await invoiceFileResponse(call.deps.kv, invoice, call.param("file"));
      if (file === undefined) throw new GatewayError("not_found", "There is no such file");
      return file;
    },
  },
  ...billingOperations,
];
