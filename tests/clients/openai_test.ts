import { assert, assertEquals, assertRejects } from "../support/assert.ts";
import OpenAI from "openai";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

function client(gateway: StartedGateway, options: { apiKey?: string; maxRetries?: number } = {}) {
  return new OpenAI({
    baseURL: `${gateway.address}/v1`,
    apiKey: options.apiKey ?? gateway.key,
    maxRetries: options.maxRetries ?? 0,
  });
}

async function balanceVnd(gateway: StartedGateway): Promise<string> {
  const { output } = await gateway.admin("account", "show", "demo@sandbox.invalid");
  return JSON.parse(output).balanceVnd;
}

Deno.test("the official OpenAI SDK against a started gateway", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startGateway();
  const openai = client(gateway);

  await t.step("chats, and the headers say what it cost", async () => {
    const { data, response } = await openai.chat.completions.create({
      model: "premium-1",
      max_tokens: 50,
      messages: [{ role: "user", content: "Hello there" }],
    }).withResponse();
    assert((data.choices[0]?.message.content ?? "").length > 0);
    const usage = data.usage;
    assert(usage);
    const { headers } = response;
    assertEquals(headers.get("x-gateway-model"), "premium-1");
    assertEquals(headers.get("x-gateway-model-mapped-from"), null);
    assertEquals(headers.get("x-gateway-input-tokens"), String(usage.prompt_tokens));
    assertEquals(headers.get("x-gateway-output-tokens"), String(usage.completion_tokens));
    assertEquals(headers.get("x-gateway-price-vnd-per-mtok"), "8300");
    const costMicroVnd = BigInt(usage.total_tokens) * 8300n;
    assertEquals(Number(headers.get("x-gateway-cost-vnd")), Number(costMicroVnd) / 1e6);
    assert(headers.get("x-request-id")?.startsWith("req_"));
  });

  await t.step(
    "streams; the usage chunk comes only on request, and no cost headers",
    async () => {
      for (const wanted of [true, false]) {
        const { data: stream, response } = await openai.chat.completions.create({
          model: "general-01",
          max_tokens: 50,
          stream: true,
          ...(wanted ? { stream_options: { include_usage: true } } : {}),
          messages: [{ role: "user", content: "Stream this please" }],
        }).withResponse();
        assertEquals(response.headers.get("x-gateway-cost-vnd"), null);
        assertEquals(response.headers.get("x-gateway-input-tokens"), null);
        assertEquals(response.headers.get("x-gateway-model"), "general-01");
        let text = "";
        let usageChunks = 0;
        for await (const chunk of stream) {
          text += chunk.choices[0]?.delta.content ?? "";
          if (chunk.usage) usageChunks++;
        }
        assert(text.length > 0);
        assertEquals(usageChunks, wanted ? 1 : 0);
      }
    },
  );

  await t.step("calls a tool", async () => {
    const { choices: [choice] } = await openai.chat.completions.create({
      model: "premium-1",
      max_tokens: 200,
      tools: [{
        type: "function",
        function: {
          name: "get_weather",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          },
        },
      }],
      messages: [{ role: "user", content: "call get_weather" }],
    });
    assertEquals(choice?.finish_reason, "tool_calls");
    const [call] = choice?.message.tool_calls ?? [];
    assertEquals(call?.type === "function" && call.function.name, "get_weather");
  });

  await t.step("answers Responses, whole and streamed", async () => {
    const whole = await openai.responses.create({
      model: "premium-1",
      input: "Hello",
      max_output_tokens: 50,
    });
    assert(whole.output_text.length > 0);
    const stream = await openai.responses.create({
      model: "premium-1",
      input: "Hello",
      max_output_tokens: 50,
      stream: true,
    });
    let text = "";
    let last = "";
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event.type;
    }
    assertEquals(text, whole.output_text);
    assertEquals(last, "response.completed");
  });

  await t.step("lists the models with prices and finds one whose id has a slash", async () => {
    const ids: string[] = [];
    for await (const model of openai.models.list()) ids.push(model.id);
    assertEquals(ids.length, new Set(ids).size);
    assert(ids.includes("premium-1") && ids.includes("video-d"));
    const model = await openai.models.retrieve("gateway/cloud-01");
    assertEquals(model.id, "gateway/cloud-01");
    assert("price" in model && "list_price" in model);
  });

  await t.step("an unknown model is served by the default one, which says so", async () => {
    const { response } = await openai.chat.completions.create({
      model: "no-such-model é",
      max_tokens: 10,
      messages: [{ role: "user", content: "Hi" }],
    }).withResponse();
    assertEquals(response.headers.get("x-gateway-model"), "premium-1");
    assertEquals(
      decodeURIComponent(response.headers.get("x-gateway-model-mapped-from") ?? ""),
      "no-such-model é",
    );
  });

  await t.step("every error class comes as the SDK knows it, and costs nothing", async () => {
    const before = await balanceVnd(gateway);
    const say = (content: string, model = "premium-1", sdk = openai) =>
      sdk.chat.completions.create({ model, max_tokens: 20, messages: [{ role: "user", content }] });
    await assertRejects(
      () => say("x", "premium-1", client(gateway, { apiKey: "sk-wrong" })),
      OpenAI.AuthenticationError,
    );
    await assertRejects(
      () => say("x", "image-1"),
      OpenAI.BadRequestError,
      "/v1/images/generations",
    );
    await assertRejects(
      () => openai.chat.completions.create({ model: "premium-1", messages: [] }),
      OpenAI.BadRequestError,
      "messages",
    );
    await assertRejects(() => say("[[sandbox:error-400]]"), OpenAI.BadRequestError);
    await assertRejects(() => say("[[sandbox:error-429]]"), OpenAI.RateLimitError);
    await assertRejects(
      () => say("[[sandbox:error-500]]", "general-02"),
      OpenAI.InternalServerError,
    );
    await assertRejects(
      () => say("[[sandbox:error-401]]", "general-03"),
      OpenAI.InternalServerError,
    );
    await assertRejects(
      () =>
        new OpenAI({ baseURL: gateway.address, apiKey: gateway.key, maxRetries: 0 }).models.list(),
      OpenAI.NotFoundError,
    );
    assertEquals(await balanceVnd(gateway), before);
  });

  await t.step("a call that fails once and is retried by the SDK is charged once", async () => {
    const before = Number(await balanceVnd(gateway));
    // The provider refuses each attempt: the SDK tries three times and nothing is charged.
    await assertRejects(() =>
      client(gateway, { maxRetries: 2 }).chat.completions.create({
        model: "low-cost-01",
        max_tokens: 5,
        messages: [{ role: "user", content: "[[sandbox:error-500]]" }],
      })
    );
    assertEquals(Number(await balanceVnd(gateway)), before);
    await client(gateway, { maxRetries: 2 }).chat.completions.create({
      model: "low-cost-02",
      max_tokens: 5,
      messages: [{ role: "user", content: "Hi" }],
    });
    assertEquals(before - Number(await balanceVnd(gateway)), 260);
  });

  await t.step("a stream that breaks throws, and is charged for what was produced", async () => {
    const before = Number(await balanceVnd(gateway));
    const stream = await openai.chat.completions.create({
      model: "general-04",
      max_tokens: 100,
      stream: true,
      messages: [{
        role: "user",
        content: "[[sandbox:cut-after 3]] tell me a story about a river",
      }],
    });
    let text = "";
    await assertRejects(async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    });
    assert(text.length > 0);
    assert(before > Number(await balanceVnd(gateway)));
  });

  await t.step("the ledger adds up", async () => {
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
  });
});
