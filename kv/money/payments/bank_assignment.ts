/**
 * Credits a notice to the order or account that an operator names, under the operation id that
 * automatic matching would use, so the two can never both credit it.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { creditOperationId } from "../../../core/trade/bank/bank_notice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import { type Account, hasOnlyBooks } from "../../people/accounts/accounts.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  type BankNoticeState,
  changeBankNotice,
  getBankNotice,
} from "./bank_notices.ts";
import { type CreditedTransfer, paymentOf } from "./bank_matching.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import { credit } from "../ledger/ledger.ts";
import { addAuditLine, type Decider, type MovedMoney } from "../../people/audit/operator_audit.ts";
import { type Authority, authorize, isAsSeen } from "../../people/operators/operator_authority.ts";
import { getTopupOrder, receiveTopup, type TopupOrder } from "./topups.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** The recipient: an order (which is then paid), or an account without an order. */
export type AssignTarget =
  | { readonly kind: "order"; readonly code: OrderCode }
  | { readonly kind: "account"; readonly accountId: AccountId };

/** A decision to credit a notice. */
export interface Assignment {
  readonly ref: BankNoticeRef;
  readonly target: AssignTarget;
  readonly reason: string;
}

/**
 * The result of an act on a notice. `state`: the state of the notice does not allow it (decided
 * meanwhile?). `target`: there is no such order or account, or it is closed. `taken`: another sum,
 * or another wallet, was credited by hand under the id of the notice. `beneficiary`, `limit`: see
 * `authorize`. `busy`: the rows kept changing; look again. `changed`: the facts are not those that the operator has seen.
 */
export type AssignmentResult =
  | { readonly ok: true; readonly state: BankNoticeState }
  | {
    readonly ok: false;
    readonly why:
      | "missing"
      | "state"
      | "target"
      | "taken"
      | "beneficiary"
      | "limit"
      | "busy"
      | "changed";
  };

/** Reads the balance of an account, including money that running servers have leased. */
export type BalanceOf = (accountId: AccountId) => Promise<bigint>;

/** The operator, the time and the authority of an act. */
export interface AssignmentContext {
  readonly operator: Decider;
  readonly nowMs: number;
  readonly authority: Authority;
  readonly balanceOf: BalanceOf;
  /** The mark of the facts that the operator has seen; see `kv/people/operators/operator_authority.ts`. */
  readonly seen?: string | undefined;
  readonly onCredited?: (operation: AtomicWrite, credited: CreditedTransfer) => void;
}

/** Whether an operator may still assign the money of a notice in this state. */
function isOpen(state: BankNoticeState): boolean {
  return state.kind === "review" || (state.kind === "ignored" && state.reason === "operator");
}

/** The account and order that the money would go to, as they are now. */
export interface FoundTarget {
  readonly account: Deno.KvEntry<Account>;
  readonly order: Deno.KvEntry<TopupOrder> | undefined;
}

/** Finds the recipient; `undefined` if there is no such order or account, or it is closed. */
export async function findTarget(
  kv: KeyValueStore,
  target: AssignTarget,
): Promise<FoundTarget | undefined> {
  const order = target.kind === "order" ? await getTopupOrder(kv, target.code) : undefined;
  if (order !== undefined && order.value === null) return undefined;
  const accountId = target.kind === "account" ? target.accountId : order?.value?.accountId;
  if (accountId === undefined) return undefined;
  const account = await kv.get<Account>(accountKey(accountId));
  // A blocked account may be credited; a deleted one has no owner who could spend the money.
  if (account.value === null || hasOnlyBooks(account.value)) return undefined;
  return { account, order: order?.versionstamp == null ? undefined : order };
}

/** Attempts of one assignment: only operators compete, and most losers find the notice decided. */
const assignAttempts = 4;

/** Credits a notice to the order or account that an operator names. */
export async function assignBankNotice(
  kv: KeyValueStore,
  assignment: Assignment,
  context: AssignmentContext,
): Promise<AssignmentResult> {
  let seen: string | undefined;
  const outcome = await compareAndSet(async () => {
    const entry = await getBankNotice(kv, assignment.ref);
    if (entry.value === null) return refused("missing");
    // If the notice is decided in between, the operator has to look again.
    if (seen !== undefined && seen !== entry.versionstamp) return refused("busy");
    seen = entry.versionstamp;
    return await tryToAssign(kv, { assignment, entry }, context);
  }, { attempts: assignAttempts });
  return outcome === "conflict" ? { ok: false, why: "busy" } : outcome.done;
}

type Attempt = { readonly done: AssignmentResult } | "again";

function refused(why: Extract<AssignmentResult, { ok: false }>["why"]): Exclude<Attempt, "again"> {
  return { done: { ok: false, why } };
}

async function tryToAssign(
  kv: KeyValueStore,
  { assignment, entry }: Pick<AllowedAssignment, "assignment" | "entry">,
  context: AssignmentContext,
): Promise<Attempt> {
  const { operator, nowMs, authority } = context;
  const { event, state } = entry.value;
  if (!isOpen(state) || event.direction !== "in" || event.amountMicroVnd === 0n) {
    return refused("state");
  }
  const target = await findTarget(kv, assignment.target);
  if (target === undefined) return refused("target");
  const facts = {
    amountMicroVnd: event.amountMicroVnd,
    account: target.account.value,
    order: target.order?.value,
    notice: entry.value,
  };
  if (!isAsSeen(context.seen, facts)) return refused("changed");
  const allowed = await authorize(kv, authority, {
    operator,
    account: target.account.value,
    amountMicroVnd: event.amountMicroVnd,
    nowMs,
  });
  if (!allowed.ok) return refused(allowed.why);
  return await creditTarget(kv, { assignment, entry, target, attach: allowed.attach }, context);
}

/** An assignment that is permitted, with the rows that were read for it. */
interface AllowedAssignment {
  readonly assignment: Assignment;
  readonly entry: Deno.KvEntry<BankNoticeRow>;
  readonly target: FoundTarget;
  readonly attach: (operation: AtomicWrite) => void;
}

async function creditTarget(
  kv: KeyValueStore,
  { assignment, entry, target, attach }: AllowedAssignment,
  context: AssignmentContext,
): Promise<Attempt> {
  const { operator, nowMs, authority } = context;
  const { event } = entry.value;
  const { account: { value: account }, order } = target;
  const state: BankNoticeState = {
    kind: "credited",
    accountId: account.id,
    ...(order !== undefined && { orderCode: order.value.code }),
    by: operator.email,
    atMs: nowMs,
  };
  const place = async (operation: AtomicWrite, movedMicroVnd: bigint, how: string) => {
    const before = await context.balanceOf(account.id);
    const money: MovedMoney = {
      ...moneyOf(assignment.ref, target, { amountMicroVnd: event.amountMicroVnd, before }),
      balanceAfterMicroVnd: before + movedMicroVnd,
      ...(authority.kind === "approved" && { requestedBy: authority.requestedBy.email }),
    };
    changeBankNotice(operation, entry, state);
    if (order !== undefined) receiveTopup(operation, order, paymentOf(event, nowMs));
    operation.check(target.account);
    addAuditLine(operation, operator, {
      act: "notice_assigned",
      subject: creditOperationId(event),
      detail: `${order?.value.code ?? account.id}: ${assignment.reason}${how}`,
      atMs: nowMs,
      money,
    });
    attach(operation);
    if (authority.kind === "approved") authority.attach(operation, money);
  };
  const outcome = await credit(kv, {
    accountId: account.id,
    amountMicroVnd: event.amountMicroVnd,
    kind: "topup",
    operationId: creditOperationId(event),
    reason: order?.value.code ?? assignment.reason,
    atMs: nowMs,
    async attach(operation) {
      await place(operation, event.amountMicroVnd, "");
      context.onCredited?.(operation, { account, event, order: order?.value, atMs: nowMs });
    },
  });
  if (outcome.status === "applied") return { done: { ok: true, state } };
  if (outcome.status === "conflict" || outcome.status === "insufficient") return "again";
  // The money was moved by hand under this id: the same sum to the same wallet belongs to this
  // notice, and is not moved again.
  const { accountId, amountMicroVnd } = outcome.entry;
  if (accountId !== account.id || amountMicroVnd !== event.amountMicroVnd) {
    return refused("taken");
  }
  const operation = kv.atomic();
  await place(operation, 0n, " (had been credited by hand)");
  return (await operation.commit()).ok ? { done: { ok: true, state } } : "again";
}

/** Describes the movement of an assignment, with the balance of the account before it. */
export function moneyOf(
  ref: BankNoticeRef,
  { account, order }: FoundTarget,
  { amountMicroVnd, before }: { readonly amountMicroVnd: bigint; readonly before: bigint },
): MovedMoney {
  return {
    accountId: account.value.id,
    amountMicroVnd,
    balanceBeforeMicroVnd: before,
    balanceAfterMicroVnd: before + amountMicroVnd,
    notice: { source: ref.source, id: ref.id },
    ...(order !== undefined && { orderCode: order.value.code }),
  };
}
