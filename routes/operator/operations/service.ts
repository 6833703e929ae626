/** Operations on the service: routes, maintenance, and what providers are owed for failed calls. */
import { z } from "zod";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import type { RouteReport } from "../../../core/routing/contract/router.ts";
import { maxSwitchReasonChars, type Switches } from "../../../kv/engine/control/control.ts";
import { providerOfRoute, readClaims } from "../../../kv/money/ledger/provider_claims.ts";
import {
  plainMaintenanceMessage,
  routeActions,
  setMaintenance,
  switchRoute,
} from "../../../kv/people/operators/switches.ts";
import { boundedRange, requireRange } from "../../usage_api/range.ts";
import { operation, refused } from "./contract/operation.ts";
import { proseText } from "./contract/texts.ts";

function routeJson({ model, route, switched, operations, credentials }: RouteReport) {
  return {
    id: route.id,
    model,
    provider: route.provider,
    style: route.style,
    region: route.region ?? null,
    priority: route.priority,
    weight: route.weight,
    switched: switched ?? ("enabled" as const),
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

const routeRow = z.object({
  id: z.string(),
  model: z.string(),
  provider: z.string(),
  style: z.string().optional(),
  region: z.string().nullable(),
  priority: z.number(),
  weight: z.number(),
  switched: z.enum(["enabled", "disabled", "draining"]),
  credentials: z.object({
    count: z.int(),
    resting: z.int(),
    reasons: z.array(z.string()).readonly(),
  }),
  operations: z.record(
    z.string(),
    z.object({
      state: z.string(),
      window: z.object({ calls: z.int(), failures: z.int() }),
      consecutive_failures: z.int(),
      first_output_ms: z.number().nullable(),
      tokens_per_second: z.number().nullable(),
      in_flight: z.int(),
      stuck: z.boolean(),
      next_probe_at: z.iso.datetime().nullable(),
      reason: z.string().nullable(),
    }),
  ),
});

/** Lists routes with their health. */
export const listRoutes = operation({
  name: "routes.list",
  summary: "The routes of all models: switches, health, credentials",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({ object: z.literal("list"), data: z.array(routeRow) }),
  run({ routes }) {
    const data = routes?.().map(routeJson) ?? [];
    return Promise.resolve({ ok: true, body: { object: "list" as const, data } });
  },
});

/** Takes a route out of service, or back in. */
export const turnRoute = operation({
  name: "routes.switch",
  summary: "Takes a route out of service, or back in; running streams continue to their end",
  effect: "acts",
  input: z.strictObject({
    id: z.string(),
    action: z.enum(routeActions),
    reason: proseText(maxSwitchReasonChars).default("operator"),
  }),
  output: z.object({ id: z.string(), switched: z.enum(["enabled", "disabled", "draining"]) }),
  async run({ control, routes, log }, { id, action, reason }, act) {
    if (routes?.().some(({ route }) => route.id === id) !== true) {
      return refused("missing", "not_found", "There is no such route");
    }
    await switchRoute(control, { routeId: id, action, reason }, act);
    log?.event("warn", `route ${action}`, { route: id, reason });
    return {
      ok: true,
      body: { id, switched: control.switches.routes[id]?.state ?? "enabled" as const },
    };
  },
});

/** Lists what providers are owed for calls that failed after they had begun. */
export const listClaims = operation({
  name: "claims.list",
  summary: "Claims on providers per day and route; by default the last 30 days, at most 92",
  effect: "reads",
  input: z.strictObject({ from: z.string().optional(), to: z.string().optional() }),
  output: z.object({
    object: z.literal("list"),
    from: z.string(),
    to: z.string(),
    partial: z.boolean(),
    data: z.array(z.object({
      day: z.string(),
      provider: z.string(),
      route: z.string(),
      calls: z.int(),
      claim_vnd: z.string(),
    })),
  }),
  async run({ kv }, { from, to }, { nowMs }) {
    const query = new URLSearchParams(defined({ from, to }));
    const { range, cut } = boundedRange(requireRange(query, vietnamDay(nowMs)));
    const { claims, isPartial } = await readClaims(kv, range);
    const data = claims.map(({ day, route, calls, claimMicroVnd }) => ({
      day,
      provider: providerOfRoute(route),
      route,
      calls,
      claim_vnd: formatVnd(claimMicroVnd),
    }));
    const { fromDay, toDay } = range;
    const partial = cut || isPartial;
    return { ok: true, body: { object: "list" as const, from: fromDay, to: toDay, partial, data } };
  },
});

const maintenanceState = z.object({
  maintenance: z.object({ message: z.string(), sinceMs: z.number() }).nullable(),
});

function maintenanceOf({ maintenance }: Switches) {
  return { ok: true, body: { maintenance: maintenance ?? null } } as const;
}

/** Shows whether calls are answered. */
export const showMaintenance = operation({
  name: "maintenance.show",
  summary: "Whether maintenance is on, since when, and what clients read",
  effect: "reads",
  input: z.strictObject({}),
  output: maintenanceState,
  run: ({ control }) => Promise.resolve(maintenanceOf(control.switches)),
});

/** Turns maintenance on or off. */
export const turnMaintenance = operation({
  name: "maintenance.set",
  summary: "Turns maintenance on (calls are answered with 503 and the message) or off",
  effect: "acts",
  input: z.strictObject({
    on: z.boolean(),
    message: proseText(maxSwitchReasonChars).default(plainMaintenanceMessage),
  }),
  output: maintenanceState,
  async run({ control, log }, { on, message }, act) {
    await setMaintenance(control, on ? message : undefined, act);
    log?.event("warn", on ? "maintenance on" : "maintenance off");
    return maintenanceOf(control.switches);
  },
});
