/**
 * Settings of an account that its members change: the tags that it requires of its calls, which hold on all instances
 * within two seconds, and the balance below which its owner is warned by a mail.
 */
import { isTagKey, maxTags } from "../../../core/billing/usage/call_tags.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { type Account, hasOnlyBooks, updateAccount, writeAccount } from "./accounts.ts";

/** VND of the largest mark: above every balance that is topped up by transfer. */
export const maxLowBalanceVnd = 1_000_000_000;

/**
 * Sets the balance below which the owner is warned, in whole đồng; 0 ends the warnings. A new mark may cause a new warning.
 *
 * @returns the changed account; `undefined` if it does not exist
 */
export async function setLowBalanceMark(
  kv: KeyValueStore,
  accountId: AccountId,
  microVnd: bigint,
  done: Done,
): Promise<Account | undefined> {
  return await updateAccount(kv, accountId, {
    lowBalanceMicroVnd: microVnd === 0n ? undefined : microVnd,
    lowBalanceMailedAtMs: undefined,
  }, { act: "low_balance_mark_changed", ...done });
}

/** Whether texts can be the tags that an account requires: keys of tags, as many as a call may have. */
export function areRequiredTags(keys: readonly string[]): boolean {
  return new Set(keys).size <= maxTags && keys.every(isTagKey);
}

/**
 * Replaces the keys of tags without which calls of an account are refused.
 *
 * @param keys none: no tag is required
 * @returns the changed account; `undefined` if it does not exist or was deleted
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function setRequiredTags(
  kv: KeyValueStore,
  accountId: AccountId,
  keys: readonly string[],
  done: Done,
): Promise<Account | undefined> {
  invariant(areRequiredTags(keys), "keys of tags of one call");
  const required = [...new Set(keys)].sort();
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: undefined };
    const { requiredTags: former, ...rest } = entry.value;
    const account: Account = required.length === 0 ? rest : { ...rest, requiredTags: required };
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    addAct(operation, accountId, "required_tags_changed", done, {
      before: { tags: former },
      after: { tags: required },
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}
