/** Paid orders and invoice requests for tests, with their queries. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  type BuyerForm,
  type Invoice,
  readBuyerForm,
} from "../../../core/trade/invoices/invoice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { openInvoicePart } from "../../../kv/money/invoices/invoiced_orders.ts";
import {
  type InvoiceMove,
  moveInvoice,
  requestInvoice,
} from "../../../kv/money/invoices/invoices.ts";
import { getTopupOrder, type TopupOrder } from "../../../kv/money/payments/topups.ts";
import { notice, type TopupWorld } from "./topup_world.ts";

/** A valid form. */
export const buyerForm: BuyerForm = {
  type: "company",
  taxCode: "0100233488",
  legalName: "Công ty TNHH Một Hai",
  address: "1 Phố A, Hà Nội",
  email: "ke.toan@example.com",
  phone: "",
  confirmed: false,
};

/** The buyer of that form, with changes. */
export function buyer(change: Partial<BuyerForm> = {}) {
  const read = readBuyerForm({ ...buyerForm, ...change });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.buyer;
}

/** Asks for an invoice of some orders. */
export function askForInvoice(
  world: TopupWorld,
  accountId: AccountId,
  codes: readonly OrderCode[],
) {
  return requestInvoice(world.kv, {
    accountId,
    codes,
    buyer: buyer(),
    note: "",
    rate: { percent: 8 },
    itemName: "Phí dịch vụ",
    nowMs: world.nowMs,
  });
}

/** An order of 200,000 VND that has been paid. */
export async function paidOrder(world: TopupWorld, account: Account): Promise<TopupOrder> {
  const order = await world.order(account);
  await world.intake.take(notice(order.code), "{}");
  return order;
}

/** What the next request for an order would be about, in whole đồng. */
export async function openVnd(world: TopupWorld, code: OrderCode): Promise<bigint | undefined> {
  const order = (await getTopupOrder(world.kv, code)).value;
  if (order === null) throw new Error(`There is no order ${code}`);
  const part = await openInvoicePart(world.kv, order);
  return part === undefined ? undefined : part.amountMicroVnd / 1_000_000n;
}

/** What the provider gave. */
export const issued = { number: "00000012", series: "C26TAA", date: "2026-11-20" };

/** Changes the state of a request and returns the outcome. */
export async function moved(
  world: TopupWorld,
  invoice: Pick<Invoice, "id">,
  ...steps: InvoiceMove[]
): Promise<string> {
  const acting = { accountId: "acc_staff" as AccountId, email: "staff@example.com" };
  let last = "";
  for (const move of steps) {
    const step = { id: invoice.id, move, operator: acting, nowMs: world.nowMs };
    const result = await moveInvoice(world.kv, step);
    last = result.ok ? result.invoice.state : result.why;
  }
  return last;
}
