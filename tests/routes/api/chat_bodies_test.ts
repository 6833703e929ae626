/** Bodies in the form of other styles at the Chat endpoint, as Cursor sends them. */
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

const paths: readonly (readonly [end: string, style: Style])[] = [
  ["/chat/completions", "chat"],
  ["/messages", "messages"],
  ["/responses", "responses"],
  [":generateContent", "gemini"],
  [":streamGenerateContent", "gemini"],
];

const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const flat = { type: "function", name: "read_file", description: "Reads", parameters: schema };
const nested = {
  type: "function",
  function: { name: "read_file", description: "Reads", parameters: schema },
};
const anthropic = { name: "read_file", description: "Reads", input_schema: schema };
const grammar = { type: "grammar", syntax: "lark", definition: "start: /.+/" };
const flatCustom = { type: "custom", name: "apply_patch", description: "Patches", format: grammar };

const input = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "input_text", text: "Read note.txt" }] },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
  { type: "function_call", call_id: "call_1", name: "read_file", arguments: '{"path":"note.txt"}' },
  { type: "function_call_output", call_id: "call_1", output: "alpha" },
];
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Read note.txt" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{
      id: "call_1",
      type: "function",
      function: { name: "read_file", arguments: '{"path":"note.txt"}' },
    }],
  },
  { role: "tool", tool_call_id: "call_1", content: "alpha" },
];

/** What an agent may send, beside a model. All of them are one conversation with one function, at least. */
const bodies: Readonly<Record<string, JsonObject>> = {
  "input and flat tools": { input, tools: [flat, flatCustom] },
  "input and nested tools": { input, tools: [nested] },
  "messages and flat tools": { messages, tools: [flat, flatCustom] },
  "messages and mixed tools": { messages, tools: [nested, { ...flatCustom }] },
  "messages and tools of the Messages style": { messages, tools: [anthropic] },
  "input, and a flat choice": {
    input,
    tools: [flat],
    tool_choice: { type: "function", name: "read_file" },
  },
  "messages, and a flat choice": {
    messages,
    tools: [flat],
    tool_choice: { type: "function", name: "read_file" },
  },
  "input beside members of both styles": {
    input,
    tools: [flat],
    tool_choice: "auto",
    reasoning: { effort: "high", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    store: false,
    text: { format: { type: "text" } },
    max_tokens: 300,
    user: "u1",
  },
};

const chatAnswer = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "up",
  choices: [{ index: 0, message: { role: "assistant", content: "alpha" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
};

const answers: Readonly<Record<Style, JsonObject>> = {
  chat: chatAnswer,
  messages: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "up",
    content: [{ type: "text", text: "alpha" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 20, output_tokens: 5 },
  },
  responses: {
    id: "r",
    object: "response",
    status: "completed",
    model: "up",
    output: [{
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "alpha", annotations: [] }],
    }],
    usage: { input_tokens: 20, output_tokens: 5, total_tokens: 25 },
  },
  gemini: {
    candidates: [{ content: { role: "model", parts: [{ text: "alpha" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 },
  },
};

async function openWorld() {
  const seen: { style: Style; body: JsonObject }[] = [];
  const provider = mockProvider(({ path, json }) => {
    const style = paths.find(([end]) => path.split("?")[0]?.endsWith(end))?.[1] ?? "chat";
    const body = json();
    if (!isJsonObject(body)) throw new Error("no object");
    seen.push({ style, body });
    const refusal = validateRequest(style, style === "gemini" ? { model: "up", ...body } : body);
    // A whole answer to a stream is converted by the gateway.
    return refusal === undefined
      ? Response.json(answers[style])
      : Response.json({ error: { message: refusal, type: "invalid_request_error" } }, {
        status: 400,
      });
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "m-chat",
    models: styles.map((style) => ({
      id: `m-${style}`,
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "p", style, model: "up" }],
    })),
  }));
  const { key } = await gateway.customer(1_000);
  return {
    seen,
    async send(body: JsonObject, headers: Readonly<Record<string, string>> = {}) {
      seen.length = 0;
      const response = await gateway.fetch(
        apiPost("http://gateway.example/v1/chat/completions", key, body, headers),
      );
      return { response, text: await response.text() };
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("bodies with the input or the tools of other styles are answered as Chat, by routes of every style", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    for (const [what, body] of Object.entries(bodies)) {
      for (const stream of [false, true]) {
        const { response, text } = await world.send({ model: `m-${style}`, stream, ...body });
        const story = `${what}, ${style}, stream ${stream}: ${text}\n${JSON.stringify(world.seen)}`;
        assertEquals(response.status, 200, story);
        assert(text.includes(stream ? '"chat.completion.chunk"' : '"chat.completion"'), story);
        assert(text.includes("alpha"), story);
        const sent = JSON.stringify(world.seen[0]?.body);
        for (const part of ["Be brief.", "Read note.txt", "read_file", "alpha", '"required"']) {
          assert(sent.includes(part), `${part}: ${story}`);
        }
        const isCustom = JSON.stringify(body).includes("apply_patch");
        assertEquals(sent.includes("apply_patch"), isCustom, story);
      }
    }
  }
});

Deno.test("what the request said in another form reaches a route of the Chat style in its own", async () => {
  await using world = await openWorld();
  await world.send({ model: "m-chat", input, tools: [flat, flatCustom], max_output_tokens: 90 });
  const { grammar: _none, ...rest } = { ...grammar, grammar: undefined };
  const { type, ...definition } = rest;
  assertEquals(world.seen[0]?.body, {
    model: "up",
    messages,
    tools: [nested, {
      type: "custom",
      custom: {
        name: "apply_patch",
        description: "Patches",
        format: { type, grammar: definition },
      },
    }],
    max_completion_tokens: 90,
  });
  await world.send({ model: "m-chat", ...bodies["input beside members of both styles"] });
  const { max_tokens: maxTokens, reasoning_effort: effort } = world.seen[0]?.body ?? {};
  assertEquals([maxTokens, effort], [300, "high"]);
  // A body that has the form already passes byte by byte.
  const plain = { model: "up", messages, tools: [nested] };
  await world.send({ ...plain, model: "m-chat" });
  assertEquals(world.seen[0]?.body, plain);
});

Deno.test("the usage chunk comes if the client asked for it, whatever the form of its body", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    for (const asked of [true, false]) {
      const { text } = await world.send({
        model: `m-${style}`,
        input,
        stream: true,
        ...(asked && { stream_options: { include_usage: true } }),
      });
      assertEquals(text.includes('"total_tokens":25'), asked, `${style}: ${text}`);
    }
  }
});

Deno.test("what Chat has no place for is named, refused if the client wants that, and stored state is refused", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    const body = { model: `m-${style}`, input, truncation: "auto", store: true };
    const named = await world.send(body);
    assertEquals(named.response.status, 200, named.text);
    const header = named.response.headers.get("x-gateway-conversion") ?? "";
    assert(header.includes("truncation") && header.includes("store"), `${style}: ${header}`);
    const strict = await world.send(body, { "x-gateway-strict": "true" });
    assertEquals(strict.response.status, 400, strict.text);
    for (const field of ["previous_response_id", "conversation"]) {
      const stored = await world.send({ model: `m-${style}`, input: "Hi", [field]: "resp_1" });
      assertEquals(stored.response.status, 400, stored.text);
      assert(stored.text.includes(field), stored.text);
      // What to change, in the words of the clients that send it.
      assert(stored.text.includes("AI SDK"), stored.text);
    }
  }
});
