import { assert, assertEquals } from "../support/assert.ts";
import Anthropic from "@anthropic-ai/sdk";
import { startConvertingGateway } from "../support/gateways/converting_gateway.ts";

type Message = Anthropic.MessageParam;
const text = (message: Anthropic.Message) =>
  message.content.flatMap((block) => block.type === "text" ? [block.text] : []).join("");
const calls = (message: Anthropic.Message) =>
  message.content.filter((block) => block.type === "tool_use");

function tool(name: string): Anthropic.Tool {
  return {
    name,
    description: `The tool ${name}`,
    input_schema: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
      required: ["city"],
    },
  };
}
const tools = [tool("get_weather"), tool("get_time"), tool("get_news")];

/** A field that clients still send and that the types of this SDK no longer have. */
const older = { top_k: 5 };

/** One white pixel. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

Deno.test("the Anthropic SDK's stream helper on models of the other styles", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startConvertingGateway();
  const anthropic = new Anthropic({ baseURL: gateway.address, apiKey: gateway.key, maxRetries: 0 });

  for (const model of ["only-chat", "only-responses", "only-converse"]) {
    const stream = (content: string, extra: Partial<Anthropic.MessageStreamParams> = {}) =>
      anthropic.messages.stream({
        model,
        max_tokens: 2_000,
        messages: [{ role: "user", content }],
        ...extra,
      });

    await t.step(`${model}: text, streamed and whole alike`, async () => {
      const streamed = await stream("Tell me of rivers").finalMessage();
      const whole = await anthropic.messages.create({
        model,
        max_tokens: 2_000,
        messages: [{ role: "user", content: "Tell me of rivers" }],
      });
      assertEquals(text(streamed), text(whole));
      assert(text(whole).includes("rivers"));
      assertEquals([streamed.stop_reason, whole.stop_reason], ["end_turn", "end_turn"]);
      assertEquals(streamed.usage.output_tokens, whole.usage.output_tokens);
    });

    await t.step(`${model}: one tool`, async () => {
      const message = await stream("call get_weather", { tools }).finalMessage();
      assertEquals(message.stop_reason, "tool_use");
      assertEquals(calls(message).map((call) => call.name), ["get_weather"]);
      assertEquals(typeof (calls(message)[0]?.input as { city?: unknown }).city, "string");
    });

    await t.step(
      `${model}: three parallel tools come as sequential blocks with distinct ids`,
      async () => {
        const order: string[] = [];
        const helper = stream("call all tools", { tools });
        helper.on("streamEvent", (event) => {
          if (event.type === "content_block_start" || event.type === "content_block_stop") {
            order.push(`${event.type} ${event.index}`);
          }
        });
        const message = await helper.finalMessage();
        assertEquals(calls(message).map((call) => call.name), [
          "get_weather",
          "get_time",
          "get_news",
        ]);
        assertEquals(new Set(calls(message).map((call) => call.id)).size, 3);
        const expected = Array.from(
          { length: order.length / 2 },
          (_, i) => [`content_block_start ${i}`, `content_block_stop ${i}`],
        ).flat();
        assertEquals(order, expected);
      },
    );

    // Converse has no switch for it.
    if (model !== "only-converse") {
      await t.step(`${model}: a tool switched to one at a time`, async () => {
        const message = await stream("call all tools", {
          tools,
          tool_choice: { type: "auto", disable_parallel_tool_use: true },
        }).finalMessage();
        assertEquals(calls(message).length, 1);
      });
    }

    await t.step(
      `${model}: thinking and tools; the thinking is replayed without harm`,
      async () => {
        const first = await stream("call get_weather", {
          tools,
          thinking: { type: "enabled", budget_tokens: 1_024 },
        }).finalMessage();
        assertEquals(first.content[0]?.type, "thinking");
        const call = calls(first)[0];
        assert(call);
        const second = await anthropic.messages.stream({
          model,
          max_tokens: 2_000,
          tools,
          thinking: { type: "enabled", budget_tokens: 1_024 },
          messages: [
            { role: "user", content: "call get_weather" },
            { role: "assistant", content: first.content as Anthropic.ContentBlockParam[] },
            {
              role: "user",
              content: [{ type: "tool_result", tool_use_id: call.id, content: "12:30 and sunny" }],
            },
          ],
        }).finalMessage();
        assert(text(second).includes("12:30"), text(second));
      },
    );

    await t.step(`${model}: a refusal, a cut by length, an error in the middle`, async () => {
      const refused = await stream("[[sandbox:refusal]] do it").finalMessage();
      assertEquals(refused.stop_reason, "refusal");
      const cut = await stream("[[sandbox:length 500]] go on", { max_tokens: 20 }).finalMessage();
      assertEquals(cut.stop_reason, "max_tokens");
      const error = await stream("[[sandbox:error-after 2]] a long story about many rivers")
        .finalMessage()
        .then(() => undefined, (cause: unknown) => cause);
      assert(error instanceof Anthropic.APIError, String(error));
      const broken = await stream("[[sandbox:cut-after 2]] a long story about many rivers")
        .finalMessage()
        .then(() => undefined, (cause: unknown) => cause);
      assert(broken instanceof Anthropic.APIError, String(broken));
    });

    await t.step(`${model}: what was dropped is named, and refused when strict`, async () => {
      const { response } = await anthropic.messages.create({
        model,
        max_tokens: 50,
        ...older,
        messages: [{ role: "user", content: "Hi" }],
      }).withResponse();
      assert(
        response.headers.get("x-gateway-conversion")?.includes("top_k"),
        response.headers.get("x-gateway-conversion") ?? "none",
      );
      const error = await anthropic.messages.create(
        { model, max_tokens: 50, ...older, messages: [{ role: "user", content: "Hi" }] },
        { headers: { "x-gateway-strict": "true" } },
      ).then(() => undefined, (cause: unknown) => cause);
      assert(error instanceof Anthropic.BadRequestError && error.message.includes("top_k"));
    });

    await t.step(
      `${model}: an agent's ten turns with parallel tools, pictures and failures in their results`,
      async () => {
        const messages: Message[] = [];
        for (let turn = 0; turn < 10; turn++) {
          messages.push({ role: "user", content: `Turn ${turn}: call all tools` });
          const asked = await anthropic.messages.stream({
            model,
            max_tokens: 2_000,
            system: "You are an agent.",
            tools,
            messages,
          }).finalMessage();
          assertEquals(asked.stop_reason, "tool_use", `turn ${turn}`);
          messages.push({
            role: "assistant",
            content: asked.content as Anthropic.ContentBlockParam[],
          });
          const [weather, time, news] = calls(asked);
          assert(weather && time && news);
          messages.push({
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: weather.id,
                content: [
                  { type: "text", text: `sunny ${turn}` },
                  { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
                ],
              },
              {
                type: "tool_result",
                tool_use_id: time.id,
                is_error: turn % 2 === 0,
                content: `clock ${turn}`,
              },
              { type: "tool_result", tool_use_id: news.id },
              { type: "text", text: "Go on." },
            ],
          });
          const answered = await anthropic.messages.stream({
            model,
            max_tokens: 2_000,
            system: "You are an agent.",
            tools,
            messages,
          }).finalMessage();
          assertEquals(answered.stop_reason, "end_turn", `turn ${turn}`);
          assert(text(answered).includes(`sunny ${turn}`), text(answered));
          messages.push({
            role: "assistant",
            content: answered.content as Anthropic.ContentBlockParam[],
          });
        }
        assertEquals(messages.length, 40);
      },
    );
  }

  await t.step("the ledger adds up", async () => {
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
  });
});
