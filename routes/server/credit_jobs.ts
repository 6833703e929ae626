/** Runs what follows credit that operators give: its expiry, and bonuses on top-ups. */
import { bonusDuePrefix } from "../../kv/schema/keys.ts";
import type { Gateway } from "../api/gateway.ts";
import type { Job } from "./jobs.ts";

/** Milliseconds between two searches for credit that has expired. */
const expiryEveryMs = 60_000;

/** Milliseconds between two looks for top-ups whose bonus is due: customers wait for it before the page. */
const bonusEveryMs = 10_000;

/** The jobs about credit. What they do is loaded when there is something to do. */
export function creditJobs({ kv, clock, log, catalog }: Gateway): Job[] {
  return [
    {
      name: "expire credit",
      everyMs: expiryEveryMs,
      async run() {
        const { expireCredit } = await import("../../kv/credits/credit_expiry.ts");
        const { lines } = await expireCredit(kv, clock.nowMs());
        if (lines > 0) log.event("info", "credit expired", { lines });
      },
    },
    {
      name: "give bonuses",
      everyMs: bonusEveryMs,
      async run() {
        const first = await kv.list({ prefix: bonusDuePrefix() }, { limit: 1 }).next();
        if (first.done === true) return;
        const { giveDueBonuses } = await import("../../kv/credits/topup_bonus.ts");
        const { spendGranted } = catalog.current.wallet;
        const { given } = await giveDueBonuses(kv, { nowMs: clock.nowMs(), spendGranted });
        if (given > 0) log.event("info", "bonuses given", { given });
      },
    },
  ];
}
