/** Builds keys of operators: audit log, what they moved alone, approvals, second factors. */
import type { AccountId, AnnouncementId, ApprovalId, AuditId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function operatorAuditPrefix(): StoreKey {
  return ["operator_audit"];
}

export function operatorAuditKey(auditId: AuditId): StoreKey {
  return ["operator_audit", auditId];
}

export function announcementsPrefix(): StoreKey {
  return ["announcement"];
}

export function announcementKey(id: AnnouncementId): StoreKey {
  return ["announcement", id];
}

export function approvalsPrefix(): StoreKey {
  return ["approval"];
}

export function approvalKey(approvalId: ApprovalId): StoreKey {
  return ["approval", approvalId];
}

/** Key of the approval that a form requested. */
export function approvalOfFormKey(formId: string): StoreKey {
  return ["approval_of_form", formId];
}

/** Key of what an operator, identified by mailbox, has moved alone into and out of an account. */
export function operatorMovedKey(mailbox: string, accountId: AccountId): StoreKey {
  return ["operator_moved", mailbox, accountId];
}

/** Key of what an operator has promised alone in campaigns. */
export function operatorPromisedKey(mailbox: string): StoreKey {
  return ["operator_moved", mailbox, "campaigns"];
}

export function secondFactorKey(accountId: AccountId): StoreKey {
  return ["second_factor", accountId];
}

/** Key of a session that has passed the second factor. */
export function operatorSessionKey(sessionId: string): StoreKey {
  return ["operator_session", sessionId];
}
