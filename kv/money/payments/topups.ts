/**
 * Keeps top-up orders: a promise to credit whatever arrives under a code. A paid order can be paid
 * again, and expiry only ends the QR page, so a code is matched without limit of time and never
 * reused.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { topupMaxMicroVnd, topupMinMicroVnd } from "../../../core/trade/settings/settings.ts";
import { microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { BankSource } from "../../../core/trade/bank/bank_notice.ts";
import {
  newOrderCode,
  type OrderCode,
  parseOrderCode,
} from "../../../core/trade/bank/order_code.ts";
import { orderMemo, type ReceivingAccount } from "../../../core/trade/bank/receiving_account.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import {
  accountTopupKey,
  accountTopupsPrefix,
  openTopupKey,
  openTopupsPrefix,
  topupOfFormKey,
  topupOrderKey,
  topupPaymentKey,
  topupPaymentsPrefix,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addActivity, type Doer } from "../../people/audit/account_activity.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/**
 * Milliseconds for which the page of an order shows its QR code. The order itself can be paid at
 * any time.
 */
export const topupOrderMs = hourMs;

/**
 * Most orders of one account that are neither paid nor expired: enough for retries, too few to
 * flood the list.
 */
const openTopupsPerAccount = 10;

/**
 * Random codes tried until one is free; with 3·10^9 codes even a second one is hardly ever needed.
 */
const orderCodeAttempts = 5;

/**
 * Attempts of a check-and-set on a bank notice or order. Within a process they queue, so only other
 * processes compete.
 */
export const topupWriteAttempts = 20;

/** One order. `paid` ⇔ something has been received. */
export interface TopupOrder {
  readonly code: OrderCode;
  readonly accountId: AccountId;
  readonly state: "pending" | "paid" | "cancelled";
  /** The amount that the customer intended to pay. */
  readonly askedMicroVnd: bigint;
  /** The sum of all transfers received. Always equals the sum of the payment rows. */
  readonly receivedMicroVnd: bigint;
  readonly createdAtMs: number;
  /** End of the QR page; money is accepted later too. */
  readonly expiresAtMs: number;
  readonly paidAtMs?: number;
  readonly cancelledAtMs?: number;
  /** The receiving account that was shown, as it was at that time. */
  readonly to: ReceivingAccount;
  readonly memo: string;
}

/** One transfer that arrived under an order. */
export interface TopupPayment {
  readonly source: BankSource;
  readonly id: string;
  readonly amountMicroVnd: bigint;
  readonly creditedAtMs: number;
}

/** Returns the status to show: `expired` depends on the clock and is not stored. */
export function orderStatus(
  order: TopupOrder,
  nowMs: number,
): "pending" | "paid" | "cancelled" | "expired" {
  return order.state === "pending" && nowMs >= order.expiresAtMs ? "expired" : order.state;
}

/** The data of a new order. */
export interface NewTopupOrder {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly to: ReceivingAccount;
  readonly nowMs: number;
  /** Fills the array it is given, like `crypto.getRandomValues`. */
  readonly randomBytes: (into: Uint8Array<ArrayBuffer>) => void;
  /** Id of the submitted form; a form sent twice with one sum creates one order. */
  readonly formId?: string | undefined;
  /** Person who orders, for the activity log. */
  readonly doneBy?: Doer;
}

/** The result of creating an order. */
export type NewTopupResult =
  | { readonly ok: true; readonly order: TopupOrder }
  /**
   * `amount`: not whole đồng, or out of bounds. `too_many`: too many open orders; pay or cancel
   * one.
   */
  | { readonly ok: false; readonly why: "amount" | "too_many" };

/** Creates an order as a customer asks for it, on the first of the receiving accounts. `off`: there is none. */
export async function orderTopup(
  kv: KeyValueStore,
  [to]: readonly ReceivingAccount[],
  asked: Omit<NewTopupOrder, "to" | "randomBytes">,
): Promise<NewTopupResult | { readonly ok: false; readonly why: "off" }> {
  if (to === undefined) return { ok: false, why: "off" };
  const randomBytes = (into: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(into);
  return await createTopupOrder(kv, { ...asked, to, randomBytes });
}

/** Creates an order with an unused code. */
export async function createTopupOrder(
  kv: KeyValueStore,
  input: NewTopupOrder,
): Promise<NewTopupResult> {
  const { amountMicroVnd, accountId, nowMs } = input;
  const fits = amountMicroVnd >= topupMinMicroVnd &&
    amountMicroVnd <= topupMaxMicroVnd && amountMicroVnd % microVndPerVnd === 0n;
  if (!fits) return { ok: false, why: "amount" };
  for (let attempt = 0; attempt < orderCodeAttempts; attempt++) {
    const { claim, order: made } = await orderOfForm(kv, input);
    if (made !== undefined) return { ok: true, order: made };
    if (await hasTooMany(kv, accountId, nowMs)) return { ok: false, why: "too_many" };
    const code = newOrderCode(input.randomBytes);
    if ((await getTopupOrder(kv, code)).value !== null) continue;
    const order: TopupOrder = {
      code,
      accountId,
      state: "pending",
      askedMicroVnd: amountMicroVnd,
      receivedMicroVnd: 0n,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + topupOrderMs,
      to: input.to,
      memo: orderMemo(input.to.memoPrefix, code),
    };
    const operation = kv.atomic()
      .check({ key: topupOrderKey(code), versionstamp: null })
      .set(topupOrderKey(code), order)
      .set(accountTopupKey(accountId, nowMs, code), code)
      .set(openTopupKey(nowMs, code), code);
    if (claim !== undefined) {
      operation.check(claim).set(claim.key, code, { expireIn: topupOrderMs });
    }
    if (input.doneBy !== undefined) {
      const after = { askedMicroVnd: amountMicroVnd };
      const line = { accountId, act: "topup_order_made", atMs: nowMs, subject: code } as const;
      addActivity(operation, { ...line, by: input.doneBy, after });
    }
    if ((await operation.commit()).ok || await isMade(kv, order)) return { ok: true, order };
  }
  invariant(false, "one of several random codes is free");
}

/**
 * Whether an order is there although its commit was refused: the client of the store had repeated it. Its code was free
 * just before.
 */
async function isMade(kv: KeyValueStore, { code, accountId, createdAtMs }: TopupOrder) {
  const { value } = await getTopupOrder(kv, code);
  return value?.accountId === accountId && value.createdAtMs === createdAtMs;
}

async function hasTooMany(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
): Promise<boolean> {
  const recent = await listTopupOrders(kv, accountId, { count: 2 * openTopupsPerAccount });
  const open = recent.filter((order) => orderStatus(order, nowMs) === "pending");
  return open.length >= openTopupsPerAccount;
}

interface OrderOfForm {
  readonly order?: TopupOrder;
  /** The entry to check and set, so that the form creates no second order. */
  readonly claim?: Deno.KvEntryMaybe<OrderCode>;
}

/**
 * Finds the order that a form created. A browser may go back to the form: with another sum, or if
 * that order is no longer open, it requests a new one.
 */
async function orderOfForm(kv: KeyValueStore, input: NewTopupOrder): Promise<OrderOfForm> {
  if (input.formId === undefined) return {};
  const claim = await kv.get<OrderCode>(topupOfFormKey(input.accountId, input.formId));
  if (claim.value === null) return { claim };
  const { value: order } = await getTopupOrder(kv, claim.value);
  const isSame = order?.askedMicroVnd === input.amountMicroVnd &&
    orderStatus(order, input.nowMs) === "pending";
  return isSame ? { order } : { claim };
}

/** Reads the order of a code, with its version for a later check. */
export async function getTopupOrder(
  kv: KeyValueStore,
  code: OrderCode,
): Promise<Deno.KvEntryMaybe<TopupOrder>> {
  return await kv.get<TopupOrder>(topupOrderKey(code));
}

/** Reads an order by a code from outside, if it belongs to the account: those of others do not exist for it. */
export async function readOwnOrder(
  kv: KeyValueStore,
  accountId: AccountId,
  code: string,
): Promise<TopupOrder | undefined> {
  const parsed = parseOrderCode(code);
  if (parsed === undefined) return undefined;
  const { value } = await getTopupOrder(kv, parsed);
  return value?.accountId === accountId ? value : undefined;
}

/** A page of orders. */
export interface TopupList {
  readonly count: number;
  /** The last order of the previous page. */
  readonly before?: Pick<TopupOrder, "code" | "createdAtMs"> | undefined;
}

/** Lists the orders of an account, newest first. */
export async function listTopupOrders(
  kv: KeyValueStore,
  accountId: AccountId,
  { count, before }: TopupList,
): Promise<TopupOrder[]> {
  const prefix = accountTopupsPrefix(accountId);
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: accountTopupKey(accountId, before.createdAtMs, before.code) };
  return await ordersAt(kv, selector, count);
}

/** Lists the orders of all accounts without payment, newest first; expired ones are among them, cancelled ones not. */
export async function listOpenTopups(
  kv: KeyValueStore,
  { count, before }: TopupList,
): Promise<TopupOrder[]> {
  const prefix = openTopupsPrefix();
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: openTopupKey(before.createdAtMs, before.code) };
  return await ordersAt(kv, selector, count);
}

async function ordersAt(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  count: number,
): Promise<TopupOrder[]> {
  const rows = kv.list<OrderCode>(selector, { limit: count, reverse: true });
  const codes = (await Array.fromAsync(rows)).map(({ value }) => value);
  const entries = await Promise.all(codes.map((code) => getTopupOrder(kv, code)));
  return entries.flatMap(({ value }) => value === null ? [] : [value]);
}

/** Lists the transfers received under an order. */
export async function listTopupPayments(
  kv: KeyValueStore,
  code: OrderCode,
): Promise<TopupPayment[]> {
  const rows = kv.list<TopupPayment>({ prefix: topupPaymentsPrefix(code) });
  const payments = (await Array.fromAsync(rows)).map(({ value }) => value);
  return payments.sort((left, right) => left.creditedAtMs - right.creditedAtMs);
}

/**
 * Cancels an order without payment. Money that still arrives under its code waits for review.
 *
 * @returns the order afterwards; `undefined` if the account has no order with that code
 */
export async function cancelTopupOrder(
  kv: KeyValueStore,
  input: {
    readonly code: OrderCode;
    readonly accountId: AccountId;
    readonly nowMs: number;
    readonly doneBy?: Doer;
  },
): Promise<TopupOrder | undefined> {
  const outcome = await compareAndSet<TopupOrder | undefined>(async () => {
    const entry = await getTopupOrder(kv, input.code);
    const order = entry.value;
    if (order === null || order.accountId !== input.accountId) return { done: undefined };
    if (order.state !== "pending") return { done: order };
    const cancelled: TopupOrder = {
      ...order,
      state: "cancelled",
      cancelledAtMs: input.nowMs,
    };
    const operation = kv.atomic().check(entry)
      .set(entry.key, cancelled)
      .delete(openTopupKey(order.createdAtMs, order.code));
    if (input.doneBy !== undefined) {
      const { accountId, code, nowMs: atMs, doneBy: by } = input;
      addActivity(operation, { accountId, act: "topup_order_cancelled", by, atMs, subject: code });
    }
    const result = await operation.commit();
    return result.ok ? { done: cancelled } : "again";
  }, { attempts: topupWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  return (await getTopupOrder(kv, input.code)).value ?? undefined;
}

/**
 * Adds to an atomic write: a transfer arrived under this order. The caller adds the credit of the
 * wallet and the state of the bank notice to the same write.
 */
export function receiveTopup(
  operation: AtomicWrite,
  entry: Deno.KvEntry<TopupOrder>,
  payment: TopupPayment,
): void {
  const order = entry.value;
  invariant(payment.amountMicroVnd > 0n, "a received sum is positive");
  const paid: TopupOrder = {
    ...order,
    state: "paid",
    receivedMicroVnd: order.receivedMicroVnd + payment.amountMicroVnd,
    paidAtMs: order.paidAtMs ?? payment.creditedAtMs,
  };
  operation.check(entry)
    .set(entry.key, paid)
    .set(topupPaymentKey(order.code, payment.source, payment.id), payment)
    .delete(openTopupKey(order.createdAtMs, order.code));
}
