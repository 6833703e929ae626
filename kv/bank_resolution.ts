/**
 * What operators decide about notices that the machine left to them. Assigning credits under the same operation id as
 * the machine would, so the two can never both credit. Every act writes its audit line in the same commit.
 */
import type { AccountId } from "../core/ids.ts";
import { creditOperationId } from "../core/topup/bank_event.ts";
import type { OrderCode } from "../core/topup/order_code.ts";
import type { ReceivingAccount } from "../core/topup/receiving_account.ts";
import type { Account } from "./accounts.ts";
import { mayBeDuplicateOf } from "./bank_duplicates.ts";
import {
  type BankEventRef,
  type BankEventRow,
  type BankEventState,
  changeBankEvent,
  getBankEvent,
} from "./bank_events.ts";
import { type CreditedTransfer, movementAccount, paymentOf } from "./bank_matching.ts";
import { separateMovement } from "./bank_movements.ts";
import { accountKey } from "./keys.ts";
import { credit } from "./ledger.ts";
import { type Actor, addAuditLine, type Operator, type OperatorAct } from "./operator_audit.ts";
import { getTopupOrder, receiveTopup, type TopupOrder } from "./topups.ts";

/** Whose money it is: an order (which is marked paid), or an account without one. */
export type AssignTarget =
  | { readonly kind: "order"; readonly code: OrderCode }
  | { readonly kind: "account"; readonly accountId: AccountId };

/** A decision to credit a notice. */
export interface Assignment {
  readonly ref: BankEventRef;
  readonly target: AssignTarget;
  readonly reason: string;
}

/**
 * What an act came to. `state`: the notice is in a state that does not allow it (decided meanwhile?). `target`: there is
 * no such order or account, or it is closed. `taken`: another sum, or another wallet, was credited by hand under the
 * notice's id. `busy`: the rows changed; look again.
 */
export type ResolutionResult =
  | { readonly ok: true; readonly state: BankEventState }
  | { readonly ok: false; readonly why: "missing" | "state" | "target" | "taken" | "busy" };

/** Who acts, when, and what else belongs into the same commit. */
export interface ResolutionContext {
  readonly operator: Operator;
  readonly nowMs: number;
  /** An approval that this act fulfils, for instance. At most three checks. */
  readonly attach?: (operation: Deno.AtomicOperation) => void;
  readonly onCredited?: (operation: Deno.AtomicOperation, credited: CreditedTransfer) => void;
}

/** States from which an operator may still place the money. */
function isOpen(state: BankEventState): boolean {
  return state.kind === "review" || (state.kind === "ignored" && state.reason === "operator");
}

interface FoundTarget {
  readonly account: Deno.KvEntry<Account>;
  readonly order: Deno.KvEntry<TopupOrder> | undefined;
}

async function findTarget(kv: Deno.Kv, target: AssignTarget): Promise<FoundTarget | undefined> {
  const order = target.kind === "order" ? await getTopupOrder(kv, target.code) : undefined;
  if (order !== undefined && order.value === null) return undefined;
  const accountId = target.kind === "account" ? target.accountId : order?.value?.accountId;
  if (accountId === undefined) return undefined;
  const account = await kv.get<Account>(accountKey(accountId));
  // A blocked account keeps its money; a deleted one has nobody to spend it.
  if (account.value === null || account.value.deletedAtMs !== undefined) return undefined;
  return { account, order: order?.versionstamp == null ? undefined : order };
}

/** Credits a notice to the order or account that an operator names. */
export async function assignBankEvent(
  kv: Deno.Kv,
  assignment: Assignment,
  context: ResolutionContext,
): Promise<ResolutionResult> {
  const { operator, nowMs } = context;
  const entry = await getBankEvent(kv, assignment.ref);
  if (entry.value === null) return { ok: false, why: "missing" };
  const { event, state: before } = entry.value;
  if (!isOpen(before) || event.direction !== "in" || event.amountMicroVnd === 0n) {
    return { ok: false, why: "state" };
  }
  const target = await findTarget(kv, assignment.target);
  if (target === undefined) return { ok: false, why: "target" };
  const { account, order } = target;
  const state: BankEventState = {
    kind: "credited",
    accountId: account.value.id,
    ...(order !== undefined && { orderCode: order.value.code }),
    by: operator.email,
    atMs: nowMs,
  };
  const place = (operation: Deno.AtomicOperation, how: string) => {
    changeBankEvent(operation, entry, state);
    if (order !== undefined) receiveTopup(operation, order, paymentOf(event, nowMs));
    operation.check(account);
    addAuditLine(operation, operator, {
      act: "notice_assigned",
      subject: creditOperationId(event),
      detail: `${order?.value.code ?? account.value.id}: ${assignment.reason}${how}`,
      atMs: nowMs,
    });
    context.attach?.(operation);
  };
  const outcome = await credit(kv, {
    accountId: account.value.id,
    amountMicroVnd: event.amountMicroVnd,
    kind: "topup",
    operationId: creditOperationId(event),
    reason: order?.value.code ?? assignment.reason,
    atMs: nowMs,
    attach(operation) {
      place(operation, "");
      context.onCredited?.(operation, {
        account: account.value,
        event,
        order: order?.value,
        atMs: nowMs,
      });
    },
  });
  if (outcome.status === "applied") return { ok: true, state };
  if (outcome.status === "conflict" || outcome.status === "insufficient") {
    return { ok: false, why: "busy" };
  }
  // The money was moved by hand under this id: the same sum to the same wallet was this notice's, and is not moved again.
  const { accountId, amountMicroVnd } = outcome.entry;
  if (accountId !== account.value.id || amountMicroVnd !== event.amountMicroVnd) {
    return { ok: false, why: "taken" };
  }
  const operation = kv.atomic();
  place(operation, " (had been credited by hand)");
  return (await operation.commit()).ok ? { ok: true, state } : { ok: false, why: "busy" };
}

/** Decisions that move no money. */
export type Verdict =
  /** The same movement as another notice. */
  | { readonly kind: "duplicate"; readonly of: BankEventRef }
  /** Not a top-up. */
  | { readonly kind: "ignore"; readonly note: string }
  /** Staff sends it back by bank. */
  | { readonly kind: "start_refund"; readonly note: string }
  | { readonly kind: "finish_refund"; readonly bankReference: string }
  /** Back to the queue: a refund that was not sent, or a decision that was wrong, the machine's included. */
  | { readonly kind: "return" };

const acts: Readonly<Record<Verdict["kind"], OperatorAct>> = {
  duplicate: "notice_marked_duplicate",
  ignore: "notice_ignored",
  start_refund: "notice_refund_started",
  finish_refund: "notice_refunded",
  return: "notice_returned",
};

/** Whether a notice may go back to the queue: what it decided moved no money, and there is money to decide about. */
export function mayReturn(state: BankEventState): boolean {
  return state.kind === "refund_pending" || state.kind === "duplicate" ||
    (state.kind === "ignored" && (state.reason === "operator" || state.reason === "own_transfer"));
}

/** The state that a verdict leads to; `undefined` if it is not allowed from the present one. */
function nextState(
  row: BankEventRow,
  verdict: Verdict,
  by: string,
  atMs: number,
): BankEventState | undefined {
  const { state } = row;
  switch (verdict.kind) {
    case "duplicate": {
      const { source, id } = verdict.of;
      return state.kind === "review"
        ? { kind: "duplicate", of: { source, id }, by, atMs }
        : undefined;
    }
    case "ignore":
      return state.kind === "review"
        ? { kind: "ignored", reason: "operator", by, note: verdict.note, atMs }
        : undefined;
    case "start_refund":
      return state.kind === "review"
        ? { kind: "refund_pending", by, note: verdict.note, atMs }
        : undefined;
    case "finish_refund":
      return state.kind === "refund_pending"
        ? { kind: "refunded", by, bankReference: verdict.bankReference, atMs }
        : undefined;
    case "return": {
      const about = state.kind === "duplicate" ? { about: state.of } : {};
      return mayReturn(state) ? { kind: "review", reason: "returned", ...about, atMs } : undefined;
    }
  }
}

/** `not_same`: it cannot be the same movement as the notice named (see `mayBeDuplicateOf`). */
export type VerdictResult = ResolutionResult | { readonly ok: false; readonly why: "not_same" };

/** Who decides, when, and which receiving accounts there are. */
export interface VerdictContext {
  readonly operator: Actor;
  readonly nowMs: number;
  readonly receivingAccounts: readonly ReceivingAccount[];
}

/** Carries out a decision that moves no money. */
export async function resolveBankEvent(
  kv: Deno.Kv,
  ref: BankEventRef,
  verdict: Verdict,
  context: VerdictContext,
): Promise<VerdictResult> {
  const { operator, nowMs, receivingAccounts } = context;
  const entry = await getBankEvent(kv, ref);
  if (entry.value === null) return { ok: false, why: "missing" };
  const of = verdict.kind === "duplicate" ? await getBankEvent(kv, verdict.of) : undefined;
  if (of !== undefined) {
    const isSelf = of.key.join() === entry.key.join();
    const fits = !isSelf && of.value !== null &&
      mayBeDuplicateOf(entry.value, of.value, receivingAccounts);
    if (!fits) return { ok: false, why: "not_same" };
  }
  const state = nextState(entry.value, verdict, operator.email, nowMs);
  if (state === undefined) return { ok: false, why: "state" };
  const separate = verdict.kind === "return"
    ? await separated(kv, entry.value, receivingAccounts)
    : undefined;
  const operation = kv.atomic();
  changeBankEvent(operation, entry, state);
  // Decided about in between, the other one might become a duplicate of this one.
  if (of !== undefined) operation.check(of);
  separate?.(operation);
  addAuditLine(operation, operator, {
    act: acts[verdict.kind],
    subject: creditOperationId(ref),
    detail: detailOf(verdict),
    atMs: nowMs,
  });
  return (await operation.commit()).ok ? { ok: true, state } : { ok: false, why: "busy" };
}

/** What the machine took for no movement, or for part of another, becomes one of its own. */
async function separated(
  kv: Deno.Kv,
  { event, state }: BankEventRow,
  receivingAccounts: readonly ReceivingAccount[],
): Promise<(operation: Deno.AtomicOperation) => void> {
  const joined = state.kind === "duplicate" ? (await getBankEvent(kv, state.of)).value : null;
  const { name } = movementAccount(event, receivingAccounts);
  return await separateMovement(kv, event, name, joined?.event);
}

function detailOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case "duplicate":
      return creditOperationId(verdict.of);
    case "ignore":
    case "start_refund":
      return verdict.note;
    case "finish_refund":
      return verdict.bankReference;
    case "return":
      return "";
  }
}
