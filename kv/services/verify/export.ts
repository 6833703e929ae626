/**
 * Exports the whole store as JSON lines, one record each, for audits, evidence and migrations.
 * Amounts are decimal strings of µVND, bytes are base64.
 *
 * Every kind of row is listed here, so that none is forgotten: it is exported, or the reason why
 * not is given. No secret is exported: a reader of the file can neither sign in, nor make calls,
 * nor decrypt what is sealed.
 */
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { decodeBatch } from "../../engine/store/batches.ts";
import {
  receiptPageKey,
  type RowKind,
  rowKinds,
  rowsOfKindPrefix,
} from "../../engine/schema/keys.ts";
import { withoutSignUpSecrets } from "../../engine/outbox/outbox.ts";
import { decodeReceiptPage } from "../../money/receipts/receipt_pages.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { OwnKeysRow } from "../../people/api_keys/own_keys.ts";

interface ExportedRecord {
  readonly key: Deno.KvKey;
  readonly value: unknown;
}

/** Returns the records that are exported of a row. */
type Exported = (entry: Deno.KvEntry<unknown>) => ExportedRecord[];

/**
 * The reason why a kind of row is not exported. `secret`: it grants access, or would help to guess
 * what does. `repeated`: an index whose content is in other records. `passing`: counters and rights
 * that only running instances use.
 */
type StayingReason = "secret" | "repeated" | "passing";

const decisions: Readonly<Record<RowKind, Exported | StayingReason>> = {
  account: whole,
  account_by_email: "repeated",
  account_by_identity: "repeated",
  account_mails: whole,
  account_notes: whole,
  account_password: "secret",
  account_session: "secret",
  active_api_keys: "repeated",
  activity: whole,
  announcement: whole,
  api_key: ({ key, value }) => [{ key, value: without(value, ["hash", "sealed", "previous"]) }],
  api_key_by_hash: "secret",
  api_key_of_form: "passing",
  app_code: "secret",
  approval: whole,
  approval_of_form: whole,
  availability: "passing",
  availability_day: "passing",
  bank_event: whole,
  bank_event_by_time: "repeated",
  bank_event_unmatched: whole,
  bank_movement: whole,
  bank_movement_guard: "passing",
  bank_reference: "repeated",
  bank_review: whole,
  bank_unreadable: whole,
  bank_unreadable_closed: whole,
  bonus_due: whole,
  budget_marks: "passing",
  budgets: whole,
  call_order: "passing",
  campaign: whole,
  catalog_content: whole,
  catalog_piece: whole,
  catalog_version: whole,
  checkpoint: whole,
  checkpoint_balances: "repeated",
  checkpoint_head: "repeated",
  former_member: whole,
  invitation: whole,
  invitation_for: "repeated",
  kept_balances: whole,
  company_domain: whole,
  company_openid: ({ key, value }) => [{ key, value: without(value, ["sealedSecret"]) }],
  control: whole,
  dropped: whole,
  grant: whole,
  grant_book: whole,
  grant_count: whole,
  grant_expiry: "repeated",
  failed_of: "repeated",
  indexer: "passing",
  instance: whole,
  invoice: whole,
  invoice_by_account: "repeated",
  invoice_file: whole,
  invoice_of_order: whole,
  invoice_profile: whole,
  invoice_settings: whole,
  known_place: "secret",
  lease: whole,
  ledger: whole,
  ledger_by_time: "repeated",
  ledger_operation: "repeated",
  limit_mail: "passing",
  low_balance_watch: "repeated",
  management_answer: "passing",
  management_key: ({ key, value }) => [{ key, value: without(value, ["hash"]) }],
  management_key_by_hash: "secret",
  member: whole,
  membership: "repeated",
  mail_token: "secret",
  operator_audit: whole,
  operator_moved: "passing",
  operator_session: "secret",
  outbox: work,
  outbox_dead: work,
  own_keys: ({ key, value }) => [{ key, value: withoutSealed(value) }],
  passkey: whole,
  passkey_challenge: "passing",
  pending_sign_in: "secret",
  preset: ({ key, value }) => [{
    key,
    value: Array.isArray(value) ? value : without(value, ["sealed"]),
  }],
  proof_balances: "repeated",
  proof_chunk: "repeated",
  proof_day: whole,
  proof_head: "repeated",
  proof_key: ({ key, value }) => [{ key, value: without(value, ["sealed"]) }],
  provider_claim: whole,
  provider_key: ({ key, value }) => [{ key, value: without(value, ["sealed"]) }],
  rate_card: whole,
  rate_limit: "passing",
  rate_use: "passing",
  receipt: (entry) =>
    decodeReceiptPage(entry).map((receipt) => ({
      key: receiptPageKey(receipt.requestId),
      value: receipt,
    })),
  receipts_of: "repeated",
  recovery_codes: "secret",
  refunded: whole,
  refunded_tags: whole,
  refused_call: whole,
  refused_call_by_id: "repeated",
  refused_hours: "passing",
  removed_member: whole,
  saved_view: whole,
  second_factor: "secret",
  session: "secret",
  settled: (entry) => [{ key: entry.key, value: decodeBatch(entry).parts }],
  sign_in_flow: "secret",
  signup_credit: whole,
  status_subscriber: whole,
  store: "passing",
  team: whole,
  topup_by_account: "repeated",
  topup_of_form: "passing",
  topup_open: "repeated",
  topup_order: whole,
  topup_payment: whole,
  usage: whole,
  usage_by_day: "repeated",
  usage_hours: "repeated",
  usage_tags: whole,
  verified_domain: "repeated",
  video: whole,
  video_open: "repeated",
  video_order: "passing",
  voucher: whole,
  wallet: whole,
  webhook_endpoints: ({ key, value }) => [{ key, value: without(value, ["secrets"]) }],
  webhook_state: "passing",
  webhook_try: "passing",
  write_probe: "passing",
};

function whole({ key, value }: Deno.KvEntry<unknown>): ExportedRecord[] {
  return [{ key, value }];
}

function work({ key, value }: Deno.KvEntry<unknown>): ExportedRecord[] {
  if (typeof value !== "object" || value === null || !("payload" in value)) return [{ key, value }];
  return [{ key, value: { ...value, payload: withoutSignUpSecrets(value.payload) } }];
}

/** Returns the provider keys of an organisation without what is sealed. */
function withoutSealed(value: unknown): unknown {
  const { keys = [] } = value as Partial<OwnKeysRow>;
  return { keys: keys.map((key) => without(key, ["sealed"])) };
}

function without(value: unknown, fields: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}

function plain(_field: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return value.toBase64();
  if (value instanceof Map) return [...value];
  if (value instanceof Set) return [...value];
  return value;
}

/** Writes a record as its line, without the newline. */
export function recordLine({ key, value }: ExportedRecord): string {
  return JSON.stringify({ key, value }, plain);
}

/**
 * Streams the records in key order, each a line `{"key":[…],"value":…}` with its newline. Memory is
 * bounded. Beside a live service each record is correct, but records are of different moments;
 * `slices` let calls run in between.
 *
 * @example
 * ```ts
 * import { exportRecords } from "./export.ts";
 * using kv = await Deno.openKv(":memory:");
 * await kv.set(["wallet", "acc_1"], { availableMicroVnd: 5n });
 * await kv.set(["session", "secret"], {});
 * const lines = await Array.fromAsync(exportRecords(kv));
 * if (lines.join() !== '{"key":["wallet","acc_1"],"value":{"availableMicroVnd":"5"}}\n') {
 *   throw new Error(lines.join());
 * }
 * ```
 */
export async function* exportRecords(
  kv: KeyValueStore,
  slices?: TimeSlices,
): AsyncGenerator<string> {
  for (const kind of rowKinds) {
    const recordsOf = decisions[kind];
    if (typeof recordsOf === "string") continue;
    for await (const entry of wholeKind<unknown>(kv, { prefix: rowsOfKindPrefix(kind) }, slices)) {
      for (const record of recordsOf(entry)) yield `${recordLine(record)}\n`;
    }
  }
}
