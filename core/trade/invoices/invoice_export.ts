/**
 * Exports invoice requests for the operator's invoicing provider: CSV for its import page, JSON for
 * its API.
 */
import { vietnamDay } from "../../lib/time/vietnam_time.ts";
import { csvFile } from "../../lib/base/csv.ts";
import type { Invoice } from "./invoice.ts";
import { formatVatRate } from "./vat.ts";

const header = [
  "reference_code",
  "requested_date",
  "state",
  "order_codes",
  "buyer_type",
  "buyer_tax_code",
  "buyer_legal_name",
  "buyer_address",
  "buyer_email",
  "buyer_phone",
  "payment_method",
  "currency",
  "line_number",
  "item_name",
  "unit",
  "quantity",
  "unit_price",
  "amount_without_vat",
  "vat_rate",
  "vat_amount",
  "total_amount",
  "amount_in_words",
  "note",
  "invoice_series",
  "invoice_number",
  "invoice_date",
  "replaces",
] as const;

function basisText(invoice: Invoice): string {
  return invoice.basis.kind === "orders" ? invoice.basis.codes.join(" ") : invoice.basis.month;
}

/**
 * Writes one row per line item (each invoice has one line), with the mark that lets Excel read
 * Vietnamese.
 */
export function invoicesAsCsv(invoices: readonly Invoice[]): string {
  const rows = invoices.map((invoice) => [
    invoice.id,
    vietnamDay(invoice.requestedAtMs),
    invoice.state,
    basisText(invoice),
    invoice.buyer.type,
    invoice.buyer.taxCode ?? "",
    invoice.buyer.legalName,
    invoice.buyer.address,
    invoice.buyer.email,
    invoice.buyer.phone ?? "",
    "CK",
    "VND",
    "1",
    invoice.itemName,
    "Lần",
    "1",
    invoice.netVnd.toString(),
    invoice.netVnd.toString(),
    formatVatRate(invoice.rate),
    invoice.vatVnd.toString(),
    invoice.grossVnd.toString(),
    invoice.amountInWords,
    invoice.note,
    invoice.issued?.series ?? "",
    invoice.issued?.number ?? "",
    invoice.issued?.date ?? "",
    invoice.replaces ?? "",
  ]);
  return csvFile([header, ...rows]);
}

/** Writes the same as JSON. Sums are whole đồng as decimal strings. */
export function invoicesAsJson(invoices: readonly Invoice[]): string {
  const list = invoices.map((invoice) => ({
    reference_code: invoice.id,
    requested_date: vietnamDay(invoice.requestedAtMs),
    state: invoice.state,
    basis: invoice.basis.kind === "orders"
      ? { order_codes: invoice.basis.codes }
      : { month: invoice.basis.month },
    buyer: {
      type: invoice.buyer.type,
      tax_code: invoice.buyer.taxCode ?? null,
      name: invoice.buyer.legalName,
      address: invoice.buyer.address,
      email: invoice.buyer.email,
      phone: invoice.buyer.phone ?? null,
    },
    payment_method: "CK",
    currency: "VND",
    items: [{
      line_number: 1,
      item_name: invoice.itemName,
      unit: "Lần",
      quantity: 1,
      unit_price: invoice.netVnd.toString(),
      amount_without_vat: invoice.netVnd.toString(),
      vat_rate: formatVatRate(invoice.rate),
      vat_amount: invoice.vatVnd.toString(),
    }],
    total_amount: invoice.grossVnd.toString(),
    amount_in_words: invoice.amountInWords,
    note: invoice.note,
    issued: invoice.issued ?? null,
    replaces: invoice.replaces ?? null,
  }));
  return JSON.stringify({ invoices: list }, null, 2);
}
