/** Keys of operators: what they did, what they may do alone, what waits for a second one, and their second factor. */
import type { AccountId, ApprovalId, AuditId } from "../../core/lib/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function operatorAuditPrefix(): StoreKey {
  return ["operator_audit"];
}

export function operatorAuditKey(auditId: AuditId): StoreKey {
  return ["operator_audit", auditId];
}

export function approvalsPrefix(): StoreKey {
  return ["approval"];
}

export function approvalKey(approvalId: ApprovalId): StoreKey {
  return ["approval", approvalId];
}

/** The approval that a form asked for. */
export function approvalOfFormKey(formId: string): StoreKey {
  return ["approval_of_form", formId];
}

/** What an operator, known by their mailbox, has moved alone into and out of an account. */
export function operatorMovedKey(mailbox: string, accountId: AccountId): StoreKey {
  return ["operator_moved", mailbox, accountId];
}

export function secondFactorKey(accountId: AccountId): StoreKey {
  return ["second_factor", accountId];
}

/** A session that has passed the second factor. */
export function operatorSessionKey(sessionId: string): StoreKey {
  return ["operator_session", sessionId];
}
