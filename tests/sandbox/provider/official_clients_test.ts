/** The vendors' own SDKs read what the sandbox writes, as the strictest check of its wire forms. */
import Anthropic from "@anthropic-ai/sdk";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import OpenAI from "openai";
import { createSandboxTransport } from "../../../sandbox/provider/transport.ts";
import { fixedClock } from "./sandbox_calls.ts";

const sandbox = createSandboxTransport({ clock: fixedClock, delay: () => Promise.resolve() });

/** A `fetch` that the sandbox answers. */
const sandboxFetch: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const exchange = sandbox.open({
    method: "POST",
    url: request.url,
    headers: [],
    body: new Uint8Array(await request.arrayBuffer()),
  });
  const response = await exchange.response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const bytes = await response.body.read();
      if (bytes === null) controller.close();
      else controller.enqueue(bytes.slice());
    },
    cancel: () => exchange.cancel(),
  });
  const headers = new Headers();
  for (const name of ["content-type", "retry-after"]) {
    const value = response.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return new Response(body, { status: response.status, headers });
};

const openai = new OpenAI({
  apiKey: "any",
  baseURL: "https://sandbox.invalid/v1",
  fetch: sandboxFetch,
  maxRetries: 0,
});
const anthropic = new Anthropic({
  apiKey: "any",
  baseURL: "https://sandbox.invalid",
  fetch: sandboxFetch,
  maxRetries: 0,
});

const schema = { type: "object" as const, properties: { city: { type: "string" } } };

Deno.test("Messages: the client's accumulated stream equals the whole message", async () => {
  const ask = {
    model: "m",
    max_tokens: 500,
    messages: [{ role: "user" as const, content: "Xin chào 🙂, call all tools" }],
    thinking: { type: "adaptive" as const },
    tools: [
      { name: "get_weather", input_schema: schema },
      { name: "get_time", input_schema: { type: "object" as const, properties: {} } },
    ],
  };
  const whole = await anthropic.messages.create(ask);
  const streamed = await anthropic.messages.stream(ask).finalMessage();
  assertEquals(JSON.stringify(streamed.content), JSON.stringify(whole.content));
  assertEquals(streamed.stop_reason, "tool_use");
  assertEquals(whole.content.map((block) => block.type), [
    "thinking",
    "text",
    "tool_use",
    "tool_use",
  ]);
  assertEquals(streamed.usage.output_tokens, whole.usage.output_tokens);
  const counted = await anthropic.messages.countTokens({
    model: "m",
    messages: ask.messages,
    tools: ask.tools,
  });
  assertEquals(counted.input_tokens, whole.usage.input_tokens);
});

Deno.test("Chat: the client's accumulated stream equals the whole completion", async () => {
  const ask = {
    model: "m",
    messages: [{ role: "user" as const, content: "Xin chào 🙂, call all tools" }],
    tools: [
      { type: "function" as const, function: { name: "get_weather", parameters: schema } },
      { type: "function" as const, function: { name: "get_time" } },
    ],
  };
  const whole = await openai.chat.completions.create(ask);
  const streamed = await openai.chat.completions.stream({
    ...ask,
    stream_options: { include_usage: true },
  }).finalChatCompletion();
  const calls = (message: OpenAI.ChatCompletionMessage | undefined) =>
    message?.tool_calls?.map((call) =>
      call.type === "function" ? [call.id, call.function.name, call.function.arguments] : []
    );
  assertEquals(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
  assertEquals(calls(streamed.choices[0]?.message), calls(whole.choices[0]?.message));
  assertEquals(streamed.choices[0]?.finish_reason, "tool_calls");
  assertEquals(streamed.usage?.total_tokens, whole.usage?.total_tokens);
});

Deno.test("Responses: the client's accumulated stream equals the whole response", async () => {
  for (const input of ["Xin chào 🙂, call all tools", "Hello", "[[sandbox:refusal]]"]) {
    const ask = {
      model: "m",
      input,
      reasoning: { effort: "low" as const },
      tools: [{
        type: "function" as const,
        name: "get_weather",
        parameters: schema,
        strict: false,
      }],
    };
    const whole = await openai.responses.create(ask);
    const streamed = await openai.responses.stream(ask).finalResponse();
    assertEquals(streamed.output_text, whole.output_text);
    assertEquals(
      streamed.output.map((item) => item.type),
      whole.output.map((item) => item.type),
    );
    assertEquals(streamed.usage?.total_tokens, whole.usage?.total_tokens);
  }
});

Deno.test("errors become the clients' own error classes, also inside a stream", async () => {
  const chat = (content: string, stream: boolean) =>
    openai.chat.completions.create({ model: "m", messages: [{ role: "user", content }], stream });
  await assertRejects(() => chat("[[sandbox:error-429]]", false), OpenAI.RateLimitError);
  await assertRejects(() => chat("[[sandbox:error-401]]", true), OpenAI.AuthenticationError);
  await assertRejects(async () => {
    const stream = await chat("Hello there [[sandbox:error-after 1]]", true);
    assert(Symbol.asyncIterator in stream);
    for await (const _ of stream);
  }, OpenAI.APIError);
  const messages = (content: string) =>
    anthropic.messages.stream({
      model: "m",
      max_tokens: 50,
      messages: [{ role: "user", content }],
    }).finalMessage();
  await assertRejects(() => messages("[[sandbox:error-404]]"), Anthropic.NotFoundError);
  await assertRejects(() => messages("Hello [[sandbox:error-after 1]]"), Anthropic.APIError);
});
