/**
 * Handles requests for invoices. Money received under an order is on exactly one invoice that
 * counts, enforced by check-and-set; money that arrives later is on a further one. An issued
 * invoice is replaced, never edited.
 *
 * - Folder `kv/money/invoices/`: rows of VAT invoices: requests, their parts of orders, files, the
 *   buyer's usual data.
 * - In: checked requests from `core/trade/invoices/`, decisions and files of operators.
 * - Out: invoices with their states, and refusals.
 * - Never: moves money, or edits an invoice that was issued: it is replaced.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { type AccountId, type InvoiceId, newId, parseId } from "../../../core/lib/ids/ids.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import {
  type Invoice,
  type InvoiceBuyer,
  type InvoicePart,
  type InvoiceSettings,
  type InvoiceState,
  invoiceSums,
  type IssuedInvoice,
  mayMoveInvoice,
} from "../../../core/trade/invoices/invoice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import type { VatRate } from "../../../core/trade/invoices/vat.ts";
import { releaseInvoiceParts, takeInvoicePart } from "./invoiced_orders.ts";
import {
  accountInvoiceKey,
  accountInvoicesPrefix,
  accountKey,
  invoiceKey,
  invoiceOf,
  invoiceProfileKey,
  invoiceSettingsKey,
  invoicesPrefix,
} from "../../engine/schema/keys.ts";
import {
  type Actor,
  addAuditLine,
  type Operator,
  type OperatorAct,
} from "../../people/audit/operator_audit.ts";
import { getTopupOrder } from "../payments/topups.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { takeFitting } from "../../engine/store/bounded_search.ts";
import { commitFresh } from "../../engine/store/cas.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { type Account, hasOnlyBooks } from "../../people/accounts/accounts.ts";
import { addAct, addActivity, type Doer, type Done } from "../../people/audit/account_activity.ts";

// Stores the usual buyer of the invoices of an account, which fills the form of a request.

/** Reads the invoice settings of an account. */
export async function getInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  return (await kv.get<InvoiceSettings>(invoiceSettingsKey(accountId))).value ?? {};
}

/** Replaces the settings. `false` if the account is gone or changed at the same time. */
export async function setInvoiceSettings(
  kv: KeyValueStore,
  accountId: AccountId,
  settings: InvoiceSettings,
  done?: Done,
): Promise<boolean> {
  const [account, former] = await kv.getMany<[Account, InvoiceSettings]>([
    accountKey(accountId),
    invoiceSettingsKey(accountId),
  ]);
  if (account.value === null || hasOnlyBooks(account.value)) return false;
  // Without the check, the data of a person deleted in between would stay.
  const operation = kv.atomic().check(account).set(former.key, settings);
  if (done !== undefined) {
    const [before, after] = [former.value ?? {}, settings];
    addAct(operation, accountId, "invoice_details_changed", done, { before, after });
  }
  return (await operation.commit()).ok;
}

/**
 * Returns the initial data of the next request: the settings of the account, completed from the
 * buyer of the last request.
 */
export async function usualBuyer(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<InvoiceSettings> {
  const [last, settings] = await kv.getMany<[InvoiceBuyer, InvoiceSettings]>([
    invoiceProfileKey(accountId),
    invoiceSettingsKey(accountId),
  ]);
  if (settings.value?.taxCode === undefined) return { ...last.value, ...settings.value };
  // Name, address and confirmation of another tax code do not apply to this one.
  const isSame = last.value?.taxCode === settings.value.taxCode;
  return isSame ? { ...last.value, ...settings.value } : settings.value;
}

/** Most orders on one invoice: each needs two checks, and an atomic write may have ten. */
export const maxOrdersPerInvoice = 5;

/** Most files of one invoice: PDF and XML, and their corrections. */
export const maxInvoiceFiles = 6;

/** The data of a new request. */
export interface NewInvoice {
  readonly accountId: AccountId;
  readonly codes: readonly OrderCode[];
  readonly buyer: InvoiceBuyer;
  readonly note: string;
  /** The current VAT rate, from the dated setting of the operator. */
  readonly rate: VatRate;
  readonly itemName: string;
  readonly nowMs: number;
  /** Person who asks, for the activity log. */
  readonly doneBy?: Doer;
}

/** The result of a request for an invoice. */
export type NewInvoiceResult =
  | { readonly ok: true; readonly invoice: Invoice }
  /**
   * `order`: an order is not of this account, unpaid, or below one đồng. `taken`: everything is on
   * an invoice already. `busy`: try again.
   */
  | { readonly ok: false; readonly why: "order" | "taken" | "busy" };

/**
 * Requests an invoice for paid orders of one account. Its sums are frozen at what has been received
 * so far and is on no other invoice. While a replaced invoice waits for its successor, the request
 * is about the part of that invoice only.
 */
export async function requestInvoice(
  kv: KeyValueStore,
  input: NewInvoice,
): Promise<NewInvoiceResult> {
  const codes = [...new Set(input.codes)];
  if (codes.length === 0 || codes.length > maxOrdersPerInvoice) {
    return { ok: false, why: "order" };
  }
  const id = newId("invoice", input.nowMs);
  const operation = kv.atomic();
  const parts: InvoicePart[] = [];
  for (const code of codes) {
    const order = await getTopupOrder(kv, code);
    const mine = order.value !== null && order.value.accountId === input.accountId;
    if (!mine || order.value.receivedMicroVnd < microVndPerVnd) return { ok: false, why: "order" };
    operation.check(order);
    const part = await takeInvoicePart(kv, operation, order.value);
    if (part === undefined) return { ok: false, why: "taken" };
    parts.push(part);
  }
  const grossMicroVnd = parts.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);
  const replaces = parts.find((part) => part.replaces !== undefined)?.replaces;
  const invoice: Invoice = {
    id,
    accountId: input.accountId,
    basis: { kind: "orders", codes, parts },
    buyer: input.buyer,
    note: input.note,
    rate: input.rate,
    itemName: input.itemName,
    ...invoiceSums(grossMicroVnd, input.rate),
    requestedAtMs: input.nowMs,
    state: "requested",
    changedAtMs: input.nowMs,
    files: [],
    ...defined({ replaces }),
  };
  operation
    .set(invoiceKey(id), invoice)
    .set(accountInvoiceKey(input.accountId, id), null)
    .set(invoiceProfileKey(input.accountId), input.buyer);
  if (input.doneBy !== undefined) {
    addActivity(operation, {
      accountId: input.accountId,
      act: "invoice_requested",
      by: input.doneBy,
      atMs: input.nowMs,
      subject: id,
      after: { orders: codes, grossVnd: invoice.grossVnd },
    });
  }
  return await commitFresh(kv, operation, invoiceKey(id))
    ? { ok: true, invoice }
    : { ok: false, why: "busy" };
}

/** Reads one invoice. */
export async function getInvoice(
  kv: KeyValueStore,
  id: InvoiceId,
): Promise<Deno.KvEntryMaybe<Invoice>> {
  return await kv.get<Invoice>(invoiceKey(id));
}

/** Reads an invoice by an id from outside, if it belongs to the account: those of others do not exist for it. */
export async function readOwnInvoice(
  kv: KeyValueStore,
  accountId: AccountId,
  id: string,
): Promise<Invoice | undefined> {
  const parsed = parseId("invoice", id);
  if (parsed === undefined) return undefined;
  const { value } = await getInvoice(kv, parsed);
  return value?.accountId === accountId ? value : undefined;
}

/**
 * Lists the requests of one account, newest first.
 *
 * @param before the last one of the page before
 */
export async function listAccountInvoices(
  kv: KeyValueStore,
  accountId: AccountId,
  count: number,
  before?: InvoiceId,
): Promise<Invoice[]> {
  const prefix = accountInvoicesPrefix(accountId);
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: accountInvoiceKey(accountId, before) };
  const rows = kv.list(selector, { limit: count, reverse: true });
  const ids = (await Array.fromAsync(rows)).map(({ key }) => invoiceOf(key));
  const entries = await Promise.all(ids.map((id) => getInvoice(kv, id)));
  return entries.flatMap(({ value }) => value === null ? [] : [value]);
}

/** Lists all requests, newest first, optionally of one state only. */
export async function listInvoices(
  kv: KeyValueStore,
  options: { readonly count: number; readonly state?: InvoiceState },
): Promise<Invoice[]> {
  const invoices: Invoice[] = [];
  for await (const { value } of kv.list<Invoice>({ prefix: invoicesPrefix() }, { reverse: true })) {
    if (options.state !== undefined && value.state !== options.state) continue;
    invoices.push(value);
    if (invoices.length >= options.count) break;
  }
  return invoices;
}

/** Some requests, newest first, and where the list continues. The reading is bounded, so a page may be short. */
export async function pageOfInvoices(
  kv: KeyValueStore,
  { count, state, before }: {
    readonly count: number;
    readonly state?: InvoiceState;
    readonly before?: InvoiceId;
  },
): Promise<{ readonly invoices: readonly Invoice[]; readonly next: InvoiceId | undefined }> {
  const prefix = invoicesPrefix();
  const selector = before === undefined ? { prefix } : { prefix, end: invoiceKey(before) };
  const fits = (invoice: Invoice) => state === undefined || invoice.state === state;
  const read = kv.list<Invoice>(selector, { reverse: true });
  const { rows, next } = await takeFitting(read, { count, fits });
  return { invoices: rows, next: next?.id };
}

/** An act of an operator on a request. */
export type InvoiceMove =
  | { readonly to: "exported" | "sent" }
  | { readonly to: "issued"; readonly issued: IssuedInvoice }
  | { readonly to: "rejected" | "replaced"; readonly reason: string };

const acts: Readonly<Record<InvoiceMove["to"], OperatorAct>> = {
  exported: "invoice_exported",
  issued: "invoice_issued",
  sent: "invoice_sent",
  rejected: "invoice_rejected",
  replaced: "invoice_replaced",
};

/** The result of an operator's act. `refused`: the state of the request does not allow it. */
export type InvoiceMoveResult =
  | { readonly ok: true; readonly invoice: Invoice }
  | { readonly ok: false; readonly why: "missing" | "refused" | "busy" };

/**
 * Changes the state of a request. A rejection or replacement frees its part of the orders for a new
 * request.
 */
export async function moveInvoice(
  kv: KeyValueStore,
  input: {
    readonly id: InvoiceId;
    readonly move: InvoiceMove;
    readonly operator: Actor;
    readonly nowMs: number;
    readonly attach?: (operation: AtomicWrite, invoice: Invoice) => void;
  },
): Promise<InvoiceMoveResult> {
  const { move, nowMs } = input;
  const entry = await getInvoice(kv, input.id);
  if (entry.value === null) return { ok: false, why: "missing" };
  if (!mayMoveInvoice(entry.value.state, move.to)) return { ok: false, why: "refused" };
  const invoice: Invoice = {
    ...entry.value,
    state: move.to,
    changedAtMs: nowMs,
    ...(move.to === "issued" && { issued: move.issued }),
    ...((move.to === "rejected" || move.to === "replaced") && { rejectedReason: move.reason }),
  };
  const operation = kv.atomic().check(entry).set(entry.key, invoice);
  if (move.to === "rejected" || move.to === "replaced") {
    await releaseInvoiceParts(kv, operation, invoice, move.to);
  }
  const detail = move.to === "issued"
    ? `${move.issued.series} ${move.issued.number}`
    : "reason" in move
    ? move.reason
    : "";
  addAuditLine(operation, input.operator, {
    act: acts[move.to],
    subject: invoice.id,
    detail,
    atMs: nowMs,
  });
  input.attach?.(operation, invoice);
  return (await operation.commit()).ok ? { ok: true, invoice } : { ok: false, why: "busy" };
}

/** Stores the changed list of files. For `invoice_files.ts`, after the bytes are in the store. */
export async function setInvoiceFiles(
  kv: KeyValueStore,
  entry: Deno.KvEntry<Invoice>,
  change: {
    readonly files: Invoice["files"];
    readonly operator: Operator;
    readonly detail: string;
    readonly nowMs: number;
  },
): Promise<boolean> {
  invariant(change.files.length <= maxInvoiceFiles, "an invoice has few files");
  const operation = kv.atomic().check(entry)
    .set(entry.key, { ...entry.value, files: change.files } satisfies Invoice);
  addAuditLine(operation, change.operator, {
    act: "invoice_file_attached",
    subject: entry.value.id,
    detail: change.detail,
    atMs: change.nowMs,
  });
  return (await operation.commit()).ok;
}
