import { assert, assertEquals, assertRejects } from "../support/assert.ts";
import Anthropic from "@anthropic-ai/sdk";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

function client(gateway: StartedGateway, options: { apiKey?: string; baseURL?: string } = {}) {
  return new Anthropic({
    baseURL: options.baseURL ?? gateway.address,
    apiKey: options.apiKey ?? gateway.key,
    maxRetries: 0,
  });
}

Deno.test("the official Anthropic SDK against a started gateway", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startGateway();
  const anthropic = client(gateway);
  const say = (content: string, model = "premium-1", sdk = anthropic) =>
    sdk.messages.create({ model, max_tokens: 40, messages: [{ role: "user", content }] });

  await t.step("sends a message, and the headers say what it cost", async () => {
    const { data, response } = await say("Hello there").withResponse();
    assertEquals(data.type, "message");
    assert(data.content[0]?.type === "text" && data.content[0].text.length > 0);
    const tokens = data.usage.input_tokens + data.usage.output_tokens;
    assertEquals(Number(response.headers.get("x-gateway-cost-vnd")), tokens * 8300 / 1e6);
  });

  await t.step("streams to a whole final message", async () => {
    const stream = anthropic.messages.stream({
      model: "premium-1",
      max_tokens: 40,
      messages: [{ role: "user", content: "Stream this please" }],
    });
    let text = "";
    stream.on("text", (delta) => text += delta);
    const message = await stream.finalMessage();
    assert(message.content[0]?.type === "text");
    assertEquals(message.content[0].text, text);
    assert(message.stop_reason !== null);
  });

  await t.step("calls a tool", async () => {
    const message = await anthropic.messages.create({
      model: "premium-1",
      max_tokens: 200,
      tools: [{
        name: "get_weather",
        input_schema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
        },
      }],
      messages: [{ role: "user", content: "call get_weather" }],
    });
    assertEquals(message.stop_reason, "tool_use");
    const call = message.content.find((block) => block.type === "tool_use");
    assertEquals(call?.name, "get_weather");
  });

  await t.step("the tool runner, which wants a thread first, goes on without", async () => {
    const asked: unknown[] = [];
    const runner = anthropic.beta.messages.toolRunner({
      model: "premium-1",
      max_tokens: 200,
      tools: [{
        name: "get_weather",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
        run: (input: unknown) => {
          asked.push(input);
          return "sunny";
        },
        parse: (input: unknown) => input,
      }],
      messages: [{ role: "user", content: "call get_weather" }],
      max_iterations: 3,
    });
    const message = await runner;
    assert(asked.length > 0);
    assertEquals(message.stop_reason, "end_turn");
  });

  await t.step("the beta namespace, with its query string, reaches the same endpoint", async () => {
    const message = await anthropic.beta.messages.create({
      model: "premium-1",
      max_tokens: 20,
      betas: ["token-counting-2024-11-01"],
      messages: [{ role: "user", content: "Hi" }],
    });
    assertEquals(message.role, "assistant");
  });

  await t.step("counts tokens for nothing", async () => {
    const before = (await gateway.admin("account", "show", "demo@sandbox.invalid")).output;
    const { input_tokens } = await anthropic.messages.countTokens({
      model: "premium-1",
      messages: [{ role: "user", content: "How many tokens is this?" }],
    });
    assert(input_tokens > 0);
    const after = (await gateway.admin("account", "show", "demo@sandbox.invalid")).output;
    assertEquals(JSON.parse(after).balanceVnd, JSON.parse(before).balanceVnd);
  });

  await t.step("lists models in its own shape, page by page", async () => {
    const ids: string[] = [];
    for await (const model of anthropic.models.list({ limit: 7 })) {
      assertEquals(model.type, "model");
      ids.push(model.id);
    }
    assert(ids.length > 50);
    assertEquals(ids.length, new Set(ids).size);
    assertEquals((await anthropic.models.retrieve("premium-1")).display_name, "Premium 1");
  });

  await t.step("every error class comes as the SDK knows it", async () => {
    await assertRejects(
      () => say("x", "premium-1", client(gateway, { apiKey: "sk-wrong" })),
      Anthropic.AuthenticationError,
    );
    await assertRejects(() => say("x", "speech-1"), Anthropic.BadRequestError, "/v1/audio/speech");
    await assertRejects(() => say("[[sandbox:error-400]]"), Anthropic.BadRequestError);
    await assertRejects(() => say("[[sandbox:error-429]]"), Anthropic.RateLimitError);
    await assertRejects(
      () => say("[[sandbox:error-500]]", "general-02"),
      Anthropic.InternalServerError,
    );
    await assertRejects(
      () => say("[[sandbox:error-529]]", "general-03"),
      Anthropic.InternalServerError,
      "overloaded",
    );
    await assertRejects(
      () => say("x", "premium-1", client(gateway, { baseURL: `${gateway.address}/v2` })),
      Anthropic.NotFoundError,
    );
    // An address that ends in /v1 works, too.
    await say("x", "general-04", client(gateway, { baseURL: `${gateway.address}/v1` }));
  });

  await t.step("an error inside a stream throws, with the provider's type", async () => {
    const stream = anthropic.messages.stream({
      model: "premium-1-fast",
      max_tokens: 100,
      messages: [{
        role: "user",
        content: "[[sandbox:error-after 2]] tell me a story about a river",
      }],
    });
    const error = await stream.finalMessage().then(() => undefined, (cause) => cause);
    assert(error instanceof Anthropic.APIError, String(error));
  });

  await t.step("an exhausted wallet is 402 and tells what is missing", async () => {
    const made = JSON.parse((await gateway.admin("account", "create")).output);
    const key = JSON.parse((await gateway.admin("key", "create", made.id)).output).key;
    const error = await say("x", "premium-1", client(gateway, { apiKey: key })).then(
      () => undefined,
      (cause) => cause,
    );
    assert(error instanceof Anthropic.APIError);
    assertEquals(error.status, 402);
    assert(error.message.includes("insufficient_balance"));
    assertEquals(error.headers?.get("x-should-retry"), "false");
  });

  await t.step("a revoked key is refused", async () => {
    const made = JSON.parse((await gateway.admin("account", "create")).output);
    const { id, key } = JSON.parse((await gateway.admin("key", "create", made.id)).output);
    await gateway.admin("credit", made.id, "1000", "--reason", "test credit");
    await say("x", "low-cost-01", client(gateway, { apiKey: key }));
    await gateway.admin("key", "revoke", made.id, id);
    await assertRejects(
      () => say("x", "low-cost-01", client(gateway, { apiKey: key })),
      Anthropic.AuthenticationError,
    );
  });
});
