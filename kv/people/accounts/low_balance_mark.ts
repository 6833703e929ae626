/** Sets the balance below which the owner of an account is warned by a mail. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Done } from "../audit/account_activity.ts";
import { type Account, updateAccount } from "./accounts.ts";

/** VND of the largest mark: above every balance that is topped up by transfer. */
export const maxLowBalanceVnd = 1_000_000_000;

/**
 * Sets the mark, in whole đồng; 0 ends the warnings. A new mark may cause a new warning.
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
