/** Runs what follows credit that operators give: its expiry. Loaded with the first run. */
import type { Gateway } from "../api/gateway.ts";
import type { Job } from "./jobs.ts";

/** Milliseconds between two searches for credit that has expired. */
const expiryEveryMs = 60_000;

/** Takes back what is left of expired credit. */
export function creditExpiryJob({ kv, clock, log }: Gateway): Job {
  return {
    name: "expire credit",
    everyMs: expiryEveryMs,
    async run() {
      const { expireCredit } = await import("../../kv/credits/credit_expiry.ts");
      const { lines } = await expireCredit(kv, clock.nowMs());
      if (lines > 0) log.event("info", "credit expired", { lines });
    },
  };
}
