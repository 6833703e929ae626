/** Reasoning of a Responses upstream travels through clients of the other styles and comes back to its signer only. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import type {
  PipeContext,
  RouteCapabilities,
  Style,
} from "../../../../../core/wire/contract/contract.ts";
import { convertAnswer, convertRequest } from "../../../../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../../../../core/wire/convert/converting_pipe.ts";
import { withoutForeignBlocks } from "../../../../../core/wire/messages/request/decode_blocks.ts";
import { validateRequest } from "../../../../../sandbox/vendor_validators/validators.ts";
import { isJsonObject, type JsonObject } from "../../../../../core/lib/json/json.ts";
import { concatBytes } from "../../../../support/strict_client/strict_client.ts";
import {
  readChatAnswer,
  readChatStream,
} from "../../../../support/strict_client/strict_client_chat.ts";
import {
  readMessagesAnswer,
  readMessagesStream,
} from "../../../../support/strict_client/strict_client_messages.ts";

const context: PipeContext = {
  clientModel: "premium",
  requestId: "req_abc",
  clientWantsUsage: true,
  nowSeconds: 1,
};

const reasoning: JsonObject = {
  type: "reasoning",
  id: "rs_68a",
  summary: [
    { type: "summary_text", text: "Weather first." },
    { type: "summary_text", text: "Then the time." },
  ],
  encrypted_content: "gAAAAABo+/=",
};
const call: JsonObject = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "get_weather",
  arguments: '{"city":"Hanoi"}',
  status: "completed",
};
const answer: JsonObject = {
  id: "resp_up",
  object: "response",
  status: "completed",
  output: [reasoning, call],
  usage: { input_tokens: 5, output_tokens: 6 },
};

/** The same answer as a stream of its upstream. */
function stream(): Uint8Array {
  const events: JsonObject[] = [
    { type: "response.created", response: { id: "resp_up", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...reasoning, summary: [], encrypted_content: "partial" },
    },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
    { type: "response.output_item.done", output_index: 1, item: call },
    { type: "response.completed", response: answer },
  ];
  const frames = events.map((event) =>
    `event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`
  );
  return new TextEncoder().encode(frames.join(""));
}

function converted(to: Style): Uint8Array {
  const pipe = createConvertingPipe("responses", to, context, {});
  return concatBytes([pipe.push(stream()), pipe.end()]);
}

/** What each kind of client holds of the assistant's turn, and how it sends the turn back. */
const clients: Record<string, () => { readonly style: Style; readonly body: JsonObject }> = {
  "a Messages client": () => messagesTurn(readMessagesAnswer(whole("messages")).content),
  "a streaming Messages client": () => {
    const outcome = readMessagesStream(converted("messages"));
    assert(outcome.kind === "message");
    return messagesTurn(outcome.message.content);
  },
  "a Chat client": () => chatTurn(readChatAnswer(whole("chat")).choices[0]?.message),
  "a streaming Chat client": () => {
    const outcome = readChatStream(converted("chat"), true);
    assert(outcome.kind === "completion");
    return chatTurn(outcome.completion.choices[0]?.message);
  },
};

function whole(to: Style): JsonObject {
  return convertAnswer("responses", to, answer, context, {});
}

function messagesTurn(content: unknown): { style: Style; body: JsonObject } {
  const turn: JsonObject = JSON.parse(JSON.stringify({ role: "assistant", content }));
  const result: JsonObject = { type: "tool_result", tool_use_id: "call_1", content: "Sunny" };
  return {
    style: "messages",
    body: {
      model: "m",
      max_tokens: 100,
      messages: [{ role: "user", content: "Hi" }, turn, { role: "user", content: [result] }],
      tools: [{ name: "get_weather", input_schema: { type: "object" } }],
    },
  };
}

function chatTurn(message: unknown): { style: Style; body: JsonObject } {
  const turn: JsonObject = JSON.parse(JSON.stringify(message));
  return {
    style: "chat",
    body: {
      model: "m",
      messages: [
        { role: "user", content: "Hi" },
        turn,
        { role: "tool", tool_call_id: "call_1", content: "Sunny" },
      ],
      tools: [{ type: "function", function: { name: "get_weather" } }],
    },
  };
}

function reasoningSent(style: Style, body: JsonObject, capabilities: RouteCapabilities): unknown[] {
  const conversion = convertRequest(style, "responses", body, {
    capabilities,
    upstreamModel: "up",
    maxOutputTokens: 1000,
  });
  assert(conversion.ok);
  assertEquals(validateRequest("responses", conversion.request.body), undefined);
  const { input } = conversion.request.body;
  assert(Array.isArray(input));
  return input.filter((item) => isJsonObject(item) && item["type"] === "reasoning");
}

for (const [name, turn] of Object.entries(clients)) {
  Deno.test(`${name} gives reasoning back to its upstream byte for byte`, () => {
    const { style, body } = turn();
    assertEquals(reasoningSent(style, body, {}), [reasoning]);
  });

  Deno.test(`${name} gives it to no other organisation`, () => {
    const { style, body } = turn();
    assertEquals(reasoningSent(style, body, { reasoning_signer: "another" }), []);
  });
}

Deno.test("a native Messages call never carries the foreign reasoning", () => {
  const { body } = messagesTurn(readMessagesAnswer(whole("messages")).content);
  const clean = withoutForeignBlocks(body);
  assert(clean !== undefined && !JSON.stringify(clean).includes("thinking"));
  assertEquals(validateRequest("messages", clean), undefined);
});

Deno.test("a converted call to a Messages model never carries it either", () => {
  const { style, body } = clients["a Chat client"]?.() ?? messagesTurn([]);
  const conversion = convertRequest(style, "messages", body, {
    capabilities: {},
    upstreamModel: "up",
    maxOutputTokens: 1000,
  });
  assert(conversion.ok);
  assert(!JSON.stringify(conversion.request.body).includes("thinking"));
});
