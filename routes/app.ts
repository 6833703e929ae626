/** All of HTTP: the API first, then pages; whatever is left is a 404 before anyone is asked for a key. */
import { Hono } from "hono";
import { type ConnectionBindings, createApi, notFound } from "./v1/app.ts";
import type { Gateway } from "./v1/gateway.ts";

/** Builds the whole application. */
export function createApp(gateway: Gateway): Hono<{ Bindings: ConnectionBindings }> {
  const app = createApi(gateway);
  app.notFound((context) => notFound(gateway, context.req.raw));
  return app;
}
