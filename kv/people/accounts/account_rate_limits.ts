/** Sets the rate limits of single accounts; they hold on all instances within two seconds. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { AccountRateLimits } from "../../../core/limits/subjects.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { addAuditLine, type Operator } from "../audit/operator_audit.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { writeAccount } from "./account_writes.ts";
import type { Account } from "./accounts.ts";

/**
 * Replaces the limits of an account.
 *
 * @param limits `undefined`: the defaults alone
 * @returns the changed account; `undefined` if it does not exist or was deleted
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function setRateLimits(
  kv: KeyValueStore,
  accountId: AccountId,
  limits: AccountRateLimits | undefined,
  act: { readonly operator: Operator; readonly reason: string; readonly nowMs: number },
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return { done: undefined };
    const { rateLimits: _, ...rest } = entry.value;
    const account: Account = limits === undefined ? rest : { ...rest, rateLimits: limits };
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    addAuditLine(operation, act.operator, {
      act: "rate_limits_changed",
      subject: accountId,
      detail: act.reason,
      atMs: act.nowMs,
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}
