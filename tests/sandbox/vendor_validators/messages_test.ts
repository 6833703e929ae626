import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";

const pixel = "iVBORw0KGgo=";
const tool: JsonObject = {
  name: "add",
  input_schema: { type: "object", properties: { a: { type: "integer" } } },
};
const user = (content: Json): JsonObject => ({ role: "user", content });
const assistant = (content: Json): JsonObject => ({ role: "assistant", content });
const call = (id: string): JsonObject => ({ type: "tool_use", id, name: "add", input: { a: 1 } });
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_result",
  tool_use_id: id,
  content: "2",
  ...more,
});
const text = (value: string): JsonObject => ({ type: "text", text: value });

function request(messages: Json, more: JsonObject = {}): JsonObject {
  return { model: "m", max_tokens: 2000, messages, ...more };
}

const accepted: Record<string, JsonObject> = {
  "a plain question": request([user("Hi")]),
  "parallel calls answered in one turn, text behind": request([
    user("Hi"),
    assistant([text("Let me see."), call("a"), call("b")]),
    user([result("b"), result("a"), text("Go on.")]),
  ], { tools: [tool] }),
  "an image and a document": request([user([
    { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
    text("What is this?"),
  ])]),
  "a tool result with an image": request([
    user("Hi"),
    assistant([call("a")]),
    user([result("a", {
      content: [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }],
    })]),
  ]),
  "an empty tool result": request([
    user("Hi"),
    assistant([call("a")]),
    user([{ type: "tool_result", tool_use_id: "a" }]),
  ]),
  "thinking replayed before its call": request([
    user("Hi"),
    assistant([{ type: "thinking", thinking: "Hm", signature: "c2ln" }, call("a")]),
    user([result("a")]),
  ], { thinking: { type: "enabled", budget_tokens: 1024 } }),
  "an instruction in the middle": request([
    user("Hi"),
    { role: "system", content: "Be brief." },
    assistant("Yes."),
    user("And?"),
  ]),
  "a prefill": request([user("Hi"), assistant("The answer is")]),
  "forced tool": request([user("Hi")], {
    tools: [tool],
    tool_choice: { type: "tool", name: "add", disable_parallel_tool_use: true },
  }),
  "adaptive thinking with a forced tool": request([user("Hi")], {
    tools: [tool],
    tool_choice: { type: "any" },
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
  }),
  "a server tool": request([user("Hi")], {
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }],
  }),
  "four marks, the long ones first": request([user([
    { ...text("a"), cache_control: { type: "ephemeral" } },
    { ...text("b"), cache_control: { type: "ephemeral", ttl: "5m" } },
  ])], {
    tools: [{ ...tool, cache_control: { type: "ephemeral", ttl: "1h" } }],
    system: [{ ...text("s"), cache_control: { type: "ephemeral", ttl: "1h" } }],
  }),
};

for (const [name, body] of Object.entries(accepted)) {
  Deno.test(`Messages accepts ${name}`, () =>
    assertEquals(validateRequest("messages", body), undefined));
}

const schemaTool = (input_schema: JsonObject, more: JsonObject = {}): JsonObject =>
  request([user("Hi")], { tools: [{ name: "add", input_schema, ...more }] });

const refused: [name: string, body: JsonObject, message: string][] = [
  ["an unknown field", request([user("Hi")], { n: 1 }), "n: Extra inputs are not permitted"],
  [
    "an unknown field of a block",
    request([user([{ ...text("Hi"), id: "x" }])]),
    "messages.0.content.0.id: Extra inputs are not permitted",
  ],
  ["no max_tokens", { model: "m", messages: [user("Hi")] }, "max_tokens:"],
  ["no messages", request([]), "messages: at least one message"],
  ["the developer role", request([{ role: "developer", content: "Hi" }]), "messages.0.role"],
  ["an empty text block", request([user([text("")])]), "text content blocks must be non-empty"],
  ["a blank text block", request([user([text(" \n")])]), "must contain non-whitespace text"],
  ["a blank string", request([user(" ")]), "must contain non-whitespace text"],
  ["an empty message", request([user([]), assistant("Hi"), user("x")]), "non-empty content"],
  ["an empty string message", request([user("")]), "non-empty content"],
  [
    "a final assistant text that ends in a space",
    request([user("Hi"), assistant([text("So ")])]),
    "trailing whitespace",
  ],
  [
    "a call without a result",
    request([user("Hi"), assistant([call("a"), call("b")]), user([result("a")])]),
    "`tool_use` ids were found without `tool_result` blocks immediately after: b",
  ],
  [
    "a call at the very end",
    request([user("Hi"), assistant([call("a")])]),
    "without `tool_result`",
  ],
  [
    "results spread over two turns",
    request([
      user("Hi"),
      assistant([call("a"), call("b")]),
      user([result("a")]),
      user([result("b")]),
    ]),
    "without `tool_result` blocks immediately after: b",
  ],
  [
    "a result behind text",
    request([user("Hi"), assistant([call("a")]), user([text("Here:"), result("a")])]),
    "without `tool_result`",
  ],
  [
    "a late result behind text",
    request([
      user("Hi"),
      assistant([call("a"), call("b")]),
      user([result("a"), text("and"), result("b")]),
    ]),
    "immediately after: b",
  ],
  ["a result of nothing", request([user([result("a")])]), "unexpected `tool_use_id`"],
  [
    "two results of one call",
    request([user("Hi"), assistant([call("a")]), user([result("a"), result("a")])]),
    "each tool_use must have a single result",
  ],
  [
    "a call id used twice",
    request([
      user("Hi"),
      assistant([call("a")]),
      user([result("a")]),
      assistant([call("a")]),
      user([result("a")]),
    ]),
    "`tool_use` ids must be unique",
  ],
  ["an odd call id", request([user("Hi"), assistant([call("f:0")])]), "messages.1.content.0.id"],
  [
    "arguments as text",
    request([user("Hi"), assistant([{ ...call("a"), input: "{}" }]), user([result("a")])]),
    "messages.1.content.0.input",
  ],
  [
    "an error result without content",
    request([
      user("Hi"),
      assistant([call("a")]),
      user([result("a", { content: "", is_error: true })]),
    ]),
    "content cannot be empty if `is_error` is true",
  ],
  [
    "an image in an error result",
    request([
      user("Hi"),
      assistant([call("a")]),
      user([result("a", {
        is_error: true,
        content: [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }],
      })]),
    ]),
    'all content must be type "text"',
  ],
  [
    "an empty text in a tool result",
    request([user("Hi"), assistant([call("a")]), user([result("a", { content: [text("")] })])]),
    "text content blocks must be non-empty",
  ],
  ["a call by the user", request([user([call("a")])]), "messages.0.content.0.type"],
  [
    "an image by the assistant",
    request([
      user("Hi"),
      assistant([{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }]),
    ]),
    "messages.1.content.0.type",
  ],
  [
    "an image of another type",
    request([user([
      { type: "image", source: { type: "base64", media_type: "image/tiff", data: pixel } },
    ])]),
    "messages.0.content.0.source.media_type",
  ],
  [
    "a data URL as image data",
    request([user([{
      type: "image",
      source: { type: "base64", media_type: "image/png", data: `data:image/png;base64,${pixel}` },
    }])]),
    "messages.0.content.0.source.data: not base64",
  ],
  [
    "an image over plain http",
    request([user([{ type: "image", source: { type: "url", url: "http://example.com/a.png" } }])]),
    "Only HTTPS URLs are supported",
  ],
  [
    "a made-up signature",
    request([
      user("Hi"),
      assistant([{ type: "thinking", thinking: "Hm", signature: "" }, text("Yes")]),
      user("x"),
    ]),
    "Invalid `signature` in `thinking` block",
  ],
  [
    "thinking at the end of a turn",
    request([
      user("Hi"),
      assistant([{ type: "thinking", thinking: "Hm", signature: "c2ln" }]),
      user("x"),
    ]),
    "The final block in an assistant message cannot be `thinking`",
  ],
  [
    "a mark on thinking",
    request([
      user("Hi"),
      assistant([
        {
          type: "thinking",
          thinking: "Hm",
          signature: "c2ln",
          cache_control: { type: "ephemeral" },
        },
        text("Yes"),
      ]),
      user("x"),
    ]),
    "messages.1.content.0.cache_control: Extra inputs",
  ],
  [
    "a system turn at the start",
    request([{ role: "system", content: "Hi" }, user("x")]),
    "must directly follow a user turn",
  ],
  [
    "a system turn before a user turn",
    request([user("Hi"), { role: "system", content: "x" }, user("y")]),
    "must directly follow a user turn",
  ],
  [
    "a system turn between call and result",
    request([
      user("Hi"),
      assistant([call("a")]),
      { role: "system", content: "x" },
      user([result("a")]),
    ]),
    "must directly follow a user turn",
  ],
  [
    "a budget of all tokens",
    request([user("Hi")], { thinking: { type: "enabled", budget_tokens: 2000 } }),
    "`max_tokens` must be greater than `thinking.budget_tokens`",
  ],
  [
    "a budget under the least",
    request([user("Hi")], { thinking: { type: "enabled", budget_tokens: 1023 } }),
    "thinking.budget_tokens",
  ],
  [
    "thinking with a temperature",
    request([user("Hi")], { thinking: { type: "adaptive" }, temperature: 0.5 }),
    "`temperature` may only be set to 1",
  ],
  [
    "thinking with top_k",
    request([user("Hi")], { thinking: { type: "adaptive" }, top_k: 5 }),
    "`top_k` must be unset",
  ],
  [
    "thinking with a low top_p",
    request([user("Hi")], { thinking: { type: "adaptive" }, top_p: 0.5 }),
    "`top_p` must be greater",
  ],
  [
    "a thinking budget with a forced tool",
    request([user("Hi")], {
      thinking: { type: "enabled", budget_tokens: 1024 },
      tools: [tool],
      tool_choice: { type: "any" },
    }),
    "Thinking may not be enabled when tool_choice forces tool use",
  ],
  [
    "a thinking budget in a tool loop without its thinking",
    request([user("Hi"), assistant([call("a")]), user([result("a")])], {
      thinking: { type: "enabled", budget_tokens: 1024 },
    }),
    "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
  ],
  ["a temperature above one", request([user("Hi")], { temperature: 1.5 }), "temperature:"],
  [
    "a choice without tools",
    request([user("Hi")], { tool_choice: { type: "auto" } }),
    "tool_choice:",
  ],
  [
    "a choice of an unknown tool",
    request([user("Hi")], { tools: [tool], tool_choice: { type: "tool", name: "sub" } }),
    "tool_choice.name",
  ],
  [
    "a parallel switch on no choice",
    request([user("Hi")], {
      tools: [tool],
      tool_choice: { type: "none", disable_parallel_tool_use: true },
    }),
    "tool_choice.disable_parallel_tool_use",
  ],
  ["two tools of one name", request([user("Hi")], { tools: [tool, tool] }), "must be unique"],
  [
    "an odd tool name",
    request([user("Hi")], { tools: [{ ...tool, name: "a.b" }] }),
    "tools.0.name",
  ],
  ["a schema without type", schemaTool({ properties: {} }), "tools.0.input_schema.type"],
  ["a union as schema", schemaTool({ type: "object", anyOf: [] }), "at the top level"],
  [
    "an odd property name",
    schemaTool({ type: "object", properties: { "$filter": {} } }),
    "Property keys should match pattern",
  ],
  [
    "a strict tool with an open object",
    schemaTool({ type: "object", properties: {} }, { strict: true }),
    "'additionalProperties' must be explicitly set to false",
  ],
  [
    "a strict tool with a bound",
    schemaTool({
      type: "object",
      properties: { a: { type: "integer", minimum: 1 } },
      additionalProperties: false,
    }, { strict: true }),
    "tools.0.input_schema.properties.a: For 'integer' type, property 'minimum' is not supported",
  ],
  [
    "an output schema with a list of types",
    request([user("Hi")], {
      output_config: {
        format: {
          type: "json_schema",
          schema: {
            type: "object",
            properties: { a: { type: ["string", "null"] } },
            additionalProperties: false,
          },
        },
      },
    }),
    "output_config.format.schema.properties.a: type lists are not supported",
  ],
  ["a blank stop sequence", request([user("Hi")], { stop_sequences: ["\n"] }), "stop_sequences.0"],
  [
    "five marks",
    request([user(["a", "b", "c", "d", "e"].map((value) => ({
      ...text(value),
      cache_control: { type: "ephemeral" },
    })))]),
    "A maximum of 4 blocks with cache_control may be provided. Found 5",
  ],
  [
    "a long mark behind a short one",
    request([user([
      { ...text("a"), cache_control: { type: "ephemeral" } },
      { ...text("b"), cache_control: { type: "ephemeral", ttl: "1h" } },
    ])]),
    "must not come after a ttl='5m'",
  ],
];

for (const [name, body, message] of refused) {
  Deno.test(`Messages refuses ${name}`, () => {
    assertStringIncludes(validateRequest("messages", body) ?? "accepted", message);
  });
}

Deno.test("Messages accepts context_management only with its beta, as Claude Code sends it", () => {
  const body = {
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hi" }],
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  };
  const betas = ["claude-code-20250219", "context-management-2025-06-27"];
  assertEquals(validateRequest("messages", body, betas), undefined);
  const refusal = "context_management: Extra inputs are not permitted";
  assertEquals(validateRequest("messages", body, betas.slice(0, 1)), refusal);
  assertEquals(validateRequest("messages", body), refusal);
});

Deno.test("MCP servers, their toolsets and their calls are known", () => {
  const body = {
    model: "m",
    max_tokens: 10,
    mcp_servers: [{ type: "url", name: "s", url: "https://mcp.example" }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "s" }],
    messages: [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [
          { type: "mcp_tool_use", id: "mcptoolu_1", name: "f", server_name: "s", input: {} },
          { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] },
        ],
      },
      { role: "user", content: "And?" },
    ],
  };
  assertEquals(validateRequest("messages", body), undefined);
  const plain = { ...body, mcp_servers: [{ type: "url", name: "s", url: "http://mcp.example" }] };
  assertStringIncludes(validateRequest("messages", plain) ?? "", "mcp_servers.0.url");
});
