import { assert, assertEquals } from "../../../support/assert.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { listenWith } from "../../../support/gateways/listening_app.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";

/** Status and length of the answers to HEAD and GET, and how much came with the first. */
async function headAndGet(url: string, headers: HeadersInit = {}) {
  const head = await fetch(url, { method: "HEAD", headers });
  const came = await head.arrayBuffer();
  const whole = await fetch(url, { headers });
  const { byteLength } = await whole.arrayBuffer();
  const told = head.headers.get("content-length");
  return { status: head.status, came: came.byteLength, told, whole: whole.status, byteLength };
}

Deno.test("HEAD has the content length of GET: JSON, errors and pages", async () => {
  await using gateway = await serveGateway();
  for (
    const path of ["/v1/models", "/v1/status", "/healthz", "/nowhere", "/sign-in", "/v1/messages"]
  ) {
    const url = gateway.address + path;
    // A compressed page is made while it is sent, so that its length is not known before.
    const plain = { "accept-encoding": "identity" };
    const { status, came, told, whole, byteLength } = await headAndGet(url, plain);
    assertEquals([status, came, told], [whole, 0, String(byteLength)], path);
    assert(byteLength > 0, path);
  }
});

Deno.test("HEAD of a stream has no content length, and stops its source", async () => {
  await using gateway = await openTestGateway();
  const app = createApp(gateway.assembled.gateway, { stopping: () => false });
  const cancelled = Promise.withResolvers<void>();
  app.get("/stream", () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(10)),
        cancel: () => cancelled.resolve(),
      }),
      { headers: { "x-it": "is" } },
    ));
  await using listening = listenWith(gateway.assembled.gateway, app);
  const head = await fetch(`${listening.address}/stream`, { method: "HEAD" });
  await head.body?.cancel();
  const { headers } = head;
  assertEquals([head.status, headers.get("x-it"), headers.get("content-length")], [
    200,
    "is",
    null,
  ]);
  await cancelled.promise;
});
