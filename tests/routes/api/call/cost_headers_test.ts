/** Every answer under `/v1` that is not streamed has the headers of tokens and cost, whatever part of the server gives it. */
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { receiptHeaders } from "../../../../routes/api/call/response_headers.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";
import { apiPost, bearerPost } from "../../../support/api_post.ts";

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
  const response = await fetch(
    apiPost(`${gateway.address}/v1/messages/count_tokens`, /sk-\S+/.exec(banner)?.[0] ?? "", {
      model: "premium",
      messages: [{ role: "user", content: "Hi" }],
    }),
  );
  const { headers } = response;
  assertEquals(headers.get("x-gateway-price-vnd-per-mtok"), "8300");
  assertEquals(headers.get("x-gateway-model"), "premium-1");
  assertEquals(headers.get("x-gateway-model-mapped-from"), "premium");
  assertEquals(await costOf(response), [200, "0", "0", "0"]);
});

Deno.test("the headers that a receipt knows are those that the answer had", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000_000);
  const messages = [{ role: "user", content: "Hello" }];
  const calls: readonly (readonly [string, Record<string, unknown>, number])[] = [
    ["/v1/chat/completions", { model: "premium-1", max_tokens: 20, messages }, 6],
    ["/v1/chat/completions", { model: "premium", max_tokens: 20, messages, stream: true }, 4],
    ["/v1/images/generations", { model: "image-1", prompt: "A cat" }, 4],
    ["/v1/audio/speech", { model: "speech-1", input: "Hello", voice: "lan" }, 4],
  ];
  for (const [path, body, count] of calls) {
    const answer = await test.fetch(bearerPost(`https://gw.example${path}`, key, body));
    assertEquals(answer.status, 200, path);
    await answer.arrayBuffer();
    const requestId = parseId("request", answer.headers.get("x-request-id") ?? "");
    assert(requestId !== undefined, path);
    const receipt = await readReceipt(test.kv, requestId);
    assert(receipt !== undefined, path);
    const known = receiptHeaders(receipt);
    assertEquals(known.length, count, `${path}: ${known.map(([name]) => name).join()}`);
    assertEquals(known, known.map(([name]) => [name, answer.headers.get(name) ?? ""]), path);
  }
});
