/**
 * Exports invoice requests for the operator's invoicing provider: CSV for its import page, JSON for
 * its API. Sums are whole đồng, in JSON as decimal strings.
 */
import { csvFile } from "../../lib/base/csv.ts";
import { type Field, fieldColumns, fieldsJson } from "../../lib/json/fields.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { vietnamDay } from "../../lib/time/vietnam_time.ts";
import type { Invoice } from "./invoice.ts";
import { formatVatRate } from "./vat.ts";

const buyerFields: readonly Field<Invoice>[] = [
  { name: "type", value: ({ buyer }) => buyer.type, csv: "buyer_type" },
  { name: "tax_code", value: ({ buyer }) => buyer.taxCode ?? null, csv: "buyer_tax_code" },
  { name: "name", value: ({ buyer }) => buyer.legalName, csv: "buyer_legal_name" },
  { name: "address", value: ({ buyer }) => buyer.address, csv: "buyer_address" },
  { name: "email", value: ({ buyer }) => buyer.email, csv: "buyer_email" },
  { name: "phone", value: ({ buyer }) => buyer.phone ?? null, csv: "buyer_phone" },
];

/** The line of an invoice; each has one. */
const itemFields: readonly Field<Invoice>[] = [
  { name: "line_number", value: () => 1, csv: true },
  { name: "item_name", value: ({ itemName }) => itemName, csv: true },
  { name: "unit", value: () => "Lần", csv: true },
  { name: "quantity", value: () => 1, csv: true },
  { name: "unit_price", value: ({ netVnd }) => netVnd.toString(), csv: true },
  { name: "amount_without_vat", value: ({ netVnd }) => netVnd.toString(), csv: true },
  { name: "vat_rate", value: ({ rate }) => formatVatRate(rate), csv: true },
  { name: "vat_amount", value: ({ vatVnd }) => vatVnd.toString(), csv: true },
];

const invoiceFields: readonly Field<Invoice>[] = [
  { name: "reference_code", value: ({ id }) => id, csv: true },
  {
    name: "requested_date",
    value: ({ requestedAtMs }) => vietnamDay(requestedAtMs),
    csv: true,
  },
  { name: "state", value: ({ state }) => state, csv: true },
  {
    name: "basis",
    value: ({ basis }) =>
      basis.kind === "orders" ? { order_codes: [...basis.codes] } : { month: basis.month },
    csv: [{
      name: "order_codes",
      cell: ({ basis }) => basis.kind === "orders" ? basis.codes.join(" ") : basis.month,
    }],
  },
  {
    name: "buyer",
    value: (invoice) => fieldsJson(buyerFields, invoice),
    csv: fieldColumns(buyerFields),
  },
  { name: "payment_method", value: () => "CK", csv: true },
  { name: "currency", value: () => "VND", csv: true },
  {
    name: "items",
    value: (invoice) => [fieldsJson(itemFields, invoice)],
    csv: fieldColumns(itemFields),
  },
  { name: "total_amount", value: ({ grossVnd }) => grossVnd.toString(), csv: true },
  { name: "amount_in_words", value: ({ amountInWords }) => amountInWords, csv: true },
  { name: "note", value: ({ note }) => note, csv: true },
  {
    name: "issued",
    value: ({ issued }) => issued === undefined ? null : { ...issued },
    csv: [
      { name: "invoice_series", cell: ({ issued }) => issued?.series },
      { name: "invoice_number", cell: ({ issued }) => issued?.number },
      { name: "invoice_date", cell: ({ issued }) => issued?.date },
    ],
  },
  { name: "replaces", value: ({ replaces }) => replaces ?? null, csv: true },
];

const columns = fieldColumns(invoiceFields);

/** Writes one row per line item, with the mark that lets Excel read Vietnamese. */
export function invoicesAsCsv(invoices: readonly Invoice[]): string {
  return csvFile(columns, invoices);
}

/** Converts an invoice to JSON. */
export function invoiceJson(invoice: Invoice): JsonObject {
  return fieldsJson(invoiceFields, invoice);
}

/** Writes the same as JSON. */
export function invoicesAsJson(invoices: readonly Invoice[]): string {
  return JSON.stringify({ invoices: invoices.map(invoiceJson) }, null, 2);
}
