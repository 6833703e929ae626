/** Says of each kind of row how long it lives, so that none grows for ever without a reason. */
import type { RetentionKindName } from "../../../core/config/retention.ts";
import { formerMemberMs, invitationMs } from "../../../core/people/organisations/organisation.ts";
import { sessionAbsoluteMs } from "../../../core/people/accounts/session_rules.ts";
import { hourMs, minuteMs } from "../../../core/lib/time/durations.ts";
import type { RowKind } from "../../engine/schema/keys.ts";
import { hourSumsKeptMs } from "../../money/receipts/hour_sums.ts";
import { topupOrderMs } from "../../money/payments/topups.ts";
import { activityKeptMs } from "../../people/audit/account_activity.ts";
import { knownPlaceMs } from "../../people/accounts/sessions.ts";
import { managementAnswerMs } from "../../people/management_keys/answers.ts";
import { appCodeKeptMs } from "../../people/api_keys/app_codes.ts";
import { secondFactorMs } from "../../people/accounts/second_factor.ts";
import {
  longestMailGrantMs,
  passkeyChallengeMs,
  signInFlowMs,
} from "../../people/accounts/tokens.ts";
import { webhookTryMs } from "../../people/webhooks/deliveries.ts";
import { movedAloneMs } from "../../people/operators/operator_authority.ts";
import { idempotencyKeptMs } from "../calls/idempotency.ts";
import { limitMarkMs } from "../calls/limit_mails.ts";
import { restoredRefusedCallMs } from "../calls/refused_calls.ts";
import { rateUseMs } from "../limits/rate_exchange.ts";
import { availabilityExpireMs, historyExpireMs } from "../status/availability.ts";

/** Ways in which a row ends. */
type RowLife =
  /** Dropped by its age, as the setting of the kind says; or earlier by itself, where it also expires. */
  | {
    readonly ends: "dropped";
    readonly as: RetentionKindName;
    readonly expiresAfterMs?: number;
  }
  /** The engine removes it so long after it was written, at most. */
  | { readonly ends: "expires"; readonly afterMs: number }
  /** Replaced or deleted when what it is about ends, so that their number is bounded by that of those things. */
  | { readonly ends: "replaced"; readonly with: string }
  /** Never: the reason. */
  | { readonly ends: "never"; readonly why: string };

const dropped = (as: RetentionKindName): RowLife => ({ ends: "dropped", as });
const expires = (afterMs: number): RowLife => ({ ends: "expires", afterMs });
const replaced = (what: string): RowLife => ({ ends: "replaced", with: what });
const never = (why: string): RowLife => ({ ends: "never", why });

const account = replaced("the account, of which only the id stays");
const callers = never("one for each key, which receipts and sums name");
const bank = never("evidence of money, and what keeps a notice from moving it twice");
const credits = never("credit that was given, from which budgets and balances are verified");
const membership = replaced("the membership, when its person leaves");
const money = never("every balance is proved by them, and no cause moves money twice");
const orders = never("money may arrive under their codes at any time");
const sums = never("statements begin with the balance that they give");
const movedSums = never(
  "in the archive once they are old, since statements begin with the balance that they give",
);
const seals = never("they prove what is there, and what was dropped");
const versions = never("receipts name the version that they were charged by");
const running = replaced("the running instance");
const work = replaced("the work, when it is done");

/** All kinds of rows. A new one does not compile before it is here. */
export const rowLives: Readonly<Record<RowKind, RowLife>> = {
  account: never("receipts and ledger name them, also when their person was forgotten"),
  account_by_email: account,
  account_by_identity: account,
  account_mails: account,
  account_notes: account,
  account_password: account,
  account_session: expires(sessionAbsoluteMs),
  active_api_keys: account,
  activity: expires(activityKeptMs),
  announcement: never("few, written by operators"),
  api_key: callers,
  api_key_by_hash: callers,
  api_key_of_form: callers,
  app_code: expires(appCodeKeptMs),
  approval: never("few, and what two persons decided about money"),
  approval_of_form: never("few, and what keeps a form from moving money twice"),
  availability: expires(availabilityExpireMs),
  availability_day: expires(historyExpireMs),
  bank_event: bank,
  bank_event_by_time: bank,
  bank_event_unmatched: replaced("the notice, when it is matched"),
  bank_movement: bank,
  bank_movement_guard: bank,
  bank_reference: bank,
  bank_review: replaced("the notice, when a person has decided"),
  bank_unreadable: replaced("the notice, when a person has closed it"),
  bank_unreadable_closed: bank,
  bonus_due: work,
  budget_marks: account,
  budgets: account,
  call_order: expires(idempotencyKeptMs),
  campaign: credits,
  catalog_content: versions,
  catalog_piece: versions,
  catalog_version: versions,
  checkpoint: seals,
  checkpoint_balances: replaced("the last sealed days"),
  checkpoint_head: replaced("the last sealed day"),
  company_domain: account,
  company_openid: account,
  control: replaced("the setting"),
  dropped: seals,
  failed_of: dropped("receipts"),
  former_member: expires(formerMemberMs),
  grant: credits,
  grant_book: credits,
  grant_count: credits,
  grant_expiry: replaced("the grant, when nothing is left of it"),
  indexer: running,
  instance: running,
  invitation: expires(invitationMs),
  invitation_for: expires(invitationMs),
  invoice: dropped("invoices"),
  invoice_by_account: dropped("invoices"),
  invoice_file: dropped("invoices"),
  invoice_of_order: never("no money of an order is ever on a second invoice"),
  invoice_profile: account,
  invoice_settings: account,
  kept_balances: replaced("the first day with receipts"),
  known_place: expires(knownPlaceMs),
  lease: running,
  ledger: money,
  ledger_by_time: money,
  ledger_operation: money,
  limit_mail: expires(limitMarkMs),
  low_balance_watch: account,
  mail_token: expires(longestMailGrantMs),
  management_answer: expires(managementAnswerMs),
  management_key: replaced(
    "the key, a year after it was revoked; few, and the activity names them",
  ),
  management_key_by_hash: replaced("the key, when it is revoked"),
  member: membership,
  membership,
  // Those that name money are the kind `money_acts`.
  operator_audit: dropped("audit_log"),
  operator_moved: expires(movedAloneMs),
  operator_session: expires(secondFactorMs),
  outbox: work,
  // Polls of videos that were given up stay until an operator has looked: they may be about a refund.
  outbox_dead: dropped("unsent_mails"),
  own_keys: account,
  passkey: account,
  passkey_challenge: expires(passkeyChallengeMs),
  pending_sign_in: expires(signInFlowMs),
  preset: replaced("the preset, when it is deleted; at most ten versions of fifty"),
  proof_balances: replaced("the last forty days; those at the end of a month stay"),
  proof_chunk: never("some 90 bytes for 1,024 receipts, which lead to a signed root"),
  proof_day: seals,
  proof_head: replaced("the last signed day"),
  proof_key: never("what an old key signed is checked with it"),
  provider_claim: never("claims on providers are settled by them"),
  provider_key: replaced("the key, when an operator removes it; at most a hundred"),
  rate_card: versions,
  rate_limit: expires(hourMs),
  rate_use: expires(rateUseMs),
  receipt: dropped("receipts"),
  receipts_of: dropped("receipts"),
  recovery_codes: account,
  refunded: sums,
  refunded_tags: sums,
  refused_call: {
    ends: "dropped",
    as: "refused_calls",
    expiresAfterMs: restoredRefusedCallMs,
  },
  refused_call_by_id: {
    ends: "dropped",
    as: "refused_calls",
    expiresAfterMs: restoredRefusedCallMs,
  },
  refused_hours: expires(hourSumsKeptMs),
  removed_member: replaced(
    "the organisation, or when the person is let in again; at most a thousand in an organisation",
  ),
  saved_view: account,
  second_factor: account,
  session: expires(sessionAbsoluteMs),
  settled: work,
  sign_in_flow: expires(signInFlowMs),
  signup_credit: never("a mailbox gets the credit of a sign-up once"),
  status_subscriber: replaced("the subscription, when its reader ends it"),
  store: replaced("what is known of the store"),
  team: replaced("the team, when it is deleted; at most a hundred in an organisation"),
  topup_by_account: orders,
  topup_of_form: expires(topupOrderMs),
  topup_open: orders,
  topup_order: orders,
  topup_payment: bank,
  usage: movedSums,
  usage_by_day: movedSums,
  usage_hours: expires(hourSumsKeptMs),
  usage_tags: movedSums,
  verified_domain: replaced("the domain, when its organisation removes it or another verifies it"),
  video: never("one for each video, until its owner deletes it"),
  video_open: work,
  video_order: expires(idempotencyKeptMs),
  voucher: credits,
  wallet: money,
  webhook_endpoints: account,
  webhook_state: replaced("the endpoint, when its owner deletes it; at most ten of an account"),
  webhook_try: expires(webhookTryMs),
  write_probe: expires(minuteMs),
};

/** Returns the milliseconds after which a row of a kind expires by itself; `undefined`: it does not, or is not known. */
export function expiresAfterMs(kind: string): number | undefined {
  const lives: Readonly<Record<string, RowLife>> = rowLives;
  const life = Object.hasOwn(lives, kind) ? lives[kind] : undefined;
  if (life === undefined) return undefined;
  if (life.ends === "expires") return life.afterMs;
  return life.ends === "dropped" ? life.expiresAfterMs : undefined;
}
