/** Deletes accounts. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { writeAccount } from "./account_writes.ts";
import type { Account } from "./accounts.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountPasswordKey,
  invoiceProfileKey,
  invoiceSettingsKey,
  lowBalanceWatchKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Removes the personal data of an account and keeps its id, which ledger rows and receipts name.
 * E-mail address, password, identities, preferences and the buyer of invoices are deleted; issued
 * invoices must be kept by law. The address can be used for a new account at once.
 */
export async function forgetPerson(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
): Promise<void> {
  await writeAccount<void>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined) return { done: undefined };
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
      .delete(invoiceSettingsKey(accountId))
      .delete(lowBalanceWatchKey(accountId));
    if (account.email !== undefined) atomic.delete(accountByEmailKey(account.email));
    for (const { issuer, subject } of account.identities ?? []) {
      atomic.delete(accountByIdentityKey(issuer, subject));
    }
    return (await atomic.commit()).ok ? { done: undefined } : "again";
  });
}
