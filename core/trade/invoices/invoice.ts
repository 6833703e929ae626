/**
 * Requests for VAT invoices: their contents, and how a filled-in form becomes one.
 *
 * - Folder `core/trade/invoices/`: VAT invoices: tax codes, tax rates by date, the states of a request,
 *   exports.
 * - In: paid orders, the buyer's form, the operator's schedule of rates.
 * - Out: invoice requests, their sums, and CSV or JSON for the operator's invoicing provider.
 * - Never: holds a tax rate in the code; rates are dated settings of the operator.
 */
import { microVndPerVnd } from "../../billing/money/micro_vnd.ts";
import type { AccountId, InvoiceId } from "../../lib/ids/ids.ts";
import type { OrderCode } from "../bank/order_code.ts";
import { parseTaxCode, type TaxCode } from "./tax_code.ts";
import { splitVat, type VatRate, type VatSplit } from "./vat.ts";
import { vndInWords } from "./vnd_in_words.ts";
import { defined } from "../../lib/base/defined.ts";

/** The buyer as printed. A snapshot: later changes of the account do not change an invoice. */
export interface InvoiceBuyer {
  readonly type: "company" | "person";
  /** Digits; a branch with its hyphen. Absent for persons who gave none. */
  readonly taxCode?: string;
  /** The customer confirmed a code whose check failed. */
  readonly taxCodeConfirmed?: true;
  /** The company's or the person's name. */
  readonly legalName: string;
  readonly address: string;
  /** The address to which the invoice is sent. */
  readonly email: string;
  readonly phone?: string;
}

/** The buyer as set in the account, as far as the customer has filled it in. */
export type InvoiceSettings = Partial<InvoiceBuyer>;

/** How much of an order's money an invoice covers: an order that is paid again may have several. */
export interface InvoicePart {
  readonly code: OrderCode;
  readonly amountMicroVnd: bigint;
  /** The issued invoice that this part replaces. */
  readonly replaces?: InvoiceId;
}

/** What the invoice covers: paid orders, or (for accountants who invoice by usage) a month. */
export type InvoiceBasis =
  | {
    readonly kind: "orders";
    readonly codes: readonly OrderCode[];
    /** One per order code. Absent on requests made while an order could have only one invoice. */
    readonly parts?: readonly InvoicePart[];
  }
  /** `2026-11`, Vietnam time. */
  | { readonly kind: "month"; readonly month: string };

/** What the invoicing provider and the tax authority assigned. */
export interface IssuedInvoice {
  readonly number: string;
  readonly series: string;
  /** Day in Vietnam, `2026-11-20`. */
  readonly date: string;
  readonly authorityCode?: string;
  readonly lookupCode?: string;
}

/** A file that the operator attached; its bytes are stored under `fileId`. */
export interface InvoiceFile {
  readonly fileId: string;
  readonly name: string;
  readonly type: "application/pdf" | "application/xml";
  readonly bytes: number;
  readonly parts: number;
}

/** The state of a request. `replaced` was issued and then superseded; the new request names it. */
export type InvoiceState =
  | "requested"
  | "exported"
  | "issued"
  | "sent"
  | "rejected"
  | "replaced";

/** One request. Sums, rate and buyer are fixed when it is made. */
export interface Invoice extends VatSplit {
  readonly id: InvoiceId;
  readonly accountId: AccountId;
  readonly basis: InvoiceBasis;
  readonly buyer: InvoiceBuyer;
  readonly note: string;
  readonly rate: VatRate;
  readonly amountInWords: string;
  readonly itemName: string;
  readonly requestedAtMs: number;
  readonly state: InvoiceState;
  /** When the state last changed. */
  readonly changedAtMs: number;
  readonly issued?: IssuedInvoice;
  readonly files: readonly InvoiceFile[];
  readonly rejectedReason?: string;
  /** The issued invoice that this one replaces. */
  readonly replaces?: InvoiceId;
}

/** The allowed changes of state. Issued invoices are never edited, only replaced. */
const moves: Readonly<Record<InvoiceState, readonly InvoiceState[]>> = {
  requested: ["exported", "issued", "rejected"],
  exported: ["issued", "rejected"],
  issued: ["sent", "replaced"],
  sent: ["replaced"],
  rejected: [],
  replaced: [],
};

/** Whether a request may change from one state to another. */
export function mayMoveInvoice(from: InvoiceState, to: InvoiceState): boolean {
  return moves[from].includes(to);
}

/** Computes the sums of an invoice for what was received under its orders. */
export function invoiceSums(
  receivedMicroVnd: bigint,
  rate: VatRate,
): VatSplit & { readonly amountInWords: string } {
  const grossVnd = receivedMicroVnd / microVndPerVnd;
  return { ...splitVat(grossVnd, rate), amountInWords: vndInWords(grossVnd) };
}

/** The form of a buyer, as typed. */
export interface BuyerForm {
  readonly type: string;
  readonly taxCode: string;
  readonly legalName: string;
  readonly address: string;
  readonly email: string;
  readonly phone: string;
  /** The customer ticked "the tax code is right". */
  readonly confirmed: boolean;
}

/** The problem of a field. `confirm` is only a warning: the same form with the tick is accepted. */
export type BuyerProblem =
  | { readonly field: "taxCode"; readonly what: "required" | "form" }
  | { readonly field: "taxCode"; readonly what: "confirm"; readonly doubt: TaxCode["doubt"] }
  | {
    readonly field: "legalName" | "address" | "email" | "phone";
    readonly what: "required" | "form";
  };

/** The buyer of a form, or the problems of its fields. */
export type BuyerResult =
  | { readonly ok: true; readonly buyer: InvoiceBuyer }
  | { readonly ok: false; readonly problems: readonly BuyerProblem[] };

const textChars = 400;

function tidy(text: string): string {
  return text.normalize("NFC").replace(/[\s\p{Cc}]+/gu, " ").trim();
}

/** The buyer's settings of a form, or the problems of its fields. */
export type SettingsResult =
  | { readonly ok: true; readonly settings: InvoiceSettings }
  | { readonly ok: false; readonly problems: readonly BuyerProblem[] };

/** Checks a form of account settings: like that of a request, but nothing is required. */
export function readSettingsForm(form: BuyerForm): SettingsResult {
  const { buyer, problems } = checkBuyer(form);
  const wrong = problems.filter(({ what }) => what !== "required");
  if (wrong.length > 0) return { ok: false, problems: wrong };
  const { type, legalName, address, email, ...given } = buyer;
  const isNamed = legalName !== "" || given.taxCode !== undefined;
  const settings = {
    ...given,
    // The kind of buyer matters only if one is named.
    ...(isNamed && { type }),
    ...(legalName !== "" && { legalName }),
    ...(address !== "" && { address }),
    ...(email !== "" && { email }),
  };
  return { ok: true, settings };
}

/**
 * Checks a filled-in form. Name and address are required if there is a tax code: providers refuse
 * without.
 */
export function readBuyerForm(form: BuyerForm): BuyerResult {
  const { buyer, problems } = checkBuyer(form);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, buyer };
}

/** Reads the buyer of a form and all its problems; a field with a problem must not be used. */
function checkBuyer(
  form: BuyerForm,
): { readonly buyer: InvoiceBuyer; readonly problems: readonly BuyerProblem[] } {
  const type = form.type === "person" ? "person" : "company";
  const legalName = tidy(form.legalName);
  const address = tidy(form.address);
  const email = tidy(form.email);
  const phone = form.phone.replace(/[\s.()-]/g, "");
  const problems: BuyerProblem[] = [];
  const typedCode = tidy(form.taxCode);
  const taxCode = parseTaxCode(typedCode);
  if (typedCode === "" && type === "company") problems.push({ field: "taxCode", what: "required" });
  else if (typedCode !== "" && taxCode === undefined) {
    problems.push({ field: "taxCode", what: "form" });
  } else if (taxCode?.doubt !== undefined && !form.confirmed) {
    problems.push({ field: "taxCode", what: "confirm", doubt: taxCode.doubt });
  }
  for (const [field, value] of [["legalName", legalName], ["address", address]] as const) {
    if (value === "") problems.push({ field, what: "required" });
    else if (value.length > textChars) problems.push({ field, what: "form" });
  }
  if (email === "") problems.push({ field: "email", what: "required" });
  else if (email.length > 254 || !/^[^\s@<>"',;]+@[^\s@<>"',;]+\.[^\s@<>"',;.]{2,}$/.test(email)) {
    problems.push({ field: "email", what: "form" });
  }
  if (phone !== "" && !/^\+?\d{8,15}$/.test(phone)) problems.push({ field: "phone", what: "form" });
  return {
    problems,
    buyer: {
      type,
      ...defined({ taxCode: taxCode?.code }),
      ...(taxCode?.doubt === undefined ? {} : { taxCodeConfirmed: true }),
      legalName,
      address,
      email,
      ...(phone === "" ? {} : { phone }),
    },
  };
}
