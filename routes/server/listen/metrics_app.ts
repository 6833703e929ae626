/** GET /metrics in the Prometheus text format, for the operator's key; without one configured the path is a 404. */
import { Hono } from "hono";
import { requireOperatorKey } from "../../operator/api/require_key.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/** Builds the app; mount it at `/`. */
export function createMetrics(gateway: Gateway): Hono {
  const app = new Hono();
  app.get(
    "/metrics",
    requireOperatorKey(gateway),
    async (context) =>
      context.body(await gateway.peers?.metrics() ?? gateway.metrics.text(), 200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      }),
  );
  return app;
}
