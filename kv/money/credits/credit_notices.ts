/**
 * Tells owners of credit that it is about to expire: seven days and one day before, once each.
 *
 * A mark in the store says up to which grant of the expiry index the owners were told. The mails of some grants and the
 * mark behind them are one commit, which checks the mark as it was read: so several instances queue each mail once, and
 * a run reads only grants that were not looked at before.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import type { MailJob } from "../../../core/people/mail/mail.ts";
import {
  accountKey,
  creditNoticeKey,
  expiringGrantOf,
  expiryOfKey,
  grantExpiryBetween,
  grantExpiryFrom,
} from "../../engine/schema/keys.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, mailReaderOf } from "../../people/accounts/accounts.ts";
import { readPots } from "../balances/grant_book.ts";

/** Days before credit expires at which its owner gets a mail, in the order in which the mails are due. */
const noticeDays = [7, 1] as const;

/** Grants of one commit. */
const grantsPerCommit = 50;

/** Commits of one run for each notice; the rest waits for the next run. */
const maxCommitsPerRun = 40;

/** Needs of the notices. */
export interface NoticeWorld {
  readonly kv: KeyValueStore;
  readonly nowMs: number;
  /** Reads the balance of an account, including what running calls have reserved. */
  readonly totalOf: (accountId: AccountId) => Promise<bigint>;
}

/** Queues the mails that are due. Returns how many. */
export async function noticeExpiringCredit(world: NoticeWorld): Promise<number> {
  let queued = 0;
  for (const [at, days] of noticeDays.entries()) {
    // Credit that ends within a day when it is first looked at gets the mail of that day alone.
    const nextDays = noticeDays[at + 1] ?? 0;
    for (let commit = 0; commit < maxCommitsPerRun; commit++) {
      const step = await noticeSome(world, days, nextDays);
      if (step === undefined) break;
      queued += step;
    }
  }
  return queued;
}

/** Queues the mails about the next grants; `undefined` if there are none, or another instance is faster. */
async function noticeSome(
  { kv, nowMs, totalOf }: NoticeWorld,
  days: number,
  nextDays: number,
): Promise<number | undefined> {
  const mark = await kv.get<Deno.KvKey>(creditNoticeKey(days));
  const after = mark.value ?? grantExpiryFrom(nowMs);
  const selector = grantExpiryBetween(after, nowMs + days * dayMs);
  const grants = await Array.fromAsync(kv.list(selector, { limit: grantsPerCommit }));
  const last = grants.at(-1);
  if (last === undefined) return undefined;
  const operation = kv.atomic().check(mark).set(mark.key, last.key);
  let queued = 0;
  for (const { key } of grants) {
    if (expiryOfKey(key) <= nowMs + nextDays * dayMs) continue;
    const job = await jobOf(kv, key, totalOf);
    if (job === undefined) continue;
    addMail(operation, job, {
      nowMs,
      id: `credit-expiring:${expiringGrantOf(key).grantId}:${days}`,
    });
    queued++;
  }
  return (await operation.commit()).ok ? queued : undefined;
}

/** The mail about a grant; `undefined` if nothing is left of it, or nobody reads it. */
async function jobOf(
  kv: KeyValueStore,
  key: Deno.KvKey,
  totalOf: NoticeWorld["totalOf"],
): Promise<MailJob | undefined> {
  const { accountId, grantId } = expiringGrantOf(key);
  const { value: account } = await kv.get<Account>(accountKey(accountId));
  const reader = account === null ? undefined : mailReaderOf(account, "credit_expiring");
  if (reader === undefined || account?.blockedAtMs !== undefined) return undefined;
  const { grants } = await readPots(kv, accountId, totalOf);
  const grant = grants.find((one) => one.grantId === grantId);
  if (grant?.expiresAtMs === undefined) return undefined;
  const { leftMicroVnd, name: campaign, expiresAtMs } = grant;
  return { kind: "credit_expiring", ...reader, leftMicroVnd, campaign, expiresAtMs };
}
