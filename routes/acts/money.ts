/** Acts on money of customers: top-ups, vouchers, the warning of a low balance, invoices and their buyer. */
import { z } from "zod";
import { formatVnd, fromVnd, microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import { voucherCodeChars } from "../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../core/trade/credits/pots.ts";
import {
  type BuyerForm,
  buyerFormOf,
  type BuyerProblem,
  maxNoteChars,
  readBuyerForm,
  readSettingsForm,
} from "../../core/trade/invoices/invoice.ts";
import { vatRateAt } from "../../core/trade/invoices/vat.ts";
import {
  topupMaxMicroVnd,
  topupMinMicroVnd,
  type TopupSettings,
} from "../../core/trade/settings/settings.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { redeemVoucher, type RedemptionRefusal } from "../../kv/money/credits/vouchers.ts";
import {
  getInvoiceSettings,
  maxOrdersPerInvoice,
  requestInvoice,
  setInvoiceSettings,
  usualBuyer,
} from "../../kv/money/invoices/invoices.ts";
import { cancelTopupOrder, orderTopup, readOwnOrder } from "../../kv/money/payments/topups.ts";
import { maxLowBalanceVnd, setLowBalanceMark } from "../../kv/people/accounts/account_settings.ts";
import {
  type ActDeps,
  done,
  type InputIssue,
  operation,
  type RefusalRow,
  refused,
} from "./operation.ts";

/** Needs of acts on top-ups and invoices. */
interface TradeDeps {
  readonly kv: KeyValueStore;
  readonly topup: TopupSettings;
}

const [minVnd, maxVnd] = [topupMinMicroVnd, topupMaxMicroVnd];
const topupBounds = `must be a whole number from ${formatVnd(minVnd)} to ${formatVnd(maxVnd)}`;

/** Orders a top-up by bank transfer; one form, or one idempotency key, makes one order. */
export const topupOrdering = operation({
  name: "createTopup",
  act: "top_up",
  line: "topup_order_made",
  input: z.strictObject({
    amountVnd: z.int(topupBounds).min(Number(minVnd / microVndPerVnd), topupBounds)
      .max(Number(maxVnd / microVndPerVnd), topupBounds),
  }),
  refusals: {
    amount: { code: "invalid_request", field: "amountVnd", message: topupBounds },
    too_many: {
      code: "invalid_request",
      message: "Too many top-ups are pending: pay or cancel one",
    },
    off: { code: "not_found", message: "Top-ups by bank transfer are not offered here" },
  },
  async run({ kv, topup }: TradeDeps, { account, by, nowMs, formId }, { amountVnd }) {
    const made = await orderTopup(kv, topup.receivingAccounts, {
      accountId: account.id,
      amountMicroVnd: fromVnd(amountVnd),
      nowMs,
      formId,
      doneBy: by,
    });
    return made.ok ? done(made.order) : refused(made.why);
  },
});

/** Cancels a top-up; cancelling one that is cancelled or paid changes nothing. */
export const topupCancellation = operation({
  name: "cancelTopup",
  act: "top_up",
  line: "topup_order_cancelled",
  input: z.strictObject({ id: z.string() }),
  refusals: { missing: { code: "not_found", message: "There is no such top-up" } },
  async run({ kv }: Pick<ActDeps, "kv">, { account, by: doneBy, nowMs }, { id }) {
    const order = await readOwnOrder(kv, account.id, id);
    if (order === undefined) return refused("missing");
    const { code, accountId } = order;
    const cancelled = await cancelTopupOrder(kv, { code, accountId, nowMs, doneBy });
    return done(cancelled ?? order);
  },
});

const wrongCode = (message: string) =>
  ({ code: "invalid_request", field: "code", message }) as const;

/** The campaign is the operator's, so no refusal says more of it than pages do. */
const voucherRefusals: Readonly<Record<RedemptionRefusal, RefusalRow>> = {
  typo: wrongCode("is no voucher code"),
  unknown: wrongCode("there is no such voucher code"),
  used: wrongCode("was used already"),
  not_yet: wrongCode("is not valid yet"),
  over: wrongCode("has expired"),
  budget: wrongCode("the credit of the offer is used up"),
  paused: wrongCode("the offer is paused"),
  approval: wrongCode("the offer has not begun yet"),
  limit: wrongCode("the organisation has had its share of the offer"),
  too_many: wrongCode("the organisation has too much unspent credit"),
  too_fast: { ...wrongCode("too many wrong codes in an hour"), code: "rate_limit_reached" },
  author: wrongCode("whoever makes an offer cannot use it"),
  account: wrongCode("the organisation cannot be given credit"),
  amount: wrongCode("gives nothing"),
  mailbox: wrongCode("the offer is for new accounts"),
  network: wrongCode("the offer is for new accounts"),
  busy: { ...wrongCode("many use the offer right now; try again"), code: "overloaded" },
};

/** Redeems the code of a voucher, once; sent again, it says what it gave before. */
export const voucherRedemption = operation({
  name: "redeemVoucher",
  act: "top_up",
  line: "voucher_redeemed",
  input: z.strictObject({ code: z.string().min(1).max(2 * voucherCodeChars) }),
  refusals: voucherRefusals,
  async run(
    { kv, hintMail, spendGranted = "first" }: Pick<ActDeps, "kv" | "hintMail"> & {
      readonly spendGranted?: SpendGranted | undefined;
    },
    { account, address: clientAddress, by, nowMs },
    { code },
  ) {
    const redemption = { accountId: account.id, code, clientAddress, nowMs, spendGranted, by };
    const result = await redeemVoucher(kv, redemption);
    if (!result.ok) return refused(result.why, result);
    hintMail();
    return done(result);
  },
});

/** Changes the balance below which the organisation is warned; `null` or 0 ends the warnings. */
export const lowBalanceChange = operation({
  name: "changeLowBalanceWarning",
  act: "top_up",
  line: "low_balance_mark_changed",
  input: z.strictObject({ amountVnd: z.int().min(0).max(maxLowBalanceVnd).nullable() }),
  refusals: { closed: { code: "not_found", message: "The organisation was deleted" } },
  async run({ kv }: Pick<ActDeps, "kv">, { account, by, nowMs }, { amountVnd }) {
    const changed = await setLowBalanceMark(kv, account.id, fromVnd(amountVnd ?? 0), { by, nowMs });
    return changed === undefined ? refused("closed") : done(changed);
  },
});

// Invoices, and the buyer whom they name.

/** The kinds of buyers. */
export const buyerTypes = ["company", "person"] as const;

/** Characters of a member of a buyer that are read at all; what is too long is refused by its own rule. */
const typed = z.string().max(1_000).nullable().optional();

/** A buyer as sent: what is left out stays as it is known, `null` clears. */
const buyer = z.strictObject({
  type: z.enum(buyerTypes).optional(),
  taxCode: typed,
  legalName: typed,
  address: typed,
  email: typed,
  phone: typed,
  taxCodeConfirmed: z.boolean().optional(),
});

/** Puts what was sent over what is known. */
function mergedForm(known: BuyerForm, sent: z.output<typeof buyer>): BuyerForm {
  const over = (value: string | null | undefined, old: string) =>
    value === undefined ? old : value ?? "";
  return {
    type: sent.type ?? known.type,
    taxCode: over(sent.taxCode, known.taxCode),
    legalName: over(sent.legalName, known.legalName),
    address: over(sent.address, known.address),
    email: over(sent.email, known.email),
    phone: over(sent.phone, known.phone),
    // Who sends another tax code confirms that one, if need be.
    confirmed: sent.taxCodeConfirmed ?? (sent.taxCode === undefined && known.confirmed),
  };
}

const buyerProblemTexts: Readonly<Record<BuyerProblem["what"], string>> = {
  required: "is missing",
  form: "does not have the right form",
  confirm: "fails its check; if it is right all the same, send tax_code_confirmed: true",
};

/** The fields at fault, below the member of the input that has the buyer. */
function buyerIssues(problems: readonly BuyerProblem[], member = ""): readonly InputIssue[] {
  return problems.map(({ field, what }) => ({
    field: member + field,
    message: buyerProblemTexts[what],
  }));
}

const wrongBuyer = { code: "invalid_request", message: "The buyer is not complete" } as const;
const off = { code: "not_found", message: "VAT invoices are not offered here" } as const;

/** Changes the usual buyer of invoices. */
export const billingChange = operation({
  name: "changeBillingDetails",
  act: "change_invoices",
  line: "invoice_details_changed",
  input: buyer,
  refusals: {
    off,
    buyer: wrongBuyer,
    busy: { code: "overloaded", message: "The organisation has just changed; try again" },
  },
  async run({ kv, topup }: TradeDeps, { account, by, nowMs }, sent) {
    if (topup.vatRates.length === 0) return refused("off");
    const known = buyerFormOf(await getInvoiceSettings(kv, account.id), undefined);
    const read = readSettingsForm(mergedForm(known, sent));
    if (!read.ok) return refused("buyer", { issues: buyerIssues(read.problems) });
    const isSet = await setInvoiceSettings(kv, account.id, read.settings, { by, nowMs });
    return isSet ? done(read.settings) : refused("busy");
  },
});

/** Requests an invoice for what was paid under some top-ups and is on no invoice. */
export const invoiceRequest = operation({
  name: "requestInvoice",
  act: "change_invoices",
  line: "invoice_requested",
  input: z.strictObject({
    topups: z.array(z.string().max(100)).min(1).max(maxOrdersPerInvoice),
    buyer: buyer.optional(),
    // Browsers count the end of a line as one character, and send two.
    note: z.string().overwrite((text) => text.replaceAll("\r\n", "\n").trim()).max(maxNoteChars)
      .default(""),
  }),
  refusals: {
    off,
    buyer: wrongBuyer,
    rate: { code: "not_found", message: "No VAT rate applies today" },
    order: {
      code: "invalid_request",
      field: "topups",
      message: "must be paid top-ups of the organisation",
    },
    taken: {
      code: "invalid_request",
      field: "topups",
      message: "what was paid is on an invoice already",
    },
    busy: { code: "overloaded", message: "The top-ups are being changed; try again" },
  },
  async run({ kv, topup }: TradeDeps, { account, by, nowMs }, { topups, buyer = {}, note }) {
    if (topup.vatRates.length === 0) return refused("off");
    const rate = vatRateAt(topup.vatRates, nowMs);
    if (rate === undefined) return refused("rate");
    const orders = await Promise.all(topups.map((code) => readOwnOrder(kv, account.id, code)));
    const codes = orders.flatMap((order) => order === undefined ? [] : [order.code]);
    if (codes.length < orders.length) return refused("order");
    const known = buyerFormOf(await usualBuyer(kv, account.id), account.email);
    const read = readBuyerForm(mergedForm(known, buyer));
    if (!read.ok) return refused("buyer", { issues: buyerIssues(read.problems, "buyer.") });
    const made = await requestInvoice(kv, {
      accountId: account.id,
      codes,
      buyer: read.buyer,
      note,
      rate,
      itemName: topup.invoiceItemName,
      nowMs,
      doneBy: by,
    });
    return made.ok ? done(made.invoice) : refused(made.why);
  },
});
