/**
 * Handles acts above a limit, which wait for a second operator. The approval and the act are one
 * commit.
 *
 * - Folder `kv/services/operations/`: acts of operators on money: adjustments, approval by a second operator,
 *   dossiers, figures.
 * - In: decisions of operators, with the mark of the facts that they have seen.
 * - Out: movements with their audit lines, requests that wait, dossiers, sums of the service.
 * - Never: sets a balance, or commits an approval apart from the act that it allows.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { type ApprovalId, newId } from "../../../core/lib/ids/ids.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import { addApprovalMails } from "../../people/operators/approval_mails.ts";
import {
  assignBankNotice,
  type Assignment,
  type AssignmentContext,
  type BalanceOf,
  findTarget,
  moneyOf,
} from "../../money/payments/bank_assignment.ts";
import {
  accountKey,
  approvalKey,
  approvalOfFormKey,
  approvalsPrefix,
  ledgerOperationKey,
} from "../../engine/schema/keys.ts";
import {
  addAuditLine,
  type Decider,
  isPerson,
  type MovedMoney,
  type Operator,
} from "../../people/audit/operator_audit.ts";
import {
  isAnyAmong,
  isSamePerson,
  readBeneficiaries,
} from "../../people/operators/beneficiaries.ts";
import { type Adjustment, adjustmentOperationId, adjustWallet } from "./wallet_adjustment.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { commitFresh } from "../../engine/store/cas.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/** An act that waits for approval. */
export type PendingAct =
  | ({ readonly kind: "adjust" } & Adjustment)
  | ({ readonly kind: "assign"; readonly amountMicroVnd: bigint } & Assignment);

/** A request for the approval of a second operator. */
export interface Approval {
  readonly id: ApprovalId;
  readonly act: PendingAct;
  readonly requestedBy: Operator;
  readonly requestedAtMs: number;
  readonly state: "pending" | "approved" | "refused";
  readonly decidedBy?: Decider;
  readonly decidedAtMs?: number;
  /** The money of the act: as requested, later as moved. Absent in requests of earlier versions. */
  readonly money?: MovedMoney;
}

/** The requesting operator, the time, and the form. */
export interface RequestContext {
  readonly operator: Operator;
  readonly nowMs: number;
  readonly balanceOf: BalanceOf;
  /**
   * Id of the submitted form; a form sent twice makes one request. An assignment needs none, since
   * a notice is credited once, however often it is approved.
   */
  readonly formId?: string;
  /** Operators who get a mail about it: those of them who may approve it. */
  readonly approvers?: readonly Account[];
}

/**
 * The result of a request. `target`: there is no such order or account, or it is closed.
 * `beneficiary`: the money would go to the requesting operator. `state`: the form has requested
 * something else before, or has moved the money.
 */
export type RequestResult =
  | { readonly ok: true; readonly approval: Approval }
  | { readonly ok: false; readonly why: "target" | "beneficiary" | "state" };

/** Requests the approval of a second operator. */
export async function requestApproval(
  kv: KeyValueStore,
  act: PendingAct,
  context: RequestContext,
): Promise<RequestResult> {
  const { operator, nowMs, formId } = context;
  const found = await moneyOfAct(kv, act, context.balanceOf);
  if (found === undefined) return { ok: false, why: "target" };
  const beneficiaries = await readBeneficiaries(kv, found.account);
  if (await isAnyAmong(kv, [operator], beneficiaries)) return { ok: false, why: "beneficiary" };
  const { money } = found;
  const id = newId("approval", nowMs);
  const approval: Approval = {
    id,
    act,
    requestedBy: operator,
    requestedAtMs: nowMs,
    state: "pending",
    money,
  };
  const operation = kv.atomic()
    .check({ key: approvalKey(id), versionstamp: null })
    .set(approvalKey(id), approval);
  if (formId !== undefined) {
    const key = approvalOfFormKey(formId);
    operation.check({ key, versionstamp: null }).set(key, id);
    // The form has moved the money already, so it requests nothing more.
    const moved = ledgerOperationKey(adjustmentOperationId(formId));
    operation.check({ key: moved, versionstamp: null });
  }
  addAuditLine(operation, operator, {
    act: act.kind === "adjust" ? "adjustment_requested" : "assignment_requested",
    subject: subjectOf(act),
    detail: `${id}: ${act.reason}`,
    atMs: nowMs,
    money,
  });
  addApprovalMails(operation, {
    id,
    approvalId: id,
    requestedBy: operator,
    amountMicroVnd: act.amountMicroVnd,
    reason: act.reason,
    beneficiaries,
  }, { approvers: context.approvers ?? [], nowMs });
  if (await commitFresh(kv, operation, approvalKey(id))) return { ok: true, approval };
  invariant(formId !== undefined, "a fresh approval id is free");
  const { value: earlierId } = await kv.get<ApprovalId>(approvalOfFormKey(formId));
  const earlier = earlierId === null
    ? null
    : (await kv.get<Approval>(approvalKey(earlierId))).value;
  return earlier !== null && isSameAct(earlier.act, act)
    ? { ok: true, approval: earlier }
    : { ok: false, why: "state" };
}

/**
 * Describes what an act would move, with the current balance of the account; `undefined` if its
 * target is gone.
 */
async function moneyOfAct(
  kv: KeyValueStore,
  act: PendingAct,
  balanceOf: BalanceOf,
): Promise<{ readonly account: Account; readonly money: MovedMoney } | undefined> {
  const { amountMicroVnd } = act;
  if (act.kind === "assign") {
    const target = await findTarget(kv, act.target);
    if (target === undefined) return undefined;
    const account = target.account.value;
    const before = await balanceOf(account.id);
    return { account, money: moneyOf(act.ref, target, { amountMicroVnd, before }) };
  }
  const { value: account } = await kv.get<Account>(accountKey(act.accountId));
  if (account === null) return undefined;
  const balanceBeforeMicroVnd = await balanceOf(act.accountId);
  const balanceAfterMicroVnd = balanceBeforeMicroVnd + amountMicroVnd;
  const { accountId } = act;
  return {
    account,
    money: { accountId, amountMicroVnd, balanceBeforeMicroVnd, balanceAfterMicroVnd },
  };
}

/**
 * Describes what an approval moves: with current balances while it waits, with those of the
 * movement once it is decided.
 */
export async function moneyOfApproval(
  kv: KeyValueStore,
  approval: Approval,
  balanceOf: BalanceOf,
): Promise<MovedMoney | undefined> {
  if (approval.state !== "pending") return approval.money;
  return (await moneyOfAct(kv, approval.act, balanceOf))?.money ?? approval.money;
}

function isSameAct(one: PendingAct, other: PendingAct): boolean {
  return one.kind === "adjust" && other.kind === "adjust" && one.accountId === other.accountId &&
    one.amountMicroVnd === other.amountMicroVnd && one.reason === other.reason;
}

function subjectOf(act: PendingAct): string {
  return act.kind === "adjust" ? act.accountId : `${act.ref.source}:${act.ref.id}`;
}

/** Reads a request. */
export async function getApproval(
  kv: KeyValueStore,
  id: ApprovalId,
): Promise<Approval | undefined> {
  return (await kv.get<Approval>(approvalKey(id))).value ?? undefined;
}

/** Lists requests, newest first; `before` is the last one of the previous page. */
export async function listApprovals(
  kv: KeyValueStore,
  count: number,
  before?: ApprovalId,
): Promise<Approval[]> {
  const prefix = approvalsPrefix();
  const selector = before === undefined ? { prefix } : { prefix, end: approvalKey(before) };
  const rows = kv.list<Approval>(selector, { limit: count, reverse: true });
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}

/**
 * The result of a decision. `self`: the requesting operator cannot approve, under no address.
 * `beneficiary`: the money would go to one of the two. `decided`: another operator was faster. `changed`: the facts are
 * not those that the operator has seen.
 * Others: as for adjusting a wallet or assigning a notice.
 */
export type DecisionResult =
  | { readonly ok: true }
  | {
    readonly ok: false;
    readonly why:
      | "missing"
      | "self"
      | "decided"
      | "insufficient"
      | "state"
      | "target"
      | "taken"
      | "beneficiary"
      | "limit"
      | "busy"
      | "changed";
  };

/** Approves or refuses a request; approving carries out the act in the same commit. */
export async function decideApproval(
  kv: KeyValueStore,
  id: ApprovalId,
  verdict: "approve" | "refuse",
  context: Pick<AssignmentContext, "operator" | "nowMs" | "onCredited" | "balanceOf" | "seen">,
): Promise<DecisionResult> {
  const entry = await kv.get<Approval>(approvalKey(id));
  if (entry.value === null) return { ok: false, why: "missing" };
  const approval = entry.value;
  if (approval.state !== "pending") return { ok: false, why: "decided" };
  const { operator, nowMs } = context;
  const decided = { ...approval, decidedBy: operator, decidedAtMs: nowMs };
  if (verdict === "refuse") {
    const refused: Approval = { ...decided, state: "refused" };
    const operation = kv.atomic().check(entry).set(entry.key, refused);
    addAuditLine(operation, operator, {
      act: "adjustment_refused",
      subject: subjectOf(approval.act),
      detail: id,
      atMs: nowMs,
      ...defined({ money: approval.money }),
    });
    return (await operation.commit()).ok ? { ok: true } : { ok: false, why: "busy" };
  }
  const { requestedBy } = approval;
  if (isPerson(operator) && isSamePerson(operator, requestedBy)) return { ok: false, why: "self" };
  const authority = {
    kind: "approved",
    requestedBy,
    attach(operation: AtomicWrite, money: MovedMoney) {
      const approved: Approval = { ...decided, state: "approved", money };
      operation.check(entry).set(entry.key, approved);
    },
  } as const;
  if (approval.act.kind === "adjust") {
    const adjusted = await adjustWallet(kv, approval.act, { ...context, caseId: id, authority });
    return adjusted.ok ? { ok: true } : adjusted;
  }
  const result = await assignBankNotice(kv, approval.act, { ...context, authority });
  return result.ok ? { ok: true } : result;
}
