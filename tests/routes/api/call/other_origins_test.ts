/** Pages of other origins get CORS headers; every other answer has none. */
import { assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";

const origin = "https://chat.example";
const body = JSON.stringify({
  model: "premium-1",
  max_tokens: 5,
  messages: [{ role: "user", content: "Hi" }],
});

function corsOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")));
}

const open = { "access-control-allow-origin": "*", "access-control-expose-headers": "*" };

Deno.test("a preflight allows all headers that SDKs send, without a key", async () => {
  await using gateway = await openTestGateway();
  for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/models"]) {
    const response = await gateway.fetch(
      new Request(`http://gateway.example${path}`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-stainless-lang",
        },
      }),
    );
    assertEquals(response.status, 204);
    assertEquals(corsOf(response), {
      ...open,
      "access-control-allow-methods": "GET,POST,DELETE",
      "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
      "access-control-max-age": "86400",
    });
  }
});

Deno.test("answers, streams and errors can be read by pages of other origins", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(1_000);
  const post = (path: string, authorization: string, sent = body) =>
    new Request(`http://gateway.example${path}`, {
      method: "POST",
      headers: { origin, authorization, "content-type": "application/json" },
      body: sent,
    });
  const cases: [Request, number][] = [
    [post("/v1/chat/completions", `Bearer ${key}`), 200],
    [post("/v1/chat/completions", `Bearer ${key}`, body.replace("{", '{"stream":true,')), 200],
    [post("/v1/chat/completions", "Bearer sk-wrong"), 401],
    [post("/v1/messages", `Bearer ${key}`, "{"), 400],
    [post("/v1/nothing", `Bearer ${key}`), 404],
  ];
  for (const [request, status] of cases) {
    const response = await gateway.fetch(request);
    assertEquals([response.status, corsOf(response)], [status, open], request.url);
    if (status === 200) assertEquals(response.headers.has("x-request-id"), true);
    await response.bytes();
  }
});

Deno.test("a request without origin gets no CORS headers, and OPTIONS is not a method of the API", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(1_000);
  const url = "http://gateway.example/v1/chat/completions";
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await gateway.fetch(new Request(url, { method: "POST", headers, body }));
  assertEquals([response.status, corsOf(response)], [200, {}]);
  await response.bytes();
  const options = await gateway.fetch(new Request(url, { method: "OPTIONS" }));
  assertEquals([options.status, corsOf(options)], [405, {}]);
  await options.bytes();
});

Deno.test("pages with a session have no CORS headers", async () => {
  await using gateway = await openTestGateway();
  for (const path of ["/", "/sign-in", "/operator/routes", "/metrics"]) {
    const request = new Request(`http://gateway.example${path}`, { headers: { origin } });
    const response = await gateway.fetch(request);
    assertEquals(corsOf(response), {}, path);
    await response.bytes();
  }
});
