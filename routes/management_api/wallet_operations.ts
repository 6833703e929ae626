/** Operations on the wallet of an organisation: its balance, top-ups by transfer, vouchers, the warning, the statement. */
import { z } from "zod";
import { formatVnd, fromVnd, microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  listField,
  listOf,
  objectSchema,
  optional,
  optionalField,
  text,
  vnd,
} from "../../core/lib/json/schemas.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import { type BankApp, bankApps, orderVietQr } from "../../core/trade/bank/receiving_account.ts";
import { voucherCodeChars } from "../../core/trade/credits/campaign.ts";
import { topupMaxMicroVnd, topupMinMicroVnd } from "../../core/trade/settings/settings.ts";
import {
  redeemVoucher,
  type RedemptionRefusal,
  type RedemptionResult,
} from "../../kv/money/credits/vouchers.ts";
import { openInvoicePart } from "../../kv/money/invoices/invoiced_orders.ts";
import { readMatchingStatement } from "../../kv/money/ledger/statement.ts";
import {
  cancelTopupOrder,
  listTopupOrders,
  listTopupPayments,
  orderStatus,
  orderTopup,
  readOwnOrder,
  type TopupOrder,
  type TopupPayment,
  type TopupRefusal,
} from "../../kv/money/payments/topups.ts";
import { maxLowBalanceVnd, setLowBalanceMark } from "../../kv/people/accounts/low_balance_mark.ts";
import { qrPng } from "../http/qr_code.ts";
import { wrongParameter } from "../http/query.ts";
import { requireRange } from "../usage_api/range.ts";
import { periodFields } from "../usage_api/statements/statement_json.ts";
import { pagedListing } from "./lists.ts";
import {
  type AnswerShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

const iso = (atMs: number) => new Date(atMs).toISOString();

const balanceFields = [
  constant("object", "balance"),
  constant("currency", "VND"),
  always<bigint>("balance_vnd", vnd, (microVnd) => formatVnd(microVnd)),
];

const balanceOperation: ManagementOperation = {
  id: "getOrganisationBalance",
  method: "get",
  path: "/v1/organisation/balance",
  summary: "Balance of the organisation",
  description: "The balance of the wallet, exact, in VND; running calls are included.",
  act: "view_money",
  answer: { name: "OrganisationBalance", description: "A balance.", fields: balanceFields },
  errors: [],
  run: async ({ deps, account }) =>
    fieldsJson(balanceFields, (await deps.wallet.balance(account.id)).totalMicroVnd),
};

/** An order as it is answered. */
interface ShownTopup {
  readonly order: TopupOrder;
  readonly nowMs: number;
  /** What is paid and on no invoice. */
  readonly uninvoicedMicroVnd: bigint;
  /** What arrived; absent in lists. */
  readonly payments?: readonly TopupPayment[];
}

const topupStates = ["pending", "paid", "expired", "cancelled"] as const;

function vietQrOf({ to, code, askedMicroVnd }: TopupOrder): string {
  return orderVietQr(to, code, askedMicroVnd / microVndPerVnd);
}

const appFields: readonly DescribedField<BankApp>[] = [
  always("name", text, ({ name }) => name),
  always("url", text, ({ href }) => href),
];

/** What a transfer has to say, as the page of an order shows it. */
const transferFields: readonly DescribedField<TopupOrder>[] = [
  always("bank_name", text, ({ to }) => to.bankName),
  always("bank_bin", text, ({ to }) => to.bin),
  always("account_number", text, ({ to }) => to.account),
  always("account_holder", text, ({ to }) => to.holder),
  always("amount_vnd", vnd, ({ askedMicroVnd }) => formatVnd(askedMicroVnd)),
  // Without it nobody knows whose money it is.
  always("memo", text, ({ memo }) => memo),
  // The content of the VietQR code.
  always("qr_content", text, vietQrOf),
  listField(
    "bank_apps",
    "A link that opens the app of a bank with the transfer filled in.",
    appFields,
    ({ to, memo, askedMicroVnd }: TopupOrder) =>
      bankApps(to, { memo, amountVnd: askedMicroVnd / microVndPerVnd }),
  ),
];

const paymentFields: readonly DescribedField<TopupPayment>[] = [
  always("amount_vnd", vnd, ({ amountMicroVnd }) => formatVnd(amountMicroVnd)),
  always("credited_at", dateTime, ({ creditedAtMs }) => iso(creditedAtMs)),
];

const topupFields: readonly DescribedField<ShownTopup>[] = [
  constant("object", "topup"),
  always("id", text, ({ order }) => order.code),
  always(
    "state",
    { type: "string", enum: [...topupStates] },
    ({ order, nowMs }) => orderStatus(order, nowMs),
  ),
  always("asked_vnd", vnd, ({ order }) => formatVnd(order.askedMicroVnd)),
  always("received_vnd", vnd, ({ order }) => formatVnd(order.receivedMicroVnd)),
  // What an invoice can be requested for.
  always("uninvoiced_vnd", vnd, ({ uninvoicedMicroVnd }) => formatVnd(uninvoicedMicroVnd)),
  always("created_at", dateTime, ({ order }) => iso(order.createdAtMs)),
  always("expires_at", dateTime, ({ order }) => iso(order.expiresAtMs)),
  optional("paid_at", dateTime, ({ order }) => order.paidAtMs && iso(order.paidAtMs)),
  optional(
    "cancelled_at",
    dateTime,
    ({ order }) => order.cancelledAtMs && iso(order.cancelledAtMs),
  ),
  optionalField(
    "transfer",
    "The transfer that pays the order, while it is pending.",
    transferFields,
    ({ order, nowMs }: ShownTopup) => orderStatus(order, nowMs) === "pending" ? order : undefined,
  ),
  // Not in lists.
  optional(
    "payments",
    listOf(objectSchema("A transfer that arrived.", paymentFields)),
    ({ payments }) => payments?.map((payment) => fieldsJson(paymentFields, payment)),
  ),
];

const topupShape: AnswerShape = {
  name: "Topup",
  description: "An order of a top-up by bank transfer.",
  fields: topupFields,
};

async function shownOrder(call: ManagementCall<unknown>, order: TopupOrder): Promise<ShownTopup> {
  const { deps: { kv }, nowMs } = call;
  const part = order.state === "paid" ? await openInvoicePart(kv, order) : undefined;
  return { order, nowMs, uninvoicedMicroVnd: part?.amountMicroVnd ?? 0n };
}

async function topupJson(call: ManagementCall<unknown>, order: TopupOrder): Promise<JsonObject> {
  const payments = await listTopupPayments(call.deps.kv, order.code);
  return fieldsJson(topupFields, { ...await shownOrder(call, order), payments });
}

async function orderOf({ deps, account, param }: ManagementCall<unknown>): Promise<TopupOrder> {
  const order = await readOwnOrder(deps.kv, account.id, param("id"));
  if (order === undefined) throw new GatewayError("not_found", "There is no such top-up");
  return order;
}

const topupBounds = `must be a whole number from ${formatVnd(topupMinMicroVnd)} to ${
  formatVnd(topupMaxMicroVnd)
}`;

const topupRefusals: Readonly<Record<TopupRefusal, () => GatewayError>> = {
  amount: () => wrongParameter("amount_vnd", topupBounds),
  too_many: () =>
    new GatewayError("invalid_request", "Too many top-ups are pending: pay or cancel one"),
  off: () => new GatewayError("not_found", "Top-ups by bank transfer are not offered here"),
  too_fast: () =>
    new GatewayError("rate_limit_reached", "Too many top-ups were ordered in an hour"),
};

const topupBody = z.strictObject({ amount_vnd: z.int().min(1) });

async function createTopup(call: ManagementCall<z.infer<typeof topupBody>>): Promise<JsonObject> {
  const { deps, account, by, nowMs, body, formId } = call;
  const made = await orderTopup(deps.kv, deps.topup.receivingAccounts, {
    accountId: account.id,
    amountMicroVnd: fromVnd(body.amount_vnd),
    nowMs,
    formId,
    doneBy: by,
  });
  if (!made.ok) throw topupRefusals[made.why]();
  return await topupJson(call, made.order);
}

async function cancelTopup(call: ManagementCall<unknown>): Promise<JsonObject> {
  const { deps, account, by: doneBy, nowMs } = call;
  const order = await orderOf(call);
  const { code } = order;
  const who = { accountId: account.id, nowMs, doneBy };
  return await topupJson(call, await cancelTopupOrder(deps.kv, { code, ...who }) ?? order);
}

const topupsPath = "/v1/organisation/topups";

const topupOperations: readonly ManagementOperation[] = [
  pagedListing({
    id: "listTopups",
    path: topupsPath,
    summary: "Top-ups",
    description: "The orders of top-ups by bank transfer, newest first.",
    act: "view_money",
    item: topupShape,
    async page(call, { count, after }) {
      const { deps: { kv }, account: { id } } = call;
      const before = after === undefined ? undefined : await readOwnOrder(kv, id, after);
      if (after !== undefined && before === undefined) return [];
      const orders = await listTopupOrders(kv, id, { count, before });
      return await Promise.all(orders.map((order) => shownOrder(call, order)));
    },
    idOf: ({ order }) => order.code,
    json: (shown) => fieldsJson(topupFields, shown),
  }),
  withBody({
    id: "createTopup",
    method: "post",
    path: topupsPath,
    summary: "Order a top-up",
    description:
      "In whole VND. The answer says what the transfer has to look like, also as the content of a VietQR code; the " +
      "wallet is credited when it arrives.",
    act: "top_up",
    answer: topupShape,
    errors: ["invalid_request", "not_found"],
    body: { schema: topupBody, example: { amount_vnd: 2_000_000 } },
    run: createTopup,
  }),
  {
    id: "getTopup",
    method: "get",
    path: `${topupsPath}/{id}`,
    summary: "One top-up",
    description: "An order, the transfer that pays it, and what has arrived.",
    act: "view_money",
    answer: topupShape,
    errors: ["not_found"],
    run: async (call) => await topupJson(call, await orderOf(call)),
  },
  {
    id: "getTopupQrCode",
    method: "get",
    path: `${topupsPath}/{id}/qr.png`,
    summary: "QR code of a top-up",
    description: "The VietQR code of the transfer as a picture.",
    act: "view_money",
    file: { description: "The picture.", types: ["image/png"] },
    errors: ["not_found"],
    async send(call) {
      const picture = qrPng(vietQrOf(await orderOf(call)));
      return new Response(picture, { headers: { "content-type": "image/png" } });
    },
  },
  {
    id: "cancelTopup",
    method: "post",
    path: `${topupsPath}/{id}/cancel`,
    summary: "Cancel a top-up",
    description:
      "Money that still arrives under it waits for the operator. Cancelling it again, or one that is paid, changes nothing.",
    act: "top_up",
    answer: topupShape,
    errors: ["not_found"],
    run: cancelTopup,
  },
];

const voucherBody = z.strictObject({ code: z.string().min(1).max(2 * voucherCodeChars) });

type Redeemed = Extract<RedemptionResult, { ok: true }>;

const creditFields: readonly DescribedField<Redeemed>[] = [
  constant("object", "credit"),
  always("ledger_id", text, ({ entry }) => entry.ledgerId),
  always("amount_vnd", vnd, ({ entry }) => formatVnd(entry.amountMicroVnd)),
  always("redeemed_at", dateTime, ({ entry }) => iso(entry.atMs)),
  optional(
    "expires_at",
    dateTime,
    ({ entry: { grant } }) => grant?.expiresAtMs && iso(grant.expiresAtMs),
  ),
  // The code had been redeemed before, and nothing moved now.
  always("is_repeated", { type: "boolean" }, ({ isRepeated }) => isRepeated),
];

/** What is said of refused codes; the campaign is the operator's, so no refusal says more of it than pages do. */
const voucherRefusals: Readonly<Record<RedemptionRefusal, string>> = {
  typo: "is no voucher code",
  unknown: "there is no such voucher code",
  used: "was used already",
  not_yet: "is not valid yet",
  over: "has expired",
  budget: "the credit of the offer is used up",
  paused: "the offer is paused",
  approval: "the offer has not begun yet",
  limit: "the organisation has had its share of the offer",
  too_many: "the organisation has too much unspent credit",
  too_fast: "too many wrong codes in an hour",
  author: "whoever makes an offer cannot use it",
  account: "the organisation cannot be given credit",
  amount: "gives nothing",
  mailbox: "the offer is for new accounts",
  network: "the offer is for new accounts",
  busy: "many use the offer right now; try again",
};

function voucherError(why: RedemptionRefusal): GatewayError {
  const message = `code: ${voucherRefusals[why]}`;
  if (why === "too_fast") return new GatewayError("rate_limit_reached", message);
  if (why === "busy") return new GatewayError("overloaded", message);
  return wrongParameter("code", voucherRefusals[why]);
}

const voucherOperation = withBody({
  id: "redeemVoucher",
  method: "post",
  path: "/v1/organisation/vouchers",
  summary: "Redeem a voucher",
  description: "Credits the wallet, once for each code.",
  act: "top_up",
  answer: { name: "RedeemedCredit", description: "Credit of a voucher.", fields: creditFields },
  errors: ["invalid_request", "overloaded"],
  body: { schema: voucherBody, example: { code: "ABCD-EFGH-JKLM-NPQR" } },
  async run({ deps, account, by, nowMs, body: { code } }) {
    const { kv, spendGranted } = deps;
    const what = {
      accountId: account.id,
      code,
      clientAddress: by.address,
      nowMs,
      spendGranted,
      by,
    };
    const result = await redeemVoucher(kv, what);
    if (!result.ok) throw voucherError(result.why);
    deps.hintMail();
    return fieldsJson(creditFields, result);
  },
});

const markBody = z.strictObject({ amount_vnd: z.int().min(1).max(maxLowBalanceVnd).nullable() });

const markFields: readonly DescribedField<bigint | undefined>[] = [
  constant("object", "low_balance_warning"),
  // `null`: no warning.
  always(
    "amount_vnd",
    { type: ["string", "null"] },
    (microVnd) => microVnd === undefined ? null : formatVnd(microVnd),
  ),
];

const warning = {
  path: "/v1/organisation/low-balance",
  answer: {
    name: "LowBalanceWarning",
    description: "The balance below which a mail and webhooks warn.",
    fields: markFields,
  },
} as const;

const warningOperations: readonly ManagementOperation[] = [
  {
    ...warning,
    id: "getLowBalanceWarning",
    method: "get",
    summary: "Warning of a low balance",
    description: "The balance below which a mail and webhooks warn.",
    act: "view_money",
    errors: [],
    run: ({ account }) => Promise.resolve(fieldsJson(markFields, account.lowBalanceMicroVnd)),
  },
  withBody({
    ...warning,
    id: "changeLowBalanceWarning",
    method: "patch",
    summary: "Change the warning of a low balance",
    description: "In whole VND; `null` ends the warnings.",
    act: "top_up",
    errors: ["invalid_request", "overloaded"],
    body: { schema: markBody, example: { amount_vnd: 500_000 } },
    async run({ deps, account, by, nowMs, body }) {
      const mark = fromVnd(body.amount_vnd ?? 0);
      const changed = await setLowBalanceMark(deps.kv, account.id, mark, { by, nowMs });
      return fieldsJson(markFields, changed?.lowBalanceMicroVnd);
    },
  }),
];

const daySchema: JsonObject = { type: "string", format: "date" };

const statementOperation: ManagementOperation = {
  id: "getPeriodStatement",
  method: "get",
  path: "/v1/organisation/statement",
  summary: "Statement of a period",
  description:
    "Every movement and the calls by day, with the balance after each; `/v1/statements/{month}` has whole months, also as files.",
  act: "view_money",
  parameters: [
    { name: "from", schema: daySchema, description: "First day, in Vietnam time." },
    { name: "to", schema: daySchema, description: "Last day; today if it is left out." },
  ],
  answer: {
    name: "PeriodStatement",
    description: "What happened to the balance in a period.",
    fields: periodFields,
  },
  errors: ["invalid_request"],
  async run({ deps: { kv, wallet }, account, nowMs, query }) {
    const today = vietnamDay(nowMs);
    const range = requireRange(query, today);
    const balance = (id: AccountId) => wallet.balance(id);
    const read = await readMatchingStatement(kv, account.id, range, { today, balance });
    return fieldsJson(periodFields, read.statement);
  },
};

/** The operations. */
export const walletOperations: readonly ManagementOperation[] = [
  balanceOperation,
  ...topupOperations,
  voucherOperation,
  ...warningOperations,
  statementOperation,
];
