/** Reports of routes, for the tests of pages that show them. */
import type { HealthView } from "../../core/routing/health/route_health.ts";
import type { RouteReport } from "../../core/routing/contract/router.ts";

/** Makes the health of an operation whose last calls failed. */
export function healthOf(state: "closed" | "open"): HealthView {
  return {
    state,
    windowCalls: 10,
    windowFailures: 7,
    consecutiveFailures: 3,
    firstOutputMs: 420,
    tokensPerSecond: undefined,
    nextProbeAtMs: undefined,
    reason: "upstream 503",
    inFlight: 0,
    stuck: false,
  };
}

/** Makes the report of a Chat route that no operator has switched. */
export function reportOf(
  route: Pick<RouteReport["route"], "id" | "provider" | "upstreamModel"> & { model: string },
  state: "closed" | "open",
): RouteReport {
  const { model, ...named } = route;
  return {
    model,
    route: {
      ...named,
      style: "chat",
      region: undefined,
      priority: 1,
      weight: 1,
      countTokens: false,
      allow: new Set(),
      capabilities: {},
    },
    switched: undefined,
    operations: { chat: healthOf(state) },
    credentials: { count: 1, resting: 0, reasons: [] },
  };
}
