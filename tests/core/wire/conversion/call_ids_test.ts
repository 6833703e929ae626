/**
 * A model reads the ids of its calls as it wrote them, in every direction: models that number their calls by them
 * (Kimi) call wrong tools otherwise.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import { nativeForm, needsNativeForm } from "../../../../core/wire/chat/request/native_form.ts";
import { withNativeIds } from "../../../../core/wire/messages/request/native_ids.ts";
import { sentRequest } from "../../../conformance/sent_requests.ts";
import { context, converted, convertedAnswer } from "./converting.ts";
import { clientStyles, providerStyles, wholeAnswer } from "./provider_answers.ts";

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const word = (length: number) => fc.stringMatching(new RegExp(`^[a-zA-Z0-9]{${length}}$`));

/** The forms in which vendors write ids, by the style of their servers. */
const forms: Readonly<Record<ProviderStyle, fc.Arbitrary<string>>> = {
  chat: fc.oneof(
    word(24).map((id) => `call_${id}`),
    word(8).map((id) => `7${id}`),
    hex(32).map((id) => `chatcmpl-tool-${id}`),
    fc.tuple(fc.constantFrom("Bash", "get_weather", "mcp__a__b"), fc.nat(300))
      .map(([name, n]) => `functions.${name}:${n}`),
    fc.nat(9).map((n) => `llm_version:${n}`),
    word(6).map((id) => `${id}/ü ${id}`),
  ),
  messages: fc.oneof(
    word(22).map((id) => `toolu_01${id}`),
    word(24).map((id) => `toolu_vrtx_${id}`),
    fc.nat(300).map((n) => `functions.Bash:${n}`),
  ),
  responses: fc.oneof(word(24).map((id) => `call_${id}`), hex(40).map((id) => `fc_${id}`)),
  gemini: fc.oneof(word(7).map((id) => `7${id}`), word(20).map((id) => `function-call-${id}`)),
  converse: word(22).map((id) => `tooluse_${id}`),
};

/** Routes of servers that take the ids that they write. */
const anyIds: RouteCapabilities = { tool_id: "any" };

function callAnswer(style: ProviderStyle, id: string): JsonObject {
  const answer = wholeAnswer(style, { text: "", reason: ends[style] });
  const call = { name: "f", arguments: "{}" };
  switch (style) {
    case "chat": {
      const tool_calls = [{ id, type: "function", function: call }];
      const message = { role: "assistant", content: null, tool_calls };
      return { ...answer, choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
    }
    case "messages":
      return { ...answer, content: [{ type: "tool_use", id, name: "f", input: {} }] };
    case "responses":
      return { ...answer, output: [{ type: "function_call", id: "fc_1", call_id: id, ...call }] };
    case "gemini": {
      const parts = [{ functionCall: { id, name: "f", args: {} } }];
      return {
        ...answer,
        candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
      };
    }
    case "converse": {
      const content = [{ toolUse: { toolUseId: id, name: "f", input: {} } }];
      return { ...answer, output: { message: { role: "assistant", content } } };
    }
  }
}

const ends: Readonly<Record<ProviderStyle, string>> = {
  chat: "tool_calls",
  messages: "tool_use",
  responses: "completed",
  gemini: "STOP",
  converse: "tool_use",
};

/** What a client sends back: the call as it got it, and its result. */
function echoed(
  style: Style,
  answer: JsonObject,
): { readonly id: string; readonly body: JsonObject } {
  const at = (...path: (string | number)[]): Json => {
    let value: Json = answer;
    for (const step of path) value = (value as Record<string, Json>)[step] ?? null;
    return value;
  };
  switch (style) {
    case "chat": {
      const message = at("choices", 0, "message") as JsonObject;
      const id = String(at("choices", 0, "message", "tool_calls", 0, "id"));
      const result = { role: "tool", tool_call_id: id, content: "r" };
      const tools = [{ type: "function", function: { name: "f" } }];
      return { id, body: { model: "m", messages: [user, message, result], tools } };
    }
    case "messages": {
      const id = String(at("content", 0, "id"));
      const result = { type: "tool_result", tool_use_id: id, content: "r" };
      const turns = [user, { role: "assistant", content: at("content") }, {
        role: "user",
        content: [result],
      }];
      const tools = [{ name: "f", input_schema: { type: "object" } }];
      return { id, body: { model: "m", max_tokens: 9, messages: turns, tools } };
    }
    case "responses": {
      const id = String(at("output", 0, "call_id"));
      const result = { type: "function_call_output", call_id: id, output: "r" };
      const tools = [{ type: "function", name: "f" }];
      return { id, body: { model: "m", input: [user, at("output", 0), result], tools } };
    }
    case "gemini": {
      const id = String(at("candidates", 0, "content", "parts", 0, "functionCall", "id"));
      const result = { functionResponse: { id, name: "f", response: { output: "r" } } };
      const contents = [
        { role: "user", parts: [{ text: "Hi" }] },
        at("candidates", 0, "content"),
        { role: "user", parts: [result] },
      ];
      return {
        id,
        body: { model: "m", contents, tools: [{ functionDeclarations: [{ name: "f" }] }] },
      };
    }
  }
}

const user: JsonObject = { role: "user", content: "Hi" };

for (const from of providerStyles) {
  for (const client of clientStyles.filter((style) => style !== from)) {
    Deno.test(`ids of ${from} come back to the model as it wrote them, from a ${client} client`, () => {
      fc.assert(
        fc.property(forms[from], (id) => {
          const answer = callAnswer(from, id);
          const told = echoed(client, convertedAnswer(from, client, answer));
          if (client === "messages") assert(/^[a-zA-Z0-9_-]+$/.test(told.id), told.id);
          const pipe = createConvertingPipe(from, client, context, {});
          const bytes = new TextEncoder().encode(answerFrames(from, answer));
          const streamed = new TextDecoder().decode(pipe.push(bytes)) +
            new TextDecoder().decode(pipe.end());
          assert(streamed.includes(JSON.stringify(told.id)), `${told.id} is not in ${streamed}`);
          const sent = JSON.stringify(converted(client, from, told.body, anyIds).body);
          assertEquals(sent.split(JSON.stringify(id)).length, 3, `${id} as ${told.id} in ${sent}`);
        }),
        { numRuns: 100 },
      );
    });
  }
}

// Native requests, on routes that take other ids than the client has.

Deno.test("a Chat request reaches a server with ids of nine characters in its form, named", () => {
  const ids = ["call_abcdefghijklmnopqrs", "abcDEF123"];
  const messages = [
    user,
    {
      role: "assistant",
      content: null,
      tool_calls: ids.map((id) => ({
        id,
        type: "function",
        function: { name: "f", arguments: "{}" },
      })),
    },
    ...ids.map((tool_call_id) => ({ role: "tool", tool_call_id, content: "r" })),
  ];
  const route: RouteCapabilities = { tool_id: "alnum9" };
  const sending = sentRequest("chat", { model: "m", messages }, "chat", route);
  assert(sending.kind === "sent");
  const text = new TextDecoder().decode(sending.bytes);
  assert(!text.includes(ids[0]!) && text.includes(ids[1]!), text);
  assertEquals(sending.dropped, ["messages.1.tool_calls.0.id", "messages.2.tool_call_id"]);
  const { messages: written } = nativeForm(messages, route);
  assert(!needsNativeForm([...written], route), "what has the form is not changed again");
});

Deno.test("ids that the Messages vendor refuses are legal there, and as written at a server that takes any", () => {
  const id = "functions.Bash:0";
  const loop = (call: string): JsonObject => ({
    model: "m",
    max_tokens: 9,
    messages: [
      user,
      { role: "assistant", content: [{ type: "tool_use", id: call, name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call, content: "r" }] },
    ],
  });
  const sent = (call: string, route: RouteCapabilities) => {
    const sending = sentRequest("messages", loop(call), "messages", route);
    assert(sending.kind === "sent");
    return { text: new TextDecoder().decode(sending.bytes), dropped: sending.dropped };
  };
  const named = ["messages.1.content.0.id", "messages.2.content.0.tool_use_id"];
  const atVendor = sent(id, {});
  assert(!atVendor.text.includes(id));
  assertEquals(atVendor.dropped, named);
  assertEquals(sent(id, anyIds).dropped, []);
  const told = convertedAnswer("chat", "messages", callAnswer("chat", id));
  const back = sent(echoed("messages", told).id, anyIds);
  assert(back.text.includes(id));
  assertEquals(back.dropped, named);
  assertEquals(withNativeIds([user], {}).changed, []);
});
