/** Adds mails about top-ups and invoices to the commits that they report. */
import type { Invoice } from "../../../core/trade/invoices/invoice.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import type { CreditedTransfer } from "./bank_matching.ts";
import { addMail } from "../../engine/outbox/mail.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/**
 * Mails the customer that money has arrived. The id is that of the transfer: one mail each, however
 * often the commit is repeated.
 */
export function mailCredited(
  operation: AtomicWrite,
  { account, event, order, atMs }: CreditedTransfer,
): void {
  if (account.email === undefined) return;
  const job = {
    kind: "topup_credited" as const,
    to: account.email,
    locale: account.locale ?? "vi",
    amountMicroVnd: event.amountMicroVnd,
    ...(order !== undefined && { orderCode: order.code }),
  };
  addMail(operation, job, { nowMs: atMs, id: `topup:${event.source}:${event.id}` });
}

/**
 * Mails that an invoice is ready, to the address on it: often that of an accountant without
 * account.
 */
export function mailInvoiceSent(
  operation: AtomicWrite,
  invoice: Invoice,
  account: Account | undefined,
  nowMs: number,
): void {
  if (invoice.issued === undefined) return;
  const [code] = invoice.basis.kind === "orders" ? invoice.basis.codes : [];
  const job = {
    kind: "invoice_issued" as const,
    to: invoice.buyer.email,
    locale: account?.locale ?? "vi",
    invoiceId: invoice.id,
    invoiceNumber: invoice.issued.number,
    ...defined({ orderCode: code }),
  };
  addMail(operation, job, { nowMs, id: `invoice:${invoice.id}` });
}

/** Mails the customer that a request needs a correction, which only they can make. */
export function mailInvoiceRejected(
  operation: AtomicWrite,
  invoice: Invoice,
  account: Account | undefined,
  nowMs: number,
): void {
  if (account?.email === undefined) return;
  const job = {
    kind: "invoice_rejected" as const,
    to: account.email,
    locale: account.locale ?? "vi",
    reason: invoice.rejectedReason ?? "",
  };
  addMail(operation, job, { nowMs, id: `invoice-rejected:${invoice.id}` });
}
