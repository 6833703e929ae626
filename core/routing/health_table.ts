/** The health of all routes, one entry per route and operation, and the reports that are made from it. */
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { ProviderAccess } from "./provider_access.ts";
import { RouteHealth } from "./health/route_health.ts";
import {
  type ModelStatus,
  type Operation,
  operations,
  type RouteReport,
} from "./contract/router.ts";

/** Makes entries when they are first asked for. Bounded by the routes of the catalog. */
export class HealthTable {
  readonly #health = new Map<Route, Map<Operation, RouteHealth>>();

  of(route: Route, operation: Operation): RouteHealth {
    let byOperation = this.#health.get(route);
    if (byOperation === undefined) this.#health.set(route, byOperation = new Map());
    let health = byOperation.get(operation);
    if (health === undefined) byOperation.set(operation, health = new RouteHealth());
    return health;
  }

  /** The entry of a route that was used for an operation, without making one. */
  known(route: Route, operation: Operation): RouteHealth | undefined {
    return this.#health.get(route)?.get(operation);
  }

  /** Forgets routes that are no longer configured. A call that still runs on one makes an entry that the next change forgets. */
  keepOnly(routes: ReadonlySet<Route>): void {
    for (const route of this.#health.keys()) if (!routes.has(route)) this.#health.delete(route);
  }

  /** All entries that were made. */
  *entries(): Iterable<{ route: Route; operation: Operation; health: RouteHealth }> {
    for (const [route, byOperation] of this.#health) {
      for (const [operation, health] of byOperation) yield { route, operation, health };
    }
  }

  /** The state of a model by what is known of its routes in service. */
  stateOf(inService: readonly Route[], nowMs: number): ModelStatus["state"] {
    let allWell = inService.length > 0;
    let someWorks = false;
    for (const route of inService) {
      const known = [...this.#health.get(route)?.values() ?? []];
      const states = known.map((health) => health.availability(nowMs));
      if (states.some((state) => state !== "yes")) allWell = false;
      if (states.length === 0 || states.some((state) => state !== "no")) someWorks = true;
    }
    return allWell ? "up" : someWorks ? "degraded" : "down";
  }
}

/** What the report on routes is made from. */
export interface ReportSources {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly switchOf: (routeId: string) => RouteReport["switched"];
  readonly health: HealthTable;
  readonly access: ProviderAccess;
}

/** All that is known of every route, for operators. */
export function routeReports(
  { catalog, clock, switchOf, health, access }: ReportSources,
): RouteReport[] {
  const nowMs = clock.monotonicMs();
  const wallOffsetMs = clock.nowMs() - nowMs;
  const reportOf = (model: Model, route: Route): RouteReport => {
    const views: RouteReport["operations"] = {};
    for (const operation of operations) {
      const known = health.known(route, operation);
      if (known !== undefined) views[operation] = known.view(nowMs, wallOffsetMs);
    }
    return {
      model: model.id,
      route,
      switched: switchOf(route.id),
      operations: views,
      credentials: access.counts(route, nowMs),
    };
  };
  return catalog.models.flatMap((model) => model.routes.map((route) => reportOf(model, route)));
}
