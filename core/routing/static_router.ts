/** Routing without health: by priority, the caller's own style first. For tools and tests that need no more. */
import type { Catalog, Route, RouteStyle } from "../catalog/catalog.ts";
import type { RouteAccess } from "../call/chat_exchange.ts";
import { invariant } from "../assert.ts";
import type { Transport } from "../upstream/transport.ts";
import type { Router } from "./router.ts";

export interface StaticRouterOptions {
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider, by its name. */
  readonly transportOf: (provider: string) => Transport;
}

function byPriorityAndStyle(style: RouteStyle) {
  return (a: Route, b: Route) =>
    a.priority - b.priority || Number(b.style === style) - Number(a.style === style);
}

export function createStaticRouter(options: StaticRouterOptions): Router {
  const { catalog, providerKeys, transportOf } = options;
  return {
    candidates: (model, { style }) => [...model.routes].sort(byPriorityAndStyle(style)),
    access(route): RouteAccess {
      const provider = catalog.providers[route.provider];
      invariant(provider !== undefined, `Unknown provider ${route.provider}`);
      return {
        provider,
        secret: providerKeys[route.provider]?.[0],
        transport: transportOf(route.provider),
      };
    },
    report() {},
  };
}
