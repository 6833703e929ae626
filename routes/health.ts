/** Health checks for load balancers: whether the process is alive, and whether it should get calls. */
import { Hono } from "hono";
import { atMost } from "../core/lib/time/sleep.ts";
import type { Gateway } from "./api/gateway.ts";

/** Milliseconds that a health check waits for the store: balancers give up after a second or two. */
const storeAnswerMs = 1_000;

/** Whether the store has answered lately, or does so now. */
async function isAnswering({ control }: Gateway): Promise<boolean> {
  let hasAnswered = false;
  const confirming = control.confirm().then(() => {
    hasAnswered = true;
  }, () => {});
  await atMost(storeAnswerMs, confirming);
  return hasAnswered;
}

/**
 * Builds the health checks. `stopping` turns true when the process was asked to stop: it completes its calls but should
 * get no new ones.
 */
export function createHealth(gateway: Gateway, stopping: () => boolean): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.json({ status: "ok" }));
  app.get("/readyz", async (context) => {
    const answers = await isAnswering(gateway);
    const reasons = [
      ...(stopping() ? ["stopping"] : []),
      ...(gateway.wallet.healthy ? [] : ["ledger unavailable"]),
      ...(answers ? [] : ["store does not answer"]),
    ];
    return context.json(
      { status: reasons.length === 0 ? "ready" : "not ready", reasons },
      reasons.length === 0 ? 200 : 503,
    );
  });
  return app;
}
