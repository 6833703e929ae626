/**
 * The operator's API: the operations of `routes/operator/operations/`, behind the key in `GATEWAY_OPERATOR_KEY`. Without
 * that key these paths do not exist. Changes reach every instance within two seconds.
 *
 * - Folder `routes/operator/api/`: the operator's API: the guard, and operations as HTTP.
 * - In: requests with the operator's key.
 * - Out: JSON, switches that every instance shares.
 * - Never: answers without the operator's key.
 */
import { type Context, Hono, type Next } from "hono";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { loadedOnce } from "../../../core/lib/base/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { operatorProgram } from "../../../kv/people/audit/operator_audit.ts";
import { bearerOf } from "../../http/authenticate.ts";
import { errorResponse } from "../../http/error_response.ts";
import { readRequestBody } from "../../http/body/request_body.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { sameSecret } from "../../../core/lib/hash/sha256.ts";
import { operatorBody } from "../operations/contract/body.ts";
import { operationNames, operationPaths } from "../operations/contract/paths.ts";

// The guard of paths that need the operator's key.

/**
 * Admits only requests with the operator's key as `Authorization: Bearer`. Without a sent or a configured key the path
 * does not exist.
 */
export function requireOperatorKey(
  { config, clock }: Pick<Gateway, "config" | "clock">,
): (context: Context, next: Next) => Promise<Response | undefined> {
  return async (context, next) => {
    const sent = bearerOf(context.req.header("authorization") ?? "");
    if (config.operatorKey === undefined || sent === undefined) return context.notFound();
    if (!await sameSecret(sent, config.operatorKey)) {
      const error = new GatewayError("invalid_api_key", "The operator key is wrong");
      return errorResponse(error, "chat", newId("request", clock.nowMs()));
    }
    await next();
    return undefined;
  };
}

/** Bytes of a body sent to the operators' API: a reason and a message. */
export const maxOperatorBodyBytes = 16 * 1024;

/** The version that the client has seen; without it two programs could overwrite each other. */
function seenVersion(context: Context): number {
  const match = /^(?:W\/)?"(\d{1,9})"$/.exec(context.req.header("if-match") ?? "");
  if (match !== null) return Number(match[1]);
  throw new GatewayError(
    "invalid_request",
    "if-match: needs the etag of GET /operator/catalog, so that nobody's change is overwritten",
    { param: "if-match" },
  );
}

/** Builds the app; mount it at `/operator`. */
export function createOperatorApi(gateway: Gateway): Hono {
  const { clock, deadlines } = gateway;
  const app = new Hono();
  const requireKey = requireOperatorKey(gateway);

  async function readJson(context: Context, maxBytes = maxOperatorBodyBytes): Promise<unknown> {
    return operatorBody(await readRequestBody(context.req.raw, deadlines, { maxBytes }));
  }

  // Loaded with the first request.
  const served = loadedOnce(async () => {
    const [{ operationServing }, { operationDepsOf }] = await Promise.all([
      import("../operations/serving.ts"),
      import("../operations/contract/operation.ts"),
    ]);
    return operationServing({
      deps: operationDepsOf(gateway),
      operator: operatorProgram,
      readJson,
      base: seenVersion,
      errorAnswer: (error) => errorResponse(error, "chat", newId("request", clock.nowMs())),
    });
  });
  for (const name of operationNames) {
    const { method, path } = operationPaths[name];
    app.on(method, path, requireKey, async (context) => await (await served())(name, context));
  }
  app.get("/openapi.json", requireKey, async (context) => {
    const { operatorDocument } = await import("../operations/document.ts");
    return context.json(operatorDocument(gateway.config.baseUrl ?? "/"));
  });
  for (const path of ["/api/*", "/catalog/*"]) {
    app.all(path, requireKey, (context) => {
      const error = new GatewayError("not_found", `There is no ${context.req.path}`);
      return errorResponse(error, "chat", newId("request", clock.nowMs()));
    });
  }
  return app;
}
