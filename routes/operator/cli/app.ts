/**
 * The administrator's commands as a small HTTP app. `deno task admin` reaches it through the running server's socket
 * or, when no server runs, in its own process: one implementation, one owner of the store.
 */
import { Hono } from "hono";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { outageLine, StoreUnavailableError } from "../../../kv/engine/store/store_unavailable.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { errorResponse } from "../../http/error_response.ts";
import { operationNames, operationPaths } from "../operations/contract/paths.ts";
import { operationServing } from "../operations/serving.ts";
import { addAccountRoutes, addKeyRoutes } from "./commands/accounts.ts";
import { type AdminDeps, readJson } from "./commands/admin_deps.ts";
import { addArchiveRoutes } from "./commands/archive.ts";
import { addBackupRoutes, type BackupDeps } from "./commands/backups.ts";
import { addBookRoutes } from "./commands/books.ts";
import { addTableRoutes } from "./commands/tables.ts";

/** Makes the answers to errors. The owner of the machine reads what went wrong, as nobody else does. */
function errorAnswers({ clock }: Pick<AdminDeps, "clock">): (thrown: unknown) => Response {
  return (error) => {
    if (error instanceof StoreUnavailableError) {
      const known = new GatewayError(error.code, outageLine(error));
      return errorResponse(known, "chat", newId("request", clock.nowMs()));
    }
    const known = error instanceof Error && !(error instanceof GatewayError)
      ? new GatewayError("internal_error", `${error.name}: ${error.message}`)
      : error;
    return errorResponse(known, "chat", newId("request", clock.nowMs()));
  };
}

/** Builds the part of the app that backups need, which changes nothing in the store. */
export function createBackupApp(deps: BackupDeps): Hono {
  const app = new Hono();
  app.onError(errorAnswers(deps));
  addBackupRoutes(app, deps);
  return app;
}

/** Builds the app. It has no authentication of its own: access to its socket is access to the store. */
export function createAdminApp(deps: AdminDeps): Hono {
  const app = new Hono();
  const errorAnswer = errorAnswers(deps);
  app.onError(errorAnswer);

  const serve = operationServing({ deps, operator: commandLine, readJson, errorAnswer });
  for (const name of operationNames) {
    const { method, path } = operationPaths[name];
    app.on(method, path, (context) => serve(name, context));
  }
  addAccountRoutes(app, deps);
  addKeyRoutes(app, deps);
  addBookRoutes(app, deps);
  addBackupRoutes(app, deps);
  addTableRoutes(app, deps);
  addArchiveRoutes(app, deps);
  return app;
}
