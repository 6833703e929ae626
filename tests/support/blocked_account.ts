/** Blocks accounts as an operator does. */
import type { AccountId } from "../../core/lib/ids.ts";
import { setBlocked } from "../../kv/accounts/account_blocking.ts";

/** Blocks an account, or lets it go on. */
export async function block(kv: Deno.Kv, accountId: AccountId, blocked = true) {
  const operator = { accountId, email: "staff@example.com" };
  return await setBlocked(kv, accountId, { blocked, reason: "test" }, { operator, nowMs: 9 });
}
