import { assertEquals } from "../../../support/assert.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { bearerPost } from "../../../support/api_post.ts";

const options = { sanitizeOps: false, sanitizeResources: false };

/** A model with one route of one key, whose provider limits the calls that say so, or fails them. */
async function openWorld() {
  let asked = 0;
  const provider = mockProvider((request) => {
    asked++;
    const text = JSON.stringify(request.json());
    if (text.includes("too often")) {
      return new Response("{}", { status: 429, headers: { "retry-after": "30" } });
    }
    if (text.includes("break")) return new Response("{}", { status: 500 });
    return Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: "Hi" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    });
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "m",
    models: [{
      id: "m",
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [{ provider: "p", style: "chat" }],
    }],
  }));
  return {
    asked: () => asked,
    customer: async () => (await gateway.customer(10_000)).key,
    async call(key: string, content: string): Promise<number> {
      const response = await gateway.fetch(
        bearerPost("http://gateway/v1/chat/completions", key, {
          model: "m",
          messages: [{ role: "user", content }],
        }),
      );
      await response.text();
      return response.status;
    },
    async state(): Promise<string> {
      const status = await (await gateway.fetch(new Request("http://gateway/v1/status"))).json();
      return status.models[0].status;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a rate limit that one customer met rests only that customer", options, async () => {
  await using world = await openWorld();
  const [hasty, other] = [await world.customer(), await world.customer()];
  assertEquals(await world.call(hasty, "too often"), 429);
  assertEquals(await world.call(hasty, "Hello"), 429);
  assertEquals(world.asked(), 1, "the second one did not reach the provider");
  assertEquals(await world.call(other, "Hello"), 200);
  assertEquals(await world.state(), "up");
});

Deno.test("the public status recovers when calls succeed again", options, async () => {
  await using world = await openWorld();
  const key = await world.customer();
  for (let i = 0; i < 6; i++) assertEquals(await world.call(key, "break"), 502);
  assertEquals(await world.state(), "down");
  for (let i = 0; i < 20; i++) assertEquals(await world.call(key, "Hello"), 200);
  assertEquals(await world.state(), "up");
});
