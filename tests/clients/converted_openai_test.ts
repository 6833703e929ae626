import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import { startConvertingGateway } from "../support/gateways/converting_gateway.ts";

type ChatMessage = OpenAI.ChatCompletionMessageParam;

const names = ["get_weather", "get_time", "get_news"] as const;
const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
  required: ["city"],
};
const tools: OpenAI.ChatCompletionFunctionTool[] = names.map((name) => ({
  type: "function",
  function: { name, parameters },
}));
const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

Deno.test("the OpenAI SDK's stream helpers on models of the other styles", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startConvertingGateway();
  const openai = new OpenAI({
    baseURL: `${gateway.address}/v1`,
    apiKey: gateway.key,
    maxRetries: 0,
  });

  for (const model of ["only-messages", "only-responses", "only-gemini", "only-converse"]) {
    const stream = (
      content: string,
      extra: Partial<OpenAI.ChatCompletionCreateParamsStreaming> = {},
    ) =>
      openai.chat.completions.stream({
        model,
        max_tokens: 2_000,
        stream: true,
        messages: [{ role: "user", content }],
        ...extra,
      });

    await t.step(
      `${model}: text, streamed and whole alike; usage only for those who ask`,
      async () => {
        const streamed = await stream("Tell me of rivers", {
          stream_options: { include_usage: true },
        }).finalChatCompletion();
        const whole = await openai.chat.completions.create({
          model,
          max_tokens: 2_000,
          messages: [{ role: "user", content: "Tell me of rivers" }],
        });
        assertEquals(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
        assert(whole.choices[0]?.message.content?.includes("rivers"));
        assertEquals(streamed.choices[0]?.finish_reason, "stop");
        assertEquals(streamed.usage?.total_tokens, whole.usage?.total_tokens);
        const quiet = await stream("Tell me of rivers").finalChatCompletion();
        assertEquals(quiet.usage, undefined);
      },
    );

    await t.step(`${model}: two answers, or a refusal that names the field`, async () => {
      const extra = { n: 2, tools, stream_options: { include_usage: true } };
      const answer = stream("call get_time", extra).finalChatCompletion();
      if (model !== "only-gemini") {
        const error = await answer.catch((reason: unknown) => reason);
        assert(error instanceof OpenAI.BadRequestError && error.param === "n", String(error));
        return;
      }
      const { choices, usage } = await answer;
      assertEquals(choices.map(({ index }) => index), [0, 1]);
      for (const { message, finish_reason } of choices) {
        assertEquals([message.tool_calls?.length, finish_reason], [1, "tool_calls"]);
      }
      const whole = await openai.chat.completions.create({
        model,
        max_tokens: 2_000,
        n: 2,
        tools,
        messages: [{ role: "user", content: "call get_time" }],
      });
      assertEquals(whole.choices.map(({ index }) => index), [0, 1]);
      assertEquals(whole.usage?.total_tokens, usage?.total_tokens);
    });

    await t.step(`${model}: one tool, and three at once`, async () => {
      const one = await stream("call get_time", { tools }).finalChatCompletion();
      assertEquals(one.choices[0]?.finish_reason, "tool_calls");
      assertEquals(one.choices[0]?.message.tool_calls?.length, 1);
      const three = await stream("call all tools", { tools }).finalChatCompletion();
      const made = three.choices[0]?.message.tool_calls ?? [];
      assertEquals(made.map((call) => call.type === "function" ? call.function.name : ""), [
        ...names,
      ]);
      for (const call of made) {
        assert(call.type === "function");
        assertEquals(typeof JSON.parse(call.function.arguments).city, "string");
      }
    });

    await t.step(`${model}: runTools carries an agent through its calls`, async () => {
      const seen: string[] = [];
      const runner = openai.chat.completions.runTools({
        model,
        max_tokens: 2_000,
        stream: true,
        messages: [{ role: "user", content: "call all tools" }],
        tools: names.map((name) => ({
          type: "function" as const,
          function: {
            name,
            description: `The tool ${name}`,
            parameters,
            function: (args: string) => {
              seen.push(`${name} ${JSON.parse(args).city}`);
              return `${name} says sunny`;
            },
          },
        })),
      });
      const final = await runner.finalContent();
      assertEquals(seen.map((line) => line.split(" ")[0]), [...names]);
      assert(final?.includes("sunny"), final ?? "nothing");
    });

    await t.step(`${model}: a refusal, a cut by length, an error in the middle`, async () => {
      const refused = await stream("[[sandbox:refusal]] do it").finalChatCompletion()
        .then(({ choices }) => choices[0], (error: unknown) => error);
      // One vendor refuses by its stop reason, the other by a text: both must reach the client.
      const told = refused instanceof OpenAI.OpenAIError
        ? "content_filter"
        : JSON.stringify(refused);
      assert(/content_filter|"refusal":"[^"]/.test(told), told);
      const cut = await openai.chat.completions.create({
        model,
        max_tokens: 20,
        messages: [{ role: "user", content: "[[sandbox:length 500]] go on" }],
      });
      assertEquals(cut.choices[0]?.finish_reason, "length");
      for (const trouble of ["error-after 2", "cut-after 2"]) {
        const error = await stream(`[[sandbox:${trouble}]] a long story about many rivers`)
          .finalChatCompletion()
          .then(() => undefined, (cause: unknown) => cause);
        assert(
          error instanceof OpenAI.APIError || error instanceof OpenAI.OpenAIError,
          `${trouble}: ${error}`,
        );
      }
    });

    await t.step(`${model}: structured output`, async () => {
      const answer = await openai.chat.completions.create({
        model,
        max_tokens: 2_000,
        messages: [{ role: "user", content: "Where?" }],
        response_format: {
          type: "json_schema",
          json_schema: {
            name: "place",
            strict: true,
            schema: {
              type: "object",
              properties: { city: { type: "string" } },
              required: ["city"],
              additionalProperties: false,
            },
          },
        },
      });
      assertEquals(typeof JSON.parse(answer.choices[0]?.message.content ?? "").city, "string");
    });

    await t.step(`${model}: an agent's ten turns with pictures and failures`, async () => {
      const messages: ChatMessage[] = [{ role: "system", content: "You are an agent." }];
      for (let turn = 0; turn < 10; turn++) {
        messages.push({
          role: "user",
          content: [{ type: "text", text: `Turn ${turn}: call all tools` }, {
            type: "image_url",
            image_url: { url: png },
          }],
        });
        const asked =
          (await openai.chat.completions.stream({ model, max_tokens: 2_000, tools, messages })
            .finalChatCompletion()).choices[0]?.message;
        assert(asked?.tool_calls?.length === 3, `turn ${turn}: ${JSON.stringify(asked)}`);
        messages.push({ role: "assistant", content: asked.content, tool_calls: asked.tool_calls });
        for (const [i, call] of asked.tool_calls.entries()) {
          messages.push({
            role: "tool",
            tool_call_id: call.id,
            content: i === 1 ? "" : `result ${i} of turn ${turn}`,
          });
        }
        const answered =
          (await openai.chat.completions.stream({ model, max_tokens: 2_000, tools, messages })
            .finalChatCompletion()).choices[0]?.message;
        assert(
          answered !== undefined && answered.content?.includes(`result 0 of turn ${turn}`) === true,
          `turn ${turn}: ${answered?.content}`,
        );
        messages.push({ role: "assistant", content: answered.content });
      }
    });
  }

  for (const model of ["only-messages", "only-chat", "only-converse"]) {
    await t.step(`${model}: Responses, streamed to its end`, async () => {
      const whole = await openai.responses.create({
        model,
        input: "Tell me of rivers",
        max_output_tokens: 2_000,
      });
      assert(whole.output_text.includes("rivers"));
      const helper = openai.responses.stream({
        model,
        input: "Tell me of rivers",
        max_output_tokens: 2_000,
      });
      const final = await helper.finalResponse();
      assertEquals(final.output_text, whole.output_text);
      assertEquals(final.status, "completed");
      assertEquals(final.usage?.total_tokens, whole.usage?.total_tokens);
    });

    await t.step(`${model}: Responses with tools, there and back, ten turns`, async () => {
      const input: OpenAI.Responses.ResponseInput = [];
      const responseTools: OpenAI.Responses.FunctionTool[] = names.map((name) => ({
        type: "function",
        name,
        parameters,
        strict: false,
      }));
      for (let turn = 0; turn < 10; turn++) {
        input.push({ role: "user", content: `Turn ${turn}: call all tools` });
        const asked = await openai.responses.stream({
          model,
          instructions: "You are an agent.",
          input,
          tools: responseTools,
          max_output_tokens: 2_000,
          store: false,
        }).finalResponse();
        const made = asked.output.filter((item) => item.type === "function_call");
        assertEquals(made.map((item) => item.name), [...names], `turn ${turn}`);
        for (const item of asked.output) input.push(item as OpenAI.Responses.ResponseInputItem);
        for (const call of made) {
          input.push({
            type: "function_call_output",
            call_id: call.call_id,
            output: `result of turn ${turn}`,
          });
        }
        const answered = await openai.responses.stream({
          model,
          instructions: "You are an agent.",
          input,
          tools: responseTools,
          max_output_tokens: 2_000,
          store: false,
        }).finalResponse();
        assert(answered.output_text.includes(`result of turn ${turn}`), answered.output_text);
        for (const item of answered.output) input.push(item as OpenAI.Responses.ResponseInputItem);
      }
    });
  }

  await t.step("the ledger adds up", async () => {
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
  });
});
