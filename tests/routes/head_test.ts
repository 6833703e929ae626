import { assertEquals } from "@std/assert";
import { Hono } from "hono";
import { createApp } from "../../routes/app.ts";
import type { DashboardEnv } from "../../routes/dashboard/mod.ts";
import { openDashboardWorld } from "../support/dashboard_world.ts";
import { openTestGateway } from "../support/gateway_in_process.ts";

/** A page whose stream tells when it is given up. */
function endless() {
  const world = { cancelled: 0 };
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel: () => void world.cancelled++,
    });
  return Object.assign(world, { body });
}

Deno.test("no route of the gateway leaves a stream behind that was asked for with HEAD", async () => {
  await using gateway = await openTestGateway();
  const app = createApp(gateway.assembled.gateway, { stopping: () => false });
  const stream = endless();
  app.get("/stream", () => new Response(stream.body(), { headers: { "x-it": "is" } }));
  const head = await app.request("/stream", { method: "HEAD" });
  assertEquals([head.status, head.headers.get("x-it"), head.body], [200, "is", null]);
  assertEquals(stream.cancelled, 1);
  const whole = await app.request("/stream");
  assertEquals(stream.cancelled, 1, "GET keeps its body");
  await whole.body?.cancel();
});

Deno.test("nor does a page", async () => {
  const stream = endless();
  const pages = new Hono<DashboardEnv>().get("/connect/stream", (c) => c.body(stream.body()));
  await using world = await openDashboardWorld({ more: () => [pages] });
  const response = await world.fetch(
    new Request(`${world.baseUrl}/connect/stream`, { method: "HEAD" }),
  );
  assertEquals([response.status, response.body, stream.cancelled], [200, null, 1]);
});
