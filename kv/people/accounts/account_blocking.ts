/**
 * Blocks accounts: sign-in and API keys stop on all instances within two seconds; the money stays.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { writeAccount } from "./account_writes.ts";
import type { Account } from "./accounts.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import { addAuditLine, type Operator } from "../audit/operator_audit.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Blocks or unblocks an account.
 *
 * @returns the changed account; `undefined` if it does not exist or was deleted
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function setBlocked(
  kv: KeyValueStore,
  accountId: AccountId,
  change: { readonly blocked: boolean; readonly reason: string },
  act: { readonly operator: Operator; readonly nowMs: number },
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return { done: undefined };
    const { blockedAtMs, blockedReason: _, ...rest } = entry.value;
    const account: Account = change.blocked
      ? { ...rest, blockedAtMs: blockedAtMs ?? act.nowMs, blockedReason: change.reason }
      : rest;
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    addAuditLine(operation, act.operator, {
      act: change.blocked ? "account_blocked" : "account_unblocked",
      subject: accountId,
      detail: change.reason,
      atMs: act.nowMs,
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}
