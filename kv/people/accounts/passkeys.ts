/** Stores the passkeys of accounts: public keys of authenticators, which grant nothing to who reads them. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { passkeyKey, passkeysPrefix } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Most passkeys of an account: some devices, some security keys. */
export const passkeysPerAccount = 10;

/** Characters of the name of a passkey: a line of a list. */
export const maxPasskeyNameChars = 60;

/** The row of a passkey. */
export interface Passkey {
  /** The id that the authenticator chose, in base64url. */
  readonly id: string;
  readonly name: string;
  /** COSE key in base64url. */
  readonly publicKey: string;
  /** Number of uses by the authenticator's own count; 0 if it does not count. */
  readonly counter: number;
  /** Ways to reach the authenticator, as the browser named them. */
  readonly transports: readonly string[];
  readonly createdAtMs: number;
  /** Absent before the first sign-in with it. */
  readonly lastUsedAtMs?: number;
}

/** Lists the passkeys of an account, oldest first. */
export async function listPasskeys(kv: KeyValueStore, accountId: AccountId): Promise<Passkey[]> {
  const rows = kv.list<Passkey>({ prefix: passkeysPrefix(accountId) }, {
    limit: passkeysPerAccount,
  });
  const passkeys = (await Array.fromAsync(rows)).map(({ value }) => value);
  return passkeys.sort((one, other) => one.createdAtMs - other.createdAtMs);
}

/** Whether an account has a passkey. */
export async function hasPasskey(kv: KeyValueStore, accountId: AccountId): Promise<boolean> {
  const rows = kv.list({ prefix: passkeysPrefix(accountId) }, { limit: 1 });
  return (await rows.next()).done !== true;
}

/** Reads a passkey of an account by the id of its credential. */
export async function getPasskey(
  kv: KeyValueStore,
  accountId: AccountId,
  id: string,
): Promise<Deno.KvEntryMaybe<Passkey>> {
  return await kv.get<Passkey>(passkeyKey(accountId, id));
}

/**
 * Adds a passkey. `false` if the account has it already, or as many as it may have.
 *
 * @param attach adds what must happen in the same commit
 */
export async function addPasskey(
  kv: KeyValueStore,
  accountId: AccountId,
  passkey: Passkey,
  attach?: (operation: AtomicWrite) => void,
): Promise<boolean> {
  if ((await listPasskeys(kv, accountId)).length >= passkeysPerAccount) return false;
  const key = passkeyKey(accountId, passkey.id);
  const operation = kv.atomic().check({ key, versionstamp: null }).set(key, passkey);
  attach?.(operation);
  return (await operation.commit()).ok;
}

/** Notes a sign-in with a passkey. `false` if a simultaneous request has used it. */
export async function notePasskeyUse(
  kv: KeyValueStore,
  entry: Deno.KvEntry<Passkey>,
  { counter, nowMs }: { readonly counter: number; readonly nowMs: number },
): Promise<boolean> {
  const used: Passkey = { ...entry.value, counter, lastUsedAtMs: nowMs };
  return (await kv.atomic().check(entry).set(entry.key, used).commit()).ok;
}

/**
 * Removes a passkey; does nothing if the account does not have it.
 *
 * @param attach adds what must happen in the same commit
 */
export async function removePasskey(
  kv: KeyValueStore,
  accountId: AccountId,
  id: string,
  attach?: (operation: AtomicWrite) => void,
): Promise<void> {
  const operation = kv.atomic().delete(passkeyKey(accountId, id));
  attach?.(operation);
  await operation.commit();
}

/** Adds the end of all passkeys of an account to a commit. */
export async function addEndOfPasskeys(
  kv: KeyValueStore,
  operation: AtomicWrite,
  accountId: AccountId,
): Promise<void> {
  for (const { id } of await listPasskeys(kv, accountId)) {
    operation.delete(passkeyKey(accountId, id));
  }
}
