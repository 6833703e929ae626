/**
 * Tells the owner, by mail and webhook, when a balance falls below the mark that they set; the next time only after the
 * balance was above it again.
 */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type Account, mailReaderOf, updateAccount } from "../../people/accounts/accounts.ts";
import { accountKey, accountOfKey, lowBalanceWatchPrefix } from "../../engine/schema/keys.ts";
import { addWebhookEvent } from "../../people/webhooks/events.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Needs of the check. */
export interface LowBalanceWorld {
  readonly kv: KeyValueStore;
  /** Rest of an account's money, in µVND. */
  readonly balanceOf: (accountId: AccountId) => Promise<bigint>;
  readonly nowMs: number;
}

/** Checks every account with a mark and queues the warnings. Returns how many were queued. */
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
      if (await queueWarning(world, entry, { balanceMicroVnd, markMicroVnd })) queued++;
    } else if (!isLow && lowBalanceMailedAtMs !== undefined) {
      await updateAccount(world.kv, id, { lowBalanceMailedAtMs: undefined });
    }
  }
  return queued;
}

/**
 * Queues mail and webhook and marks the account in one commit, so that one of several instances sends them. Whoever has
 * switched the mail off still gets the webhook, once for each fall.
 */
async function queueWarning(
  { kv, nowMs }: LowBalanceWorld,
  entry: Deno.KvEntry<Account>,
  { balanceMicroVnd, markMicroVnd }: {
    readonly balanceMicroVnd: bigint;
    readonly markMicroVnd: bigint;
  },
): Promise<boolean> {
  const account = entry.value;
  if (account.blockedAtMs !== undefined) return false;
  const reader = mailReaderOf(account, "low_balance");
  const warned: Account = { ...account, lowBalanceMailedAtMs: nowMs };
  const atomic = kv.atomic().check(entry).set(entry.key, warned);
  if (reader !== undefined) {
    addMail(atomic, { kind: "low_balance", ...reader, balanceMicroVnd }, { nowMs });
  }
  const data = {
    balance_vnd: formatVnd(balanceMicroVnd),
    threshold_vnd: formatVnd(markMicroVnd),
  };
  addWebhookEvent(atomic, account.id, { type: "balance.low", data }, nowMs);
  return (await atomic.commit()).ok;
}
