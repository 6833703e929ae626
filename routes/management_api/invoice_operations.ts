/** Operations on the VAT invoices of an organisation, and on the buyer whom they name. */
import { parseId } from "../../core/lib/ids/ids.ts";
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
import type { Invoice, InvoiceFile, InvoiceSettings } from "../../core/trade/invoices/invoice.ts";
import {
  getInvoiceSettings,
  listAccountInvoices,
  maxOrdersPerInvoice,
  readOwnInvoice,
} from "../../kv/money/invoices/invoices.ts";
import { billingChange, buyerTypes, invoiceRequest } from "../acts/money.ts";
import { invoiceFileResponse } from "../payments/invoice_file.ts";
import { invoiceFields as sumFields } from "../usage_api/statements/statement_json.ts";
import { pagedListing } from "./lists.ts";
import {
  actOperation,
  found,
  type ManagementCall,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
} from "./operation.ts";

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

const invoiceShape = shape<Invoice>(
  "Invoice",
  "A request for a VAT invoice, and the invoice once it is issued.",
  [
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
  ],
);

const billingShape = shape<InvoiceSettings>(
  "BillingDetails",
  "The usual buyer, from which requests for invoices take what they do not say.",
  [
    constant("object", "billing_details"),
    ...buyerFields,
  ],
);

const company: JsonObject = {
  type: "company",
  tax_code: "0314409058",
  legal_name: "CÔNG TY TNHH MẪU",
  address: "1 Đường Mẫu, Hà Nội",
  email: "ketoan@example.com",
};

const billingPath = `${organisationPath}/billing-details`;

const billingOperations: readonly ManagementOperation[] = [
  reading({
    id: "getBillingDetails",
    path: billingPath,
    summary: "Billing details",
    description: "The usual buyer of invoices.",
    act: "view_invoices",
    answer: billingShape,
    read: ({ deps, account }) => getInvoiceSettings(deps.kv, account.id),
  }),
  actOperation({
    operation: billingChange,
    method: "patch",
    path: billingPath,
    summary: "Change the billing details",
    description:
      "What is left out stays as it is, `null` clears. Invoices that were requested keep theirs.",
    answer: billingShape,
    example: company,
  }),
];

async function invoiceOf({ deps, account, param }: ManagementCall<unknown>): Promise<Invoice> {
  return found(await readOwnInvoice(deps.kv, account.id, param("id")), "invoice");
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
  }),
  actOperation({
    operation: invoiceRequest,
    method: "post",
    path: invoicesPath,
    summary: "Request an invoice",
    description:
      `For what was paid under at most ${maxOrdersPerInvoice} top-ups and is on no invoice. What \`buyer\` leaves out is taken ` +
      "from the billing details and the last request.",
    answer: invoiceShape,
    example: { topups: ["ST9PGD3TVW"], buyer: company },
  }),
  reading({
    id: "getInvoice",
    path: `${invoicesPath}/{id}`,
    summary: "One invoice",
    description: "An invoice by its id, with its files.",
    act: "view_invoices",
    answer: invoiceShape,
    read: invoiceOf,
  }),
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
      return found(
        await invoiceFileResponse(call.deps.kv, invoice, call.param("file")),
        "file",
      );
    },
  },
  ...billingOperations,
];
