/**
 * Official SDKs on a model of Bedrock by Converse: signed requests over HTTP, answers in the vendor's frames.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { assert, assertEquals } from "../support/assert.ts";
import { openTestGateway } from "../support/gateways/gateway_in_process.ts";
import { converseCloud } from "../support/servers/converse_cloud.ts";
import { awsKey, FakeCloud } from "../support/servers/fake_cloud.ts";
import { bearerPost } from "../support/api_post.ts";

const upstreamModel = "us.amazon.nova-2-lite-v1:0";

async function openWorld() {
  const cloud = await FakeCloud.start();
  cloud.answer = converseCloud;
  const gateway = await openTestGateway({
    env: { AWS_KEY: `${awsKey.accessKeyId}:${awsKey.secretAccessKey}` },
    file: () => ({
      defaultModel: "nova",
      providers: {
        bedrock: {
          baseUrl: cloud.origin,
          apiKeyEnv: "AWS_KEY",
          auth: { kind: "aws", region: "us-east-1" },
          cloud: { name: "bedrock" },
        },
      },
      models: [{
        id: "nova",
        kind: "chat",
        family: "f",
        vision: true,
        price: { unit: "token", vndPerMtok: 1_000_000 },
        routes: [{
          provider: "bedrock",
          model: upstreamModel,
          style: "converse",
          facts: { reasoning_field: "reasoningConfig", structured: "tool" },
        }],
      }],
    }),
  });
  const { key } = await gateway.customer(10_000_000);
  const fetch = (input: string | URL | Request, init?: RequestInit) =>
    Promise.resolve(gateway.fetch(new Request(input, init)));
  return {
    cloud,
    openai: new OpenAI({ baseURL: "http://gateway/v1", apiKey: key, maxRetries: 0, fetch }),
    anthropic: new Anthropic({ baseURL: "http://gateway", apiKey: key, maxRetries: 0, fetch }),
    ask: (path: string, body: object) =>
      fetch(bearerPost(`http://gateway${path}`, key, { model: "nova", ...body })),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await cloud[Symbol.asyncDispose]();
    },
  };
}

const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
};
const question = [{ role: "user" as const, content: "call get_weather" }];

Deno.test("the OpenAI SDK on a Converse model: text, tools and a schema, whole and streamed", async () => {
  await using world = await openWorld();
  const { openai, cloud } = world;
  const tools = [{ type: "function" as const, function: { name: "get_weather", parameters } }];
  const messages = question;
  const whole = await openai.chat.completions.create({ model: "nova", messages, tools });
  const streamed = await openai.chat.completions.stream({
    model: "nova",
    messages,
    tools,
    stream_options: { include_usage: true },
  }).finalChatCompletion();
  assertEquals(
    streamed.choices[0]?.message.tool_calls?.map((call) => call.id),
    whole.choices[0]?.message.tool_calls?.map((call) => call.id),
  );
  assertEquals(streamed.choices[0]?.finish_reason, "tool_calls");
  assertEquals(streamed.usage?.total_tokens, whole.usage?.total_tokens);
  const schema = { ...parameters, additionalProperties: false };
  const format = await openai.chat.completions.create({
    model: "nova",
    messages: [{ role: "user", content: "Where?" }],
    response_format: { type: "json_schema", json_schema: { name: "place", schema } },
  });
  assertEquals(typeof JSON.parse(format.choices[0]?.message.content ?? "").city, "string");
  const path = `/model/${encodeURIComponent(upstreamModel)}`;
  assertEquals(cloud.requests.map(({ url }) => url.pathname), [
    `${path}/converse`,
    `${path}/converse-stream`,
    `${path}/converse`,
  ]);
});

Deno.test("the Anthropic SDK on a Converse model: a tool loop with thinking", async () => {
  await using world = await openWorld();
  const { anthropic } = world;
  const tools: Anthropic.Tool[] = [{ name: "get_weather", input_schema: parameters }];
  const thinking = { type: "enabled" as const, budget_tokens: 1_500 };
  const asked = await anthropic.messages.stream({
    model: "nova",
    max_tokens: 2_000,
    messages: question,
    tools,
    thinking,
  }).finalMessage();
  assertEquals(asked.stop_reason, "tool_use");
  assertEquals(asked.content.map(({ type }) => type), ["thinking", "text", "tool_use"]);
  const call = asked.content.find((block) => block.type === "tool_use");
  const answered = await anthropic.messages.create({
    model: "nova",
    max_tokens: 2_000,
    tools,
    thinking,
    messages: [...question, { role: "assistant", content: asked.content }, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "sunny" }],
    }],
  });
  assert(JSON.stringify(answered.content).includes("sunny"));
  const sent = JSON.parse(world.cloud.requests.at(-1)?.text ?? "");
  assertEquals(sent.additionalModelRequestFields, {
    reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" },
  });
  // The reasoning goes back to the model that signed it.
  assert(sent.messages[1].content[0].reasoningContent.reasoningText.signature.length > 0);
});

Deno.test("a call costs what the vendor's own counts say, whole and streamed", async () => {
  await using world = await openWorld();
  for (const stream of [false, true]) {
    const response = await world.ask("/v1/chat/completions", {
      messages: [{ role: "user", content: "Tell me of rivers" }],
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    });
    const text = await response.text();
    const total = /"total_tokens":(\d+)/.exec(text)?.[1];
    assert(total !== undefined, text);
    if (!stream) assertEquals(response.headers.get("x-gateway-cost-vnd"), total);
  }
});
