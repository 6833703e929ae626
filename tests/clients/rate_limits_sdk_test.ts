/** The official SDKs under rate limits: they read the headers, raise their own error and retry when they are told. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { assert, assertEquals, assertRejects } from "../support/assert.ts";
import { until } from "../support/until.ts";
import { openTestGateway, type TestGateway } from "../support/gateways/gateway_in_process.ts";

const options = { sanitizeOps: false, sanitizeResources: false };

async function openLimited(account: Record<string, number>): Promise<TestGateway> {
  return await openTestGateway({ file: (file) => ({ ...file, rateLimits: { account } }) });
}

/** Sends what an SDK sends to a gateway without a socket, and notes the statuses. */
function fetchOf(test: TestGateway, statuses: number[]): typeof fetch {
  return async (input, init) => {
    const response = await test.fetch(new Request(input, init));
    statuses.push(response.status);
    return response;
  };
}

const hello = { model: "premium-1", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };

Deno.test("the OpenAI SDK reads the limits and raises RateLimitError", options, async () => {
  await using test = await openLimited({ requestsPerMinute: 1, tokensPerMinute: 5_000 });
  const { key } = await test.customer(1_000);
  const client = new OpenAI({
    baseURL: "http://gateway.example/v1",
    apiKey: key,
    maxRetries: 0,
    fetch: fetchOf(test, []),
  });
  const ask = () =>
    client.chat.completions.create({
      ...hello,
      messages: [{ role: "user", content: "Hi" }],
    }).withResponse();
  const { response: { headers } } = await ask();
  assertEquals(headers.get("x-ratelimit-limit-requests"), "1");
  assertEquals(headers.get("x-ratelimit-remaining-requests"), "0");
  const error = await ask().catch((thrown) => thrown);
  assert(error instanceof OpenAI.RateLimitError);
  assertEquals([error.code, error.type], ["rate_limit_reached", "rate_limit_error"]);
  const retryAfterSeconds = Number(error.headers?.get("retry-after"));
  assert(retryAfterSeconds >= 60 && retryAfterSeconds <= 62, `${retryAfterSeconds} s`);
  assertEquals(error.headers?.get("x-ratelimit-limit-tokens"), "5000");
});

Deno.test("the Anthropic SDK reads the limits and raises RateLimitError", options, async () => {
  await using test = await openLimited({ requestsPerMinute: 1, tokensPerMinute: 5_000 });
  const { key } = await test.customer(1_000);
  const client = new Anthropic({
    baseURL: "http://gateway.example",
    apiKey: key,
    maxRetries: 0,
    fetch: fetchOf(test, []),
  });
  const ask = () =>
    client.messages.create({ ...hello, messages: [{ role: "user", content: "Hi" }] })
      .withResponse();
  const { response: { headers } } = await ask();
  assertEquals(headers.get("anthropic-ratelimit-requests-remaining"), "0");
  const reset = Date.parse(headers.get("anthropic-ratelimit-requests-reset") ?? "");
  const resetMs = reset - test.time.nowMs();
  assert(resetMs >= 60_000 && resetMs <= 62_000, `${resetMs} ms`);
  const error = await ask().catch((thrown) => thrown);
  assert(error instanceof Anthropic.RateLimitError);
  assertEquals(error.status, 429);
  assertEquals(error.headers?.get("anthropic-ratelimit-tokens-limit"), "5000");
});

Deno.test(
  "both SDKs wait as long as they are told, and then get their answer",
  options,
  async () => {
    await using test = await openLimited({ callsAtOnce: 1 });
    const { key } = await test.customer(1_000);
    const statuses: number[] = [];
    const common = { apiKey: key, maxRetries: 3, fetch: fetchOf(test, statuses) };
    const openai = new OpenAI({ baseURL: "http://gateway.example/v1", ...common });
    const anthropic = new Anthropic({ baseURL: "http://gateway.example", ...common });
    const messages = [{ role: "user" as const, content: "Hi" }];
    const first = await openai.chat.completions.create({ ...hello, messages, stream: true });
    const waiting = anthropic.messages.create({ ...hello, messages });
    await until(() => statuses.includes(429), "the other SDK is told to wait");
    for await (const _ of first);
    assertEquals((await waiting).type, "message");
    assertEquals([statuses.at(0), statuses.at(1), statuses.at(-1)], [200, 429, 200]);
  },
);

Deno.test("a prompt that never fits is not sent again", options, async () => {
  await using test = await openLimited({ tokensPerMinute: 100 });
  const { key } = await test.customer(1_000);
  const statuses: number[] = [];
  const client = new OpenAI({
    baseURL: "http://gateway.example/v1",
    apiKey: key,
    maxRetries: 3,
    fetch: fetchOf(test, statuses),
  });
  const messages = [{ role: "user" as const, content: "word ".repeat(1_000) }];
  await assertRejects(
    () => client.chat.completions.create({ ...hello, messages }),
    OpenAI.RateLimitError,
  );
  assertEquals(statuses, [429]);
});
