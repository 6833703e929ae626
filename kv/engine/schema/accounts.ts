/**
 * Builds keys of accounts. The password hash is a row of its own, so that reading an account never
 * returns it.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function accountsPrefix(): StoreKey {
  return ["account"];
}

/** Selects the accounts after one of them, oldest first. */
export function accountsAfter(accountId: AccountId): Deno.KvListSelector {
  return { prefix: accountsPrefix(), start: ["account", `${accountId}\0`] };
}

export function accountKey(accountId: AccountId): StoreKey {
  return ["account", accountId];
}

export function accountByEmailKey(email: string): StoreKey {
  return ["account_by_email", email];
}

export function accountByIdentityKey(issuer: string, subject: string): StoreKey {
  return ["account_by_identity", issuer, subject];
}

export function accountPasswordKey(accountId: AccountId): StoreKey {
  return ["account_password", accountId];
}

/**
 * Accounts that want a mail when their balance falls, so that the check does not read all accounts.
 */
export function lowBalanceWatchPrefix(): StoreKey {
  return ["low_balance_watch"];
}

export function lowBalanceWatchKey(accountId: AccountId): StoreKey {
  return ["low_balance_watch", accountId];
}
