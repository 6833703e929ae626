/**
 * Keys of the management API: each acts for one organisation with a role, and never makes calls. The store has their
 * hash; the secret is shown once.
 *
 * - Folder `kv/people/management_keys/`: keys of the management API, and the answers that repeated requests get again.
 * - In: names, roles, hashes of keys that arrive.
 * - Out: the organisation and role behind a key; lists.
 * - Never: stores a secret, or decides what a role may do.
 */
import { type AccountId, type ManagementKeyId, newId } from "../../../core/lib/ids/ids.ts";
import { hashApiKey, maskApiKey, newApiKey } from "../../../core/people/api_keys/api_key.ts";
import type { GivenRole } from "../../../core/people/organisations/acts.ts";
import {
  accountKey,
  managementKeyByHashKey,
  managementKeyKey,
  managementKeysPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { type Account, getAccount, hasOnlyBooks, writeAccount } from "../accounts/accounts.ts";

/** Most active management keys of an organisation: a program each. */
export const maxManagementKeys = 20;

/** Milliseconds for which a revoked key stays in lists: a year, as an auditor may ask for it. */
const revokedShownMs = 365 * dayMs;

/** The row of a management key. */
export interface ManagementKey {
  readonly id: ManagementKeyId;
  readonly organisationId: AccountId;
  readonly name: string;
  readonly role: ManagementRole;
  /** The member who made it. */
  readonly memberId: AccountId;
  readonly createdAtMs: number;
  readonly revokedAtMs?: number;
  /** First and last characters of the secret. */
  readonly masked: string;
  readonly hash: string;
}

/** A role that a management key can have: programs have no keys of their own, so not that of developers. */
export type ManagementRole = Exclude<GivenRole, "developer">;

/** The roles that a management key can have. */
export const managementRoles: readonly ManagementRole[] = ["admin", "billing", "viewer"];

interface HashIndex {
  readonly organisationId: AccountId;
  readonly id: ManagementKeyId;
}

/** Lists the management keys of an organisation, oldest first. */
export async function listManagementKeys(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<ManagementKey[]> {
  const rows = kv.list<ManagementKey>({ prefix: managementKeysPrefix(organisationId) });
  return await Array.fromAsync(rows, ({ value }) => value);
}

/**
 * Makes a management key. Returns its secret, which is never shown again.
 *
 * @returns `too_many` if the organisation has as many as it may
 */
export async function createManagementKey(
  kv: KeyValueStore,
  organisationId: AccountId,
  { name, role, memberId, nowMs, by }:
    & Pick<ManagementKey, "name" | "role" | "memberId">
    & Done,
): Promise<{ readonly key: ManagementKey; readonly secret: string } | "too_many"> {
  const secret = newApiKey("mk");
  const key: ManagementKey = {
    id: newId("managementKey", nowMs),
    organisationId,
    name,
    role,
    memberId,
    createdAtMs: nowMs,
    masked: maskApiKey(secret),
    hash: await hashApiKey(secret),
  };
  return await writeAccount<{ key: ManagementKey; secret: string } | "too_many">(async () => {
    const entry = await kv.get<Account>(accountKey(organisationId));
    const keys = await listManagementKeys(kv, organisationId);
    const active = keys.filter(({ revokedAtMs }) => revokedAtMs === undefined);
    const isGone = entry.value === null || hasOnlyBooks(entry.value);
    if (isGone || active.length >= maxManagementKeys) return { done: "too_many" };
    // The row of the organisation is written, so that simultaneous forms keep to the bound.
    const operation = kv.atomic().check(entry).set(entry.key, entry.value)
      .set(managementKeyKey(organisationId, key.id), key)
      .set(managementKeyByHashKey(key.hash), { organisationId, id: key.id } satisfies HashIndex);
    addAct(operation, organisationId, "management_key_made", { by, nowMs }, {
      subject: key.id,
      after: { name, role },
    });
    for (const { id, revokedAtMs } of keys) {
      const isOld = revokedAtMs !== undefined && revokedAtMs + revokedShownMs < nowMs;
      if (isOld) operation.delete(managementKeyKey(organisationId, id));
    }
    return (await operation.commit()).ok ? { done: { key, secret } } : "again";
  });
}

/** Revokes a management key for good; the next request with it is refused on every instance. */
export async function revokeManagementKey(
  kv: KeyValueStore,
  organisationId: AccountId,
  id: ManagementKeyId,
  done: Done,
): Promise<boolean> {
  return await writeAccount<boolean>(async () => {
    const entry = await kv.get<ManagementKey>(managementKeyKey(organisationId, id));
    if (entry.value === null) return { done: false };
    if (entry.value.revokedAtMs !== undefined) return { done: true };
    const operation = kv.atomic().check(entry)
      .set(entry.key, { ...entry.value, revokedAtMs: done.nowMs })
      .delete(managementKeyByHashKey(entry.value.hash));
    const { name, role } = entry.value;
    addAct(operation, organisationId, "management_key_revoked", done, {
      subject: id,
      before: { name, role },
    });
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}

/**
 * Finds the organisation and role behind a secret; `undefined` if it is wrong or revoked, or the organisation is gone. It
 * may be blocked.
 */
export async function findManagementKey(
  kv: KeyValueStore,
  secret: string,
): Promise<{ readonly key: ManagementKey; readonly account: Account } | undefined> {
  const { value } = await kv.get<HashIndex>(managementKeyByHashKey(await hashApiKey(secret)));
  if (value === null) return undefined;
  const [entry, account] = await Promise.all([
    kv.get<ManagementKey>(managementKeyKey(value.organisationId, value.id)),
    getAccount(kv, value.organisationId),
  ]);
  if (entry.value === null || entry.value.revokedAtMs !== undefined) return undefined;
  if (account === undefined || hasOnlyBooks(account)) return undefined;
  return { key: entry.value, account };
}

/** Ends the index rows of the management keys of an organisation that is closed. */
export async function forgetManagementKeys(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<void> {
  for (const { hash } of await listManagementKeys(kv, organisationId)) {
    await kv.delete(managementKeyByHashKey(hash));
  }
}
