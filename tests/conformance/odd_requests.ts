/**
 * Requests that no recording has although clients send them: legal oddities, and what only some vendors refuse. Each
 * goes out in a form that the vendor of every style takes, or is refused.
 */
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import type { Style } from "../../core/wire/contract/contract.ts";

const schema: JsonObject = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
};

/** Ids as vendors write them, and such that no vendor takes. */
export const oddIds: readonly string[] = [
  "call_abcdefghijklmnopqrstuvwx",
  "toolu_01A09q90qw90lq917835lq9",
  "toolu_vrtx_01GtXqFkVrNEdyaJLoNPXaNd",
  "functions.Bash:0",
  "abcDEF123",
  "chatcmpl-tool-9a0f8c1d2e3f4a5b6c7d8e9f0a1b2c3d",
  "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
  "i".repeat(65),
  "with space/and:dots.",
  "ü-ñ-日本",
];

/** Names of tools, likewise. */
export const oddNames: readonly string[] = [
  "server.tool/with path",
  "mcp__server__tool",
  "a".repeat(70),
  "$web_search",
  "tìm_kiếm",
  "1st",
];

const schemas: readonly Json[] = [
  { type: "object" },
  { type: "object", properties: {}, required: null },
  { type: "object", properties: [], required: [] },
  { type: ["object", "null"], properties: { a: {} } },
  { properties: { a: { type: "array" } } },
  { anyOf: [{ type: "object", properties: {} }, { type: "string" }] },
  { type: "string" },
  { type: "object", properties: { $filter: { type: "string" }, "a b": { type: "integer" } } },
  { type: "object", properties: { a: { type: "any" } } },
  { type: "object", properties: { a: { enum: [1, "b", null] } }, required: ["a", "a"] },
  { type: "object", properties: { a: { $ref: "#/$defs/x" } }, $defs: { x: { type: "number" } } },
];

const givenArguments: readonly Json[] = [
  "",
  " ",
  "{}",
  "{",
  "[1]",
  "5",
  '"{}"',
  "null",
  "no JSON",
  {
    a: "1",
  },
];

const numbers: readonly JsonObject[] = [
  { temperature: 2 },
  { temperature: -0.1 },
  { temperature: 3 },
  { top_p: 0 },
  { top_p: 1.5 },
  { temperature: 0, top_p: 0.1 },
];

const user = (content: Json): JsonObject => ({ role: "user", content });

function messages(more: JsonObject): JsonObject {
  return { model: "m", max_tokens: 100, messages: [user("Hi")], ...more };
}

function messagesLoop(ids: readonly string[], name: string): JsonObject {
  const calls = ids.map((id): JsonObject => ({ type: "tool_use", id, name, input: {} }));
  const results = ids.toReversed().map((id): JsonObject => ({
    type: "tool_result",
    tool_use_id: id,
    content: [],
  }));
  return messages({
    messages: [
      user("Hi"),
      { role: "assistant", content: calls },
      user([...results, text("Go on")]),
    ],
    tools: [{ name, input_schema: schema }],
  });
}

const text = (words: string): JsonObject => ({ type: "text", text: words });
const prefill: JsonObject = { role: "assistant", content: "So: " };

const messagesRequests: readonly JsonObject[] = [
  ...oddIds.map((id) => messagesLoop([id, `${id}x`], "f")),
  ...oddNames.map((name) => messagesLoop(["toolu_1", "toolu_2"], name)),
  ...schemas.map((given) => messages({ tools: [{ name: "f", input_schema: given }] })),
  ...numbers.map(messages),
  messages({ system: [], tools: [], stop_sequences: [] }),
  messages({ system: [text("a"), text("")], messages: [user([text("b")])] }),
  messages({ messages: [user("Hi"), prefill] }),
  messages({ messages: [prefill, user("Hi")] }),
  messages({ messages: [user([]), user("Hi")] }),
  messages({ messages: [user("a"), user("b"), { role: "system", content: "c" }] }),
  messages({ tools: [{ name: "f", input_schema: schema }, { name: "f", input_schema: schema }] }),
  messages({
    tools: [{ name: "f", input_schema: schema }, { name: "f", input_schema: { type: "object" } }],
  }),
  messages({
    tools: [{ name: "f", input_schema: schema }],
    tool_choice: { type: "tool", name: "g" },
  }),
  messages({ thinking: { type: "enabled", budget_tokens: 63_999 }, max_tokens: 64_000 }),
  messages({ thinking: { type: "between_tools" } }),
  messages({ tools: [{ type: "browser_toolset_20260801" }] }),
  messages({
    messages: [{ role: "assistant", content: [{ type: "compaction", content: "s" }] }, user("b")],
  }),
];

function chat(more: JsonObject): JsonObject {
  return { model: "m", messages: [user("Hi")], ...more };
}

function chatLoop(ids: readonly string[], name: string, given: Json): JsonObject {
  const tool_calls = ids.map((id): JsonObject => ({
    id,
    type: "function",
    function: { name, arguments: given },
  }));
  const results = ids.toReversed().map((id): JsonObject => ({
    role: "tool",
    tool_call_id: id,
    content: null,
  }));
  return chat({
    messages: [user("Hi"), { role: "assistant", content: null, tool_calls }, ...results],
    tools: [{ type: "function", function: { name, parameters: schema } }],
  });
}

const f: JsonObject = { type: "function", function: { name: "f", parameters: schema } };

const chatRequests: readonly JsonObject[] = [
  ...oddIds.map((id) => chatLoop([id, `${id}x`], "f", "{}")),
  ...oddNames.map((name) => chatLoop(["call_1", "call_2"], name, "{}")),
  ...givenArguments.map((given) => chatLoop(["call_1"], "f", given)),
  ...schemas.map((parameters) =>
    chat({ tools: [{ type: "function", function: { name: "f", parameters } }] })
  ),
  ...schemas.map((given) =>
    chat({
      response_format: { type: "json_schema", json_schema: { name: "a.b", schema: given } },
    })
  ),
  ...numbers.map(chat),
  ...[{ presence_penalty: 3 }, { frequency_penalty: -9 }, { logprobs: true, top_logprobs: 25 }]
    .map(chat),
  chat({ tools: [f, f] }),
  chat({ tools: [f, { type: "custom", custom: { name: "f" } }] }),
  chat({ tools: [f], tool_choice: { type: "function", function: { name: "g" } } }),
  chat({ tools: [], tool_choice: "auto" }),
  chat({ messages: [user([text("a"), text("")]), prefill] }),
  chat({ messages: [user(null), user("Hi")], stop: "", temperature: null, tools: null }),
  chat({ messages: [{ role: "system", content: [text("a"), text("b")] }, user([text("c")])] }),
  chat({ messages: [user("Hi"), { role: "assistant", content: null }, user("Hi")] }),
  chat({ stop: ["", "a"] }),
  chat({ response_format: { type: "json_object" } }),
];

function responses(more: JsonObject): JsonObject {
  return { model: "m", input: "Hi", ...more };
}

const call = (call_id: string, name: string, given: Json): JsonObject => ({
  type: "function_call",
  call_id,
  name,
  arguments: given,
});

function responsesLoop(ids: readonly string[], name: string, given: Json): JsonObject {
  const outputs = ids.toReversed().map((call_id): JsonObject => ({
    type: "function_call_output",
    call_id,
    output: "",
  }));
  return responses({
    input: [user("Hi"), ...ids.map((id) => call(id, name, given)), ...outputs],
    tools: [{ type: "function", name, parameters: schema }],
  });
}

const responsesRequests: readonly JsonObject[] = [
  ...oddIds.map((id) => responsesLoop([id, `${id}x`], "f", "{}")),
  ...oddNames.map((name) => responsesLoop(["call_1", "call_2"], name, "{}")),
  ...givenArguments.map((given) => responsesLoop(["call_1"], "f", given)),
  ...schemas.map((parameters) =>
    responses({ tools: [{ type: "function", name: "f", parameters }] })
  ),
  ...numbers.map(responses),
  responses({
    tools: [{ type: "function", name: "f", parameters: schema }, { type: "custom", name: "f" }],
  }),
  responses({
    tools: [{ type: "function", name: "f" }],
    tool_choice: { type: "function", name: "g" },
  }),
  responses({
    input: [user("Hi"), { type: "configuration_update", reasoning: { effort: "high" } }],
  }),
  responses({ input: [user([]), { role: "assistant", content: "So: " }] }),
  responses({ text: { format: { type: "json_object" } } }),
  responses({ text: { format: { type: "json_schema", name: "", schema } } }),
  responses({ input: [{ type: "new_kind", new_kind: "a" }] }),
];

function gemini(more: JsonObject): JsonObject {
  return { model: "m", contents: [{ role: "user", parts: [{ text: "Hi" }] }], ...more };
}

function geminiLoop(ids: readonly string[], name: string): JsonObject {
  const calls = ids.map((id): JsonObject => ({ functionCall: { id, name, args: {} } }));
  const results = ids.toReversed().map((id): JsonObject => ({
    functionResponse: { id, name, response: {} },
  }));
  return gemini({
    contents: [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: calls },
      { role: "user", parts: results },
    ],
    tools: [{ functionDeclarations: [{ name, parametersJsonSchema: schema }] }],
  });
}

const geminiRequests: readonly JsonObject[] = [
  ...oddIds.map((id) => geminiLoop([id, `${id}x`], "f")),
  ...oddNames.map((name) => geminiLoop(["a", "b"], name)),
  ...schemas.map((given) =>
    gemini({ tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: given }] }] })
  ),
  ...[{ temperature: 3 }, { topP: -1 }, { topK: 0 }, { stopSequences: [""] }, { logprobs: 30 }]
    .map((generationConfig) => gemini({ generationConfig })),
  gemini({ tools: [{ functionDeclarations: [{ name: "f" }, { name: "f" }] }] }),
  gemini({
    tools: [{ functionDeclarations: [{ name: "f" }] }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["g"] } },
  }),
  gemini({ contents: "Hi", generationConfig: { responseMimeType: "application/json" } }),
  gemini({ contents: [{ role: "model", parts: [{ text: "So: " }] }] }),
  gemini({ contents: [{ parts: [] }, { parts: [{ text: "Hi" }] }] }),
];

/** The odd requests of each style. */
export const oddRequests: Readonly<Record<Style, readonly JsonObject[]>> = {
  messages: messagesRequests,
  chat: chatRequests,
  responses: responsesRequests,
  gemini: geminiRequests,
};
