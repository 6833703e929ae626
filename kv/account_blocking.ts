/** Blocking an account: its sign-in and its keys stop everywhere within two seconds; its money stays. */
import type { AccountId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import type { Account } from "./accounts.ts";
import { bumpKeysEpoch } from "./control.ts";
import { accountKey } from "./keys.ts";
import { addAuditLine, type Operator } from "./operator_audit.ts";

/**
 * Blocks an account, or lets it go on.
 *
 * @returns the account as it is now; `undefined` if there is none or it was deleted
 */
export async function setBlocked(
  kv: Deno.Kv,
  accountId: AccountId,
  change: { readonly blocked: boolean; readonly reason: string },
  act: { readonly operator: Operator; readonly nowMs: number },
): Promise<Account | undefined> {
  for (let attempt = 0; attempt < limits.topupWriteAttempts; attempt++) {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return undefined;
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
    if ((await operation.commit()).ok) return account;
  }
  return undefined;
}
