/** Blocks accounts as an operator does. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { setBlocked } from "../../../kv/people/accounts/accounts.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** Blocks or unblocks an account. */
export async function block(kv: KeyValueStore, accountId: AccountId, blocked = true) {
  const operator = { accountId, email: "staff@example.com" };
  return await setBlocked(kv, accountId, { blocked, reason: "test" }, { operator, nowMs: 9 });
}
