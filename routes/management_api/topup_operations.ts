/** Operations on top-ups by bank transfer: ordered, read with what the transfer has to say, cancelled. */
import { formatVnd, microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  isoTime,
  listField,
  listOf,
  objectSchema,
  optional,
  optionalField,
  text,
  vnd,
} from "../../core/lib/json/schemas.ts";
import { type BankApp, bankApps, orderVietQr } from "../../core/trade/bank/receiving_account.ts";
import { openInvoicePart } from "../../kv/money/invoices/invoiced_orders.ts";
import {
  listTopupOrders,
  listTopupPayments,
  orderStatus,
  readOwnOrder,
  type TopupOrder,
  type TopupPayment,
} from "../../kv/money/payments/topups.ts";
import { topupCancellation, topupOrdering } from "../acts/money.ts";
import { qrPng } from "../http/qr_code.ts";
import { pagedListing } from "./lists.ts";
import {
  actOperation,
  found,
  type ManagementCall,
  type ManagementOperation,
  reading,
  shape,
} from "./operation.ts";

/** An order as it is answered. */
interface ShownTopup {
  readonly order: TopupOrder;
  readonly nowMs: number;
  /** Amount that is paid and on no invoice. */
  readonly uninvoicedMicroVnd: bigint;
  /** Payments that arrived; absent in lists. */
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

/** Texts of a transfer, as the page of an order shows them. */
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
  always("credited_at", dateTime, ({ creditedAtMs }) => isoTime(creditedAtMs)),
];

const topupShape = shape<ShownTopup>("Topup", "An order of a top-up by bank transfer.", [
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
  always("created_at", dateTime, ({ order }) => isoTime(order.createdAtMs)),
  always("expires_at", dateTime, ({ order }) => isoTime(order.expiresAtMs)),
  optional("paid_at", dateTime, ({ order }) => order.paidAtMs && isoTime(order.paidAtMs)),
  optional(
    "cancelled_at",
    dateTime,
    ({ order }) => order.cancelledAtMs && isoTime(order.cancelledAtMs),
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
]);

async function shownOrder(call: ManagementCall<unknown>, order: TopupOrder): Promise<ShownTopup> {
  const { deps: { kv }, nowMs } = call;
  const part = order.state === "paid" ? await openInvoicePart(kv, order) : undefined;
  return { order, nowMs, uninvoicedMicroVnd: part?.amountMicroVnd ?? 0n };
}

async function withPayments(
  order: TopupOrder,
  call: ManagementCall<unknown>,
): Promise<ShownTopup> {
  const payments = await listTopupPayments(call.deps.kv, order.code);
  return { ...await shownOrder(call, order), payments };
}

async function orderOf({ deps, account, param }: ManagementCall<unknown>): Promise<TopupOrder> {
  return found(await readOwnOrder(deps.kv, account.id, param("id")), "top-up");
}

const topupsPath = "/v1/organisation/topups";

/** The operations. */
export const topupOperations: readonly ManagementOperation[] = [
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
  }),
  actOperation({
    operation: topupOrdering,
    method: "post",
    path: topupsPath,
    summary: "Order a top-up",
    description:
      "In whole VND. The answer says what the transfer has to look like, also as the content of a VietQR code; the " +
      "wallet is credited when it arrives.",
    answer: topupShape,
    example: { amount_vnd: 2_000_000 },
    rowOf: withPayments,
  }),
  reading({
    id: "getTopup",
    path: `${topupsPath}/{id}`,
    summary: "One top-up",
    description: "An order, the transfer that pays it, and what has arrived.",
    act: "view_money",
    answer: topupShape,
    read: async (call) => await withPayments(await orderOf(call), call),
  }),
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
  actOperation({
    operation: topupCancellation,
    method: "post",
    path: `${topupsPath}/{id}/cancel`,
    summary: "Cancel a top-up",
    description:
      "Money that still arrives under it waits for the operator. Cancelling it again, or one that is paid, changes nothing.",
    answer: topupShape,
    rowOf: withPayments,
  }),
];
