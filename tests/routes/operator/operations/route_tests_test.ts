/** A test of a route is one real call: its provider's answer is told, its cost is kept, and nobody is charged. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { isJsonObject } from "../../../../core/lib/json/json.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { readMargins } from "../../../../kv/money/costs/margins.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { costedFile } from "../../../support/worlds/costed_calls.ts";
import { operatorApi } from "../../../support/worlds/operator_api.ts";

const path = "/api/route-test";
const email = "van.hanh@example.com";
const asked = { model: "premium-1", route: "sandbox/premium-1#chat" };

/** The API of a gateway whose operator has signed up, with a route to a provider of the test. */
async function world(provider = "http://127.0.0.1:9") {
  const api = await operatorApi({
    env: { GATEWAY_OPERATORS: email, OTHER_KEY: "a-key-of-the-test-0123" },
    file() {
      const file = costedFile();
      file.providers.other = { kind: "http", baseUrl: provider, apiKeyEnv: "OTHER_KEY" };
      const model = file.models.find(({ id }: { id: string }) => id === "premium-1");
      model.routes.push({ provider: "other", style: "chat", priority: 9 });
      return file;
    },
  });
  const { kv, time } = api.gateway;
  const account = await createAccount(kv, { nowMs: time.nowMs(), email });
  return { ...api, kv, account };
}

async function withProvider(answer: () => Response, run: (address: string) => Promise<void>) {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
  try {
    await run(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

Deno.test("a route that works is told with its times; its cost is kept, and nobody is charged", async () => {
  await using w = await world();
  const body = await w.done("routes.test", path, asked);
  assertEquals([body.ok, body.status, body.error], [true, 200, null]);
  assert(typeof body.first_byte_ms === "number" && typeof body.duration_ms === "number");
  assert(Number(body.cost_vnd) > 0);
  await w.gateway.assembled.gateway.wallet.indexOnce();
  const day = vietnamDay(w.gateway.time.nowMs());
  const { total } = await readMargins(w.kv, { fromDay: day, toDay: day });
  assertEquals([total.calls, total.knownCalls, total.revenueMicroVnd], [1, 1, 0n]);
  assertEquals(total.costMicroVnd, BigInt(Math.round(Number(body.cost_vnd) * 1e6)));
  assert((await verifyStore(w.kv)).ok);
  assertEquals(await w.audited(), ["route_tested by operator key: premium-1"]);
});

Deno.test("a provider that refuses or cannot be reached is told in words, and nothing is kept as a cost", async () => {
  const refusal = () =>
    Response.json({
      error: {
        message: "Incorrect API key provided: a-key-of-the-test-0123",
        type: "invalid_request_error",
      },
    }, {
      status: 401,
    });
  await withProvider(refusal, async (address) => {
    await using w = await world(address);
    const body = await w.done("routes.test", path, { ...asked, route: "other/premium-1" });
    assertEquals([body.ok, body.status, body.cost_vnd], [false, 401, null]);
    const { error } = body;
    assert(isJsonObject(error));
    assertEquals(error["code"], "upstream_unreachable");
    assertStringIncludes(String(error["message"]), "Incorrect API key provided");
    assert(!JSON.stringify(body).includes("a-key-of-the-test"));
    assert((await verifyStore(w.kv)).ok);
  });
  await using w = await world();
  const body = await w.done("routes.test", path, { ...asked, route: "other/premium-1" });
  assertEquals([body.ok, body.status, body.first_byte_ms], [false, null, null]);
  assertStringIncludes(JSON.stringify(body.error), "cannot be reached");
});

Deno.test("tests need a chat route, an operator with an account, and are limited to ten a minute", async () => {
  await using w = await world();
  const refused = async (body: unknown) => {
    const answer = await w.send("POST", path, body);
    return [answer.status, answer.body.error.message];
  };
  assertEquals(await refused({ ...asked, route: "x" }), [
    404,
    "There is no such route in this process",
  ]);
  assertEquals(await refused({ model: "image-1", route: "sandbox/image-1" }), [
    400,
    "Only routes of chat models can be tested",
  ]);
  for (let i = 0; i < 10; i++) await w.done("routes.test", path, asked);
  const [status, message] = await refused(asked);
  assertEquals(status, 429);
  assertStringIncludes(String(message), "At most 10 tests a minute");
  w.gateway.time.advance(60_000);
  await w.done("routes.test", path, asked);
  assertEquals((await w.send("POST", path, asked, "wrong-key")).status, 401);

  await using nobody = await operatorApi();
  const answer = await nobody.send("POST", path, asked);
  assertEquals(answer.status, 400);
  assertStringIncludes(answer.body.error.message, "none has signed up yet");
});
