/** Builds keys of authentication: sessions, single-use secrets, attempt counters, API keys. */
import type {
  AccountId,
  ActivityId,
  AnnouncementId,
  ApiKeyId,
  ApprovalId,
  AuditId,
  WebhookEndpointId,
} from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

// Builds keys of accounts. The password hash is a row of its own, so that reading an account never
// returns it.

export function accountsPrefix(): StoreKey {
  return ["account"];
}

/** Selects the accounts after one of them, oldest first. */
export function accountsAfter(accountId: AccountId): Deno.KvListSelector {
  return { prefix: accountsPrefix(), start: ["account", `${accountId}\0`] };
}

export function accountKey(accountId: AccountId): StoreKey {
  return ["account", accountId];
}

export function accountByEmailKey(email: string): StoreKey {
  return ["account_by_email", email];
}

/** Selects the accounts whose address begins with a text, by address. */
export function accountsByEmailStart(text: string): Deno.KvListSelector {
  return { start: ["account_by_email", text], end: ["account_by_email", `${text}\uffff`] };
}

/** Returns the address of the key of an account by its address. */
export function emailOfKey(key: Deno.KvKey): string {
  return String(key[1]);
}

export function accountByIdentityKey(issuer: string, subject: string): StoreKey {
  return ["account_by_identity", issuer, subject];
}

/** Key of the kinds and times of the mails that an account was sent. */
export function accountMailsKey(accountId: AccountId): StoreKey {
  return ["account_mails", accountId];
}

/** Subscribers of mails about incidents. */
export function statusSubscribersPrefix(): StoreKey {
  return ["status_subscriber"];
}

/** Key of a subscriber, by the hash of the address. */
export function statusSubscriberKey(addressHash: string): StoreKey {
  return ["status_subscriber", addressHash];
}

/** Selects the subscribers behind one of them. */
export function statusSubscribersAfter(addressHash: string): Deno.KvListSelector {
  return {
    prefix: statusSubscribersPrefix(),
    start: ["status_subscriber", `${addressHash}\0`],
  };
}

/** Returns the hash of the address of a subscriber. */
export function addressHashOf(key: Deno.KvKey): string {
  return String(key[1]);
}

/** Key of the row that names the last period for which the owner of an API key got a mail about a limit. */
export function limitMailKey(keyId: ApiKeyId, limitName: string): StoreKey {
  return ["limit_mail", keyId, limitName];
}

// The budgets of accounts, and what was told of them.

export function budgetsPrefix(): StoreKey {
  return ["budgets"];
}

export function budgetsKey(accountId: AccountId): StoreKey {
  return ["budgets", accountId];
}

/** Key of the row that names the largest share of each budget of which the owner was told. */
export function budgetMarksKey(accountId: AccountId): StoreKey {
  return ["budget_marks", accountId];
}

/** Key of the notes of operators about an account. */
export function accountNotesKey(accountId: AccountId): StoreKey {
  return ["account_notes", accountId];
}

/** The activity log of an account. */
export function activityPrefix(accountId: AccountId): StoreKey {
  return ["activity", accountId];
}

export function activityKey(accountId: AccountId, id: ActivityId): StoreKey {
  return ["activity", accountId, id];
}

export function accountPasswordKey(accountId: AccountId): StoreKey {
  return ["account_password", accountId];
}

/**
 * Accounts that want a mail when their balance falls, so that the check does not read all accounts.
 */
export function lowBalanceWatchPrefix(): StoreKey {
  return ["low_balance_watch"];
}

export function lowBalanceWatchKey(accountId: AccountId): StoreKey {
  return ["low_balance_watch", accountId];
}

// Builds keys of operators: audit log, what they moved alone, approvals, second factors.

export function operatorAuditPrefix(): StoreKey {
  return ["operator_audit"];
}

export function operatorAuditKey(auditId: AuditId): StoreKey {
  return ["operator_audit", auditId];
}

/** Selects the lines before an id, or a bound that is no id. */
export function operatorAuditBefore(id: string): Deno.KvListSelector {
  return { prefix: ["operator_audit"], end: ["operator_audit", id] };
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

/** Key of the recovery codes of an account that has a second factor. */
export function recoveryCodesKey(accountId: AccountId): StoreKey {
  return ["recovery_codes", accountId];
}

/** The saved views of a person, of one organisation each row. */
export function savedViewsPrefix(personId: AccountId): StoreKey {
  return ["saved_view", personId];
}

export function savedViewsKey(personId: AccountId, organisationId: AccountId): StoreKey {
  return ["saved_view", personId, organisationId];
}

export function passkeysPrefix(accountId: AccountId): StoreKey {
  return ["passkey", accountId];
}

/** Key of a passkey, by the id of its credential. */
export function passkeyKey(accountId: AccountId, credentialId: string): StoreKey {
  return ["passkey", accountId, credentialId];
}

/** Key of a session that has passed the second factor for the operator's pages. */
export function operatorSessionKey(sessionId: string): StoreKey {
  return ["operator_session", sessionId];
}

// Sessions of the dashboard: by the hash of the cookie's token, with an index per account for the list.

export function sessionKey(tokenHash: string): StoreKey {
  return ["session", tokenHash];
}

export function accountSessionsPrefix(accountId: AccountId): StoreKey {
  return ["account_session", accountId];
}

export function accountSessionKey(accountId: AccountId, sessionId: string): StoreKey {
  return ["account_session", accountId, sessionId];
}

/** Returns the session of a row in the list of an account. */
export function sessionIdOf(key: Deno.KvKey): string {
  return String(key[2]);
}

// Single-use secrets: tokens sent by mail and the state of a sign-in at an OpenID provider.

export function mailTokenKey(tokenHash: string): StoreKey {
  return ["mail_token", tokenHash];
}

export function signInFlowKey(stateHash: string): StoreKey {
  return ["sign_in_flow", stateHash];
}

/** Key of a challenge that a passkey is to sign, by its hash. */
export function passkeyChallengeKey(challengeHash: string): StoreKey {
  return ["passkey_challenge", challengeHash];
}

/** Key of a sign-in that waits for its second factor, by the hash of the browser's token. */
export function pendingSignInKey(tokenHash: string): StoreKey {
  return ["pending_sign_in", tokenHash];
}

// Known places: hashes of browsers and addresses from which an account has signed in.

export function knownPlacesPrefix(accountId: AccountId): StoreKey {
  return ["known_place", accountId];
}

export function knownPlaceKey(accountId: AccountId, placeHash: string): StoreKey {
  return ["known_place", accountId, placeHash];
}

// Rate limits: the window is part of the key, so a counter never has to be reset.

export function rateLimitKey(rule: string, subjectHash: string, window: number): StoreKey {
  return ["rate_limit", rule, subjectHash, window];
}

// API keys: the record, the index by hash, and the list of active ids that bounds their number.

export function allApiKeysPrefix(): StoreKey {
  return ["api_key"];
}

export function apiKeysPrefix(accountId: AccountId): StoreKey {
  return ["api_key", accountId];
}

export function apiKeyKey(accountId: AccountId, keyId: ApiKeyId): StoreKey {
  return ["api_key", accountId, keyId];
}

export function apiKeyByHashKey(hash: string): StoreKey {
  return ["api_key_by_hash", hash];
}

export function activeApiKeysKey(accountId: AccountId): StoreKey {
  return ["active_api_keys", accountId];
}

/** Key of what a form created: an API key, or its new secret. */
export function apiKeyOfFormKey(accountId: AccountId, formId: string): StoreKey {
  return ["api_key_of_form", accountId, formId];
}

/** Key of what an authorisation code is for, by the hash of the code. */
export function appCodeKey(codeHash: string): StoreKey {
  return ["app_code", codeHash];
}

// Webhooks: the endpoints of an account in one row, how each fares, and its last tries in a ring.

/** Selects the endpoints of every account. */
export function allWebhookEndpointsPrefix(): StoreKey {
  return ["webhook_endpoints"];
}

export function webhookEndpointsKey(accountId: AccountId): StoreKey {
  return ["webhook_endpoints", accountId];
}

/** Selects the endpoints of the accounts after one of them. */
export function webhookEndpointsAfter(accountId: AccountId): Deno.KvListSelector {
  return {
    prefix: allWebhookEndpointsPrefix(),
    start: ["webhook_endpoints", `${accountId}\0`],
  };
}

export function webhookStateKey(accountId: AccountId, endpointId: WebhookEndpointId): StoreKey {
  return ["webhook_state", accountId, endpointId];
}

export function webhookTriesPrefix(accountId: AccountId, endpointId: WebhookEndpointId): StoreKey {
  return ["webhook_try", accountId, endpointId];
}

/** Key of a place in the ring of tries. */
export function webhookTryKey(
  accountId: AccountId,
  endpointId: WebhookEndpointId,
  place: number,
): StoreKey {
  return ["webhook_try", accountId, endpointId, place];
}
