/**
 * Tells the owner of an API key that a limit of a day or month refuses its calls: once per limit and period.
 *
 * The refused calls are in the store when this is done, so no call waits for it. Limits of a minute or an hour and of
 * calls at once are met in normal use and soon free again: they lead to no mail.
 */
import {
  periodKind,
  type PeriodLimitName,
  periodLimitNames,
} from "../../../core/limits/limit_table.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { monthOfDay, vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { accountKey, apiKeyKey, limitMailKey } from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, mailReaderOf } from "../../people/accounts/accounts.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";
import type { RefusedCall } from "./refused_calls.ts";

/** Milliseconds that the mark of a period lives: longer than a month. */
export const limitMarkMs = 62 * dayMs;

/** A limit of a key that is reached. */
interface ReachedLimit extends Pick<RefusedCall, "accountId" | "keyId" | "atMs"> {
  readonly limitName: PeriodLimitName;
  readonly limit: bigint;
}

/** The limit that refused a call; `undefined` if it is none of a day or month, or the call asks for more than all of it. */
function reachedBy(
  { accountId, keyId, atMs, code, figures }: RefusedCall,
): ReachedLimit | undefined {
  const limitName = periodLimitNames.find((name) =>
    figures !== undefined && "limitName" in figures && figures.limitName === name
  );
  if (limitName === undefined) return undefined;
  const which = { accountId, keyId, atMs, limitName };
  if (figures?.kind === "spending_limit" && code === "spending_limit_reached") {
    return { ...which, limit: figures.limitMicroVnd };
  }
  return figures?.kind === "rate_limit" && figures.retryAfterSeconds !== undefined
    ? { ...which, limit: BigInt(figures.limit) }
    : undefined;
}

/** Queues a mail for each limit that refused some of these calls, unless its owner knows. Returns how many. */
export async function mailReachedLimits(
  kv: KeyValueStore,
  calls: readonly RefusedCall[],
): Promise<number> {
  const reached = new Map<string, ReachedLimit>();
  for (const call of calls) {
    const limit = reachedBy(call);
    if (limit !== undefined) reached.set(`${limit.keyId} ${limit.limitName}`, limit);
  }
  let queued = 0;
  for (const limit of reached.values()) if (await mailOnce(kv, limit)) queued++;
  return queued;
}

async function mailOnce(
  kv: KeyValueStore,
  { accountId, keyId, atMs, limitName, limit }: ReachedLimit,
): Promise<boolean> {
  const { meter, window } = periodKind(limitName);
  const period = window === "day" ? vietnamDay(atMs) : monthOfDay(vietnamDay(atMs));
  const [mark, account, key] = await kv.getMany<[string, Account, ApiKeyRecord]>([
    limitMailKey(keyId, limitName),
    accountKey(accountId),
    apiKeyKey(accountId, keyId),
  ]);
  // Periods sort as texts; a call of an earlier one that comes late is no news.
  if (mark.value !== null && mark.value >= period) return false;
  if (account.value === null || key.value === null) return false;
  const reader = mailReaderOf(account.value, "limit_reached");
  if (reader === undefined || account.value.blockedAtMs !== undefined) return false;
  const operation = kv.atomic().check(mark).set(mark.key, period, { expireIn: limitMarkMs });
  const keyName = key.value.name;
  const job = { kind: "limit_reached", ...reader, keyName, window, meter, limit } as const;
  addMail(operation, job, { nowMs: atMs, id: `limit:${keyId}:${limitName}:${period}` });
  return (await operation.commit()).ok;
}
