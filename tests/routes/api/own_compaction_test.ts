/**
 * A conversation is compacted by a call of the gateway's own where the vendor of the route has no such request, and its
 * summary is read by every model afterwards.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const summary = "The user is called An; plan B was agreed.";

const usage = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };

function chatAnswer(content: string | null, finish_reason = "stop"): Response {
  const message = { role: "assistant", content };
  return Response.json({
    id: "c",
    object: "chat.completion",
    model: "up",
    choices: [{ index: 0, message, finish_reason }],
    usage,
  });
}

async function openWorld() {
  const vendor = { answer: () => chatAnswer(summary) };
  const provider = mockProvider(() => vendor.answer());
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "talk",
    models: (["chat", "messages", "responses"] as const).map((style) => ({
      id: style === "chat" ? "talk" : style,
      price: { unit: "token", vndPerMtok: 1_000_000 },
      contextWindow: 100_000,
      maxOutputTokens: 10_000,
      routes: [{ provider: "p", style, model: "up" }],
    })),
  }));
  const { key } = await gateway.customer(100_000);
  return {
    vendor,
    gateway,
    sent: (): JsonObject => JSON.parse(new TextDecoder().decode(provider.seen.at(-1)!.body)),
    calls: () => provider.seen.length,
    ask: (path: string, body: object, headers: Record<string, string> = {}) =>
      gateway.fetch(apiPost(`http://gateway${path}`, key, body, headers)),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const turns = [
  { role: "user", content: "My name is An" },
  { role: "assistant", content: "Plan B?" },
  { role: "user", content: "Yes" },
];
const tools = [{ name: "f", input_schema: { type: "object" } }];
const byMessages = {
  model: "talk",
  max_tokens: 900,
  messages: turns,
  tools,
  compaction: { type: "summarize" },
};
const byResponses = {
  model: "talk",
  input: [...turns, { type: "compaction_trigger" }],
  tools: [{ type: "function", name: "f" }],
  stream: true,
};

Deno.test("a Messages client gets the summary as its vendor writes it, whole and streamed, and pays for the call", async () => {
  await using world = await openWorld();
  const whole = await world.ask("/v1/messages", byMessages);
  const { content, stop_reason } = await whole.json();
  const [block] = content;
  assertEquals([whole.status, content.length, block.type, block.content, stop_reason], [
    200,
    1,
    "compaction",
    summary,
    "compaction",
  ]);
  const sent = world.sent();
  assertEquals([sent.tool_choice, sent.stream, sent.compaction], ["none", undefined, undefined]);
  assertStringIncludes(JSON.stringify(sent.messages), "Write a summary of the conversation");
  const streamed = await (await world.ask("/v1/messages", { ...byMessages, stream: true })).text();
  for (
    const part of ['"type":"compaction"', summary, '"stop_reason":"compaction"', "message_stop"]
  ) {
    assertStringIncludes(streamed, part);
  }
  const own = { ...byMessages, compaction: { type: "summarize", instructions: "In verse." } };
  await (await world.ask("/v1/messages", own)).body?.cancel();
  assertStringIncludes(JSON.stringify(world.sent().messages), "In verse.");
  const books = await verifyStore(world.gateway.assembled.gateway.kv);
  assertEquals(books.problems, []);
});

Deno.test("a Responses client gets one compaction item, and any model reads it afterwards", async () => {
  await using world = await openWorld();
  const text = await (await world.ask("/v1/responses", byResponses)).text();
  const data = text.split("\n").filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
  const done = data.filter(({ type }) => type === "response.output_item.done");
  assertEquals(done.map(({ item }) => item.type), ["compaction"]);
  const { response } = data.at(-1);
  assertEquals([data.at(-1).type, response.output.length], ["response.completed", 1]);
  assertStringIncludes(JSON.stringify(world.sent().messages), "Write a summary");
  const item = done[0].item;
  const goOn = { input: [item, { role: "user", content: "What is my name?" }] };
  for (const model of ["talk", "messages", "responses"]) {
    await (await world.ask("/v1/responses", { model, ...goOn })).body?.cancel();
    const read = JSON.stringify(world.sent());
    assert(read.includes(summary) && !read.includes("encrypted_content"), `${model}: ${read}`);
  }
});

Deno.test("a summary goes on as text at a vendor that did not write it", async () => {
  await using world = await openWorld();
  const { content } = await (await world.ask("/v1/messages", byMessages)).json();
  const messages = [{ role: "assistant", content: [...content, { type: "text", text: "On." }] }, {
    role: "user",
    content: "What is my name?",
  }];
  await (await world.ask("/v1/messages", { model: "messages", max_tokens: 9, messages })).body
    ?.cancel();
  const sent = world.sent().messages as JsonObject[];
  assertEquals(sent.map(({ role }) => role), ["user", "assistant", "user"]);
  assertStringIncludes(JSON.stringify(sent[0]), summary);
  assert(!JSON.stringify(sent).includes('"compaction"'));
});

Deno.test("without a whole summary the call is a free failure, and another kind is refused", async () => {
  await using world = await openWorld();
  for (const answer of [() => chatAnswer(null), () => chatAnswer("The user", "length")]) {
    world.vendor.answer = answer;
    const failed = await world.ask("/v1/messages", byMessages);
    assert(failed.status >= 500, `${failed.status}`);
    assertEquals(failed.headers.get("x-gateway-cost-vnd") ?? "0", "0");
    await failed.body?.cancel();
  }
  const calls = world.calls();
  const other = await world.ask("/v1/messages", { ...byMessages, compaction: { type: "other" } });
  assertEquals([other.status, world.calls()], [400, calls]);
  assertStringIncludes(await other.text(), "compaction.type");
});
