/**
 * Lists customers with what operators ask first: balance and last call. Balances of a page are two ranges of rows, since
 * wallets and leases are sorted as accounts are; a call is one more read per customer.
 */
import { defined } from "../../../core/lib/base/defined.ts";
import { type AccountId, idTimeMs, newId } from "../../../core/lib/ids/ids.ts";
import { accountOfKey, leaseOf, leasesBetween, walletsBetween } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { leaseRow } from "../../money/balances/leases.ts";
import { walletRow } from "../../money/balances/wallets.ts";
import { latestIndexed } from "../../money/receipts/receipt_index.ts";
import { type Account, listAccounts } from "../../people/accounts/accounts.ts";

/** A customer with its figures. */
export interface Customer {
  readonly account: Account;
  /** With what instances have leased, as of their last settlement: calls of the last second are missing. */
  readonly balanceMicroVnd: bigint;
  /** Of a call with a receipt, refused ones not counted; absent: there was none. */
  readonly lastCallAtMs?: number;
}

/** Rows of leases of one customer that are read at most: one of each instance, of which a fleet has dozens. */
const maxLeasesEach = 64;

async function readBalances(
  kv: KeyValueStore,
  accounts: readonly Account[],
): Promise<ReadonlyMap<AccountId, bigint>> {
  const balances = new Map<AccountId, bigint>();
  const [first, last] = [accounts[0]?.id, accounts.at(-1)?.id];
  if (first === undefined || last === undefined) return balances;
  const add = (id: AccountId, microVnd: bigint) =>
    balances.set(id, (balances.get(id) ?? 0n) + microVnd);
  const wallets = kv.list<unknown>(walletsBetween(first, last), { limit: accounts.length });
  for await (const entry of wallets) {
    const id = accountOfKey(entry.key);
    add(id, walletRow(id, entry).availableMicroVnd);
  }
  const limit = accounts.length * maxLeasesEach;
  for await (const entry of kv.list<unknown>(leasesBetween(first, last), { limit })) {
    add(leaseOf(entry.key).accountId, leaseRow(entry).remainingMicroVnd);
  }
  return balances;
}

/** Lists customers, oldest first, page by page. `next` is the `after` of the following page. */
export async function listCustomers(
  kv: KeyValueStore,
  page: { readonly limit: number; readonly after?: AccountId },
  nowMs: number,
): Promise<{ readonly customers: readonly Customer[]; readonly next: AccountId | undefined }> {
  const { accounts, next } = await listAccounts(kv, page);
  const balances = await readBalances(kv, accounts);
  const before = newId("request", nowMs + 1);
  const customers = await Promise.all(accounts.map(async (account): Promise<Customer> => {
    const last = await latestIndexed(kv, account.id, before);
    return {
      account,
      balanceMicroVnd: balances.get(account.id) ?? 0n,
      ...defined({ lastCallAtMs: last === undefined ? undefined : idTimeMs("request", last) }),
    };
  }));
  return { customers, next };
}
