/** Routes in several regions: the nearest answers, another one where it fails, and the receipt says which. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { bearerPost } from "../../../support/api_post.ts";

const answer = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "hello" },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};

/** A provider that answers, or fails while `isDown` says so. */
function startProvider(isDown: () => boolean) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.bytes();
    return isDown() ? new Response("down", { status: 500 }) : Response.json(answer);
  });
  return { baseUrl: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}

Deno.test("a far route answers while the near one fails, and the receipt names both regions", async () => {
  let isNearDown = false;
  const near = startProvider(() => isNearDown);
  const far = startProvider(() => false);
  await using gateway = await openTestGateway({
    env: { GATEWAY_REGION: "vn", PROVIDER_KEY: "k".repeat(20) },
    file: () => ({
      defaultModel: "m",
      providers: Object.fromEntries(
        Object.entries({ far, near }).map(([name, { baseUrl }]) => [
          name,
          { kind: "http", baseUrl, apiKeyEnv: "PROVIDER_KEY" },
        ]),
      ),
      models: [{
        id: "m",
        kind: "chat",
        family: "f",
        price: { unit: "request", vnd: 1 },
        routes: [
          { provider: "far", style: "chat", region: "us" },
          { provider: "near", style: "chat", region: "vn" },
        ],
      }],
    }),
  });
  const { key } = await gateway.customer(100);
  const call = async () => {
    const response = await gateway.fetch(
      bearerPost("http://gateway.test/v1/chat/completions", key, {
        model: "m",
        messages: [{ role: "user", content: "hi" }],
      }),
    );
    assertEquals(response.status, 200, await response.text());
  };
  const lastCall = () => {
    const line = gateway.log.findLast((one) => one.includes('"message":"call"'));
    assert(line !== undefined);
    return JSON.parse(line);
  };
  await call();
  const { region, route, attempts } = lastCall();
  assertEquals([region, route], ["vn", "near/m"]);
  assertEquals(attempts.map((one: { region: string }) => one.region), ["vn"]);
  isNearDown = true;
  await call();
  const second = lastCall();
  assertEquals([second.region, second.route], ["vn", "far/m"]);
  assertEquals(second.attempts.map((one: { region: string }) => one.region), ["vn", "us"]);
  isNearDown = false;
  await call();
  assertEquals(lastCall().route, "near/m");
  await Promise.all([near.stop(), far.stop()]);
});
