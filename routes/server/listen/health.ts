/** Health checks for load balancers: whether the process is alive, and whether it should get calls. */
import { Hono } from "hono";
import type { Gateway } from "../../api/gateway/gateway.ts";

/**
 * Builds the health checks. `stopping` turns true when the process was asked to stop: it completes its calls but should
 * get no new ones.
 */
export function createHealth(gateway: Gateway, stopping: () => boolean): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/readyz", async (context) => {
    const takesCommits = await gateway.commits.confirm();
    const reasons = [
      ...(stopping() ? ["stopping"] : []),
      ...(gateway.wallet.healthy ? [] : ["ledger unavailable"]),
      ...(takesCommits ? [] : ["store takes no commits"]),
    ];
    return context.json(
      { status: reasons.length === 0 ? "ready" : "not ready", reasons },
      reasons.length === 0 ? 200 : 503,
    );
  });
  return app;
}
