/**
 * Mails the owner when a balance falls below the mark that they set; the next mail follows only
 * after the balance was above it again.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type Account, mailReaderOf, updateAccount } from "../../people/accounts/accounts.ts";
import { accountKey, accountOfKey, lowBalanceWatchPrefix } from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** What the check needs. */
export interface LowBalanceWorld {
  readonly kv: KeyValueStore;
  /** What an account has left, in µVND. */
  readonly balanceOf: (accountId: AccountId) => Promise<bigint>;
  readonly nowMs: number;
}

/** Checks every account with a mark and queues the mails. Returns how many were queued. */
export async function warnOfLowBalances(world: LowBalanceWorld): Promise<number> {
  let queued = 0;
  const watches = world.kv.list<bigint>({ prefix: lowBalanceWatchPrefix() });
  for await (const { key, value: markMicroVnd } of watches) {
    const entry = await world.kv.get<Account>(accountKey(accountOfKey(key)));
    if (entry.value === null) continue;
    const { id, lowBalanceMailedAtMs } = entry.value;
    const balanceMicroVnd = await world.balanceOf(id);
    const isLow = balanceMicroVnd < markMicroVnd;
    if (isLow && lowBalanceMailedAtMs === undefined) {
      if (await queueWarning(world, entry, balanceMicroVnd)) queued++;
    } else if (!isLow && lowBalanceMailedAtMs !== undefined) {
      await updateAccount(world.kv, id, { lowBalanceMailedAtMs: undefined });
    }
  }
  return queued;
}

/**
 * Queues the mail and marks the account in one commit, so that one of several instances sends it.
 */
async function queueWarning(
  { kv, nowMs }: LowBalanceWorld,
  entry: Deno.KvEntry<Account>,
  balanceMicroVnd: bigint,
): Promise<boolean> {
  const account = entry.value;
  const reader = mailReaderOf(account, "low_balance");
  if (reader === undefined || account.blockedAtMs !== undefined) return false;
  const warned: Account = { ...account, lowBalanceMailedAtMs: nowMs };
  const atomic = kv.atomic().check(entry).set(entry.key, warned);
  addMail(atomic, { kind: "low_balance", ...reader, balanceMicroVnd }, { nowMs });
  return (await atomic.commit()).ok;
}
