/**
 * Exports invoice requests for the operator's invoicing provider: CSV for its import page, JSON for
 * its API. Sums are whole đồng, in JSON as decimal strings. Also the fields of an issued invoice, which
 * the invoicing provider assigns, as forms and programs give them.
 */
import { csvFile } from "../../lib/base/csv.ts";
import { fieldColumns, fieldsJson } from "../../lib/json/fields.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import {
  count,
  type DescribedField,
  maybeText,
  objectSchema,
  text,
} from "../../lib/json/schemas.ts";
import { vietnamDay } from "../../lib/time/vietnam_time.ts";
import { recordOf } from "../../lib/base/record_of.ts";
import { type Invoice, invoiceStates, type IssuedInvoice } from "./invoice.ts";
import { formatVatRate } from "./vat.ts";

/** A field of an issued invoice. */
export interface IssuedField {
  readonly input: "text" | "day";
  readonly maxChars: number;
  readonly isNeeded: boolean;
}

/** All fields, in the order of the form. */
export const issuedFields = {
  series: { input: "text", maxChars: 20, isNeeded: true },
  number: { input: "text", maxChars: 30, isNeeded: true },
  date: { input: "day", maxChars: 10, isNeeded: true },
  authorityCode: { input: "text", maxChars: 100, isNeeded: false },
  lookupCode: { input: "text", maxChars: 100, isNeeded: false },
} as const satisfies Readonly<Record<keyof IssuedInvoice, IssuedField>>;

/** The name of a field. */
export type IssuedFieldName = keyof typeof issuedFields;

function isFieldName(name: string): name is IssuedFieldName {
  return Object.hasOwn(issuedFields, name);
}

/** The names of all fields, in the order of the form. */
export const issuedFieldNames = Object.keys(issuedFields).filter(isFieldName);

/** Whole đồng. */
const whole: JsonObject = { type: "string", pattern: "^[0-9]+$" };

const buyerFields: readonly DescribedField<Invoice>[] = [
  { name: "type", schema: text, value: ({ buyer }) => buyer.type, csv: "buyer_type" },
  {
    name: "tax_code",
    schema: maybeText,
    value: ({ buyer }) => buyer.taxCode ?? null,
    csv: "buyer_tax_code",
  },
  { name: "name", schema: text, value: ({ buyer }) => buyer.legalName, csv: "buyer_legal_name" },
  { name: "address", schema: text, value: ({ buyer }) => buyer.address, csv: "buyer_address" },
  { name: "email", schema: text, value: ({ buyer }) => buyer.email, csv: "buyer_email" },
  {
    name: "phone",
    schema: maybeText,
    value: ({ buyer }) => buyer.phone ?? null,
    csv: "buyer_phone",
  },
];

/** The line of an invoice; each has one. */
const itemFields: readonly DescribedField<Invoice>[] = [
  { name: "line_number", schema: count, value: () => 1, csv: true },
  { name: "item_name", schema: text, value: ({ itemName }) => itemName, csv: true },
  { name: "unit", schema: text, value: () => "Lần", csv: true },
  { name: "quantity", schema: count, value: () => 1, csv: true },
  { name: "unit_price", schema: whole, value: ({ netVnd }) => netVnd.toString(), csv: true },
  {
    name: "amount_without_vat",
    schema: whole,
    value: ({ netVnd }) => netVnd.toString(),
    csv: true,
  },
  { name: "vat_rate", schema: text, value: ({ rate }) => formatVatRate(rate), csv: true },
  { name: "vat_amount", schema: whole, value: ({ vatVnd }) => vatVnd.toString(), csv: true },
];

/** The fields of an exported request. */
export const invoiceFields: readonly DescribedField<Invoice>[] = [
  { name: "reference_code", isRequired: true, schema: text, value: ({ id }) => id, csv: true },
  {
    name: "requested_date",
    schema: { type: "string", format: "date", description: "In Vietnam time." },
    value: ({ requestedAtMs }) => vietnamDay(requestedAtMs),
    csv: true,
  },
  {
    name: "state",
    isRequired: true,
    schema: { enum: [...invoiceStates] },
    value: ({ state }) => state,
    csv: true,
  },
  {
    name: "basis",
    schema: {
      type: "object",
      properties: { order_codes: { type: "array", items: text }, month: text },
      description: "What it is about: paid orders, or the usage of a month.",
    },
    value: ({ basis }) =>
      basis.kind === "orders" ? { order_codes: [...basis.codes] } : { month: basis.month },
    csv: [{
      name: "order_codes",
      cell: ({ basis }) => basis.kind === "orders" ? basis.codes.join(" ") : basis.month,
    }],
  },
  {
    name: "buyer",
    schema: objectSchema("As printed.", buyerFields),
    value: (invoice) => fieldsJson(buyerFields, invoice),
    csv: fieldColumns(buyerFields),
  },
  { name: "payment_method", schema: text, value: () => "CK", csv: true },
  { name: "currency", schema: text, value: () => "VND", csv: true },
  {
    name: "items",
    schema: { type: "array", items: objectSchema("A line.", itemFields) },
    value: (invoice) => [fieldsJson(itemFields, invoice)],
    csv: fieldColumns(itemFields),
  },
  { name: "total_amount", schema: whole, value: ({ grossVnd }) => grossVnd.toString(), csv: true },
  { name: "amount_in_words", schema: text, value: ({ amountInWords }) => amountInWords, csv: true },
  { name: "note", schema: text, value: ({ note }) => note, csv: true },
  {
    name: "issued",
    schema: {
      type: ["object", "null"],
      properties: recordOf(issuedFieldNames, () => text),
      description: "What the invoicing provider and the tax authority assigned.",
    },
    value: ({ issued }) => issued === undefined ? null : { ...issued },
    csv: [
      { name: "invoice_series", cell: ({ issued }) => issued?.series },
      { name: "invoice_number", cell: ({ issued }) => issued?.number },
      { name: "invoice_date", cell: ({ issued }) => issued?.date },
    ],
  },
  { name: "replaces", schema: maybeText, value: ({ replaces }) => replaces ?? null, csv: true },
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
