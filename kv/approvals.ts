/** Acts above a limit wait for a second operator. The act and the approval are decided in one commit. */
import { type AccountId, type ApprovalId, newId } from "../core/ids.ts";
import { invariant } from "../core/assert.ts";
import type { Account } from "./accounts.ts";
import { assignBankEvent, type Assignment, type ResolutionContext } from "./bank_resolution.ts";
import { accountKey, approvalKey, approvalOfFormKey, approvalsPrefix } from "./keys.ts";
import { credit, debit } from "./ledger.ts";
import { addAuditLine, type Operator } from "./operator_audit.ts";

/** A correction of a wallet: positive is given, negative taken. */
export interface Adjustment {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly reason: string;
}

/** What waits. */
export type PendingAct =
  | ({ readonly kind: "adjust" } & Adjustment)
  | ({ readonly kind: "assign"; readonly amountMicroVnd: bigint } & Assignment);

/** One request for a second pair of eyes. */
export interface Approval {
  readonly id: ApprovalId;
  readonly act: PendingAct;
  readonly requestedBy: Operator;
  readonly requestedAtMs: number;
  readonly state: "pending" | "approved" | "refused";
  readonly decidedBy?: Operator;
  readonly decidedAtMs?: number;
}

/**
 * Asks for a second operator. Returns nothing where the form has asked for something else before.
 *
 * @param context.formId the form that was sent: sent twice it asks once. An assignment needs none, since a notice is
 * credited once, however often it is approved
 */
export async function requestApproval(
  kv: Deno.Kv,
  act: PendingAct,
  context: { readonly operator: Operator; readonly nowMs: number; readonly formId?: string },
): Promise<Approval | undefined> {
  const { operator, nowMs, formId } = context;
  const id = newId("approval", nowMs);
  const approval: Approval = {
    id,
    act,
    requestedBy: operator,
    requestedAtMs: nowMs,
    state: "pending",
  };
  const operation = kv.atomic()
    .check({ key: approvalKey(id), versionstamp: null })
    .set(approvalKey(id), approval);
  if (formId !== undefined) {
    const key = approvalOfFormKey(formId);
    operation.check({ key, versionstamp: null }).set(key, id);
  }
  addAuditLine(operation, operator, {
    act: act.kind === "adjust" ? "adjustment_requested" : "assignment_requested",
    subject: subjectOf(act),
    detail: `${id}: ${act.reason}`,
    atMs: nowMs,
  });
  if ((await operation.commit()).ok) return approval;
  invariant(formId !== undefined, "a fresh approval id is free");
  const earlierId = (await kv.get<ApprovalId>(approvalOfFormKey(formId))).value;
  invariant(earlierId !== null, "a form that has asked has asked for something");
  const earlier = (await kv.get<Approval>(approvalKey(earlierId))).value;
  return earlier !== null && isSameAct(earlier.act, act) ? earlier : undefined;
}

function isSameAct(one: PendingAct, other: PendingAct): boolean {
  return one.kind === "adjust" && other.kind === "adjust" && one.accountId === other.accountId &&
    one.amountMicroVnd === other.amountMicroVnd && one.reason === other.reason;
}

function subjectOf(act: PendingAct): string {
  return act.kind === "adjust" ? act.accountId : `${act.ref.source}:${act.ref.id}`;
}

/** Requests, newest first. */
export async function listApprovals(kv: Deno.Kv, count: number): Promise<Approval[]> {
  const rows = kv.list<Approval>({ prefix: approvalsPrefix() }, { limit: count, reverse: true });
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}

/**
 * What a decision or an adjustment came to. `self`: the one who asked cannot approve. `decided`: somebody was faster.
 * `insufficient`: the wallet has less than is to be taken. Others: as of assigning a notice.
 */
export type ActResult =
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
      | "busy";
  };

/** Approves or refuses; approving carries the act out in the same commit. */
export async function decideApproval(
  kv: Deno.Kv,
  id: ApprovalId,
  verdict: "approve" | "refuse",
  context: Pick<ResolutionContext, "operator" | "nowMs" | "onCredited">,
): Promise<ActResult> {
  const entry = await kv.get<Approval>(approvalKey(id));
  if (entry.value === null) return { ok: false, why: "missing" };
  const approval = entry.value;
  if (approval.state !== "pending") return { ok: false, why: "decided" };
  const { operator, nowMs } = context;
  const decide = (operation: Deno.AtomicOperation, state: "approved" | "refused") =>
    operation.check(entry).set(
      entry.key,
      { ...approval, state, decidedBy: operator, decidedAtMs: nowMs } satisfies Approval,
    );
  if (verdict === "refuse") {
    const operation = kv.atomic();
    decide(operation, "refused");
    addAuditLine(operation, operator, {
      act: "adjustment_refused",
      subject: subjectOf(approval.act),
      detail: id,
      atMs: nowMs,
    });
    return (await operation.commit()).ok ? { ok: true } : { ok: false, why: "busy" };
  }
  if (approval.requestedBy.accountId === operator.accountId) return { ok: false, why: "self" };
  const attach = (operation: Deno.AtomicOperation) => void decide(operation, "approved");
  if (approval.act.kind === "adjust") {
    return await adjustWallet(kv, approval.act, { operator, nowMs, caseId: id, attach });
  }
  const { onCredited } = context;
  const result = await assignBankEvent(kv, approval.act, {
    operator,
    nowMs,
    attach,
    ...(onCredited !== undefined && { onCredited }),
  });
  return result.ok ? { ok: true } : result;
}

/**
 * Gives or takes money, once per case id. There is no "set balance": only movements with a reason. A deleted account is
 * given nothing, whenever that was asked for: it has nobody to spend it.
 *
 * @param context.caseId the approval, or the id of the form that was sent: a form sent twice moves money once
 */
export async function adjustWallet(
  kv: Deno.Kv,
  adjustment: Adjustment,
  context: {
    readonly operator: Operator;
    readonly nowMs: number;
    readonly caseId: string;
    readonly attach?: (operation: Deno.AtomicOperation) => void;
  },
): Promise<ActResult> {
  const { operator, nowMs } = context;
  const { accountId, amountMicroVnd } = adjustment;
  invariant(amountMicroVnd !== 0n, "an adjustment moves something");
  const account = await kv.get<Account>(accountKey(accountId));
  const isGone = account.value === null || account.value.deletedAtMs !== undefined;
  if (amountMicroVnd > 0n && isGone) return { ok: false, why: "target" };
  const movement = {
    accountId,
    amountMicroVnd: amountMicroVnd > 0n ? amountMicroVnd : -amountMicroVnd,
    kind: "admin" as const,
    operationId: `adj:${context.caseId}`,
    reason: adjustment.reason,
    atMs: nowMs,
    attach(operation: Deno.AtomicOperation) {
      // Deleted in between: look again.
      if (amountMicroVnd > 0n) operation.check(account);
      addAuditLine(operation, operator, {
        act: "wallet_adjusted",
        subject: accountId,
        detail: `${amountMicroVnd} µVND: ${adjustment.reason}`,
        atMs: nowMs,
      });
      context.attach?.(operation);
    },
  };
  const result = amountMicroVnd > 0n ? await credit(kv, movement) : await debit(kv, movement);
  switch (result.status) {
    case "applied":
    case "duplicate":
      return { ok: true };
    case "insufficient":
      return { ok: false, why: "insufficient" };
    case "mismatch":
      return { ok: false, why: "state" };
    case "conflict":
      return { ok: false, why: "busy" };
  }
}
