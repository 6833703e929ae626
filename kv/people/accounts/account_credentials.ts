/**
 * Changes what an account signs in with: e-mail address, password, and identities at OpenID
 * providers.
 */
import { normaliseEmail } from "../../../core/people/accounts/email_address.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Done } from "../audit/account_activity.ts";
import { personLines } from "./person_activity.ts";
import { type Account, type Identity, writeAccount } from "./accounts.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountPasswordKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Adds an identity to an account. Returns `false` if it belongs to another account. */
export async function addIdentity(
  kv: KeyValueStore,
  accountId: AccountId,
  identity: Identity,
  done?: Done,
): Promise<boolean> {
  const { issuer } = identity;
  const addLines = await personLines(kv, accountId, "identity_added", done, { after: { issuer } });
  return await writeAccount(async () => {
    const indexKey = accountByIdentityKey(identity.issuer, identity.subject);
    const [entry, index] = await kv.getMany<[Account, AccountId]>([
      accountKey(accountId),
      indexKey,
    ]);
    if (entry.value === null) return { done: false };
    if (index.value !== null) return { done: index.value === accountId };
    const account = {
      ...entry.value,
      identities: [...entry.value.identities ?? [], identity],
    };
    const operation = kv.atomic().check(entry).check(index)
      .set(entry.key, account).set(indexKey, accountId);
    addLines(operation);
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}

/**
 * Changes the e-mail address of an account. The caller must have proven that they own it.
 *
 * @returns `taken` if another account has it, `changed_meanwhile` if the account's address is no
 * longer `from`
 */
export async function changeEmail(
  kv: KeyValueStore,
  accountId: AccountId,
  change: { readonly from: string | undefined; readonly to: string },
  done?: Done,
): Promise<"changed" | "taken" | "changed_meanwhile"> {
  invariant(normaliseEmail(change.to) === change.to, "An e-mail address is stored normalised");
  const addLines = await personLines(kv, accountId, "email_changed", done, {
    before: { email: change.from ?? "" },
    after: { email: change.to },
  });
  return await writeAccount<"changed" | "taken" | "changed_meanwhile">(async () => {
    const [entry, index] = await kv.getMany<[Account, AccountId]>([
      accountKey(accountId),
      accountByEmailKey(change.to),
    ]);
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined || account.email !== change.from) {
      return { done: "changed_meanwhile" };
    }
    if (index.value !== null) return { done: index.value === accountId ? "changed" : "taken" };
    const atomic = kv.atomic().check(entry).check(index)
      .set(entry.key, { ...account, email: change.to })
      .set(index.key, accountId);
    if (change.from !== undefined) atomic.delete(accountByEmailKey(change.from));
    addLines(atomic);
    return (await atomic.commit()).ok ? { done: "changed" } : "again";
  });
}

/** Reads the encoded password hash, if the account has a password. */
export async function getPasswordHash(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<string | undefined> {
  return (await kv.get<string>(accountPasswordKey(accountId))).value ?? undefined;
}

/**
 * Sets the password hash. Returns `false` and writes nothing if the account was deleted meanwhile.
 */
export async function setPasswordHash(
  kv: KeyValueStore,
  accountId: AccountId,
  passwordHash: string,
  done?: Done,
): Promise<boolean> {
  const addLines = await personLines(kv, accountId, "password_changed", done);
  return await writeAccount(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return { done: false };
    const atomic = kv.atomic().check(entry).set(accountPasswordKey(accountId), passwordHash);
    addLines(atomic);
    const result = await atomic.commit();
    return result.ok ? { done: true } : "again";
  });
}
