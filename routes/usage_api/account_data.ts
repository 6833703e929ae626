/**
 * Writes everything that an account has as lines of JSON, for its owner: profile, keys without secrets, money, invoices,
 * receipts, refused calls, activity. Each line names its kind in `record`; the last says how many lines there were, so
 * that a file that broke off is noticed. Memory does not grow with the account.
 */
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import { ledgerPrefix } from "../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { listBatchRows } from "../../kv/engine/store/read_ahead.ts";
import { getInvoiceSettings, listAccountInvoices } from "../../kv/money/invoices/invoices.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import { listTopupOrders, type TopupOrder } from "../../kv/money/payments/topups.ts";
import type { Account } from "../../kv/people/accounts/accounts.ts";
import { listSentMails } from "../../kv/people/accounts/sent_mails.ts";
import { listSessions } from "../../kv/people/accounts/sessions.ts";
import { fileStream } from "../http/query.ts";
import { listMembers } from "../../kv/people/organisations/members.ts";
import { listTeams } from "../../kv/people/organisations/teams.ts";
import { type ApiKeyRecord, listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { allActivity } from "../../kv/people/audit/account_activity.ts";
import { listRefusedCalls } from "../../kv/services/calls/refused_calls.ts";
import { activityFields } from "./activity.ts";
import { refusedFields } from "./calls.ts";
import { receiptJson } from "./receipt_json.ts";
import { invoiceFields, movementFields } from "./statements/statement_json.ts";
import { rowGroups } from "./usage_export.ts";

/** Orders read at once, and most invoices: one a day for decades. */
const ordersPerRead = 200;
const maxInvoicesRead = 10_000;

const time = (atMs: number | undefined) => atMs === undefined ? null : vietnamIsoTime(atMs);

function profileOf(account: Account): JsonObject {
  const { id, createdAtMs, email = null, locale = null, identities = [], mailsOff = [] } = account;
  const { lowBalanceMicroVnd: mark } = account;
  return {
    id,
    created_at: time(createdAtMs),
    email,
    locale,
    identities: identities.map(({ issuer, subject }) => ({ issuer, subject })),
    mails_off: [...mailsOff],
    low_balance_vnd: mark === undefined ? null : formatVnd(mark),
  };
}

function keyOf(record: ApiKeyRecord): JsonObject {
  const { id, name, masked, createdAtMs, expiresAtMs, revokedAtMs } = record;
  return {
    id,
    name,
    masked,
    created_at: time(createdAtMs),
    expires_at: time(expiresAtMs),
    revoked_at: time(revokedAtMs),
    models: record.allowedModels === undefined ? null : [...record.allowedModels],
    addresses: record.allowedIps === undefined ? null : [...record.allowedIps],
  };
}

function orderOf(order: TopupOrder): JsonObject {
  const { code, state, askedMicroVnd, receivedMicroVnd, createdAtMs, paidAtMs } = order;
  return {
    code,
    state,
    asked_vnd: formatVnd(askedMicroVnd),
    received_vnd: formatVnd(receivedMicroVnd),
    created_at: time(createdAtMs),
    paid_at: time(paidAtMs),
  };
}

async function* ordersOf(kv: KeyValueStore, accountId: AccountId): AsyncGenerator<TopupOrder> {
  let before: TopupOrder | undefined;
  for (;;) {
    const orders = await listTopupOrders(kv, accountId, { count: ordersPerRead, before });
    yield* orders;
    before = orders.at(-1);
    if (orders.length < ordersPerRead) return;
  }
}

async function* recordsOf(
  kv: KeyValueStore,
  account: Account,
  nowMs: number,
): AsyncGenerator<readonly [string, JsonObject]> {
  const { id } = account;
  yield ["account", profileOf(account)];
  yield ["invoice_details", { ...await getInvoiceSettings(kv, id) }];
  for (const { device, address, createdAtMs, lastSeenAtMs } of await listSessions(kv, id, nowMs)) {
    const times = { signed_in_at: time(createdAtMs), last_seen_at: time(lastSeenAtMs) };
    yield ["session", { device, address, ...times }];
  }
  for (const { kind, atMs } of await listSentMails(kv, id)) {
    yield ["sent_mail", { kind, sent_at: time(atMs) }];
  }
  for (const { personId, role, email = null } of await listMembers(kv, account)) {
    yield ["member", { account_id: personId, email, role }];
  }
  for (const team of await listTeams(kv, id)) yield ["team", { id: team.id, name: team.name }];
  const keys = await listApiKeys(kv, id);
  for (const record of keys) yield ["api_key", keyOf(record)];
  const lines = kv.list<LedgerEntry>({ prefix: ledgerPrefix(id) }, { batchSize: listBatchRows });
  for await (const { value } of lines) yield ["movement", fieldsJson(movementFields, value)];
  for await (const order of ordersOf(kv, id)) yield ["topup_order", orderOf(order)];
  for (const invoice of await listAccountInvoices(kv, id, maxInvoicesRead)) {
    const { buyer } = invoice;
    yield ["invoice", { ...fieldsJson(invoiceFields, invoice), buyer: { ...buyer } }];
  }
  const everything = { accountId: id, fromMs: 0, untilMs: nowMs + 1 };
  const keyNames = new Map<string, string>(keys.map((key) => [key.id, key.name]));
  for await (const rows of rowGroups(kv, everything, keyNames)) {
    for (const row of rows) yield ["receipt", receiptJson(row)];
  }
  for await (const refused of listRefusedCalls(kv, id)) {
    yield ["refused_call", fieldsJson(refusedFields, refused)];
  }
  for await (const line of allActivity(kv, id)) {
    yield ["activity", fieldsJson(activityFields, line)];
  }
}

async function* linesOf(records: AsyncIterable<readonly [string, JsonObject]>) {
  let count = 0;
  for await (const [record, members] of records) {
    count++;
    yield `${JSON.stringify({ record, ...members })}\n`;
  }
  yield `${JSON.stringify({ record: "end", records: count })}\n`;
}

/** Streams the file. */
export async function accountDataFile(
  kv: KeyValueStore,
  account: Account,
  nowMs: number,
): Promise<Response> {
  const lines = await fileStream(linesOf(recordsOf(kv, account, nowMs)));
  return new Response(lines.pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": "application/x-ndjson",
      "content-disposition": `attachment; filename="account-${account.id}.ndjson"`,
    },
  });
}
