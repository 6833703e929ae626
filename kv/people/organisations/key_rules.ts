/** The rule of an organisation about who moves API keys between its teams. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { accountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { type Account, hasOnlyBooks, writeAccount } from "../accounts/accounts.ts";

/** Members who move API keys between teams: those who change members, or whoever may change a key as well. */
export const keyMoverNames = ["admins", "makers"] as const;

/** One of {@linkcode keyMoverNames}. */
export type KeyMovers = typeof keyMoverNames[number];

/**
 * Returns who moves API keys between teams. By default not their makers: calls count in the budgets of the key's team,
 * which a maker could leave by moving it.
 */
export function keyMovers({ makersMoveKeys }: Pick<Account, "makersMoveKeys">): KeyMovers {
  return makersMoveKeys === true ? "makers" : "admins";
}

/** Sets who moves API keys. Returns `false` if there is no such organisation. */
export async function setKeyMovers(
  kv: KeyValueStore,
  organisationId: AccountId,
  movers: KeyMovers,
  done: Done,
): Promise<boolean> {
  return await writeAccount<boolean>(async () => {
    const entry = await kv.get<Account>(accountKey(organisationId));
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: false };
    const former = keyMovers(entry.value);
    if (former === movers) return { done: true };
    const { makersMoveKeys: _, ...rest } = entry.value;
    const account: Account = movers === "makers" ? { ...rest, makersMoveKeys: true } : rest;
    const operation = kv.atomic().check(entry).set(entry.key, account);
    addAct(operation, organisationId, "key_rules_changed", done, {
      before: { movedBy: former },
      after: { movedBy: movers },
    });
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}
