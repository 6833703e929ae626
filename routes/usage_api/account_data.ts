/**
 * Writes everything that an organisation has as lines of JSON for its owner, with what the owner has as a person, without
 * secrets. `kv/engine/schema/row_owners.ts` declares the records of each kind of row. Each line names its kind in `record`;
 * the last says how many lines there were, so that a file that broke off is noticed. Memory does not grow with the account.
 */
import { loggedCallSettings } from "../../core/calls/request/call_settings.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { type Budget, subjectText } from "../../core/limits/budgets.ts";
import type { Invoice } from "../../core/trade/invoices/invoice.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import { defined } from "../../core/lib/base/defined.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import { type DownloadRecord, ledgerPrefix } from "../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { listBatchRows } from "../../kv/engine/store/read_ahead.ts";
import { getInvoiceSettings, listAccountInvoices } from "../../kv/money/invoices/invoices.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import { listTopupOrders, type TopupOrder } from "../../kv/money/payments/topups.ts";
import { type Account, accountName } from "../../kv/people/accounts/accounts.ts";
import { listBudgets } from "../../kv/people/accounts/budgets.ts";
import { listPasskeys } from "../../kv/people/accounts/passkeys.ts";
import { listAllSavedViews } from "../../kv/people/accounts/saved_views.ts";
import { listSentMails } from "../../kv/people/accounts/sent_mails.ts";
import { listSessions } from "../../kv/people/accounts/sessions.ts";
import { fileStream } from "../http/query.ts";
import { listMembers } from "../../kv/people/organisations/members.ts";
import {
  listManagementKeys,
  type ManagementKey,
} from "../../kv/people/management_keys/management_keys.ts";
import { isSubscribed } from "../../kv/people/operators/status_subscribers.ts";
import {
  getCompanyOpenId,
  listCompanyDomains,
} from "../../kv/people/organisations/company_sign_in.ts";
import { listInvitations } from "../../kv/people/organisations/invitations.ts";
import { listMemberships, organisationFacts } from "../../kv/people/organisations/organisations.ts";
import { listOwnKeys } from "../../kv/people/api_keys/own_keys.ts";
import { listRemovedMembers } from "../../kv/people/organisations/removed_members.ts";
import { listEndpoints, type WebhookEndpoint } from "../../kv/people/webhooks/endpoints.ts";
import {
  listPresets,
  type PresetVersion,
  readPreset,
} from "../../kv/people/organisations/presets.ts";
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

/** Source of a file. */
interface DataSource {
  readonly kv: KeyValueStore;
  readonly account: Account;
  /** Person who downloads it: of people, it has nobody else. An organisation may have the id of its former owner. */
  readonly person: Account;
  readonly nowMs: number;
  /** Open the presets. */
  readonly masterKeys: MasterKeys;
}

type Records = AsyncIterable<JsonObject> | Iterable<JsonObject>;

const time = (atMs: number | undefined) => atMs === undefined ? null : vietnamIsoTime(atMs);

async function* each<Row>(
  rows: Promise<readonly Row[]> | AsyncIterable<Row>,
  toJson: (row: Row) => JsonObject,
): AsyncGenerator<JsonObject> {
  if (rows instanceof Promise) { for (const row of await rows) yield toJson(row); }
  else for await (const row of rows) yield toJson(row);
}

function* profileOf({ person }: DataSource): Generator<JsonObject> {
  const { id, createdAtMs, email = null, locale = null, identities = [], mailsOff = [] } = person;
  yield {
    id,
    created_at: time(createdAtMs),
    email,
    locale,
    identities: identities.map(({ issuer, subject }) => ({ issuer, subject })),
    mails_off: [...mailsOff],
  };
}

function* organisationOf({ account }: DataSource): Generator<JsonObject> {
  const { id, createdAtMs, requiredTags = [], lowBalanceMicroVnd: mark } = account;
  const { ownerId, memberCount } = organisationFacts(account);
  yield {
    id,
    created_at: time(createdAtMs),
    name: accountName(account),
    owner_id: ownerId,
    members: memberCount,
    required_tags: [...requiredTags],
    low_balance_vnd: mark === undefined ? null : formatVnd(mark),
    second_factor_required: account.secondFactorRequired === true,
    company_sign_in_required: account.companySignInRequired === true,
  };
}

function keyOf(record: ApiKeyRecord): JsonObject {
  const { id, name, masked, createdAtMs, expiresAtMs, revokedAtMs, app } = record;
  return {
    id,
    name,
    masked,
    app_name: app?.name ?? null,
    app_host: app?.host ?? null,
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

function budgetOf({ id, name, subject, window, amountMicroVnd, atLimit }: Budget): JsonObject {
  return {
    id,
    name,
    of: subjectText(subject),
    window,
    amount_vnd: formatVnd(amountMicroVnd),
    at_limit: atLimit,
  };
}

function webhookOf(
  { id, chat, url, chatId, name, kinds, isOn, createdAtMs }: WebhookEndpoint,
): JsonObject {
  return {
    id,
    destination: chat ?? "webhook",
    url,
    ...defined({ chat_id: chatId }),
    name,
    kinds: [...kinds],
    is_on: isOn,
    created_at: time(createdAtMs),
  };
}

function managementKeyOf(key: ManagementKey): JsonObject {
  const { id, name, role, masked, memberId, createdAtMs, revokedAtMs } = key;
  return {
    id,
    name,
    role,
    masked,
    member_id: memberId,
    created_at: time(createdAtMs),
    revoked_at: time(revokedAtMs),
  };
}

function invoiceOf(invoice: Invoice): JsonObject {
  return { ...fieldsJson(invoiceFields, invoice), buyer: { ...invoice.buyer } };
}

function presetOf({ name, version, savedAtMs, preset }: PresetVersion): JsonObject {
  const { model, system = null, parameters = {}, calls = {} } = preset;
  const facts: JsonObject = JSON.parse(
    JSON.stringify({ parameters, calls: loggedCallSettings(calls) }),
  );
  return { name, version, saved_at: time(savedAtMs), model, system, ...facts };
}

async function* presetsOf(
  { kv, account: { id }, masterKeys }: DataSource,
): AsyncGenerator<JsonObject> {
  for (const { name, version, oldest } of await listPresets(kv, id)) {
    for (let at = oldest; at <= version; at++) {
      const one = await readPreset(kv, masterKeys, id, { name, version: at });
      if (one !== undefined) yield presetOf(one);
    }
  }
}

async function* companySignInOf({ kv, account }: DataSource): AsyncGenerator<JsonObject> {
  const openId = await getCompanyOpenId(kv, account.id);
  if (openId === undefined) return;
  const { issuer, clientId, role } = openId;
  yield { issuer, client_id: clientId, role };
}

async function* incidentMailsOf({ kv, person }: DataSource): AsyncGenerator<JsonObject> {
  const { email } = person;
  if (email !== undefined && await isSubscribed(kv, email)) yield { email };
}

async function* receiptsOf({ kv, account: { id }, nowMs }: DataSource): AsyncGenerator<JsonObject> {
  const everything = { accountId: id, fromMs: 0, untilMs: nowMs + 1 };
  const names = (await listApiKeys(kv, id)).map((key) => [key.id, key.name] as const);
  for await (const rows of rowGroups(kv, everything, new Map<string, string>(names))) {
    for (const row of rows) yield receiptJson(row);
  }
}

/** The records of the file, in their order: one that the table of row owners names and that is missing does not compile. */
const recordsBy: Readonly<Record<DownloadRecord, (source: DataSource) => Records>> = {
  account: profileOf,
  membership: ({ kv, person }) =>
    each(listMemberships(kv, person), ({ account, role }) => ({ id: account.id, role })),
  session: ({ kv, person, nowMs }) =>
    each(
      listSessions(kv, person.id, nowMs),
      ({ device, address, createdAtMs, lastSeenAtMs }) => ({
        device,
        address,
        signed_in_at: time(createdAtMs),
        last_seen_at: time(lastSeenAtMs),
      }),
    ),
  passkey: ({ kv, person }) =>
    each(listPasskeys(kv, person.id), ({ id, name, createdAtMs, lastUsedAtMs }) => ({
      id,
      name,
      created_at: time(createdAtMs),
      last_used_at: time(lastUsedAtMs),
    })),
  saved_view: ({ kv, person }) =>
    each(listAllSavedViews(kv, person.id), ({ name, query }) => ({ name, query })),
  sent_mail: ({ kv, person }) =>
    each(listSentMails(kv, person.id), ({ kind, atMs }) => ({ kind, sent_at: time(atMs) })),
  incident_mails: incidentMailsOf,
  organisation: organisationOf,
  invoice_details: ({ kv, account }) =>
    each(getInvoiceSettings(kv, account.id).then((one) => [one]), (one) => ({ ...one })),
  member: ({ kv, account }) =>
    each(listMembers(kv, account), ({ personId, role, email = null }) => ({
      account_id: personId,
      email,
      role,
    })),
  removed_member: ({ kv, account }) =>
    each(listRemovedMembers(kv, account.id), ({ personId, email = null, removedAtMs }) => ({
      account_id: personId,
      email,
      removed_at: time(removedAtMs),
    })),
  invitation: ({ kv, account, nowMs }) =>
    each(
      listInvitations(kv, account.id, nowMs),
      ({ email, role, inviter, createdAtMs, expiresAtMs }) => ({
        email,
        role,
        inviter,
        created_at: time(createdAtMs),
        expires_at: time(expiresAtMs),
      }),
    ),
  team: ({ kv, account }) => each(listTeams(kv, account.id), ({ id, name }) => ({ id, name })),
  domain: ({ kv, account }) =>
    each(listCompanyDomains(kv, account.id), ({ domain, addedAtMs, verifiedAtMs }) => ({
      domain,
      added_at: time(addedAtMs),
      verified_at: time(verifiedAtMs),
    })),
  company_sign_in: companySignInOf,
  provider_key: ({ kv, account }) =>
    each(
      listOwnKeys(kv, account.id),
      ({ provider, fingerprint, fallback, setAtMs }) => ({
        provider,
        fingerprint,
        fallback,
        set_at: time(setAtMs),
      }),
    ),
  preset: presetsOf,
  budget: ({ kv, account }) => each(listBudgets(kv, account.id), budgetOf),
  webhook: ({ kv, account }) => each(listEndpoints(kv, account.id), webhookOf),
  management_key: ({ kv, account }) => each(listManagementKeys(kv, account.id), managementKeyOf),
  api_key: ({ kv, account }) => each(listApiKeys(kv, account.id), keyOf),
  movement: ({ kv, account }) =>
    each(
      kv.list<LedgerEntry>({ prefix: ledgerPrefix(account.id) }, { batchSize: listBatchRows }),
      ({ value }) => fieldsJson(movementFields, value),
    ),
  topup_order: ({ kv, account }) => each(ordersOf(kv, account.id), orderOf),
  invoice: ({ kv, account }) =>
    each(listAccountInvoices(kv, account.id, maxInvoicesRead), invoiceOf),
  receipt: receiptsOf,
  refused_call: ({ kv, account }) =>
    each(listRefusedCalls(kv, account.id), (call) => fieldsJson(refusedFields, call)),
  activity: ({ kv, account }) =>
    each(allActivity(kv, account.id), (line) => fieldsJson(activityFields, line)),
};

async function* linesOf(source: DataSource) {
  let count = 0;
  for (const [record, read] of Object.entries(recordsBy)) {
    for await (const members of read(source)) {
      count++;
      yield `${JSON.stringify({ record, ...members })}\n`;
    }
  }
  yield `${JSON.stringify({ record: "end", records: count })}\n`;
}

/** Streams the file. */
export async function accountDataFile(source: DataSource): Promise<Response> {
  const lines = await fileStream(linesOf(source));
  return new Response(lines.pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": "application/x-ndjson",
      "content-disposition": `attachment; filename="account-${source.account.id}.ndjson"`,
    },
  });
}
