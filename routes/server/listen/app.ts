/**
 * Joins all HTTP parts: the API first, then pages. Any other path is a 404, before a key is required.
 *
 * - Folder `routes/server/listen/`: sockets and the app behind them: the listening address, all HTTP parts joined,
 *   health checks, metrics.
 * - In: requests of clients.
 * - Out: answers of the API, the pages and the health checks, or a 404.
 * - Never: holds a rule of money or of wire styles.
 */
import { loadedOnce } from "../../../core/lib/base/assert.ts";
import { Hono } from "hono";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { mountDashboard } from "../../dashboard/visitor/mounting.ts";
import { errorResponse } from "../../http/error_response.ts";
import { createOperatorApi, requireOperatorKey } from "../../operator/api/app.ts";
import type { CustomerApp } from "../assembly/customer_app.ts";
import { createOpenApi } from "../../openapi/documents.ts";
import { type ConnectionBindings, createApi, notFound } from "../../api/app.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

// Health checks for load balancers: whether the process is alive, and whether it should get calls.

/**
 * Builds the health checks. `stopping` turns true when the process was asked to stop: it completes its calls but should
 * get no new ones.
 */
function createHealth(gateway: Gateway, stopping: () => boolean): Hono {
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

// GET /metrics in the Prometheus text format, for the operator's key; without one configured the path is a 404.

/** Builds the app; mount it at `/`. */
function createMetrics(gateway: Gateway): Hono {
  const app = new Hono();
  app.get(
    "/metrics",
    requireOperatorKey(gateway),
    async (context) =>
      context.body(await (gateway.peers?.metrics() ?? gateway.metrics.scrape()), 200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      }),
  );
  return app;
}

/** Paths of the management API, and those by which applications get keys. */
const managementPaths = [
  "/v1/organisation",
  "/v1/organisation/*",
  "/.well-known/oauth-authorization-server",
  "/oauth/register",
  "/oauth/token",
  "/api/v1/auth/keys",
];

/** Needs of the application beside the gateway. */
export interface AppOptions {
  /** Whether the process was told to stop. */
  readonly stopping: () => boolean;
  /** The app for customers; a gateway without it serves the API only. */
  readonly customerApp?: CustomerApp | undefined;
}

/** Builds the application. */
export function createApp(
  gateway: Gateway,
  options: AppOptions,
): Hono<{ Bindings: ConnectionBindings }> {
  const app = createApi(gateway);
  app.route("/", createHealth(gateway, options.stopping));
  app.route("/", createMetrics(gateway));
  app.route("/", createOpenApi(gateway));
  const { instances } = gateway;
  if (instances !== undefined) {
    app.post(
      instances.path,
      async ({ req: { raw } }) =>
        await instances.answer(raw) ??
          await notFound(gateway, new Request(raw.url, { headers: raw.headers })),
    );
  }
  const { customerApp } = options;
  if (customerApp !== undefined) {
    app.route("/", customerApp.usageApi);
    const management = loadedOnce(() => customerApp.managementApi());
    for (const path of managementPaths) {
      app.all(path, async ({ req, env }) => await (await management()).fetch(req.raw, env));
    }
    app.route("/", customerApp.hooks);
    const mcp = loadedOnce(async () => {
      const { createMcp } = await import("../../openapi/mcp.ts");
      return createMcp(gateway, (request, bindings) => app.fetch(request, bindings));
    });
    app.all("/mcp", async ({ req, env }) => await (await mcp()).fetch(req.raw, env));
  }
  app.route("/operator", createOperatorApi(gateway));
  if (customerApp !== undefined) {
    mountDashboard(
      app,
      () =>
        customerApp.dashboard((request, clientAddress) => app.fetch(request, { clientAddress })),
    );
  }
  app.onError((error) => {
    gateway.log.event("error", "unexpected error", { ...unforeseen(error) });
    return errorResponse(error, "chat", newId("request", gateway.clock.nowMs()));
  });
  app.notFound((context) => notFound(gateway, context.req.raw));
  return app;
}
