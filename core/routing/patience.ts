/** How long a call waits for a route, by what the operator wrote of its provider and its model. */
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import { limits } from "../limits.ts";

/**
 * Time for the first output of a stream, or for a whole answer. `undefined`: as long as the call may take, since a
 * whole answer of a slow model cannot be told from a hanging one.
 */
export function patienceMs(
  catalog: Catalog,
  model: Model,
  route: Route,
  stream: boolean,
): number | undefined {
  const provider = catalog.providers[route.provider];
  const ownMs = provider?.kind === "http" ? provider.timeouts.firstOutputMs : undefined;
  if (!stream) return ownMs;
  return Math.min(ownMs ?? Infinity, model.slowAfterMs);
}

/** Longest silence within the answer of a route. */
export function idleMs(catalog: Catalog, route: Route): number {
  const provider = catalog.providers[route.provider];
  return provider?.kind === "http" ? provider.timeouts.idleMs : limits.upstreamIdleMs;
}
