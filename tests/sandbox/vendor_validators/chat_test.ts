import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";

const pixel = "data:image/png;base64,iVBORw0KGgo=";
const tool: JsonObject = {
  type: "function",
  function: {
    name: "add",
    parameters: { type: "object", properties: { a: { type: "integer" } } },
  },
};
const user = (content: Json): JsonObject => ({ role: "user", content });
const calls = (...ids: string[]): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({
    id,
    type: "function",
    function: { name: "add", arguments: '{"a":1}' },
  })),
});
const result = (id: string, content: Json = "2"): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content,
});

function request(messages: Json, more: JsonObject = {}): JsonObject {
  return { model: "m", messages, ...more };
}

const accepted: Record<string, JsonObject> = {
  "a plain question": request([user("Hi")]),
  "every optional field at once": request([user("Hi")], {
    max_completion_tokens: 5,
    temperature: 2,
    stop: ["a", "b", "c", "d"],
    stream: true,
    stream_options: { include_usage: true },
    tools: [tool],
    tool_choice: { type: "function", function: { name: "add" } },
    parallel_tool_calls: false,
    reasoning_effort: "high",
    service_tier: "default",
    safety_identifier: "u",
    seed: 1,
  }),
  "parallel calls answered in any order": request([
    user("Hi"),
    calls("a", "b"),
    result("b"),
    result("a"),
    user("Go on"),
  ]),
  "a result that names its tool, as LangChain sends it": request([
    user("Hi"),
    calls("a"),
    { ...result("a"), name: "add" },
  ]),
  "one id in two turns": request([
    user("Hi"),
    calls("f:0"),
    result("f:0"),
    calls("f:0"),
    result("f:0"),
  ]),
  "an image and a file": request([user([
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url: pixel, detail: "low" } },
    {
      type: "file",
      file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    },
  ])]),
  "a reply sent back as it came": request([
    user("Hi"),
    { role: "assistant", content: "Hello", refusal: null, annotations: [] },
    user("x"),
  ]),
  "an empty assistant text": request([user("Hi"), { role: "assistant", content: "" }, user("x")]),
  "a strict schema": request([user("Hi")], {
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "out",
        strict: true,
        schema: {
          type: "object",
          properties: { a: { type: "string" } },
          required: ["a"],
          additionalProperties: false,
        },
      },
    },
  }),
  "a function without parameters": request([user("Hi")], {
    tools: [{ type: "function", function: { name: "now" } }],
  }),
};

for (const [name, body] of Object.entries(accepted)) {
  Deno.test(`Chat accepts ${name}`, () => assertEquals(validateRequest("chat", body), undefined));
}

const withParameters = (parameters: JsonObject, strict = false): JsonObject =>
  request([user("Hi")], {
    tools: [{ type: "function", function: { name: "add", parameters, strict } }],
  });

const refused: [name: string, body: JsonObject, message: string][] = [
  ["an unknown field", request([user("Hi")], { top_k: 1 }), "Unknown parameter: 'top_k'"],
  [
    "an unknown field of a message",
    request([{ ...user("Hi"), cache_control: {} }]),
    "Unknown parameter: 'messages[0].cache_control'",
  ],
  ["no messages", request([]), "Invalid 'messages': empty array"],
  [
    "a call that stays open",
    request([user("Hi"), calls("a", "b"), result("a"), user("x")]),
    "The following tool_call_ids did not have response messages: b",
  ],
  [
    "a call at the very end",
    request([user("Hi"), calls("a")]),
    "did not have response messages: a",
  ],
  [
    "a turn between call and result",
    request([user("Hi"), calls("a"), user("x"), result("a")]),
    "did not have response messages: a",
  ],
  ["a result of nothing", request([user("Hi"), result("a")]), "must be a response to a preceeding"],
  [
    "a result of another call",
    request([user("Hi"), calls("a"), result("b")]),
    "'b' is not an open call",
  ],
  [
    "two results of one call",
    request([user("Hi"), calls("a"), result("a"), result("a")]),
    "'a' is not an open call",
  ],
  ["two calls of one id", request([user("Hi"), calls("a", "a"), result("a")]), "duplicate value"],
  [
    "a long call id",
    request([user("Hi"), calls("a".repeat(41)), result("a".repeat(41))]),
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40",
  ],
  [
    "arguments as an object",
    request([user("Hi"), {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "add", arguments: {} } }],
    }, result("a")]),
    "messages[1].tool_calls[0].function.arguments",
  ],
  [
    "an empty list of calls",
    request([user("Hi"), { role: "assistant", content: "x", tool_calls: [] }]),
    "Invalid 'messages[1].tool_calls': empty array",
  ],
  [
    "an assistant turn with nothing in it",
    request([user("Hi"), { role: "assistant", content: null }]),
    "messages[1].content",
  ],
  [
    "an image in a tool result",
    request([
      user("Hi"),
      calls("a"),
      result("a", [{ type: "image_url", image_url: { url: pixel } }]),
    ]),
    "messages[2].content[0].type",
  ],
  [
    "an image by the assistant",
    request([user("Hi"), {
      role: "assistant",
      content: [{ type: "image_url", image_url: { url: pixel } }],
    }]),
    "messages[1].content[0].type",
  ],
  [
    "an image of another type",
    request([user([{ type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } }])]),
    "messages[0].content[0].image_url.url",
  ],
  [
    "a file without a name",
    request([user([{ type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } }])]),
    "messages[0].content[0].file",
  ],
  ["an empty list of parts", request([user([])]), "Invalid 'messages[0].content': empty array"],
  ["a name with a space", request([{ ...user("Hi"), name: "a b" }]), "messages[0].name"],
  [
    "stream options without a stream",
    request([user("Hi")], { stream_options: { include_usage: true } }),
    "only allowed when 'stream' is enabled",
  ],
  ["a choice without tools", request([user("Hi")], { tool_choice: "auto" }), "'tool_choice'"],
  [
    "a parallel switch without tools",
    request([user("Hi")], { parallel_tool_calls: true }),
    "'parallel_tool_calls'",
  ],
  ["an empty list of tools", request([user("Hi")], { tools: [] }), "Invalid 'tools': empty array"],
  [
    "a choice of an unknown tool",
    request([user("Hi")], {
      tools: [tool],
      tool_choice: { type: "function", function: { name: "sub" } },
    }),
    "Tool choice 'sub' not found",
  ],
  [
    "allowed tools that are not there",
    request([user("Hi")], {
      tools: [tool],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "custom", custom: { name: "sub" } }] },
      },
    }),
    "Tool choice 'sub' not found",
  ],
  ["five stop sequences", request([user("Hi")], { stop: [..."abcde"] }), "Invalid 'stop'"],
  ["a long tool name", withName("a".repeat(65)), "tools[0].function.name"],
  ["a tool name with a dot", withName("a.b"), "tools[0].function.name"],
  ["a schema without type", withParameters({}), "schema must be a JSON Schema of 'type"],
  ["a schema without properties", withParameters({ type: "object" }), "missing properties"],
  [
    "a list without items",
    withParameters({ type: "object", properties: { a: { type: "array" } } }),
    "In context=('properties', 'a'), array schema missing items",
  ],
  [
    "a strict function with an open object",
    withParameters({ type: "object", properties: {}, required: [] }, true),
    "'additionalProperties' is required",
  ],
  [
    "a strict function with an optional field",
    withParameters({
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: false,
    }, true),
    "Missing 'a'",
  ],
  [
    "an odd schema name",
    request([user("Hi")], {
      response_format: { type: "json_schema", json_schema: { name: "a b", schema: {} } },
    }),
    "response_format.json_schema.name",
  ],
  [
    "json_object that nobody asked for",
    request([user("Hi")], { response_format: { type: "json_object" } }),
    "must contain the word 'json'",
  ],
  [
    "both caps",
    request([user("Hi")], { max_tokens: 5, max_completion_tokens: 5 }),
    "at the same time is not supported",
  ],
  ["metadata without store", request([user("Hi")], { metadata: { a: "b" } }), "'metadata'"],
  [
    "a long user identifier",
    request([user("Hi")], { safety_identifier: "a".repeat(65) }),
    "safety_identifier",
  ],
  ["an unknown effort", request([user("Hi")], { reasoning_effort: "huge" }), "reasoning_effort"],
  ["probabilities without the switch", request([user("Hi")], { top_logprobs: 2 }), "top_logprobs"],
  [
    "a call switch without functions",
    request([user("Hi")], { function_call: "auto" }),
    "functions",
  ],
];

function withName(name: string): JsonObject {
  return request([user("Hi")], { tools: [{ type: "function", function: { name } }] });
}

for (const [name, body, message] of refused) {
  Deno.test(`Chat refuses ${name}`, () => {
    assertStringIncludes(validateRequest("chat", body) ?? "accepted", message);
  });
}
