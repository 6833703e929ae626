/** A provider of the Gemini style behind the gateway: path, key, answers, errors, receipts. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { bearerPost } from "../../../support/api_post.ts";

const answer = {
  candidates: [{
    content: { role: "model", parts: [{ text: "Hi" }] },
    finishReason: "STOP",
    index: 0,
  }],
  usageMetadata: {
    promptTokenCount: 30,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 7,
    totalTokenCount: 42,
  },
  modelVersion: "vendor-9",
  responseId: "r1",
};

async function openWorld() {
  let refusal: Response | undefined;
  const provider = mockProvider((request) => {
    if (refusal !== undefined) return refusal.clone();
    return request.path.endsWith(":streamGenerateContent?alt=sse")
      ? new Response(`data: ${JSON.stringify(answer)}\r\n\r\n`, {
        headers: { "content-type": "text/event-stream" },
      })
      : Response.json(answer);
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "premium-1",
    models: [{
      id: "premium-1",
      price: { unit: "token", vndPerMtok: 1_000_000 },
      contextWindow: 100_000,
      maxOutputTokens: 10_000,
      routes: [{ provider: "p", style: "gemini", model: "vendor/gemini-3@pro" }],
    }],
  }, "x-goog-api-key"));
  const { key } = await gateway.customer(1_000_000);
  return {
    seen: provider.seen,
    refuse: (response: Response) => refusal = response,
    ask: (path: string, body: object) =>
      gateway.fetch(bearerPost(`http://gateway${path}`, key, { model: "premium-1", ...body })),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const chat = { messages: [{ role: "user", content: "hi" }] };

Deno.test("a Gemini provider gets the model in its path and the key in its header", async () => {
  await using world = await openWorld();
  const whole = await world.ask("/v1/chat/completions", chat);
  assertEquals(whole.status, 200);
  const { model, choices, usage } = await whole.json();
  assertEquals([model, choices[0].message.content, usage.completion_tokens], [
    "premium-1",
    "Hi",
    12,
  ]);
  // 30 tokens of prompt and 12 of output at 1 VND each.
  assertEquals(whole.headers.get("x-gateway-cost-vnd"), "42");
  const streamed = await world.ask("/v1/messages", { ...chat, max_tokens: 9, stream: true });
  const text = await streamed.text();
  assert(text.includes("message_stop") && text.includes('"text":"Hi"'), text);
  assertEquals(world.seen.map(({ path }) => path), [
    "/v1beta/models/vendor/gemini-3%40pro:generateContent",
    "/v1beta/models/vendor/gemini-3%40pro:streamGenerateContent?alt=sse",
  ]);
  for (const { headers, json } of world.seen) {
    assertEquals(headers.get("x-goog-api-key"), "provider-secret-1234567890");
    assertEquals(headers.get("authorization"), null);
    assertEquals([json()["model"], json()["stream"]], [undefined, undefined]);
    assertEquals(json()["contents"], [{ role: "user", parts: [{ text: "hi" }] }]);
  }
});

Deno.test("a Gemini provider's refusal is told in the client's style and costs nothing", async () => {
  await using world = await openWorld();
  const message = "Invalid JSON payload received.";
  world.refuse(
    Response.json({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, { status: 400 }),
  );
  const refused = await world.ask("/v1/chat/completions", chat);
  assertEquals(refused.status, 400);
  assertEquals((await refused.json()).error.message, message);
  const key = { error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" } };
  world.refuse(Response.json(key, { status: 400 }));
  const ours = await world.ask("/v1/chat/completions", chat);
  assertEquals(ours.status, 502);
  assert(!(await ours.text()).includes("key not valid"));
});
