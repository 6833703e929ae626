/**
 * API keys of an account, as they lie in the store. The secret is there twice: as SHA-256 (to verify) and sealed (so its
 * owner can see it again).
 *
 * - Folder `kv/api_keys/`: rows of API keys, the directory of callers in memory, and the spending
 *   limits of keys.
 * - In: hashes of keys that arrive with calls, and what owners set.
 * - Out: the caller behind a key, the keys of an account, refusals under a limit.
 * - Never: stores a key in plain text: a row holds its hash and its sealed text.
 */
import type { AccountId, ApiKeyId } from "../../core/lib/ids.ts";
import { type MasterKeys, open } from "../../core/api_keys/seal.ts";
import { activeApiKeysKey, apiKeyByHashKey, apiKeyKey, apiKeysPrefix } from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** API keys of an account that lists show, revoked ones included. Keys in use are shown in any case. */
export const maxKeysListed = 1_000;

/** What the owner may set on a key. */
export interface ApiKeyOptions {
  readonly name: string;
  readonly expiresAtMs?: number;
  /** Catalogue ids; absent = every model. */
  readonly allowedModels?: readonly string[];
  /** CIDR ranges; absent = every address. */
  readonly allowedIps?: readonly string[];
  readonly dailyLimitMicroVnd?: bigint;
  readonly monthlyLimitMicroVnd?: bigint;
  /** The key reads no balance, and usage and receipts of its own calls only. Absent: it reads the whole account. */
  readonly readsOnlyOwnCalls?: true;
}

export interface ApiKeyRecord extends ApiKeyOptions {
  readonly id: ApiKeyId;
  readonly accountId: AccountId;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  /** Start and end of the key, for display. */
  readonly masked: string;
  readonly hash: string;
  /** Absent on keys made before sealing existed: usable, but not shown again. */
  readonly sealed?: string;
  /** After a rotation the former secret works until the grace period ends. */
  readonly previous?: { readonly hash: string; readonly untilMs: number };
}

/** The row under which a secret is found. */
export interface HashIndex {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
}

/** What a sealed secret is bound to, so that ciphertexts cannot be swapped. */
export function sealOwner(accountId: AccountId, keyId: ApiKeyId): string {
  return `${accountId}/${keyId}`;
}

/** Tells whether a key may be used at `nowMs`. */
export function isActive(record: ApiKeyRecord, nowMs: number): boolean {
  return record.revokedAtMs === undefined &&
    (record.expiresAtMs === undefined || record.expiresAtMs > nowMs);
}

/** One key of an account, revoked ones too. */
export async function getApiKey(
  kv: KeyValueStore,
  accountId: AccountId,
  keyId: ApiKeyId,
): Promise<ApiKeyRecord | undefined> {
  return (await kv.get<ApiKeyRecord>(apiKeyKey(accountId, keyId))).value ?? undefined;
}

/**
 * The keys of an account, oldest first: all that are in use, and of the revoked ones the newest, up to
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

/** Those of the keys that there are, in the order asked for. */
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

/** The key behind a hash, revoked ones too; the caller decides with {@linkcode isUsableSecret}. */
export async function findApiKeyByHash(
  kv: KeyValueStore,
  hash: string,
): Promise<ApiKeyRecord | undefined> {
  const index = (await kv.get<HashIndex>(apiKeyByHashKey(hash))).value;
  return index === null ? undefined : await getApiKey(kv, index.accountId, index.keyId);
}

/** Tells whether the secret with this hash opens the key at `nowMs`: the current one, or the former in its grace. */
export function isUsableSecret(record: ApiKeyRecord, hash: string, nowMs: number): boolean {
  if (!isActive(record, nowMs)) return false;
  return record.hash === hash ||
    (record.previous?.hash === hash && record.previous.untilMs > nowMs);
}

/** Shows a key again. `undefined`: no ciphertext is stored, or its master key is gone. */
export async function revealApiKey(
  masterKeys: MasterKeys,
  record: ApiKeyRecord,
): Promise<string | undefined> {
  if (record.sealed === undefined) return undefined;
  return await open(masterKeys, record.sealed, sealOwner(record.accountId, record.id));
}
