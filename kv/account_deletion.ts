/** Deleting an account. */
import type { AccountId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import { type Account, accountBusy } from "./accounts.ts";
import { bumpKeysEpoch } from "./control.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountPasswordKey,
  invoiceProfileKey,
  lowBalanceWatchKey,
} from "./keys.ts";

/**
 * Drops the person and keeps the number: e-mail address, password, identities, preferences and the buyer of invoices
 * go (invoices that exist must be kept by law), the id stays because ledger rows and receipts name it. The address is
 * free for a new account at once.
 */
export async function forgetPerson(
  kv: Deno.Kv,
  accountId: AccountId,
  nowMs: number,
): Promise<void> {
  for (let attempt = 0; attempt < limits.accountWriteAttempts; attempt++) {
    const entry = await kv.get<Account>(accountKey(accountId));
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined) return;
    const rest: Account = {
      id: account.id,
      createdAtMs: account.createdAtMs,
      deletedAtMs: nowMs,
      blockedAtMs: account.blockedAtMs ?? nowMs,
    };
    const atomic = bumpKeysEpoch(kv.atomic()).check(entry)
      .set(entry.key, rest)
      .delete(accountPasswordKey(accountId))
      .delete(invoiceProfileKey(accountId))
      .delete(lowBalanceWatchKey(accountId));
    if (account.email !== undefined) atomic.delete(accountByEmailKey(account.email));
    for (const { issuer, subject } of account.identities ?? []) {
      atomic.delete(accountByIdentityKey(issuer, subject));
    }
    if ((await atomic.commit()).ok) return;
  }
  throw accountBusy();
}
