/**
 * Builds keys of invoices: requests, with indexes per account and per order, and attached files.
 */
import type { AccountId, InvoiceId } from "../../../core/lib/ids/ids.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import type { StoreKey } from "./store_key.ts";

export function invoicesPrefix(): StoreKey {
  return ["invoice"];
}

export function invoiceKey(invoiceId: InvoiceId): StoreKey {
  return ["invoice", invoiceId];
}

export function accountInvoicesPrefix(accountId: AccountId): StoreKey {
  return ["invoice_by_account", accountId];
}

export function accountInvoiceKey(accountId: AccountId, invoiceId: InvoiceId): StoreKey {
  return ["invoice_by_account", accountId, invoiceId];
}

/** Returns the invoice of a row in the list of an account. */
export function invoiceOf(key: Deno.KvKey): InvoiceId {
  return String(key[2]) as InvoiceId;
}

export function invoiceOfOrderKey(code: OrderCode): StoreKey {
  return ["invoice_of_order", code];
}

export function invoiceFilePrefix(invoiceId: InvoiceId, name: string): StoreKey {
  return ["invoice_file", invoiceId, name];
}

export function invoiceFileChunkKey(invoiceId: InvoiceId, name: string, part: number): StoreKey {
  return ["invoice_file", invoiceId, name, part];
}

export function invoiceProfileKey(accountId: AccountId): StoreKey {
  return ["invoice_profile", accountId];
}

export function invoiceSettingsKey(accountId: AccountId): StoreKey {
  return ["invoice_settings", accountId];
}
