/**
 * Reads the API keys of an account. A row has the secret as SHA-256, to verify it, and sealed, to
 * show it to its owner again.
 *
 * - Folder `kv/people/api_keys/`: rows of API keys and of provider keys of organisations, and the directory of callers in memory.
 * - In: hashes of keys that arrive with calls, and what owners set.
 * - Out: the caller behind a key, the keys of an account.
 * - Never: stores a key in plain text: a row holds its hash and its sealed text.
 */
import type { CallSettings } from "../../../core/calls/request/call_settings.ts";
import type { KeyOwner } from "../../../core/limits/budgets.ts";
import type { AccountId, ApiKeyId, TeamId } from "../../../core/lib/ids/ids.ts";
import type { PeriodLimits } from "../../../core/limits/limit_table.ts";
import type { RateLimits } from "../../../core/limits/rate_limits.ts";
import { isSealedByAny, type MasterKeys, open } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import {
  activeApiKeysKey,
  allApiKeysPrefix,
  apiKeyByHashKey,
  apiKeyKey,
  apiKeysPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Most API keys of an account in a list, revoked ones included. Active keys are always listed. */
export const maxKeysListed = 1_000;

/** The settings of a key. */
export interface ApiKeyOptions extends PeriodLimits {
  readonly name: string;
  readonly expiresAtMs?: number;
  /** Catalogue ids; absent = every model. */
  readonly allowedModels?: readonly string[];
  /** CIDR ranges; absent = every address. */
  readonly allowedIps?: readonly string[];
  /** Rate limits that its owner set; those of the operator apply beside them. */
  readonly rateLimits?: RateLimits;
  /**
   * If set, the key cannot read the balance, and reads usage and receipts of its own calls only. If
   * absent, it reads the whole account.
   */
  readonly readsOnlyOwnCalls?: true;
  /** The team of its organisation that it belongs to. */
  readonly teamId?: TeamId;
  /** Settings of its calls; those of its team and organisation hold beside them. */
  readonly calls?: CallSettings;
}

/** An application as it said of itself when a person gave it a key. */
export interface KeyApp {
  readonly name: string;
  /** The host that got the key; absent: a program on the machine of the person. */
  readonly host?: string;
}

/** The row of an API key. */
export interface ApiKeyRecord extends ApiKeyOptions {
  readonly id: ApiKeyId;
  readonly accountId: AccountId;
  /** The member who made it; see `keyMember` for keys without it. */
  readonly memberId?: AccountId;
  /** Made with a management key, for no member. */
  readonly madeByProgram?: true;
  /** The application that got it with the consent of the member. */
  readonly app?: KeyApp;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  /** First and last characters of the secret, for display. */
  readonly masked: string;
  readonly hash: string;
  /** Absent on keys created before secrets were sealed: they work but cannot be shown again. */
  readonly sealed?: string;
  /** The previous secret, which works until the grace period after a rotation ends. */
  readonly previous?: { readonly hash: string; readonly untilMs: number };
}

/** The index row that finds a key by the hash of its secret. */
export interface HashIndex {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
}

/** Keys that are looked at to see which master key sealed them: one read at the start. */
const maxSealedSample = 20;

/**
 * Whether the store has sealed API keys, and the master keys open none of a sample: they are those of another store.
 */
export async function areSealedByOthers(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
): Promise<boolean> {
  const options = { limit: maxSealedSample, batchSize: maxSealedSample };
  const sealed: string[] = [];
  for await (const { value } of kv.list<ApiKeyRecord>({ prefix: allApiKeysPrefix() }, options)) {
    if (value.sealed !== undefined) sealed.push(value.sealed);
  }
  return sealed.length > 0 && !sealed.some((one) => isSealedByAny(masterKeys, one));
}

/** Whether a key may be used at `nowMs`. */
export function isActive(record: ApiKeyRecord, nowMs: number): boolean {
  return record.revokedAtMs === undefined &&
    (record.expiresAtMs === undefined || record.expiresAtMs > nowMs);
}

/** Reads one key of an account, revoked keys included. */
export async function getApiKey(
  kv: KeyValueStore,
  accountId: AccountId,
  keyId: ApiKeyId,
): Promise<ApiKeyRecord | undefined> {
  return (await kv.get<ApiKeyRecord>(apiKeyKey(accountId, keyId))).value ?? undefined;
}

/**
 * Lists the keys of an account, oldest first: all active ones, and the newest revoked ones, up to
 * `maxKeysListed`.
 */
export async function listApiKeys(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<ApiKeyRecord[]> {
  const newest = kv.list<ApiKeyRecord>(
    { prefix: apiKeysPrefix(accountId) },
    { limit: maxKeysListed, reverse: true },
  );
  const listed = (await Array.fromAsync(newest, (entry) => entry.value)).reverse();
  if (listed.length < maxKeysListed) return listed;
  const oldestId = listed[0]?.id ?? "";
  const inUse = (await kv.get<ApiKeyId[]>(activeApiKeysKey(accountId))).value ?? [];
  const older = inUse.filter((id) => id < oldestId).sort();
  return [...await readApiKeys(kv, accountId, older), ...listed];
}

/** Reads whose the keys of an account are now. */
export async function readKeyOwners(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<ReadonlyMap<string, KeyOwner>> {
  return new Map(
    (await listApiKeys(kv, accountId)).map((key): [string, KeyOwner] => [key.id, key]),
  );
}

/** Reads several keys; returns those that exist, in the order of the ids. */
export async function readApiKeys(
  kv: KeyValueStore,
  accountId: AccountId,
  keyIds: readonly ApiKeyId[],
): Promise<ApiKeyRecord[]> {
  const records: ApiKeyRecord[] = [];
  for (const id of keyIds) {
    const record = await getApiKey(kv, accountId, id);
    if (record !== undefined) records.push(record);
  }
  return records;
}

/**
 * Finds a key by the hash of a secret, revoked keys included; the caller decides with {@linkcode
 * isUsableSecret}.
 */
export async function findApiKeyByHash(
  kv: KeyValueStore,
  hash: string,
): Promise<ApiKeyRecord | undefined> {
  const index = (await kv.get<HashIndex>(apiKeyByHashKey(hash))).value;
  return index === null ? undefined : await getApiKey(kv, index.accountId, index.keyId);
}

/**
 * Whether the secret with this hash may be used at `nowMs`: the current one, or the previous one in
 * its grace period.
 */
export function isUsableSecret(record: ApiKeyRecord, hash: string, nowMs: number): boolean {
  if (!isActive(record, nowMs)) return false;
  return record.hash === hash ||
    (record.previous?.hash === hash && record.previous.untilMs > nowMs);
}

/**
 * Decrypts the secret of a key. `undefined` if no ciphertext is stored or its master key is gone.
 */
export async function revealApiKey(
  masterKeys: MasterKeys,
  record: ApiKeyRecord,
): Promise<string | undefined> {
  if (record.sealed === undefined) return undefined;
  return await open(masterKeys, record.sealed, sealOwners.api_key(record.accountId, record.id));
}
