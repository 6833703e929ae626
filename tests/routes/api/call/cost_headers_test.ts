/** Every answer under `/v1` that is not streamed has the headers of tokens and cost, whatever part of the server gives it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";

const told = ["input-tokens", "output-tokens", "cost-vnd"];

async function costOf(response: Response): Promise<(string | number | null)[]> {
  await response.body?.cancel();
  return [response.status, ...told.map((name) => response.headers.get(`x-gateway-${name}`))];
}

Deno.test("usage, status and unknown paths have cost headers of 0", async () => {
  await using gateway = await serveGateway();
  const banner = await gateway.line(/: sk-\S+/);
  const key = /sk-\S+/.exec(banner)?.[0];
  assert(key !== undefined);
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${gateway.address}${path}`, { headers: { "x-api-key": key }, ...init });

  for (const path of ["/v1/balance", "/v1/usage", "/v1/receipts", "/v1/status"]) {
    assertEquals(await costOf(await ask(path)), [200, "0", "0", "0"], path);
  }
  assertEquals(await costOf(await ask("/v1/balance", { headers: {} })), [401, "0", "0", "0"]);
  assertEquals(await costOf(await ask("/v1/edits")), [404, "0", "0", "0"]);
  assertEquals(await costOf(await ask("/v1/models", { method: "DELETE" })), [405, "0", "0", "0"]);
  assertEquals(await costOf(await ask("/v1/responses")), [405, "0", "0", "0"]);
  const page = { "x-api-key": key, origin: "https://page.example" };
  assertEquals(await costOf(await ask("/v1/status", { headers: page })), [200, "0", "0", "0"]);
});

Deno.test("a token count has the price header of its model, as the call would", async () => {
  await using gateway = await serveGateway();
  const banner = await gateway.line(/: sk-\S+/);
  const response = await fetch(`${gateway.address}/v1/messages/count_tokens`, {
    method: "POST",
    headers: { "x-api-key": /sk-\S+/.exec(banner)?.[0] ?? "", "content-type": "application/json" },
    body: JSON.stringify({ model: "premium", messages: [{ role: "user", content: "Hi" }] }),
  });
  const { headers } = response;
  assertEquals(headers.get("x-gateway-price-vnd-per-mtok"), "8300");
  assertEquals(headers.get("x-gateway-model"), "premium-1");
  assertEquals(headers.get("x-gateway-model-mapped-from"), "premium");
  assertEquals(await costOf(response), [200, "0", "0", "0"]);
});
