/** Runs what follows credit that operators give: its expiry, and bonuses on top-ups. */
import { bonusDuePrefix } from "../../../kv/engine/schema/keys.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Job } from "./jobs.ts";

/** Milliseconds between two searches for credit that has expired. */
const expiryEveryMs = 60_000;

/**
 * Milliseconds after which a top-up that was credited here has its bonus at the latest: customers wait for it before the
 * page.
 */
const bonusEveryMs = 10_000;

/** Polling interval in milliseconds for top-ups that others credited, so that an idle gateway hardly reads. */
const bonusOfOthersEveryMs = 60_000;

/** Milliseconds between two searches for credit that is about to expire, which is announced days before. */
const noticeEveryMs = 10 * 60_000;

/** Work that follows credit. */
export interface CreditWork {
  /** Jobs that run at intervals. */
  readonly jobs: readonly Job[];
  /** Notes that this thread has credited a top-up, whose bonus may be due. */
  topUpCredited(): void;
}

/** Creates the jobs about credit. What they do is loaded when there is something to do. */
export function openCreditWork(
  { kv, clock, log, catalog, wallet }: Gateway,
  hintMail: () => void,
): CreditWork {
  let isDue = true;
  let lookedAtMs = 0;
  const jobs: Job[] = [
    {
      name: "expire credit",
      everyMs: expiryEveryMs,
      async run() {
        const { expireCredit } = await import("../../../kv/money/credits/credit_expiry.ts");
        const { lines } = await expireCredit(kv, clock.nowMs());
        if (lines > 0) log.event("info", "credit expired", { lines });
      },
    },
    {
      name: "notice expiring credit",
      everyMs: noticeEveryMs,
      async run() {
        const { noticeExpiringCredit } = await import(
          "../../../kv/money/credits/credit_notices.ts"
        );
        const totalOf = async (accountId: AccountId) =>
          (await wallet.balance(accountId)).totalMicroVnd;
        if (await noticeExpiringCredit({ kv, nowMs: clock.nowMs(), totalOf }) > 0) hintMail();
      },
    },
    {
      name: "give bonuses",
      everyMs: bonusEveryMs,
      async run() {
        if (!isDue && clock.monotonicMs() - lookedAtMs < bonusOfOthersEveryMs) return;
        isDue = false;
        lookedAtMs = clock.monotonicMs();
        const first = await kv.list({ prefix: bonusDuePrefix() }, { limit: 1 }).next();
        if (first.done === true) return;
        const { giveDueBonuses } = await import("../../../kv/money/credits/topup_bonus.ts");
        const { spendGranted } = catalog.current.wallet;
        // What waits, or could not be given because the store did not answer, is tried again soon.
        isDue = true;
        const { given } = await giveDueBonuses(kv, { nowMs: clock.nowMs(), spendGranted });
        if (given === 0) return;
        hintMail();
        log.event("info", "bonuses given", { given });
      },
    },
  ];
  return {
    jobs,
    topUpCredited() {
      isDue = true;
    },
  };
}
