/** Counting the tokens of Responses requests: at providers of every style, converted, and as an estimate. */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const path = "/v1/responses/input_tokens";
const styles = ["responses", "messages", "gemini", "chat"] as const;

async function openWorld() {
  const counts = {
    answer: () => Response.json({ input_tokens: 88, totalTokens: 88 }),
  };
  const provider = mockProvider(() => counts.answer());
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "counts-responses",
    models: styles.map((style) => ({
      id: `counts-${style}`,
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "p", style, model: "vendor-9", countTokens: true }],
    })),
  }));
  // Counting is free: an empty wallet may.
  const { key } = await gateway.customer();
  return {
    counts,
    seen: provider.seen,
    async ask(body: JsonObject, at = path) {
      const response = await gateway.fetch(apiPost(`http://gateway.example${at}`, key, body));
      return {
        status: response.status,
        estimate: response.headers.get("x-gateway-estimate"),
        body: await response.json(),
      };
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const prompt = { input: "hi", instructions: "Be brief." };

Deno.test("providers of three styles count a Responses request, each by its own counter", async () => {
  await using world = await openWorld();
  const asked: Readonly<Record<string, readonly [path: string, body: JsonObject]>> = {
    responses: ["/v1/responses/input_tokens", { model: "vendor-9", ...prompt }],
    messages: ["/v1/messages/count_tokens", {
      model: "vendor-9",
      system: [{ type: "text", text: "Be brief." }],
      messages: [{ role: "user", content: "hi" }],
    }],
    gemini: ["/v1beta/models/vendor-9:countTokens", {
      generateContentRequest: {
        model: "models/vendor-9",
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
        systemInstruction: { parts: [{ text: "Be brief." }] },
      },
    }],
  };
  for (const [style, [at, sent]] of Object.entries(asked)) {
    world.seen.length = 0;
    // What is no part of the prompt does not reach a counter, which would refuse it.
    const counted = await world.ask({
      model: `counts-${style}`,
      ...prompt,
      stream: true,
      store: false,
      max_output_tokens: 90,
    });
    assertEquals(counted, {
      status: 200,
      estimate: null,
      body: { object: "response.input_tokens", input_tokens: 88 },
    });
    assertEquals(world.seen.map(({ path, json }) => [path, json()]), [[at, sent]]);
  }
});

Deno.test("a Messages and a Gemini prompt are counted at a Responses provider, converted", async () => {
  await using world = await openWorld();
  const messages = [{ role: "user", content: "hi" }];
  const one = await world.ask({ model: "counts-responses", messages }, "/v1/messages/count_tokens");
  assertEquals(one.body, { input_tokens: 88 });
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const at = "/v1beta/models/counts-responses:countTokens";
  assertEquals((await world.ask({ contents }, at)).body, { totalTokens: 88 });
  for (const { path, json } of world.seen) {
    assertEquals(path, "/v1/responses/input_tokens");
    assert(JSON.stringify(json()).includes("hi"));
  }
});

Deno.test("where no provider counts, the gateway does, and its count grows with the prompt", async () => {
  await using world = await openWorld();
  world.counts.answer = () => new Response("busy", { status: 503 });
  for (const style of styles) {
    const short = await world.ask({ model: `counts-${style}`, ...prompt });
    const tool = { type: "function", name: "read", parameters: { type: "object", properties: {} } };
    const long = await world.ask({
      model: `counts-${style}`,
      ...prompt,
      input: [{ role: "user", content: "one two three four" }, {
        type: "function_call",
        call_id: "c",
        name: "read",
        arguments: "{}",
      }, { type: "function_call_output", call_id: "c", output: "alpha beta gamma" }],
      tools: [tool],
    });
    assertEquals([short.estimate, long.estimate], ["true", "true"]);
    assertEquals(short.body.object, "response.input_tokens");
    assert(short.body.input_tokens > 0 && long.body.input_tokens > short.body.input_tokens + 10);
  }
});

Deno.test("what a call would be refused for is refused when it is counted", async () => {
  await using world = await openWorld();
  for (const wrong of [{}, { input: "hi", previous_response_id: "resp_1" }, { input: 7 }]) {
    const refused = await world.ask({ model: "counts-responses", ...wrong });
    assertEquals(refused.status, 400, JSON.stringify(refused.body));
  }
  assertEquals(world.seen.length, 0);
});
