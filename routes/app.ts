/** All of HTTP: the API first, then pages; whatever is left is a 404 before anyone is asked for a key. */
import { Hono } from "hono";
import { createHealth } from "./health.ts";
import { createOperatorApi } from "./operator_api/app.ts";
import { type ConnectionBindings, createApi, notFound } from "./v1/app.ts";
import type { Gateway } from "./v1/gateway.ts";

export interface AppOptions {
  /** Turns true when the process was told to end. */
  readonly stopping: () => boolean;
}

/** Builds the whole application. */
export function createApp(
  gateway: Gateway,
  options: AppOptions,
): Hono<{ Bindings: ConnectionBindings }> {
  const app = createApi(gateway);
  app.route("/", createHealth(gateway, options.stopping));
  app.route("/operator", createOperatorApi(gateway));
  app.notFound((context) => notFound(gateway, context.req.raw));
  return app;
}
