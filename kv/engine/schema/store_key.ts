/** Defines what all keys share: the kinds of rows. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";

/**
 * The first parts of all keys, i.e. the kinds of rows. A new kind has to say whose its rows are (`row_owners.ts`), how
 * long they live (`kv/services/retention/row_lives.ts`), and whether they are exported (`kv/services/verify/export.ts`).
 */
export const rowKinds = [
  "account",
  "account_by_email",
  "account_by_identity",
  "account_mails",
  "account_notes",
  "account_password",
  "account_session",
  "active_api_keys",
  "activity",
  "announcement",
  "api_key",
  "api_key_by_hash",
  "api_key_of_form",
  "app_code",
  "approval",
  "approval_of_form",
  "availability",
  "availability_day",
  "bank_event",
  "bank_event_by_time",
  "bank_event_unmatched",
  "bank_movement",
  "bank_movement_guard",
  "bank_reference",
  "bank_review",
  "bank_unreadable",
  "bank_unreadable_closed",
  "bonus_due",
  "budget_marks",
  "budgets",
  "call_order",
  "campaign",
  "catalog_content",
  "catalog_piece",
  "catalog_version",
  "checkpoint",
  "checkpoint_balances",
  "checkpoint_head",
  "company_domain",
  "company_openid",
  "control",
  "dropped",
  "failed_of",
  "former_member",
  "grant",
  "grant_book",
  "grant_count",
  "grant_expiry",
  "indexer",
  "instance",
  "invitation",
  "invitation_for",
  "invoice",
  "invoice_by_account",
  "invoice_file",
  "invoice_of_order",
  "invoice_profile",
  "invoice_settings",
  "kept_balances",
  "known_place",
  "lease",
  "ledger",
  "ledger_by_time",
  "ledger_operation",
  "limit_mail",
  "low_balance_watch",
  "mail_token",
  "management_answer",
  "management_key",
  "management_key_by_hash",
  "member",
  "membership",
  "operator_audit",
  "operator_moved",
  "operator_session",
  "outbox",
  "outbox_dead",
  "own_keys",
  "passkey",
  "passkey_challenge",
  "pending_sign_in",
  "preset",
  "proof_balances",
  "proof_chunk",
  "proof_day",
  "proof_head",
  "proof_key",
  "provider_claim",
  "provider_key",
  "rate_card",
  "rate_limit",
  "rate_use",
  "receipt",
  "receipts_of",
  "recovery_codes",
  "refunded",
  "refunded_tags",
  "refused_call",
  "refused_call_by_id",
  "refused_hours",
  "removed_member",
  "saved_view",
  "second_factor",
  "session",
  "settled",
  "sign_in_flow",
  "signup_credit",
  "status_subscriber",
  "store",
  "team",
  "topup_by_account",
  "topup_of_form",
  "topup_open",
  "topup_order",
  "topup_payment",
  "usage",
  "usage_by_day",
  "usage_hours",
  "usage_tags",
  "verified_domain",
  "video",
  "video_open",
  "video_order",
  "voucher",
  "wallet",
  "webhook_endpoints",
  "webhook_state",
  "webhook_try",
  "write_probe",
] as const;

export type RowKind = typeof rowKinds[number];

/** A key or a prefix of keys. */
export type StoreKey = readonly [RowKind, ...Deno.KvKeyPart[]];

/** Selects every row of a kind. */
export function rowsOfKindPrefix(kind: RowKind): StoreKey {
  return [kind];
}

/** Selects the rows of a kind that have the id of an account and more behind the kind; the key of the one without more. */
export function rowsOfAccountPrefix(kind: RowKind, accountId: AccountId): StoreKey {
  return [kind, accountId];
}

/** Selects every row of the store, also of kinds that this version does not know. */
export function everyRow(): Deno.KvListSelector {
  return { prefix: [] };
}

/** Returns the parts of a key behind its kind. */
export function partsBehindKind(key: Deno.KvKey): Deno.KvKeyPart[] {
  return key.slice(1);
}

/** Returns the first key behind another: with an additional part. */
export function firstKeyBehind(key: Deno.KvKey): Deno.KvKey {
  return [...key, ""];
}

/**
 * Returns the kind of a row as a text: a store may have rows of kinds that this version does not
 * know.
 */
export function kindOfKey(key: Deno.KvKey): string {
  return String(key[0]);
}

/** Returns the account of a row: in all keys that have one it follows the kind. */
export function accountOfKey(key: Deno.KvKey): AccountId {
  return String(key[1]) as AccountId;
}
