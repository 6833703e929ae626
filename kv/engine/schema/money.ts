/** Builds keys of money: wallets, leases, instances, and the ledger. */
import type { AccountId, InstanceId, LedgerId } from "../../../core/lib/ids/ids.ts";
import { accountOfKey, type StoreKey } from "./store_key.ts";

// Money: wallets, and the leases that running instances have on them.

export function walletsPrefix(): StoreKey {
  return ["wallet"];
}

/** The wallets of accounts from one id to another, both included. */
export function walletsBetween(first: AccountId, last: AccountId): Deno.KvListSelector {
  return { start: walletKey(first), end: ["wallet", `${last}\0`] };
}

export function walletKey(accountId: AccountId): StoreKey {
  return ["wallet", accountId];
}

export function leasesPrefix(): StoreKey {
  return ["lease"];
}

/** The leases of accounts from one id to another, both included. */
export function leasesBetween(first: AccountId, last: AccountId): Deno.KvListSelector {
  return { start: leasesOfPrefix(first), end: ["lease", `${last}\0`] };
}

export function leasesOfPrefix(accountId: AccountId): StoreKey {
  return ["lease", accountId];
}

export function leaseKey(accountId: AccountId, instanceId: InstanceId): StoreKey {
  return ["lease", accountId, instanceId];
}

export function leaseOf(
  key: Deno.KvKey,
): { readonly accountId: AccountId; readonly instanceId: InstanceId } {
  return { accountId: accountOfKey(key), instanceId: String(key[2]) as InstanceId };
}

// Instances: the lease that every money commit checks, and the right to index what the instance
// settled.

export function instancesPrefix(): StoreKey {
  return ["instance"];
}

export function instanceKey(instanceId: InstanceId): StoreKey {
  return ["instance", instanceId];
}

export function instanceOf(key: Deno.KvKey): InstanceId {
  return String(key[1]) as InstanceId;
}

export function indexerKey(instanceId: InstanceId): StoreKey {
  return ["indexer", instanceId];
}

// Ledger: movements that belong to no call, and the operation ids that make each happen once.

export function ledgersPrefix(): StoreKey {
  return ["ledger"];
}

export function ledgerPrefix(accountId: AccountId): StoreKey {
  return ["ledger", accountId];
}

export function ledgerKey(accountId: AccountId, ledgerId: LedgerId): StoreKey {
  return ["ledger", accountId, ledgerId];
}

// The lines of all accounts in order of time, a copy each.

export function ledgerByTimePrefix(): StoreKey {
  return ["ledger_by_time"];
}

/** Key of the copy of a line. `ledgerId` is its id, or a bound for a range. */
export function ledgerByTimeKey(ledgerId: string): StoreKey {
  return ["ledger_by_time", ledgerId];
}

export function ledgerOperationsPrefix(): StoreKey {
  return ["ledger_operation"];
}

/** Selects the lines of an account from an id on. `startId` may be a bound that is no id. */
export function ledgerFromSelector(accountId: AccountId, startId: string): Deno.KvListSelector {
  return { prefix: ["ledger", accountId], start: ["ledger", accountId, startId] };
}

export function ledgerOperationKey(operationId: string): StoreKey {
  return ["ledger_operation", operationId];
}

/** Selects the operations whose ids begin with `prefix`. */
export function ledgerOperationsSelector(prefix: string): Deno.KvListSelector {
  return {
    start: ["ledger_operation", prefix],
    end: ["ledger_operation", `${prefix}\uffff`],
  };
}

export function ledgerOperationIdOf(key: Deno.KvKey): string {
  return String(key[1]);
}
