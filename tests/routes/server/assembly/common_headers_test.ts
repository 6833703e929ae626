/** Whatever kind of answer leaves the server, it has the common headers; each kind is asked for once over a socket. */
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { newId, parseId } from "../../../../core/lib/ids/ids.ts";
import { withCommonHeaders } from "../../../../routes/http/own_headers.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";

const commonNames = [...withCommonHeaders(new Response(), newId("request", 0)).headers.keys()];

interface Kind {
  readonly name: string;
  readonly path: string;
  readonly status: number;
  readonly init?: RequestInit;
}

const json = { "content-type": "application/json" };

function kindsOf(key: string, baseUrl: string): readonly Kind[] {
  const auth = { authorization: `Bearer ${key}` };
  const call = (path: string, body: unknown, headers: HeadersInit = { ...auth, ...json }) => ({
    path,
    init: { method: "POST", headers, body: JSON.stringify(body) },
  });
  const chat = { model: "premium-1", messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
  const messagesModel = { ...auth, ...json, "anthropic-version": "2023-06-01" };
  const form = { ...json, "content-type": "application/x-www-form-urlencoded", origin: baseUrl };
  return [
    { name: "whole answer", status: 200, ...call("/v1/chat/completions", chat) },
    { name: "stream", status: 200, ...call("/v1/chat/completions", { ...chat, stream: true }) },
    {
      name: "answer to a page of another origin",
      status: 200,
      ...call("/v1/chat/completions", chat, { ...auth, ...json, origin: "https://other.example" }),
    },
    { name: "Messages answer", status: 200, ...call("/v1/messages", chat, messagesModel) },
    { name: "count of tokens", status: 200, ...call("/v1/messages/count_tokens", chat) },
    { name: "invalid request", status: 400, ...call("/v1/responses", { model: 1 }) },
    { name: "no key", status: 401, ...call("/v1/messages", chat, json) },
    { name: "list of models", status: 200, path: "/v1/models", init: { headers: auth } },
    { name: "one model", status: 200, path: "/v1/models/premium-1", init: { headers: auth } },
    { name: "unknown model", status: 404, path: "/v1/models/none", init: { headers: auth } },
    { name: "list of videos", status: 200, path: "/v1/videos", init: { headers: auth } },
    { name: "usage", status: 200, path: "/v1/usage", init: { headers: auth } },
    { name: "usage without a key", status: 401, path: "/v1/balance" },
    { name: "usage, wrong method", status: 405, path: "/v1/usage", init: { method: "POST" } },
    { name: "status", status: 200, path: "/v1/status" },
    { name: "unknown path", status: 404, path: "/v1/none" },
    { name: "wrong method", status: 405, path: "/v1/messages" },
    {
      name: "preflight",
      status: 204,
      path: "/v1/messages",
      init: { method: "OPTIONS", headers: { origin: "https://other.example" } },
    },
    { name: "page", status: 200, path: "/" },
    { name: "head of a page", status: 200, path: "/sign-in", init: { method: "HEAD" } },
    { name: "redirect", status: 303, path: "/keys" },
    {
      name: "unknown page",
      status: 404,
      path: "/none",
      init: { headers: { accept: "text/html" } },
    },
    {
      name: "form of another site",
      status: 403,
      path: "/sign-in",
      init: { method: "POST", headers: { ...form, origin: "https://other.example" }, body: "a=b" },
    },
    { name: "unknown asset", status: 404, path: "/assets/none.css" },
    { name: "notice of an unknown bank", status: 404, ...call("/hooks/bank/none", {}, json) },
    { name: "operator's API without a key", status: 404, path: "/operator/routes" },
    { name: "operator's pages", status: 303, path: "/operator" },
    { name: "metrics without a key", status: 404, path: "/metrics" },
    { name: "liveness", status: 200, path: "/healthz" },
    { name: "readiness", status: 200, path: "/readyz" },
  ];
}

Deno.test("every kind of answer has the common headers", async (t) => {
  assert(commonNames.length > 0);
  await using gateway = await serveGateway();
  const { address } = gateway;
  const key = /: (\S+)$/.exec(await gateway.line(/Demo key/))?.[1] ?? "";
  for (const { name, path, status, init } of kindsOf(key, address)) {
    await t.step(name, async () => {
      const response = await fetch(`${address}${path}`, { redirect: "manual", ...init });
      await response.body?.cancel();
      assertEquals(response.status, status);
      const missing = commonNames.filter((header) => !response.headers.has(header));
      assertEquals(missing, []);
      const requestId = response.headers.get("x-request-id") ?? "";
      assert(parseId("request", requestId) !== undefined, requestId);
      assertEquals(response.headers.get("request-id"), requestId);
    });
  }
  await t.step("a host header that makes no URL", async () => {
    const { port } = new URL(address);
    using connection = await Deno.connect({ port: Number(port) });
    await connection.write(
      new TextEncoder().encode("GET / HTTP/1.1\r\nhost: [\r\nconnection: close\r\n\r\n"),
    );
    const text = await new Response(connection.readable).text();
    assertMatch(text, /^HTTP\/1\.1 400 /);
    for (const header of commonNames) assertMatch(text, new RegExp(`^${header}: `, "m"));
  });
});

Deno.test("a header that an answer already has keeps its value", () => {
  const replayed = new Response(null, { headers: { "x-request-id": "req_first" } });
  const { headers } = withCommonHeaders(replayed, newId("request", 0));
  assertEquals(headers.get("x-request-id"), "req_first");
});
