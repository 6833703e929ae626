/**
 * The administrator's commands as a small HTTP app. `deno task admin` reaches it through the running server's socket
 * or, when no server runs, in its own process: one implementation, one owner of the store.
 */
import { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { setMaintenance } from "../../../kv/people/operators/switches.ts";
import { maintenanceBody } from "../../http/error_response.ts";
import { addAccountRoutes, addCreditRoute, addKeyRoutes } from "./commands/accounts.ts";
import type { AdminDeps } from "./commands/admin_deps.ts";
import { addBackupRoutes } from "./commands/backups.ts";
import { addBookRoutes, addCostRoutes } from "./commands/books.ts";
import { addCampaignRoutes } from "./commands/campaigns.ts";
import { addCatalogRoutes } from "./commands/catalog.ts";
import { addNoticeRoutes, addOutboxRoutes } from "./commands/outbox.ts";

/** Builds the app. It has no authentication of its own: access to its socket is access to the store. */
export function createAdminApp(deps: AdminDeps): Hono {
  const { clock, control } = deps;
  const app = new Hono();

  app.onError((error, context) => {
    if (error instanceof GatewayError) {
      if (error.retryAfterSeconds !== undefined) {
        context.header("retry-after", String(error.retryAfterSeconds));
      }
      return context.json({ error: error.message }, error.status < 500 ? 400 : 503);
    }
    if (error instanceof z.ZodError) {
      const text = error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; ");
      return context.json({ error: text }, 400);
    }
    return context.json({ error: `${error.name}: ${error.message}` }, 500);
  });

  addAccountRoutes(app, deps);
  addKeyRoutes(app, deps);
  addCreditRoute(app, deps);
  addCampaignRoutes(app, deps);
  addNoticeRoutes(app, deps);
  addBookRoutes(app, deps);
  addOutboxRoutes(app, deps);
  addBackupRoutes(app, deps);
  addCatalogRoutes(app, deps.editing);
  addCostRoutes(app, deps);

  app.post("/maintenance", async (context) => {
    const { on, message } = maintenanceBody.parse(await context.req.json());
    const act = { operator: commandLine, nowMs: clock.nowMs() };
    await setMaintenance(control, on ? message : undefined, act);
    return context.json({ maintenance: on });
  });

  return app;
}
