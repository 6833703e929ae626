/**
 * Declares whose rows each kind has, under which records "download all data" has them, and what the deletion of an
 * account does with them. The download (`routes/usage_api/account_data.ts`) and the deletion (`kv/people/deletion/`) work
 * by this table; `tests/kv/people/deletion_test.ts` looks at what is left, row by row.
 */
import type { RowKind } from "./store_key.ts";

/** Owners of rows. An account is a person and an organisation of one id; `account`: both, until both are gone. */
type Owner = "organisation" | "person" | "account";

/**
 * The reason why no record has a row. `secret`: it grants access, or would help to guess what does. `repeated`: other
 * records have its content. `passing`: counters and marks of hours or days. `operators`: written by operators for
 * themselves. `file`: bytes that the page of the invoice sends.
 */
type UnsentReason = "secret" | "repeated" | "passing" | "operators" | "file";

/**
 * Effect of a deletion on the rows. `deletes`: those whose keys have the id behind the kind, by this table.
 * `deletes_by_index`: those under other keys, by code of their own. `anonymises`: what is personal leaves the row.
 * `expires`: nothing, since they end by themselves soon. `keeps`: nothing, for the reason.
 */
type Deletion =
  | { readonly does: "deletes" | "deletes_by_index" }
  | { readonly does: "anonymises" | "expires" | "keeps"; readonly why: string };

/** The owner of a kind of row, and what a download and a deletion make of it. */
export type RowOwner =
  | { readonly of: "installation" }
  | {
    readonly of: Owner;
    /** The records of the download that are made of it, or the reason why none is. */
    readonly download: readonly string[] | UnsentReason;
    readonly deletion: Deletion;
  };

const installation = { of: "installation" } as const satisfies RowOwner;

const deletes = { does: "deletes" } as const;
const byIndex = { does: "deletes_by_index" } as const;
const anonymises = (why: string) => ({ does: "anonymises", why }) as const;
const expires = (why: string) => ({ does: "expires", why }) as const;
const keeps = (why: string) => ({ does: "keeps", why }) as const;

const books = keeps("bookkeeping, under the id alone");
const expiresInMinutes = expires("a step of minutes, under a hash");
const expiresByAge = expires("leaves by its age");
const expiresInDays = expires("a mark of days about an id");

const ofBooks = (download: "repeated" | "file") =>
  ({ of: "organisation", download, deletion: books }) as const;
const ofOrganisation = (download: "secret" | "repeated" | "passing") =>
  ({ of: "organisation", download, deletion: deletes }) as const;
const ofPerson = (download: "secret" | "repeated" | "passing") =>
  ({ of: "person", download, deletion: deletes }) as const;
const signInStep = { of: "person", download: "secret", deletion: expiresInMinutes } as const;

/** All kinds of rows. A new one does not compile before it is here. */
export const rowOwners = {
  account: {
    of: "account",
    download: ["account", "organisation"],
    deletion: anonymises("ledger and receipts name the id"),
  },
  account_by_email: { of: "person", download: "repeated", deletion: byIndex },
  account_by_identity: { of: "person", download: "repeated", deletion: byIndex },
  account_mails: { of: "account", download: ["sent_mail"], deletion: deletes },
  account_notes: { of: "account", download: "operators", deletion: deletes },
  account_password: ofPerson("secret"),
  account_session: { of: "person", download: ["session"], deletion: deletes },
  active_api_keys: ofOrganisation("repeated"),
  activity: { of: "organisation", download: ["activity"], deletion: deletes },
  announcement: installation,
  api_key: {
    of: "organisation",
    download: ["api_key"],
    deletion: anonymises("receipts name the id; name, addresses and secret go"),
  },
  api_key_by_hash: {
    of: "organisation",
    download: "secret",
    deletion: keeps("the hash of a revoked key, so that it is never a key of somebody else"),
  },
  api_key_of_form: ofOrganisation("passing"),
  app_code: { of: "person", download: "secret", deletion: expiresInDays },
  approval: installation,
  approval_of_form: installation,
  availability: installation,
  availability_day: installation,
  bank_event: installation,
  bank_event_by_time: installation,
  bank_event_unmatched: installation,
  bank_movement: installation,
  bank_movement_guard: installation,
  bank_reference: installation,
  bank_review: installation,
  bank_unreadable: installation,
  bank_unreadable_closed: installation,
  bonus_due: ofBooks("repeated"),
  budget_marks: ofOrganisation("passing"),
  budgets: { of: "organisation", download: ["budget"], deletion: deletes },
  call_order: ofOrganisation("passing"),
  campaign: installation,
  catalog_content: installation,
  catalog_piece: installation,
  catalog_version: installation,
  checkpoint: installation,
  checkpoint_balances: installation,
  checkpoint_head: installation,
  company_domain: { of: "organisation", download: ["domain"], deletion: deletes },
  company_openid: { of: "organisation", download: ["company_sign_in"], deletion: deletes },
  control: installation,
  dropped: installation,
  failed_of: ofBooks("repeated"),
  former_member: { of: "organisation", download: "operators", deletion: deletes },
  grant: ofBooks("repeated"),
  grant_book: ofBooks("repeated"),
  grant_count: ofBooks("repeated"),
  grant_expiry: ofBooks("repeated"),
  indexer: installation,
  instance: installation,
  invitation: { of: "organisation", download: ["invitation"], deletion: deletes },
  invitation_for: { of: "organisation", download: "repeated", deletion: byIndex },
  invoice: { of: "organisation", download: ["invoice"], deletion: books },
  invoice_by_account: ofBooks("repeated"),
  invoice_file: ofBooks("file"),
  invoice_of_order: ofBooks("repeated"),
  invoice_profile: ofOrganisation("repeated"),
  invoice_settings: { of: "organisation", download: ["invoice_details"], deletion: deletes },
  kept_balances: installation,
  known_place: ofPerson("secret"),
  lease: ofBooks("repeated"),
  ledger: { of: "organisation", download: ["movement"], deletion: books },
  ledger_by_time: ofBooks("repeated"),
  ledger_operation: ofBooks("repeated"),
  limit_mail: { of: "organisation", download: "passing", deletion: expiresInDays },
  low_balance_watch: ofOrganisation("repeated"),
  mail_token: signInStep,
  management_answer: ofOrganisation("secret"),
  management_key: { of: "organisation", download: ["management_key"], deletion: deletes },
  management_key_by_hash: { of: "organisation", download: "secret", deletion: byIndex },
  member: { of: "organisation", download: ["member"], deletion: deletes },
  membership: { of: "person", download: ["membership"], deletion: byIndex },
  operator_audit: installation,
  operator_moved: installation,
  operator_session: signInStep,
  outbox: installation,
  outbox_dead: installation,
  own_keys: { of: "organisation", download: ["provider_key"], deletion: deletes },
  passkey: { of: "person", download: ["passkey"], deletion: deletes },
  passkey_challenge: signInStep,
  pending_sign_in: signInStep,
  preset: { of: "organisation", download: ["preset"], deletion: deletes },
  proof_balances: installation,
  proof_chunk: installation,
  proof_day: installation,
  proof_head: installation,
  proof_key: installation,
  provider_claim: installation,
  provider_key: installation,
  rate_card: installation,
  rate_limit: installation,
  rate_use: installation,
  receipt: { of: "organisation", download: ["receipt"], deletion: books },
  receipts_of: ofBooks("repeated"),
  recovery_codes: ofPerson("secret"),
  refunded: ofBooks("repeated"),
  refunded_tags: ofBooks("repeated"),
  refused_call: { of: "organisation", download: ["refused_call"], deletion: expiresByAge },
  refused_call_by_id: { of: "organisation", download: "repeated", deletion: expiresByAge },
  refused_hours: { of: "organisation", download: "repeated", deletion: expiresByAge },
  removed_member: { of: "organisation", download: ["removed_member"], deletion: deletes },
  saved_view: { of: "person", download: ["saved_view"], deletion: deletes },
  second_factor: ofPerson("secret"),
  session: { of: "person", download: "secret", deletion: byIndex },
  settled: ofBooks("repeated"),
  sign_in_flow: signInStep,
  signup_credit: {
    of: "person",
    download: "secret",
    deletion: keeps("the hash of a mailbox, which gets the credit of a sign-up once"),
  },
  status_subscriber: { of: "person", download: ["incident_mails"], deletion: byIndex },
  store: installation,
  team: { of: "organisation", download: ["team"], deletion: deletes },
  topup_by_account: ofBooks("repeated"),
  topup_of_form: { of: "organisation", download: "passing", deletion: expiresByAge },
  topup_open: ofBooks("repeated"),
  topup_order: { of: "organisation", download: ["topup_order"], deletion: books },
  topup_payment: ofBooks("repeated"),
  usage: ofBooks("repeated"),
  usage_by_day: ofBooks("repeated"),
  usage_hours: ofBooks("repeated"),
  usage_tags: ofBooks("repeated"),
  verified_domain: { of: "organisation", download: "repeated", deletion: byIndex },
  video: ofBooks("repeated"),
  video_open: ofBooks("repeated"),
  video_order: ofOrganisation("passing"),
  voucher: installation,
  wallet: ofBooks("repeated"),
  webhook_endpoints: { of: "organisation", download: ["webhook"], deletion: deletes },
  webhook_state: ofOrganisation("passing"),
  webhook_try: ofOrganisation("passing"),
  write_probe: installation,
} as const satisfies Readonly<Record<RowKind, RowOwner>>;

/** The records of the download: one that nothing writes does not compile. */
export type DownloadRecord = Extract<
  typeof rowOwners[RowKind],
  { readonly download: readonly string[] }
>["download"][number];

function isRowKind(name: string): name is RowKind {
  return Object.hasOwn(rowOwners, name);
}

/** Returns the kinds whose rows a deletion removes by their owner's id. */
export function deletedKinds(of: Owner): readonly RowKind[] {
  const owners: Readonly<Record<RowKind, RowOwner>> = rowOwners;
  return Object.keys(rowOwners).filter(isRowKind).filter((kind) => {
    const owner = owners[kind];
    return owner.of === of && owner.deletion.does === "deletes";
  });
}
