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
import { splitVat, type VatRate, type VatSplit } from "./vat.ts";
import { defined } from "../../lib/base/defined.ts";
import { invariant } from "../../lib/base/assert.ts";

/**
 * Checks Vietnamese tax codes (MST).
 *
 * 10 digits: a company. 13 = 10 + `-001`..`-999`: a branch. 12 digits: the personal id, which
 * replaced the tax code of individuals and household businesses on 2025-07-01 (Circular 86/2024).
 *
 * A failed check is a warning: the tax authority decides, so a customer may confirm the code and
 * continue.
 */

/** The check that a code of the right form failed. */
export type TaxCodeDoubt = "check_digit" | "branch_number" | "personal_id";

/** A code of the right form. */
export interface TaxCode {
  /** Digits only; a branch with its hyphen. */
  readonly code: string;
  readonly kind: "company" | "branch" | "personal";
  /** Present when a check failed: ask for confirmation. */
  readonly doubt?: TaxCodeDoubt;
}

const weights = [31, 29, 23, 19, 17, 13, 7, 5, 3];

function companyCodeIsSound(code: string): boolean {
  if (/^0{7}$/.test(code.slice(2, 9))) return false;
  const sum = weights.reduce((total, weight, at) => total + weight * Number(code[at]), 0);
  // 10 is never issued as a check digit, and no digit equals it.
  return 10 - sum % 11 === Number(code[9]);
}

/** Checks province (001–096), then century and sex, then the year. There is no check digit. */
function personalIdIsSound(code: string): boolean {
  const province = Number(code.slice(0, 3));
  return province >= 1 && province <= 96;
}

/**
 * Parses a tax code, with or without its hyphen and with stray spaces. `undefined` unless it has
 * 10, 12 or 13 digits.
 *
 * @example
 * ```ts
 * import { parseTaxCode } from "./invoice.ts";
 * if (parseTaxCode("0314409058002")?.code !== "0314409058-002") throw new Error("no hyphen");
 * if (parseTaxCode("0101234567")?.doubt !== "check_digit") throw new Error("the favourite placeholder passed");
 * ```
 */
export function parseTaxCode(text: string): TaxCode | undefined {
  const plain = text.replace(/[\s.]/g, "");
  if (/^\d{12}$/.test(plain)) {
    return {
      code: plain,
      kind: "personal",
      ...(personalIdIsSound(plain) ? {} : { doubt: "personal_id" }),
    };
  }
  const match = /^(\d{10})(?:-?(\d{3}))?$/.exec(plain);
  if (match === null) return undefined;
  const [, company = "", branch] = match;
  const sound = companyCodeIsSound(company);
  if (branch === undefined) {
    return { code: company, kind: "company", ...(sound ? {} : { doubt: "check_digit" }) };
  }
  const doubt = !sound ? "check_digit" : branch === "000" ? "branch_number" : undefined;
  return {
    code: `${company}-${branch}`,
    kind: "branch",
    ...defined({ doubt }),
  };
}

// Writes sums in Vietnamese words, as invoices print them.

const digits = ["không", "một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín"] as const;
const scales = ["", "nghìn", "triệu"] as const;

/**
 * Writes one group of three digits. After another group, empty hundreds are named ("không trăm").
 */
function groupInWords(group: number, isFirst: boolean): string {
  const hundreds = Math.floor(group / 100);
  const tens = Math.floor(group / 10) % 10;
  const ones = group % 10;
  const words: string[] = [];
  if (hundreds > 0 || !isFirst) words.push(`${digits[hundreds]!} trăm`);
  if (tens > 1) words.push(`${digits[tens]!} mươi`);
  else if (tens === 1) words.push("mười");
  else if (ones > 0 && words.length > 0) words.push("linh");
  if (ones === 0) return words.join(" ");
  if (tens > 1 && ones === 1) words.push("mốt");
  else if (tens > 0 && ones === 5) words.push("lăm");
  else words.push(digits[ones]!);
  return words.join(" ");
}

/** Writes a number below 10⁹ ("tỷ"). */
function belowBillion(value: number, isFirst: boolean): string {
  const words: string[] = [];
  for (let scale = 2; scale >= 0; scale--) {
    const group = Math.floor(value / 1000 ** scale) % 1000;
    if (group === 0) continue;
    const text = groupInWords(group, isFirst && words.length === 0);
    words.push(scale === 0 ? text : `${text} ${scales[scale]}`);
  }
  return words.join(" ");
}

/**
 * Writes a whole sum in words, with a capital and the unit.
 *
 * @example
 * ```ts
 * import { vndInWords } from "./invoice.ts";
 * if (vndInWords(200_000n) !== "Hai trăm nghìn đồng") throw new Error(vndInWords(200_000n));
 * if (vndInWords(1_005_021n) !== "Một triệu không trăm linh năm nghìn không trăm hai mươi mốt đồng") {
 *   throw new Error(vndInWords(1_005_021n));
 * }
 * ```
 */
export function vndInWords(amountVnd: bigint): string {
  invariant(amountVnd >= 0n && amountVnd < 10n ** 18n, "a sum in words is below 10^18 đồng");
  if (amountVnd === 0n) return "Không đồng";
  const billions = Number(amountVnd / 1_000_000_000n);
  const rest = Number(amountVnd % 1_000_000_000n);
  const words: string[] = [];
  if (billions > 0) words.push(`${belowBillion(billions, true)} tỷ`);
  if (rest > 0) words.push(belowBillion(rest, billions === 0));
  const text = words.join(" ");
  return `${text[0]!.toUpperCase()}${text.slice(1)} đồng`;
}

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

/** Part of an order's money that an invoice covers: an order that is paid again may have several. */
export interface InvoicePart {
  readonly code: OrderCode;
  readonly amountMicroVnd: bigint;
  /** The issued invoice that this part replaces. */
  readonly replaces?: InvoiceId;
}

/** Basis of the invoice: paid orders, or (for accountants who invoice by usage) a month. */
export type InvoiceBasis =
  | {
    readonly kind: "orders";
    readonly codes: readonly OrderCode[];
    /** One per order code. Absent on requests made while an order could have only one invoice. */
    readonly parts?: readonly InvoicePart[];
  }
  /** `2026-11`, Vietnam time. */
  | { readonly kind: "month"; readonly month: string };

/** Numbers that the invoicing provider and the tax authority assigned. */
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

/** The states of a request. `replaced` was issued and then superseded; the new request names it. */
export const invoiceStates = [
  "requested",
  "exported",
  "issued",
  "sent",
  "rejected",
  "replaced",
] as const;

/** The state of a request. */
export type InvoiceState = typeof invoiceStates[number];

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
  /** Moment of the last change of the state. */
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

/** Characters of the note of a request: some lines for whoever makes the invoice. */
export const maxNoteChars = 500;

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

/** Fills a form with what is known of a buyer, or at least with an e-mail address. */
export function buyerFormOf(known: InvoiceSettings, email: string | undefined): BuyerForm {
  return {
    type: known.type ?? "company",
    taxCode: known.taxCode ?? "",
    legalName: known.legalName ?? "",
    address: known.address ?? "",
    email: known.email ?? email ?? "",
    phone: known.phone ?? "",
    confirmed: known.taxCodeConfirmed === true,
  };
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
