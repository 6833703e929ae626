/**
 * Creates, changes, revokes and rotates API keys; each change is one atomic write with its indexes.
 * At most {@linkcode maxActiveKeys} keys are active, enforced by check-and-set on the list of active
 * ids.
 */
import { loggedCallSettings } from "../../../core/calls/request/call_settings.ts";
import { ascending } from "../../../core/lib/base/ascending.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { type AccountId, type ApiKeyId, newId } from "../../../core/lib/ids/ids.ts";
import { hashApiKey, maskApiKey, newApiKey } from "../../../core/people/api_keys/api_key.ts";
import { type MasterKeys, seal } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import {
  type ApiKeyOptions,
  type ApiKeyRecord,
  getApiKey,
  type HashIndex,
  isActive,
  type KeyApp,
  readApiKeys,
  revealApiKey,
} from "./api_keys.ts";
import type { MailJob, MailReader } from "../../../core/people/mail/mail.ts";
import { addWebhookEvent } from "../webhooks/events.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { commitFresh, compareAndSet } from "../../engine/store/cas.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import {
  accountKey,
  activeApiKeysKey,
  apiKeyByHashKey,
  apiKeyKey,
  apiKeyOfFormKey,
  apiKeysPrefix,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { Account } from "../accounts/accounts.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";
import { addActivity, type Doer, operatorDoer } from "../audit/account_activity.ts";

/** Most active API keys of an organisation of one; larger ones have so many for each member, unless it is configured. */
export const activeKeysPerMember = 10;

/** Returns how many active API keys an account may have. */
export function maxActiveKeys(
  { organisation }: Pick<Account, "organisation">,
  keysPerMember: number,
): number {
  const members = organisation?.memberCount ?? 1;
  return members === 1 ? activeKeysPerMember : members * keysPerMember;
}

/**
 * Attempts of a check-and-set on the list of keys of an account, for which simultaneous creations
 * compete. More failures than there are keys mean a bug.
 */
const apiKeyWriteAttempts = 12;

/**
 * Milliseconds for which reloading the page shows a new secret again; later it takes the password.
 * Long enough to copy it, and short for a browser left unattended.
 */
const madeSecretShownMs = 10 * 60_000;

/** The secret that a form created when it was first sent: the key, and the hash of that secret. */
export interface MadeByForm {
  readonly keyId: ApiKeyId;
  readonly hash: string;
  readonly atMs: number;
}

/** A secret that was just created, with its key. */
export interface NewSecret {
  readonly ok: true;
  readonly record: ApiKeyRecord;
  readonly secret: string;
}

/** The form was sent before, so nothing was created this time. */
export interface SentBefore {
  readonly ok: false;
  readonly reason: "sent";
  readonly made: MadeByForm;
}

/** The result of creating a key. */
export type CreateApiKeyResult =
  | NewSecret
  | SentBefore
  /**
   * `limit`: the account has as many active keys as it may. `conflict`: others kept changing the
   * list; try again.
   */
  | { readonly ok: false; readonly reason: "limit"; readonly limit: number }
  | { readonly ok: false; readonly reason: "conflict" };

/**
 * Claims a form, so that it creates something once: returns what it created before, or adds the
 * claim to `operation`.
 */
async function claimForm(
  kv: KeyValueStore,
  operation: AtomicWrite,
  form: { readonly accountId: AccountId; readonly formId: string | undefined },
  made: MadeByForm,
): Promise<SentBefore | undefined> {
  if (form.formId === undefined) return undefined;
  const entry = await kv.get<MadeByForm>(apiKeyOfFormKey(form.accountId, form.formId));
  if (entry.value !== null) return { ok: false, reason: "sent", made: entry.value };
  operation.check(entry).set(entry.key, made);
  return undefined;
}

/** Returns the settings of a key, without anything of its secret or its maker. */
function settingsOf(record: ApiKeyRecord): ApiKeyOptions {
  const { id: _id, accountId: _account, createdAtMs: _made, masked: _masked, ...rest } = record;
  const { memberId: _member, madeByProgram: _program, app: _app, ...settings } = rest;
  const { hash: _hash, sealed: _sealed, previous: _previous, revokedAtMs: _revoked, ...options } =
    settings;
  return options;
}

function loggedSettings(record: ApiKeyRecord): object {
  return loggedOptions(settingsOf(record));
}

/** Settings as the log of activity has them. */
function loggedOptions({ calls, ...options }: ApiKeyOptions): object {
  return calls === undefined ? options : { ...options, ...loggedCallSettings(calls) };
}

/** Writes settings so that equal ones are the same text. */
function settingsText(options: ApiKeyOptions): string {
  const members = Object.entries(options).filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => ascending(one, other));
  return JSON.stringify(members, (_, value) => typeof value === "bigint" ? `${value}n` : value);
}

/** Whether a key has these settings and no others. */
export function hasSettings(record: ApiKeyRecord, options: ApiKeyOptions): boolean {
  return settingsText(settingsOf(record)) === settingsText(options);
}

/** Actor who makes or revokes a key: an operator for its owner, or somebody of the account. */
interface KeyActor {
  readonly by: Actor | undefined;
  readonly doneBy: Doer | undefined;
  readonly nowMs: number;
}

/** Adds the lines of the logs: that of operators, if one acts for the owner, and that of the account. */
function addKeyLines(
  operation: AtomicWrite,
  act: "api_key_made" | "api_key_revoked",
  record: ApiKeyRecord,
  { by, doneBy, nowMs }: KeyActor,
): void {
  const { id, accountId } = record;
  if (by !== undefined) {
    addAuditLine(operation, by, { act, subject: accountId, detail: id, atMs: nowMs });
  }
  const doer = by === undefined ? doneBy : operatorDoer(by);
  if (doer === undefined) return;
  const settings = { [act === "api_key_made" ? "after" : "before"]: loggedSettings(record) };
  addActivity(operation, { accountId, act, by: doer, atMs: nowMs, subject: id, ...settings });
}

/** Queues the webhook about a key that was made or revoked. */
function addKeyEvent(
  operation: AtomicWrite,
  type: "key.created" | "key.revoked",
  { id, accountId, name, masked }: Pick<ApiKeyRecord, "id" | "accountId" | "name" | "masked">,
  nowMs: number,
): void {
  addWebhookEvent(operation, accountId, { type, data: { key_id: id, name, masked } }, nowMs);
}

/** Queues the mail about a change of a key, if it has a reader. */
function addKeyMail(
  operation: AtomicWrite,
  change: Extract<MailJob, { readonly kind: "key_changed" }>["change"],
  { name, masked }: Pick<ApiKeyRecord, "name" | "masked">,
  { notify, nowMs }: { readonly notify: MailReader | undefined; readonly nowMs: number },
): void {
  if (notify === undefined) return;
  addMail(operation, { kind: "key_changed", ...notify, change, keyName: name, masked }, { nowMs });
}

/**
 * Creates a key. Returns the secret; later only {@linkcode revealApiKey} shows it.
 *
 * @param options.formId id of the submitted form; a form sent twice creates one key
 * @param options.by the operator who makes it for somebody, with an audit line; absent: its owner does
 * @param options.memberId the member who makes it
 * @param options.madeByProgram a management key makes it, for no member
 * @param options.app the application that gets it
 * @param options.keysPerMember active keys for each member of an organisation of several; absent: ten
 * @param options.doneBy who of the account makes it, for its activity log; absent: nobody, as with the first key
 * @param options.notify the reader of a mail about it; absent: no mail is sent
 */
export async function createApiKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  options: ApiKeyOptions & {
    readonly nowMs: number;
    readonly formId?: string;
    readonly by?: Actor | undefined;
    readonly doneBy?: Doer | undefined;
    readonly memberId?: AccountId;
    readonly madeByProgram?: true;
    readonly app?: KeyApp;
    readonly keysPerMember?: number | undefined;
    readonly notify?: MailReader | undefined;
  },
): Promise<CreateApiKeyResult> {
  const { nowMs, formId, by, doneBy, keysPerMember = activeKeysPerMember, notify, ...rest } =
    options;
  const secret = newApiKey();
  const id = newId("apiKey", nowMs);
  const record: ApiKeyRecord = {
    ...rest,
    id,
    accountId,
    createdAtMs: nowMs,
    masked: maskApiKey(secret),
    hash: await hashApiKey(secret),
    sealed: await seal(masterKeys, secret, sealOwners.api_key(accountId, id)),
  };
  const outcome = await compareAndSet<CreateApiKeyResult>(async () => {
    const operation = kv.atomic();
    const made = { keyId: id, hash: record.hash, atMs: nowMs };
    const sent = await claimForm(kv, operation, { accountId, formId }, made);
    if (sent !== undefined) return { done: sent };
    const [entry, account] = await kv.getMany<[ApiKeyId[], Account]>([
      activeApiKeysKey(accountId),
      accountKey(accountId),
    ]);
    const listed = await readApiKeys(kv, accountId, entry.value ?? []);
    const active = listed.filter((key) => isActive(key, nowMs)).map((key) => key.id);
    const limit = maxActiveKeys(account.value ?? {}, keysPerMember);
    if (active.length >= limit) return { done: { ok: false, reason: "limit", limit } };
    operation
      .check(entry)
      .check({ key: apiKeyByHashKey(record.hash), versionstamp: null })
      .set(activeApiKeysKey(accountId), [...active, id])
      .set(apiKeyKey(accountId, id), record)
      .set(apiKeyByHashKey(record.hash), { accountId, keyId: id } satisfies HashIndex);
    addKeyLines(operation, "api_key_made", record, { by, doneBy, nowMs });
    addKeyMail(operation, "made", record, { notify, nowMs });
    addKeyEvent(operation, "key.created", record, nowMs);
    return await commitFresh(kv, operation, apiKeyKey(accountId, id))
      ? { done: { ok: true, record, secret } }
      : "again";
  }, { attempts: apiKeyWriteAttempts });
  return outcome === "conflict" ? { ok: false, reason: "conflict" } : outcome.done;
}

/** Finds the key whose secret a form has made. */
export async function keyMadeByForm(
  kv: KeyValueStore,
  accountId: AccountId,
  formId: string,
): Promise<ApiKeyId | undefined> {
  return (await kv.get<MadeByForm>(apiKeyOfFormKey(accountId, formId))).value?.keyId;
}

/**
 * Shows the secret that a form created again, to the session that sends the form again within
 * `madeSecretShownMs`. `undefined` if that time is over, the key has another secret, or it is no
 * longer active.
 */
export async function revealMadeByForm(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  made: MadeByForm,
  nowMs: number,
): Promise<NewSecret | undefined> {
  if (nowMs >= made.atMs + madeSecretShownMs) return undefined;
  const record = await getApiKey(kv, accountId, made.keyId);
  if (record === undefined || record.hash !== made.hash || !isActive(record, nowMs)) {
    return undefined;
  }
  const secret = await revealApiKey(masterKeys, record);
  return secret === undefined ? undefined : { ok: true, record, secret };
}

async function changeApiKey(
  kv: KeyValueStore,
  accountId: AccountId,
  keyId: ApiKeyId,
  change: (
    record: ApiKeyRecord,
    operation: AtomicWrite,
  ) => ApiKeyRecord | undefined | Promise<ApiKeyRecord | undefined>,
): Promise<ApiKeyRecord | undefined> {
  const outcome = await compareAndSet<ApiKeyRecord | undefined>(async () => {
    const [entry, active] = await kv.getMany<[ApiKeyRecord, ApiKeyId[]]>([
      apiKeyKey(accountId, keyId),
      activeApiKeysKey(accountId),
    ]);
    if (entry.value === null) return { done: undefined };
    const operation = kv.atomic().check(entry).check(active);
    const changed = await change(entry.value, operation);
    if (changed === undefined) return { done: entry.value };
    operation.set(entry.key, changed);
    if (changed.revokedAtMs !== undefined) {
      operation.set(active.key, (active.value ?? []).filter((id) => id !== keyId));
    }
    bumpKeysEpoch(operation);
    return (await operation.commit()).ok ? { done: changed } : "again";
  }, { attempts: apiKeyWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  throw new GatewayError("overloaded", "The key is being changed by others; try again");
}

/**
 * Revokes a key for good. Idempotent; returns `undefined` if there is no such key.
 *
 * @param options.by the operator who does it for somebody, with an audit line; absent: its owner does
 * @param options.notify the reader of a mail about it; absent: no mail is sent
 */
export async function revokeApiKey(
  kv: KeyValueStore,
  accountId: AccountId,
  keyId: ApiKeyId,
  nowMs: number,
  { by, doneBy, notify }: {
    readonly by?: Actor | undefined;
    readonly doneBy?: Doer | undefined;
    readonly notify?: MailReader | undefined;
  } = {},
): Promise<ApiKeyRecord | undefined> {
  return await changeApiKey(kv, accountId, keyId, (record, operation) => {
    if (record.revokedAtMs !== undefined) return undefined;
    addKeyLines(operation, "api_key_revoked", record, { by, doneBy, nowMs });
    addKeyMail(operation, "revoked", record, { notify, nowMs });
    addKeyEvent(operation, "key.revoked", record, nowMs);
    return { ...record, revokedAtMs: nowMs };
  });
}

/**
 * Revokes all keys of an account whose person is forgotten, and deletes what they had beyond their ids: names, addresses,
 * sealed secrets. Receipts name the ids.
 */
export async function forgetApiKeys(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
): Promise<void> {
  const rows = kv.list<ApiKeyRecord>({ prefix: apiKeysPrefix(accountId) });
  for await (const { value: { id } } of rows) {
    await changeApiKey(kv, accountId, id, (record, operation) => {
      if (record.previous !== undefined) operation.delete(apiKeyByHashKey(record.previous.hash));
      const { createdAtMs, hash, revokedAtMs = nowMs } = record;
      return { id, accountId, createdAtMs, hash, revokedAtMs, name: "", masked: "" };
    });
  }
}

/**
 * Changes the settings of a key: name, expiry, models, addresses, limits. Writes nothing if they are what they were.
 *
 * @param optionsOf returns the settings that it shall have; called again if others have changed the key meanwhile
 */
export async function updateApiKey(
  kv: KeyValueStore,
  accountId: AccountId,
  keyId: ApiKeyId,
  optionsOf: (
    record: ApiKeyRecord,
  ) => ApiKeyOptions | undefined | Promise<ApiKeyOptions | undefined>,
  done?: { readonly doneBy: Doer; readonly nowMs: number },
): Promise<ApiKeyRecord | undefined> {
  return await changeApiKey(kv, accountId, keyId, async (record, operation) => {
    const options = await optionsOf(record);
    if (options === undefined || hasSettings(record, options)) return undefined;
    const {
      id,
      memberId,
      madeByProgram,
      app,
      createdAtMs,
      masked,
      hash,
      sealed,
      previous,
      revokedAtMs,
    } = record;
    if (done !== undefined) {
      addActivity(operation, {
        accountId,
        act: "api_key_changed",
        by: done.doneBy,
        atMs: done.nowMs,
        subject: id,
        before: loggedSettings(record),
        after: loggedOptions(options),
      });
    }
    return {
      id,
      accountId,
      createdAtMs,
      masked,
      hash,
      ...defined({ memberId, madeByProgram, app, sealed, previous, revokedAtMs }),
      ...options,
    };
  });
}

/**
 * Gives a key a new secret; the previous one works for another `graceMs`. Returns `undefined` if
 * the key does not exist or is not active.
 *
 * @param options.formId id of the submitted form; a form sent twice creates one secret, since a
 * second one would end the grace period of the secret that programs still use
 */
export async function rotateApiKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  keyId: ApiKeyId,
  options: {
    readonly nowMs: number;
    readonly graceMs: number;
    readonly formId?: string;
    readonly doneBy?: Doer | undefined;
    /** The reader of a mail about it; absent: no mail is sent. */
    readonly notify?: MailReader | undefined;
  },
): Promise<NewSecret | SentBefore | undefined> {
  const { nowMs, graceMs, formId, doneBy, notify } = options;
  invariant(Number.isFinite(graceMs) && graceMs >= 0, "a grace period is finite");
  const secret = newApiKey();
  const hash = await hashApiKey(secret);
  const sealed = await seal(masterKeys, secret, sealOwners.api_key(accountId, keyId));
  let sent: SentBefore | undefined;
  const record = await changeApiKey(kv, accountId, keyId, async (record, operation) => {
    if (!isActive(record, nowMs)) return undefined;
    const made = { keyId, hash, atMs: nowMs };
    sent = await claimForm(kv, operation, { accountId, formId }, made);
    if (sent !== undefined) return undefined;
    // An older secret that is still in its grace period ends now: a key has at most two secrets.
    if (record.previous !== undefined) operation.delete(apiKeyByHashKey(record.previous.hash));
    operation.set(apiKeyByHashKey(hash), { accountId, keyId } satisfies HashIndex);
    const masked = maskApiKey(secret);
    if (doneBy !== undefined) {
      const line = { accountId, act: "api_key_rotated", atMs: nowMs, subject: keyId } as const;
      const before = { masked: record.masked };
      addActivity(operation, { ...line, by: doneBy, before, after: { masked } });
    }
    addKeyMail(operation, "rotated", { ...record, masked }, { notify, nowMs });
    return {
      ...record,
      hash,
      sealed,
      masked,
      previous: { hash: record.hash, untilMs: nowMs + graceMs },
    };
  });
  return sent ?? (record?.hash === hash ? { ok: true, record, secret } : undefined);
}

// The key that an account has from its beginning, so that its owner's first call needs no page of
// keys. It is claimed like the key of a form, once per account: whoever revokes it does not get it
// again.

/** The claim of the first key. The ids of posted forms are UUIDs, so no form has it. */
const firstKeyForm = "first-key";

/** The first key of an account. */
export interface FirstKey {
  readonly record: ApiKeyRecord;
  /** Present for a short time after the key was made; later it takes the password. */
  readonly secret?: string | undefined;
}

/** Creates the first key of an account; does nothing if it was created before. */
export async function createFirstKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  { name, nowMs }: { readonly name: string; readonly nowMs: number },
): Promise<void> {
  await createApiKey(kv, masterKeys, accountId, { name, nowMs, formId: firstKeyForm });
}

/** Reads the first key of an account; `undefined` if it never had one. */
export async function readFirstKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  accountId: AccountId,
  nowMs: number,
): Promise<FirstKey | undefined> {
  const claim = await kv.get<MadeByForm>(apiKeyOfFormKey(accountId, firstKeyForm));
  if (claim.value === null) return undefined;
  const shown = await revealMadeByForm(kv, masterKeys, accountId, claim.value, nowMs);
  if (shown !== undefined) return shown;
  const record = await getApiKey(kv, accountId, claim.value.keyId);
  return record === undefined ? undefined : { record };
}
