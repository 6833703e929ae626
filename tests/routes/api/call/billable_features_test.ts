/** Calls that would cost the operator more than tokens: refused for nothing, or served where a route allows them. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

const paths = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
} as const;
type Style = keyof typeof paths;
const styles: readonly Style[] = ["messages", "chat", "responses"];

const routes = (allow: readonly string[]) => [{ provider: "sandbox", style: styles, allow }];

function model(id: string, routes: readonly object[]) {
  const price = { unit: "token", vndPerMtok: 1_000_000 };
  return { id, kind: "chat", family: "test", price, routes };
}

/** `thrifty` allows nothing, `generous` searches and tiers, `both` has one such route behind one that allows nothing. */
function open(): Promise<TestGateway> {
  return openTestGateway({
    env: { GATEWAY_OPERATOR_KEY: "operator-key-of-24-characters" },
    file: () => ({
      defaultModel: "thrifty",
      providers: { sandbox: { kind: "sandbox" }, other: { kind: "sandbox" } },
      models: [
        model("thrifty", routes([])),
        model("generous", routes(["web_search", "service_tier"])),
        model("converted", [{ provider: "sandbox", style: "chat" }]),
        model("both", [
          { provider: "sandbox", style: "chat", priority: 0, countTokens: true },
          { provider: "other", style: "chat", priority: 1, allow: ["web_search"] },
        ]),
      ],
    }),
  });
}

const plain = (style: Style, model: string) => ({
  model,
  ...(style === "responses"
    ? { input: "Hi", max_output_tokens: 50 }
    : { messages: [{ role: "user", content: "Hi" }], max_tokens: 50 }),
});

async function ask(gateway: TestGateway, key: string, path: string, body: object, headers = {}) {
  const response = await gateway.fetch(apiPost(`http://gateway${path}`, key, body, headers));
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

async function receiptsOf(gateway: TestGateway, accountId: AccountId) {
  return (await listReceipts(gateway.kv, accountId, { limit: 100 })).receipts;
}

const search = {
  messages: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
  chat: { web_search_options: {} },
  responses: { tools: [{ type: "web_search" }] },
} satisfies Record<Style, object>;
const own = {
  messages: { name: "f", input_schema: { type: "object" } },
  responses: { type: "function", name: "f", parameters: { type: "object" } },
};
const place: Record<Style, string> = {
  messages: "tools.0",
  chat: "web_search_options",
  responses: "tools.0",
};

Deno.test("a billable feature is a 400 in the caller's style that names it, streamed or not, and costs nothing", async () => {
  await using gateway = await open();
  const { key, accountId } = await gateway.customer(1_000_000);
  for (const style of styles) {
    for (const stream of [false, true]) {
      const body = { ...plain(style, "thrifty"), ...search[style], stream };
      const { status, headers, text } = await ask(gateway, key, paths[style], body);
      assertEquals([status, headers.get("x-should-retry")], [400, "false"], text);
      const answer = JSON.parse(text);
      assertEquals([answer.type, answer.error.type], ["error", "invalid_request_error"]);
      assert(answer.error.message.startsWith(`${place[style]}: searching the web`), text);
      assert(answer.error.message.includes("leave it out"), text);
      if (style === "messages") assertEquals(answer.request_id, headers.get("request-id"));
      else assertEquals([answer.error.param, answer.error.code], [place[style], "invalid_request"]);
    }
  }
  const receipts = await receiptsOf(gateway, accountId);
  assertEquals(receipts.length, 2 * styles.length);
  assert(
    receipts.every(({ outcome, costMicroVnd }) => outcome === "failed" && costMicroVnd === 0n),
  );
  const balance = await gateway.assembled.gateway.wallet.balance(accountId);
  assertEquals([balance.totalMicroVnd, balance.reservedMicroVnd], [1_000_000_000_000n, 0n]);
  assert((await verifyStore(gateway.kv)).ok);
});

Deno.test("the same call is served and billed where the route allows it", async () => {
  await using gateway = await open();
  const { key, accountId } = await gateway.customer(1_000_000);
  for (const style of styles) {
    for (const more of [search[style], { service_tier: "priority" }]) {
      const body = { ...plain(style, "generous"), ...more };
      const { status, headers, text } = await ask(gateway, key, paths[style], body);
      assertEquals([status, headers.get("x-gateway-conversion")], [200, null], text);
    }
  }
  const receipts = await receiptsOf(gateway, accountId);
  assert(receipts.every(({ costMicroVnd }) => costMicroVnd > 0n));
  assertEquals(receipts.length, 2 * styles.length);
});

Deno.test("a call skips routes that do not allow its feature and uses one that does", async () => {
  await using gateway = await open();
  const { key, accountId } = await gateway.customer(1_000_000);
  const usual = await ask(gateway, key, paths.chat, plain("chat", "both"));
  const dear = { ...plain("chat", "both"), web_search_options: {} };
  const searching = await ask(gateway, key, paths.chat, dear);
  assertEquals([usual.status, searching.status], [200, 200], searching.text);
  const [second, first] = await receiptsOf(gateway, accountId);
  assertEquals([first?.route, second?.route], ["sandbox/both", "other/both"]);
  assertEquals(second?.attempts.map(({ route, outcome }) => `${route} ${outcome}`), [
    "sandbox/both feature_unavailable",
    "other/both ok",
  ]);
  const health = gateway.assembled.gateway.router.reports()
    .find(({ route }) => route.id === "sandbox/both")?.operations.chat;
  assertEquals([health?.state, health?.windowFailures], ["closed", 0]);

  const tier = { ...plain("chat", "both"), service_tier: "priority" };
  assertEquals((await ask(gateway, key, paths.chat, tier)).status, 400);
});

Deno.test("while the only route that allows a feature is out of service the call is a 503 that may be retried", async () => {
  await using gateway = await open();
  const { key } = await gateway.customer(1_000_000);
  const taken = await gateway.fetch(
    new Request(`http://gateway/operator/routes/${encodeURIComponent("other/both")}/disable`, {
      method: "POST",
      headers: { authorization: "Bearer operator-key-of-24-characters" },
      body: JSON.stringify({ reason: "test" }),
    }),
  );
  assertEquals(taken.status, 200, await taken.text());
  const dear = { ...plain("chat", "both"), web_search_options: {} };
  const { status, headers, text } = await ask(gateway, key, paths.chat, dear);
  assertEquals([status, headers.get("x-should-retry")], [503, "true"], text);
  assertEquals(JSON.parse(text).error.type, "service_unavailable");
  assertEquals((await ask(gateway, key, paths.chat, plain("chat", "both"))).status, 200);
});

Deno.test("a model without a route in the caller's style drops and names fields that its style does not have", async () => {
  await using gateway = await open();
  const { key } = await gateway.customer(1_000_000);
  for (const style of ["messages", "responses"] as const) {
    const alone = { ...plain(style, "converted"), ...search[style] };
    const refused = await ask(gateway, key, paths[style], alone);
    assert(refused.status === 400 && refused.text.includes("tools.0"), refused.text);
    const body = { ...alone, tools: [...search[style].tools, own[style]] };
    const { status, headers, text } = await ask(gateway, key, paths[style], body);
    assertEquals([status, headers.get("x-gateway-conversion")], [200, "dropped=tools.0"], text);
  }
});

Deno.test("dispensable fields are left out of a native call, and named", async () => {
  await using gateway = await open();
  const { key } = await gateway.customer(1_000_000);
  const body = { ...plain("messages", "thrifty"), fallbacks: "default" };
  const beta = { "anthropic-beta": "files-api-2025-04-14,context-1m-2025-08-07" };
  const spared = await ask(gateway, key, paths.messages, body, beta);
  assertEquals([spared.status, spared.headers.get("x-gateway-conversion")], [
    200,
    "dropped=fallbacks,anthropic-beta.context-1m",
  ], spared.text);
  const strict = { ...beta, "x-gateway-strict": "true" };
  const told = await ask(gateway, key, paths.messages, body, strict);
  assertEquals(told.status, 400);
  assert(JSON.parse(told.text).error.message.includes("fallbacks, anthropic-beta.context-1m"));
});

Deno.test("token counting accepts a request with a billable feature", async () => {
  await using gateway = await open();
  const { key } = await gateway.customer(0);
  for (const id of ["thrifty", "both"]) {
    const body = { ...plain("messages", id), ...search.messages, service_tier: "priority" };
    const beta = { "anthropic-beta": "context-1m-2025-08-07" };
    const { status, text } = await ask(gateway, key, "/v1/messages/count_tokens", body, beta);
    assertEquals(status, 200, text);
    assert(JSON.parse(text).input_tokens > 0);
  }
});

Deno.test("with an empty wallet, an error of the request comes before the 402", async () => {
  await using gateway = await open();
  const { key, accountId } = await gateway.customer(0);
  for (const style of styles) {
    const post = (model: string, more: object, headers = {}) =>
      ask(gateway, key, paths[style], { ...plain(style, model), ...more }, headers);
    const refused = await post("thrifty", search[style]);
    assertEquals(refused.status, 400, refused.text);
    assert(/web_search_options|tools\.0/.test(refused.text), refused.text);
    assertEquals((await post("thrifty", {})).status, 402);
    assertEquals((await post("generous", search[style])).status, 402);
    // Its second route would do, but speaks Chat: nothing of a search alone could go there in another style.
    const { status } = await post("both", search[style]);
    assertEquals(status, style === "chat" ? 402 : 400);
    assertEquals((await post("thrifty", { stream: true, ...search[style] })).status, 400);
  }
  const strict = await ask(gateway, key, paths.messages, {
    ...plain("messages", "converted"),
    top_k: 4,
  }, { "x-gateway-strict": "true" });
  assertEquals(strict.status, 400, strict.text);
  assert(strict.text.includes("top_k"), strict.text);
  assertEquals(await receiptsOf(gateway, accountId), []);
});
