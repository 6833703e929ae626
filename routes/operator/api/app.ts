/**
 * The operator's API: routes, maintenance, the catalogue and claims on providers, behind the key in `GATEWAY_OPERATOR_KEY`. Without
 * that key these paths do not exist. Changes reach every instance within two seconds.
 *
 * - Folder `routes/operator/api/`: the operator's API: routes, maintenance, catalogue, claims on providers.
 * - In: requests with the operator's key.
 * - Out: JSON, switches that every instance shares.
 * - Never: answers without the operator's key.
 */
import { ambiguousNumbers } from "../../../core/billing/money/read_amount.ts";
import { type Context, type Handler, Hono, type Next } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { loadedOnce } from "../../../core/lib/base/assert.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { maxSwitchReasonChars } from "../../../kv/engine/control/control.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { RouteReport } from "../../../core/routing/contract/router.ts";
import { providerOfRoute, readClaims } from "../../../kv/money/ledger/provider_claims.ts";
import { operatorProgram } from "../../../kv/people/audit/operator_audit.ts";
import {
  routeActions,
  setMaintenance,
  switchRoute,
} from "../../../kv/people/operators/switches.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { errorResponse, maintenanceBody } from "../../http/error_response.ts";
import { readRequestBody } from "../../http/body/request_body.ts";
import { boundedRange, requireRange } from "../../usage_api/range.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { sameSecret } from "../../../core/lib/hash/sha256.ts";

// The guard of paths that need the operator's key.

/**
 * Admits only requests with the operator's key as `Authorization: Bearer`. Without a sent or a configured key the path
 * does not exist.
 */
export function requireOperatorKey(
  { config, clock }: Pick<Gateway, "config" | "clock">,
): (context: Context, next: Next) => Promise<Response | undefined> {
  return async (context, next) => {
    const sent = /^bearer +(\S+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
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

const switchBody = z.strictObject({
  reason: z.string().min(1).max(maxSwitchReasonChars).default("operator"),
});

function routeJson({ model, route, switched, operations, credentials }: RouteReport) {
  return {
    id: route.id,
    model,
    provider: route.provider,
    style: route.style,
    region: route.region ?? null,
    priority: route.priority,
    weight: route.weight,
    switched: switched ?? "enabled",
    credentials,
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, view]) => [name, {
        state: view.state,
        window: { calls: view.windowCalls, failures: view.windowFailures },
        consecutive_failures: view.consecutiveFailures,
        first_output_ms: view.firstOutputMs ?? null,
        tokens_per_second: view.tokensPerSecond ?? null,
        in_flight: view.inFlight,
        stuck: view.stuck,
        next_probe_at: view.nextProbeAtMs === undefined
          ? null
          : new Date(view.nextProbeAtMs).toISOString(),
        reason: view.reason ?? null,
      }]),
    ),
  };
}

/** Builds the app; mount it at `/operator`. */
export function createOperatorApi(gateway: Gateway): Hono {
  const { control, router, clock, deadlines, log } = gateway;
  const app = new Hono();
  const requireKey = requireOperatorKey(gateway);
  const act = () => ({ operator: operatorProgram, nowMs: clock.nowMs() });

  /** Reads the JSON of a body; an empty body counts as an empty object. */
  async function readJson(
    context: Context,
    maxBytes = maxOperatorBodyBytes,
  ): Promise<unknown> {
    const bytes = await readRequestBody(context.req.raw, deadlines, { maxBytes });
    if (bytes.length === 0) return {};
    const text = new TextDecoder().decode(bytes);
    const problems = ambiguousNumbers(text);
    if (problems.length > 0) throw new GatewayError("invalid_request", problems.join("; "));
    try {
      return JSON.parse(text);
    } catch {
      throw new GatewayError("invalid_json", "The body is not JSON");
    }
  }

  const answerError = (error: Error): Response => {
    const known = error instanceof z.ZodError
      ? new GatewayError(
        "invalid_request",
        error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; "),
      )
      : error;
    return errorResponse(known, "chat", newId("request", clock.nowMs()));
  };
  app.onError(answerError);

  app.get(
    "/routes",
    requireKey,
    (context) => context.json({ object: "list", data: router.reports().map(routeJson) }),
  );

  app.post("/routes/:id{.+}/:action{disable|enable|drain}", requireKey, async (context) => {
    const id = router.reports().map(({ route }) => route.id)
      .find((one) => one === context.req.param("id"));
    const action = routeActions.find((one) => one === context.req.param("action"));
    if (id === undefined || action === undefined) {
      throw new GatewayError("not_found", "There is no such route");
    }
    const { reason } = switchBody.parse(await readJson(context));
    await switchRoute(control, { routeId: id, action, reason }, act());
    log.event("warn", `route ${action}`, { route: id, reason });
    return context.json({ id, switched: control.switches.routes[id]?.state ?? "enabled" });
  });

  app.get("/provider-claims", requireKey, async (context) => {
    const query = new URL(context.req.url).searchParams;
    const asked = requireRange(query, vietnamDay(clock.nowMs()));
    const { range, cut } = boundedRange(asked);
    const { claims, isPartial } = await readClaims(gateway.kv, range);
    return context.json({
      object: "list",
      from: range.fromDay,
      to: range.toDay,
      partial: cut || isPartial,
      data: claims.map(({ day, route, calls, claimMicroVnd }) => ({
        day,
        provider: providerOfRoute(route),
        route,
        calls,
        claim_vnd: formatVnd(claimMicroVnd),
      })),
    });
  });

  // Loaded with the first request for the catalogue.
  const catalogApi = loadedOnce(async () => {
    const { createCatalogApi } = await import("./catalog.ts");
    const api = createCatalogApi(gateway, readJson);
    api.onError(answerError);
    return api;
  });
  const serveCatalog: Handler = async (context) => (await catalogApi()).fetch(context.req.raw);
  app.all("/catalog", requireKey, serveCatalog);
  app.all("/catalog/*", requireKey, serveCatalog);

  app.get(
    "/maintenance",
    requireKey,
    (context) => context.json({ maintenance: control.switches.maintenance ?? null }),
  );

  app.post("/maintenance", requireKey, async (context) => {
    const { on, message } = maintenanceBody.parse(await readJson(context));
    await setMaintenance(control, on ? message : undefined, act());
    log.event("warn", on ? "maintenance on" : "maintenance off");
    return context.json({ maintenance: control.switches.maintenance ?? null });
  });
  return app;
}
