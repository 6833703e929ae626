/**
 * Decides what happens with a notice of the journal: it is credited, waits for a person, or is set
 * aside. Each decision is one commit with the new state of the notice, so a crash leaves it either
 * undecided or done.
 */
import { type BankNotice, creditOperationId } from "../../../core/trade/bank/bank_notice.ts";
import {
  findReceivingAccount,
  payerNumberOfOurs,
  plainAccountNumber,
  type ReceivingAccount,
} from "../../../core/trade/bank/receiving_account.ts";
import { type Account, hasOnlyBooks } from "../../people/accounts/accounts.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  type BankNoticeState,
  changeBankNotice,
  getBankNotice,
  type ReviewReason,
} from "./bank_notices.ts";
import {
  addMovement,
  joinMovement,
  type MovementSearch,
  movementTraits,
  searchMovement,
} from "./bank_movements.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { credit } from "../ledger/ledger.ts";
import { type AuthorityResult, authorize } from "../../people/operators/operator_authority.ts";
import {
  getTopupOrder,
  receiveTopup,
  type TopupOrder,
  type TopupPayment,
  topupWriteAttempts,
} from "./topups.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import { accountKey } from "../../engine/schema/keys.ts";

// Finds where the money of a bank notice goes: to the order that its memo names, to a person for
// review, or to no wallet at all. Reads the store and writes nothing.

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
  if (account === null || hasOnlyBooks(account)) return "account_closed";
  return account.blockedAtMs === undefined ? undefined : "account_blocked";
}

/** Finds the recipient of a notice by the codes in its memo. */
async function destinationOf(
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
function setAside(
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

/** The settings of matching. */
export interface MatchingSettings {
  readonly kv: KeyValueStore;
  readonly nowMs: () => number;
  readonly receivingAccounts: readonly ReceivingAccount[];
  /** A single transfer above this amount waits for a person. */
  readonly autoCreditMaxMicroVnd: bigint;
  /**
   * The most that imported files of one operator may credit to one account within 24 hours without
   * a second operator.
   */
  readonly aloneMaxMicroVnd: bigint;
  /** Adds what should follow a credit (a mail) to the same atomic write. */
  readonly onCredited?: (operation: AtomicWrite, credited: CreditedTransfer) => void;
}

/** A transfer that has just been credited. */
export interface CreditedTransfer {
  readonly account: Account;
  readonly event: BankNotice;
  readonly order: TopupOrder | undefined;
  readonly atMs: number;
}

/**
 * Decides about a notice that is not decided yet. Safe to call at any time, repeatedly and from
 * several processes.
 *
 * @returns the state of the notice afterwards; `undefined` if there is no such notice
 * @throws {Error} if other processes kept changing the same rows; the sweep then repeats the
 * decision
 */
export async function matchBankNotice(
  settings: MatchingSettings,
  ref: BankNoticeRef,
): Promise<BankNoticeState | undefined> {
  const result = await compareAndSet(async () => {
    const entry = await getBankNotice(settings.kv, ref);
    if (entry.value === null) return { done: undefined };
    if (entry.value.state.kind !== "received") return { done: entry.value.state };
    const state = await decide(settings, entry);
    return state === "again" ? "again" : { done: state };
  }, { attempts: topupWriteAttempts });
  if (result === "conflict") throw new Error("The rows of a bank notice kept changing");
  return result.done;
}

async function decide(
  settings: MatchingSettings,
  entry: Deno.KvEntry<BankNoticeRow>,
): Promise<BankNoticeState | "again"> {
  const { kv } = settings;
  const { event } = entry.value;
  const atMs = settings.nowMs();
  const aside = setAside(event, settings.receivingAccounts);
  if (aside !== undefined) {
    return await write(kv, entry, { kind: "ignored", reason: aside, by: "auto", atMs });
  }
  const { name, isOurs } = movementAccount(event, settings.receivingAccounts);
  const search = await searchMovement(kv, event, name);
  const { verdict } = search;
  if (verdict.kind === "same") {
    const { source, id } = verdict.known;
    const state = { kind: "duplicate", of: { source, id }, by: "auto", atMs } as const;
    return await write(
      kv,
      entry,
      state,
      (op) => joinMovement(op, search, verdict.known),
    );
  }
  const review = (reason: ReviewReason, about?: BankNoticeRef) =>
    write(
      kv,
      entry,
      { kind: "review", reason, ...defined({ about }), atMs },
      (op) => addMovement(op, search),
    );
  if (verdict.kind === "doubtful") {
    const { source, id } = verdict.known;
    return await review("possible_duplicate", { source, id });
  }
  if (!isOurs) return await review("wrong_account");
  const payer = payerNumberOfOurs(event.payer, settings.receivingAccounts);
  if (payer !== undefined && search.traits.codes.length > 0) {
    return await review("payer_number_of_ours");
  }
  const destination = await destinationOf(settings, event, search.traits.codes);
  if (destination.kind === "review") return await review(destination.reason);
  return await creditOrder(settings, entry, search, destination);
}

/** Writes a state that moves no money. */
async function write(
  kv: KeyValueStore,
  entry: Deno.KvEntry<BankNoticeRow>,
  state: BankNoticeState,
  attach?: (operation: AtomicWrite) => void,
): Promise<BankNoticeState | "again"> {
  const operation = kv.atomic();
  changeBankNotice(operation, entry, state);
  attach?.(operation);
  return (await operation.commit()).ok ? state : "again";
}

const importReviews = {
  beneficiary: "import_own_account",
  limit: "import_over_limit",
} as const satisfies Record<"beneficiary" | "limit", ReviewReason>;

/**
 * Whether the evidence suffices for an automatic credit. A notice of a provider does; a row of an
 * imported file is worth what its operator may do alone.
 */
async function mayCredit(
  { kv, nowMs, aloneMaxMicroVnd }: MatchingSettings,
  { event, importedBy }: BankNoticeRow,
  account: Account,
): Promise<AuthorityResult> {
  if (importedBy === undefined) return { ok: true, attach: () => {} };
  const wanted = {
    operator: importedBy,
    account,
    amountMicroVnd: event.amountMicroVnd,
    nowMs: nowMs(),
  };
  return await authorize(kv, { kind: "alone", limitMicroVnd: aloneMaxMicroVnd }, wanted);
}

async function creditOrder(
  settings: MatchingSettings,
  entry: Deno.KvEntry<BankNoticeRow>,
  search: MovementSearch,
  destination: Extract<Destination, { kind: "credit" }>,
): Promise<BankNoticeState | "again"> {
  const { event } = entry.value;
  const { order, account } = destination;
  const atMs = settings.nowMs();
  const allowed = await mayCredit(settings, entry.value, account.value);
  if (!allowed.ok) {
    const reason = importReviews[allowed.why];
    const review = { kind: "review", reason, atMs } as const;
    return await write(settings.kv, entry, review, (operation) => addMovement(operation, search));
  }
  const state: BankNoticeState = {
    kind: "credited",
    accountId: account.value.id,
    orderCode: order.value.code,
    by: "auto",
    atMs,
  };
  const outcome = await credit(settings.kv, {
    accountId: account.value.id,
    amountMicroVnd: event.amountMicroVnd,
    kind: "topup",
    operationId: creditOperationId(event),
    reason: order.value.code,
    atMs,
    attach(operation) {
      changeBankNotice(operation, entry, state);
      addMovement(operation, search);
      receiveTopup(operation, order, paymentOf(event, atMs));
      allowed.attach(operation);
      // If the account is blocked or deleted in between, the decision is repeated.
      operation.check(account);
      settings.onCredited?.(operation, {
        account: account.value,
        event,
        order: order.value,
        atMs,
      });
    },
  });
  if (outcome.status === "applied") return state;
  // The rows changed meanwhile: decide again.
  if (outcome.status === "conflict" || outcome.status === "insufficient") return "again";
  // The operation id is in the ledger already. If another process has just credited the notice,
  // this write fails.
  const taken = { kind: "review", reason: "credited_by_hand", atMs } as const;
  return await write(settings.kv, entry, taken, (operation) => addMovement(operation, search));
}

/** Builds the payment row of a notice. */
export function paymentOf(event: BankNotice, creditedAtMs: number): TopupPayment {
  const { source, id, amountMicroVnd } = event;
  return { source, id, amountMicroVnd, creditedAtMs };
}
