/**
 * Finds where the money of a bank notice goes: to the order that its memo names, to a person for
 * review, or to no wallet at all. Reads the store and writes nothing.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { BankNotice } from "../../../core/trade/bank/bank_notice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import { payerNumberOfOurs } from "../../../core/trade/bank/own_transfer.ts";
import {
  findReceivingAccount,
  plainAccountNumber,
  type ReceivingAccount,
} from "../../../core/trade/bank/receiving_account.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { movementTraits } from "./bank_movements.ts";
import type { ReviewReason } from "./bank_notices.ts";
import { getTopupOrder, type TopupOrder } from "./topups.ts";

/** Most codes of one memo that are looked up: two are an accident, more are an attack. */
const maxCodesPerMemo = 5;

/** The store, and the bound of an automatic credit. */
interface DestinationSettings {
  readonly kv: KeyValueStore;
  /** A single transfer above this amount waits for a person. */
  readonly autoCreditMaxMicroVnd: bigint;
}

/** The recipient of a notice, or the reason why a person has to decide. */
export type Destination =
  | { readonly kind: "review"; readonly reason: ReviewReason }
  | {
    readonly kind: "credit";
    readonly order: Deno.KvEntry<TopupOrder>;
    readonly account: Deno.KvEntry<Account>;
  };

/** Reads the orders that the codes of a memo name. */
async function ordersOf(
  kv: KeyValueStore,
  codes: readonly OrderCode[],
): Promise<Deno.KvEntry<TopupOrder>[]> {
  const looked = codes.slice(0, maxCodesPerMemo);
  const entries = await Promise.all(looked.map((code) => getTopupOrder(kv, code)));
  return entries.filter((entry) => entry.value !== null);
}

/** Returns why an account must not be credited automatically; `undefined` if it may be. */
function accountRefusal(
  account: Account | null,
): "account_closed" | "account_blocked" | undefined {
  if (account === null || account.deletedAtMs !== undefined) return "account_closed";
  return account.blockedAtMs === undefined ? undefined : "account_blocked";
}

/** Finds the recipient of a notice by the codes in its memo. */
export async function destinationOf(
  settings: DestinationSettings,
  event: BankNotice,
  codes: readonly OrderCode[],
): Promise<Destination> {
  if (codes.length === 0) return { kind: "review", reason: "no_code" };
  const orders = await ordersOf(settings.kv, codes);
  const owners = new Set<AccountId>(orders.map(({ value }) => value.accountId));
  if (orders.length === 0) return { kind: "review", reason: "unknown_code" };
  if (owners.size > 1) return { kind: "review", reason: "several_accounts" };
  // Of two codes of one customer, the order that is not paid yet counts.
  const order = orders.find(({ value }) => value.state === "pending") ??
    orders.find(({ value }) => value.state === "paid");
  if (order === undefined) return { kind: "review", reason: "order_cancelled" };
  const account = await settings.kv.get<Account>(accountKey(order.value.accountId));
  const refusal = accountRefusal(account.value);
  if (refusal !== undefined) return { kind: "review", reason: refusal };
  if (event.amountMicroVnd > settings.autoCreditMaxMicroVnd) {
    return { kind: "review", reason: "amount_over_limit" };
  }
  invariant(account.value !== null, "an account that is not refused exists");
  return { kind: "credit", order, account };
}

/**
 * Returns the state of a movement that reaches no wallet and counts only towards the balance of the
 * bank account. A transfer between the operator's accounts names no order; one that names an order
 * is a customer's money until a person has decided.
 */
export function setAside(
  event: BankNotice,
  accounts: readonly ReceivingAccount[],
): "outgoing" | "zero" | "own_transfer" | undefined {
  if (event.direction === "out") return "outgoing";
  if (event.amountMicroVnd === 0n) return "zero";
  const isOwn = payerNumberOfOurs(event.payer, accounts)?.sameBank === true &&
    movementTraits(event).codes.length === 0;
  return isOwn ? "own_transfer" : undefined;
}

/** Returns the canonical name of the receiving account, under which movements are compared. */
export function movementAccount(
  event: BankNotice,
  accounts: readonly ReceivingAccount[],
): { readonly name: string; readonly isOurs: boolean } {
  const ours = findReceivingAccount(accounts, [event.subAccount, event.account]);
  return { name: plainAccountNumber(ours?.account ?? event.account), isOurs: ours !== undefined };
}
