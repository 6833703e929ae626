/** Sets the tags that an account requires of its calls; they hold on all instances within two seconds. */
import { isTagKey, maxTags } from "../../../core/billing/usage/call_tags.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, writeAccount } from "./accounts.ts";

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
): Promise<Account | undefined> {
  const required = [...new Set(keys)].sort();
  invariant(required.length <= maxTags && required.every(isTagKey), "keys of tags of one call");
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return { done: undefined };
    const { requiredTags: _, ...rest } = entry.value;
    const account: Account = required.length === 0 ? rest : { ...rest, requiredTags: required };
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}
