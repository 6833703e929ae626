/**
 * Every key of the store, and the only file that builds keys. One exported function per key shape.
 *
 * Rules: the tenant comes first, never the time, where customers write; times are numbers (they sort); a prefix
 * function ends in `Prefix` and is for `list` only.
 */
import type {
  AccountId,
  ApiKeyId,
  ApprovalId,
  AuditId,
  InstanceId,
  InvoiceId,
  LedgerId,
  VideoId,
} from "../core/ids.ts";
import type { OrderCode } from "../core/topup/order_code.ts";

// Outbox: work that must happen after a commit. One prefix per queue, rows in order of their due time.

export function outboxQueuePrefix(queue: string): Deno.KvKey {
  return ["outbox", queue];
}

export function outboxRowKey(queue: string, dueAtMs: number, id: string): Deno.KvKey {
  return ["outbox", queue, dueAtMs, id];
}

export function outboxDeadPrefix(queue: string): Deno.KvKey {
  return ["outbox_dead", queue];
}

export function outboxDeadKey(queue: string, id: string): Deno.KvKey {
  return ["outbox_dead", queue, id];
}

// Accounts: the person. The password is a row of its own, so that reading an account never carries it.

export function accountsPrefix(): Deno.KvKey {
  return ["account"];
}

export function accountKey(accountId: AccountId): Deno.KvKey {
  return ["account", accountId];
}

export function accountByEmailKey(email: string): Deno.KvKey {
  return ["account_by_email", email];
}

export function accountByIdentityKey(issuer: string, subject: string): Deno.KvKey {
  return ["account_by_identity", issuer, subject];
}

export function accountPasswordKey(accountId: AccountId): Deno.KvKey {
  return ["account_password", accountId];
}

/** Accounts that want a mail when their balance falls, so that the check need not read all accounts. */
export function lowBalanceWatchPrefix(): Deno.KvKey {
  return ["low_balance_watch"];
}

export function lowBalanceWatchKey(accountId: AccountId): Deno.KvKey {
  return ["low_balance_watch", accountId];
}

// Sessions of the dashboard: by the hash of the cookie's token, with an index per account for the list.

export function sessionKey(tokenHash: string): Deno.KvKey {
  return ["session", tokenHash];
}

export function accountSessionsPrefix(accountId: AccountId): Deno.KvKey {
  return ["account_session", accountId];
}

export function accountSessionKey(accountId: AccountId, sessionId: string): Deno.KvKey {
  return ["account_session", accountId, sessionId];
}

// Single-use secrets: tokens sent by mail and the state of a sign-in at an OpenID provider.

export function mailTokenKey(tokenHash: string): Deno.KvKey {
  return ["mail_token", tokenHash];
}

export function signInFlowKey(stateHash: string): Deno.KvKey {
  return ["sign_in_flow", stateHash];
}

// Rate limits: the window is part of the key, so a counter never has to be reset.

export function rateLimitKey(rule: string, subjectHash: string, window: number): Deno.KvKey {
  return ["rate_limit", rule, subjectHash, window];
}

// API keys: the record, the index by hash, and the list of active ids that bounds their number.

export function apiKeysPrefix(accountId: AccountId): Deno.KvKey {
  return ["api_key", accountId];
}

export function apiKeyKey(accountId: AccountId, keyId: ApiKeyId): Deno.KvKey {
  return ["api_key", accountId, keyId];
}

export function apiKeyByHashKey(hash: string): Deno.KvKey {
  return ["api_key_by_hash", hash];
}

export function activeApiKeysKey(accountId: AccountId): Deno.KvKey {
  return ["active_api_keys", accountId];
}

// Control: what every instance must learn within two seconds.

/** Changes whenever a key or an account changed in a way that an auth cache must not miss. */
export function keysEpochKey(): Deno.KvKey {
  return ["control", "keys_epoch"];
}

/** Maintenance and route switches. */
export function switchesKey(): Deno.KvKey {
  return ["control", "switches"];
}

// Money: wallets, and the leases that running instances hold on them.

export function walletsPrefix(): Deno.KvKey {
  return ["wallet"];
}

export function walletKey(accountId: AccountId): Deno.KvKey {
  return ["wallet", accountId];
}

export function leasesPrefix(): Deno.KvKey {
  return ["lease"];
}

export function leasesOfPrefix(accountId: AccountId): Deno.KvKey {
  return ["lease", accountId];
}

export function leaseKey(accountId: AccountId, instanceId: InstanceId): Deno.KvKey {
  return ["lease", accountId, instanceId];
}

// Instances: the fence that every money commit checks, and the right to index what the instance settled.

export function instancesPrefix(): Deno.KvKey {
  return ["instance"];
}

export function instanceKey(instanceId: InstanceId): Deno.KvKey {
  return ["instance", instanceId];
}

export function indexerKey(instanceId: InstanceId): Deno.KvKey {
  return ["indexer", instanceId];
}

// Receipts: on sheets by request id (ascending in time, so they append), the batches not yet indexed, the index, the
// day sums.

export function receiptsPrefix(): Deno.KvKey {
  return ["receipt"];
}

/** `newest` is the last request id on the sheet, or a bound for a range. */
export function receiptSheetKey(newest: string): Deno.KvKey {
  return ["receipt", newest];
}

export function batchesPrefix(): Deno.KvKey {
  return ["settled"];
}

export function batchesOfPrefix(instanceId: InstanceId): Deno.KvKey {
  return ["settled", instanceId];
}

export function batchKey(instanceId: InstanceId, commit: number): Deno.KvKey {
  return ["settled", instanceId, commit];
}

export function allReceiptPagesPrefix(): Deno.KvKey {
  return ["receipts_of"];
}

export function receiptPagesPrefix(accountId: AccountId): Deno.KvKey {
  return ["receipts_of", accountId];
}

/** `newest` is the last request id on the page, or a bound for a range. */
export function receiptPageKey(accountId: AccountId, newest: string): Deno.KvKey {
  return ["receipts_of", accountId, newest];
}

export function rollupsPrefix(): Deno.KvKey {
  return ["usage"];
}

export function rollupsOfPrefix(accountId: AccountId): Deno.KvKey {
  return ["usage", accountId];
}

/** `day` is `YYYY-MM-DD`, Vietnam time: as text it sorts, and a range of days is a range of keys. */
export function rollupDayKey(accountId: AccountId, day: string): Deno.KvKey {
  return ["usage", accountId, day];
}

export function rollupKey(
  accountId: AccountId,
  day: string,
  keyId: ApiKeyId,
  model: string,
): Deno.KvKey {
  return ["usage", accountId, day, keyId, model];
}

// Refunds: what went back of calls that were charged, by the cell of the day sum that their receipts are in.

export function refundSumsPrefix(): Deno.KvKey {
  return ["refunded"];
}

export function refundSumsOfPrefix(accountId: AccountId): Deno.KvKey {
  return ["refunded", accountId];
}

export function refundSumDayKey(accountId: AccountId, day: string): Deno.KvKey {
  return ["refunded", accountId, day];
}

export function refundSumKey(
  accountId: AccountId,
  day: string,
  keyId: ApiKeyId,
  model: string,
): Deno.KvKey {
  return ["refunded", accountId, day, keyId, model];
}

// Ledger: money that moved without a call, and the operation ids that make each movement happen once.

export function ledgersPrefix(): Deno.KvKey {
  return ["ledger"];
}

export function ledgerPrefix(accountId: AccountId): Deno.KvKey {
  return ["ledger", accountId];
}

export function ledgerKey(accountId: AccountId, ledgerId: LedgerId): Deno.KvKey {
  return ["ledger", accountId, ledgerId];
}

export function ledgerOperationsPrefix(): Deno.KvKey {
  return ["ledger_operation"];
}

export function ledgerOperationKey(operationId: string): Deno.KvKey {
  return ["ledger_operation", operationId];
}

// Top-up orders: by code, with an index per account and one of those still open (for near misses).

export function topupOrdersPrefix(): Deno.KvKey {
  return ["topup_order"];
}

export function topupOrderKey(code: OrderCode): Deno.KvKey {
  return ["topup_order", code];
}

export function accountTopupsPrefix(accountId: AccountId): Deno.KvKey {
  return ["topup_by_account", accountId];
}

export function accountTopupKey(
  accountId: AccountId,
  createdAtMs: number,
  code: OrderCode,
): Deno.KvKey {
  return ["topup_by_account", accountId, createdAtMs, code];
}

export function openTopupsPrefix(): Deno.KvKey {
  return ["topup_open"];
}

export function openTopupKey(createdAtMs: number, code: OrderCode): Deno.KvKey {
  return ["topup_open", createdAtMs, code];
}

export function topupPaymentsPrefix(code: OrderCode): Deno.KvKey {
  return ["topup_payment", code];
}

export function topupPaymentKey(code: OrderCode, source: string, id: string): Deno.KvKey {
  return ["topup_payment", code, source, id];
}

// Bank notices: the journal, what is still to be matched, what waits for staff, and what could not be read.

export function bankEventsPrefix(): Deno.KvKey {
  return ["bank_event"];
}

export function bankEventKey(source: string, id: string): Deno.KvKey {
  return ["bank_event", source, id];
}

export function bankEventsByTimePrefix(): Deno.KvKey {
  return ["bank_event_by_time"];
}

export function bankEventByTimeKey(receivedAtMs: number, source: string, id: string): Deno.KvKey {
  return ["bank_event_by_time", receivedAtMs, source, id];
}

export function unmatchedBankEventsPrefix(): Deno.KvKey {
  return ["bank_event_unmatched"];
}

export function unmatchedBankEventKey(source: string, id: string): Deno.KvKey {
  return ["bank_event_unmatched", source, id];
}

export function bankReviewsPrefix(): Deno.KvKey {
  return ["bank_review"];
}

export function bankReviewKey(receivedAtMs: number, source: string, id: string): Deno.KvKey {
  return ["bank_review", receivedAtMs, source, id];
}

export function unreadableNoticesPrefix(): Deno.KvKey {
  return ["bank_unreadable"];
}

export function unreadableNoticeKey(source: string, contentHash: string): Deno.KvKey {
  return ["bank_unreadable", source, contentHash];
}

export function closedUnreadableNoticeKey(source: string, contentHash: string): Deno.KvKey {
  return ["bank_unreadable_closed", source, contentHash];
}

// Bank movements: what stands behind the notices, by account, direction, amount and time. The guard's version changes
// with every movement of that amount, so that two notices of one movement cannot both find nothing.

export function bankMovementsPrefix(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
): Deno.KvKey {
  return ["bank_movement", account, direction, amountMicroVnd];
}

export function bankMovementKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
  atMs: number,
  source: string,
  id: string,
): Deno.KvKey {
  return ["bank_movement", account, direction, amountMicroVnd, atMs, source, id];
}

export function bankMovementGuardKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
): Deno.KvKey {
  return ["bank_movement_guard", account, direction, amountMicroVnd];
}

export function bankReferenceKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
  reference: string,
): Deno.KvKey {
  return ["bank_reference", account, direction, amountMicroVnd, reference];
}

// Invoices: the request, with indexes per account and per order (one invoice per order), and the attached file.

export function invoicesPrefix(): Deno.KvKey {
  return ["invoice"];
}

export function invoiceKey(invoiceId: InvoiceId): Deno.KvKey {
  return ["invoice", invoiceId];
}

export function accountInvoicesPrefix(accountId: AccountId): Deno.KvKey {
  return ["invoice_by_account", accountId];
}

export function accountInvoiceKey(accountId: AccountId, invoiceId: InvoiceId): Deno.KvKey {
  return ["invoice_by_account", accountId, invoiceId];
}

export function invoiceOfOrderKey(code: OrderCode): Deno.KvKey {
  return ["invoice_of_order", code];
}

export function invoiceFilePrefix(invoiceId: InvoiceId, name: string): Deno.KvKey {
  return ["invoice_file", invoiceId, name];
}

export function invoiceFileChunkKey(invoiceId: InvoiceId, name: string, part: number): Deno.KvKey {
  return ["invoice_file", invoiceId, name, part];
}

export function invoiceProfileKey(accountId: AccountId): Deno.KvKey {
  return ["invoice_profile", accountId];
}

// Operators: what they did, what waits for a second one of them, and their second factor.

export function operatorAuditPrefix(): Deno.KvKey {
  return ["operator_audit"];
}

export function operatorAuditKey(auditId: AuditId): Deno.KvKey {
  return ["operator_audit", auditId];
}

export function approvalsPrefix(): Deno.KvKey {
  return ["approval"];
}

export function approvalKey(approvalId: ApprovalId): Deno.KvKey {
  return ["approval", approvalId];
}

/** The approval that a form asked for. */
export function approvalOfFormKey(formId: string): Deno.KvKey {
  return ["approval_of_form", formId];
}

export function secondFactorKey(accountId: AccountId): Deno.KvKey {
  return ["second_factor", accountId];
}

/** A session that has passed the second factor. */
export function operatorSessionKey(sessionId: string): Deno.KvKey {
  return ["operator_session", sessionId];
}

// Videos: a task lies under its owner, so that a foreign id finds nothing. Open tasks have an index for the sweeper.

export function allVideosPrefix(): Deno.KvKey {
  return ["video"];
}

export function videosOfPrefix(accountId: AccountId): Deno.KvKey {
  return ["video", accountId];
}

export function videoKey(accountId: AccountId, videoId: VideoId): Deno.KvKey {
  return ["video", accountId, videoId];
}

export function openVideosPrefix(): Deno.KvKey {
  return ["video_open"];
}

export function openVideoKey(videoId: VideoId): Deno.KvKey {
  return ["video_open", videoId];
}

/** `orderId` stands for the key that the client chose. */
export function videoOrderKey(accountId: AccountId, orderId: string): Deno.KvKey {
  return ["video_order", accountId, orderId];
}

// Availability: calls answered and failed, per hour and instance.

export function availabilityHourPrefix(hour: number): Deno.KvKey {
  return ["availability", hour];
}

export function availabilityKey(hour: number, instanceId: InstanceId): Deno.KvKey {
  return ["availability", hour, instanceId];
}

// Export: everything whose keys begin with one word.

export function aggregatePrefix(name: string): Deno.KvKey {
  return [name];
}
