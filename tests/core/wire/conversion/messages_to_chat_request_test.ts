/** A Messages request for a Chat route, row by row (docs/conversion.md#requests-messages-client-chat-model). */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { RouteCapabilities } from "../../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, converted, refusal } from "./converting.ts";

const user = (content: Json): JsonObject => ({ role: "user", content });
const assistant = (content: Json): JsonObject => ({ role: "assistant", content });

function request(more: JsonObject): JsonObject {
  return { model: "m", max_tokens: 100, messages: [user("Hi")], ...more };
}

function toChat(more: JsonObject, capabilities: RouteCapabilities = {}) {
  return accepted("messages", "chat", request(more), capabilities);
}

function messagesOf(more: JsonObject, capabilities: RouteCapabilities = {}): JsonObject[] {
  const { messages } = toChat(more, capabilities).body;
  assert(Array.isArray(messages));
  return messages.filter(isJsonObject);
}

function assertRefused(
  more: JsonObject,
  param: string,
  capabilities: RouteCapabilities = {},
): void {
  const error = refusal("messages", "chat", request(more), capabilities);
  assertEquals([error.status, error.param], [400, param], error.message);
}

const call = (id: string, name = "f", input: JsonObject = { a: 1 }): JsonObject => ({
  type: "tool_use",
  id,
  name,
  input,
});
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: "tool_result",
  tool_use_id: id,
  content: "ok",
  ...more,
});
const tool = (more: JsonObject = {}): JsonObject => ({
  name: "f",
  description: "does f",
  input_schema: { type: "object", properties: { a: { type: "number" } } },
  ...more,
});

Deno.test("the model is the route's own", () => {
  assertEquals(toChat({}).body.model, "upstream-model");
});

Deno.test("max_tokens goes into the field that the route knows, clamped to the model's maximum", () => {
  assertEquals(toChat({}).body.max_completion_tokens, 100);
  const old = toChat({}, { max_tokens_field: "max_tokens" }).body;
  assertEquals([old.max_tokens, old.max_completion_tokens], [100, undefined]);
  assertEquals(toChat({ max_tokens: 90_000 }).body.max_completion_tokens, 64_000);
  assertEquals(toChat({}, { max_output: 50 }).body.max_completion_tokens, 50);
});

Deno.test("max_tokens 0 is refused, a missing or negative one is invalid", () => {
  assertRefused({ max_tokens: 0 }, "max_tokens");
  assertRefused({ max_tokens: null }, "max_tokens");
  assertRefused({ max_tokens: -1 }, "max_tokens");
});

Deno.test("a system string is the first message, in the role of the route", () => {
  assertEquals(messagesOf({ system: "Be brief" })[0], { role: "system", content: "Be brief" });
  const developer = messagesOf({ system: "Be brief" }, { system_role: "developer" })[0];
  assertEquals(developer, { role: "developer", content: "Be brief" });
  assertEquals(messagesOf({ system: "" }), [{ role: "user", content: "Hi" }]);
});

Deno.test("system blocks stay parts where the route takes parts and are joined elsewhere", () => {
  const system = [{ type: "text", text: "One" }, { type: "text", text: "Two" }];
  assertEquals(messagesOf({ system })[0]?.content, system);
  assertEquals(messagesOf({ system }, { text_parts: false })[0]?.content, "One\n\nTwo");
});

Deno.test("a system message inside the conversation stays at its place", () => {
  const messages = [user("a"), { role: "system", content: "Be brief" }, assistant("b"), user("c")];
  assertEquals(messagesOf({ messages }).map((message) => message.role), [
    "user",
    "system",
    "assistant",
    "user",
  ]);
});

Deno.test("a system message between a call and its result moves behind the result", () => {
  const messages = [
    user("a"),
    assistant([call("toolu_1")]),
    { role: "system", content: "Be brief" },
    user([result("toolu_1")]),
  ];
  assertEquals(messagesOf({ messages, tools: [tool()] }).map((message) => message.role), [
    "user",
    "assistant",
    "tool",
    "system",
  ]);
});

Deno.test("one lone text is a string, several are parts in order, empty ones go", () => {
  const parts = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
  assertEquals(messagesOf({ messages: [user([parts[0] ?? {}])] })[0]?.content, "a");
  assertEquals(
    messagesOf({ messages: [user([...parts, { type: "text", text: "" }])] })[0]?.content,
    parts,
  );
});

Deno.test("images become data URLs or stay URLs, without detail", () => {
  const base64 = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
  const url = { type: "url", url: "https://example.com/a.png" };
  const content = [{ type: "image", source: base64 }, { type: "image", source: url }];
  assertEquals(messagesOf({ messages: [user(content)] })[0]?.content, [
    { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  ]);
  const messages = [user([{ type: "image", source: url }])];
  assertRefused({ messages }, "messages.0.content.0", { images: "base64" });
  assertRefused({ messages }, "messages.0.content.0", { images: "none" });
});

Deno.test("files of the other vendor are refused", () => {
  for (const type of ["image", "document"]) {
    const block = { type, source: { type: "file", file_id: "file_1" } };
    assertRefused({ messages: [user([block])] }, "messages.0.content.0");
  }
});

Deno.test("a PDF becomes a file part named by its title", () => {
  const source = { type: "base64", media_type: "application/pdf", data: "JVBERg==" };
  const block = { type: "document", source };
  const file = (filename: string) => ({
    type: "file",
    file: { filename, file_data: "data:application/pdf;base64,JVBERg==" },
  });
  const written = messagesOf({ messages: [user([block, { ...block, title: "Plan.pdf" }])] });
  assertEquals(written[0]?.content, [file("document.pdf"), file("Plan.pdf")]);
  assertRefused({ messages: [user([block])] }, "messages.0.content.0", { files: false });
});

Deno.test("a PDF by URL is refused: nobody fetches it", () => {
  const block = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } };
  assertRefused({ messages: [user([block])] }, "messages.0.content.0");
});

Deno.test("text documents and search results become text", () => {
  const document = {
    type: "document",
    title: "Warnings",
    context: "From May",
    source: { type: "text", media_type: "text/plain", data: "body" },
    citations: { enabled: true },
  };
  const search = {
    type: "search_result",
    source: "https://example.com",
    title: "Found",
    content: [{ type: "text", text: "line" }],
  };
  const { body, dropped } = toChat({ messages: [user([document, search])] });
  assertEquals(body.messages, [{
    role: "user",
    content: [
      { type: "text", text: "Warnings\nFrom May\n\nbody" },
      { type: "text", text: "Found (https://example.com)\nline" },
    ],
  }]);
  assertEquals(dropped, ["messages.0.content.0.citations"]);
});

Deno.test("a document of blocks keeps its images", () => {
  const source = {
    type: "content",
    content: [
      { type: "text", text: "see" },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    ],
  };
  assertEquals(
    messagesOf({ messages: [user([{ type: "document", title: "T", source }])] })[0]?.content,
    [
      { type: "text", text: "T" },
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    ],
  );
});

Deno.test("assistant texts are one string; calls follow with their arguments as text", () => {
  const messages = [
    user("a"),
    assistant([
      { type: "text", text: "Let me" },
      { type: "text", text: " look." },
      call("toolu_1", "f", { b: [1, "x"] }),
      { type: "tool_use", id: "toolu_2", name: "f" },
    ]),
    user([result("toolu_1"), result("toolu_2")]),
  ];
  assertEquals(messagesOf({ messages, tools: [tool()] })[1], {
    role: "assistant",
    content: "Let me look.",
    tool_calls: [
      { id: "toolu_1", type: "function", function: { name: "f", arguments: '{"b":[1,"x"]}' } },
      { id: "toolu_2", type: "function", function: { name: "f", arguments: "{}" } },
    ],
  });
});

Deno.test("an assistant message of calls only has null content, or empty where the route wants it", () => {
  const messages = [user("a"), assistant([call("toolu_1")]), user([result("toolu_1")])];
  assertEquals(messagesOf({ messages, tools: [tool()] })[1]?.content, null);
  const empty = messagesOf({ messages, tools: [tool()] }, { tool_call_content: "empty" });
  assertEquals(empty[1]?.content, "");
});

Deno.test("thinking is never sent as text; it goes back where the route wants it", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "c2ln" };
  const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" };
  const messages = [
    user("a"),
    assistant([thinking, redacted, { type: "text", text: "b" }]),
    user("c"),
  ];
  assertEquals(messagesOf({ messages })[1], { role: "assistant", content: "b" });
  const text = converted("messages", "chat", request({ messages }), {
    reasoning_replay: "reasoning_content",
  });
  assertEquals(text.body.messages, [
    user("a"),
    { role: "assistant", content: "b", reasoning_content: "hm" },
    user("c"),
  ]);
  const details = converted("messages", "chat", request({ messages }), {
    reasoning_replay: "details",
  });
  const format = "anthropic-claude-v1";
  assertEquals(details.body.messages, [
    user("a"),
    {
      role: "assistant",
      content: "b",
      reasoning_details: [
        { type: "reasoning.text", text: "hm", signature: "c2ln", format },
        { type: "reasoning.encrypted", data: "ZGF0YQ==", format },
      ],
    },
    user("c"),
  ]);
});

Deno.test("tool results come first, one message each, then what else the user said", () => {
  const messages = [
    user("a"),
    assistant([call("toolu_1"), call("toolu_2")]),
    user([
      { type: "text", text: "and now?" },
      result("toolu_2", { content: [{ type: "text", text: "x" }, { type: "text", text: "y" }] }),
      result("toolu_1"),
    ]),
  ];
  assertEquals(messagesOf({ messages, tools: [tool()] }, { text_parts: false }).slice(2), [
    { role: "tool", tool_call_id: "toolu_1", content: "ok" },
    { role: "tool", tool_call_id: "toolu_2", content: "x\n\ny" },
    { role: "user", content: "and now?" },
  ]);
});

Deno.test("a result without content is empty text, or what the route takes instead", () => {
  for (const content of [undefined, null, "", []]) {
    const messages = [
      user("a"),
      assistant([call("toolu_1")]),
      user([{ type: "tool_result", tool_use_id: "toolu_1", content }]),
    ];
    assertEquals(messagesOf({ messages, tools: [tool()] })[2]?.content, "");
    const told = messagesOf({ messages, tools: [tool()] }, { empty_tool_result: "(empty)" });
    assertEquals(told[2]?.content, "(empty)");
  }
});

Deno.test("a failed result says so in words, once", () => {
  const texts = { "boom": "Error: boom", "Error: boom": "Error: boom", "": "Error" };
  for (const [content, expected] of Object.entries(texts)) {
    const messages = [
      user("a"),
      assistant([call("toolu_1")]),
      user([result("toolu_1", { content, is_error: true })]),
    ];
    const { body, dropped } = toChat({ messages, tools: [tool()] });
    const list = Array.isArray(body.messages) ? body.messages : [];
    assertEquals(list[2], { role: "tool", tool_call_id: "toolu_1", content: expected });
    assertEquals(dropped, ["messages.2.content.0.is_error"]);
  }
});

Deno.test("an image in a result follows the last tool message in a user message that names the call", () => {
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
  };
  const messages = [
    user("a"),
    assistant([call("toolu_1"), call("toolu_2")]),
    user([
      result("toolu_1", { content: [{ type: "text", text: "shot" }, image] }),
      result("toolu_2"),
      { type: "text", text: "what is it?" },
    ]),
  ];
  assertEquals(messagesOf({ messages, tools: [tool()] }, { text_parts: false }).slice(2), [
    { role: "tool", tool_call_id: "toolu_1", content: "shot\n\n[image attached below]" },
    { role: "tool", tool_call_id: "toolu_2", content: "ok" },
    {
      role: "user",
      content: [
        { type: "text", text: "Attached to the result of tool call toolu_1:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        { type: "text", text: "what is it?" },
      ],
    },
  ]);
});

Deno.test("hosted tools of the history never become tool calls; search results stay as text", () => {
  const messages = [
    user("a"),
    assistant([
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [{ type: "web_search_result", title: "T", url: "https://example.com" }],
      },
      { type: "text", text: "found" },
    ]),
    user("b"),
  ];
  const { body, dropped } = toChat({ messages });
  assertEquals(body.messages, [
    user("a"),
    assistant("Web search results:\n- T (https://example.com)\n\nfound"),
    user("b"),
  ]);
  assertEquals(dropped, ["messages.1.content.0", "messages.1.content.1"]);
});

Deno.test("a call without a result is refused in the vendor's words", () => {
  const messages = [user("a"), assistant([call("toolu_1")]), user("b")];
  const error = refusal("messages", "chat", request({ messages, tools: [tool()] }));
  assertStringIncludes(error.message, "`tool_use` ids were found without `tool_result` blocks");
  assertEquals(error.param, "messages.2");
  const orphan = [user("a"), assistant("b"), user([result("toolu_9")])];
  assertRefused({ messages: orphan, tools: [tool()] }, "messages.2.content.0");
});

Deno.test("a prefill is sent and named, continued by a switch, or refused, as the route says", () => {
  const messages = [user("a"), assistant("The answer is")];
  assertEquals(toChat({ messages }).dropped, ["messages.1"]);
  const prefix = converted("messages", "chat", request({ messages }), { prefill: "prefix" });
  assertEquals(prefix.dropped, []);
  assertEquals(prefix.body.messages, [
    user("a"),
    { role: "assistant", content: "The answer is", prefix: true },
  ]);
  const vllm = converted("messages", "chat", request({ messages }), {
    prefill: "continue_final_message",
  });
  assertEquals([vllm.body.continue_final_message, vllm.body.add_generation_prompt], [true, false]);
  assertRefused({ messages }, "messages.1", { prefill: "no" });
});

Deno.test("a tool keeps its whole schema; keys of the other vendor stay out of it", () => {
  const input_schema = {
    type: "object",
    $defs: { x: { type: "string" } },
    properties: { a: { $ref: "#/$defs/x" } },
    additionalProperties: false,
  };
  const tools = [
    tool({ input_schema, input_examples: [{}], defer_loading: false, eager_input_streaming: true }),
    { name: "g", input_schema: { type: "object" } },
  ];
  const { body, dropped } = toChat({ tools });
  assertEquals(body.tools, [
    { type: "function", function: { name: "f", description: "does f", parameters: input_schema } },
    { type: "function", function: { name: "g", parameters: { type: "object", properties: {} } } },
  ]);
  assertEquals(dropped, []);
});

Deno.test("strict is sent only when the client set it and the route knows it", () => {
  const closed = {
    type: "object",
    properties: { a: { type: "number" } },
    required: ["a"],
    additionalProperties: false,
  };
  const tools = [tool({ strict: true, input_schema: closed })];
  const [written] = toChat({ tools }).body.tools as JsonObject[];
  assertEquals(isJsonObject(written?.function) && written.function.strict, true);
  assertEquals(toChat({ tools }, { strict_tools: false }).dropped, ["tools.0.strict"]);
});

Deno.test("strict is left out and named where this style's vendors would refuse the schema", () => {
  const closed = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
  const some = { a: { type: "string" }, b: { type: "string" } };
  const schemas: readonly JsonObject[] = [
    // What Messages allows: optional properties, `allOf`, lists that say nothing of their items.
    { type: "object", properties: some, required: ["a"], additionalProperties: false },
    {
      ...closed,
      properties: { a: { allOf: [{ type: "number" }] } },
      additionalProperties: false,
    },
    {
      ...closed,
      properties: { a: { type: "array", prefixItems: [{ type: "number" }] } },
      additionalProperties: false,
    },
    { ...closed, additionalProperties: false, $defs: { d: { type: "object", properties: some } } },
  ];
  for (const input_schema of schemas) {
    const { body, dropped } = toChat({ tools: [tool({ strict: true, input_schema })] });
    const [written] = body.tools as JsonObject[];
    const { strict, parameters } = written?.function as JsonObject;
    assertEquals([strict, parameters, dropped], [undefined, input_schema, ["tools.0.strict"]]);
  }
});

Deno.test("tools that only code may call, and tools with a hidden schema, are refused", () => {
  assertRefused(
    { tools: [tool({ allowed_callers: ["code_execution_20250825"] })] },
    "tools.0.allowed_callers",
  );
  assertRefused({ tools: [{ type: "computer_20250124", name: "x" }] }, "tools.0");
});

Deno.test("the shell, the editor and the memory are functions with their published arguments", () => {
  const cases: [type: string, name: string, own: readonly string[], not: readonly string[]][] = [
    ["bash_20250124", "bash", ["command", "restart"], []],
    ["text_editor_20241022", "str_replace_editor", ["path", "new_str"], ["insert_text"]],
    ["text_editor_20250728", "str_replace_based_edit_tool", ["path", "insert_text"], []],
    ["memory_20250818", "memory", ["insert_text", "old_path", "new_path"], ["restart"]],
  ];
  for (const [type, name, own, not] of cases) {
    for (const style of ["chat", "responses"] as const) {
      const tools = [{ type, name }];
      const { body, dropped } = converted(
        "messages",
        style,
        request({ tools, tool_choice: { type: "tool", name } }),
      );
      assertEquals(dropped, []);
      const [written] = body.tools as JsonObject[];
      const said = (style === "chat" ? written?.function : written) as JsonObject;
      const { properties } = said.parameters as { properties: JsonObject };
      assertEquals(said.name, name);
      for (const member of own) assert(member in properties, `${type} ${member}`);
      for (const member of not) assert(!(member in properties), `${type} ${member}`);
      assertEquals(JSON.stringify(body.tool_choice).includes(`"${name}"`), true);
    }
  }
  assertRefused(
    {
      tools: [{
        type: "bash_20250124",
        name: "bash",
        allowed_callers: ["code_execution_20250825"],
      }],
    },
    "tools.0.allowed_callers",
  );
});

Deno.test("hosted tools are dropped by name, refused when forced", () => {
  const tools = [{ type: "web_search_20250305", name: "web_search" }, tool()];
  assertEquals(toChat({ tools }).dropped, ["tools.0"]);
  assertRefused({ tools, tool_choice: { type: "tool", name: "web_search" } }, "tool_choice");
  const searching = converted("messages", "chat", request({ tools }), {
    extra_fields: ["web_search_options"],
  });
  assertEquals(searching.body.web_search_options, {});
});

Deno.test("a request for nothing but a hosted tool is refused, not answered without it", () => {
  const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 };
  const fetching = { type: "web_fetch_20250910", name: "web_fetch" };
  for (const more of [{}, { tool_choice: { type: "auto" } }, { tool_choice: { type: "any" } }]) {
    assertRefused({ tools: [search], ...more }, "tools.0");
    assertRefused({ tools: [search, fetching], ...more }, "tools.0");
  }
  assertEquals(toChat({ tools: [search], tool_choice: { type: "none" } }).dropped, ["tools.0"]);
  const searching = converted("messages", "chat", request({ tools: [search] }), {
    extra_fields: ["web_search_options"],
  });
  assertEquals(searching.body.web_search_options, {});
  // Where the route does not allow what its style has.
  const none = new Set<never>();
  const searches = request({ tools: [search] });
  assertEquals(refusal("messages", "responses", searches, {}, none).param, "tools.0");
  const asItem = { model: "m", input: "Hi", tools: [{ type: "web_search" }] };
  assertEquals(refusal("responses", "messages", asItem, {}, none).param, "tools.0");
});

Deno.test("tool choice has a word for each word", () => {
  const choices: readonly (readonly [JsonObject, Json])[] = [
    [{ type: "auto" }, "auto"],
    [{ type: "any" }, "required"],
    [{ type: "none" }, "none"],
    [{ type: "tool", name: "f" }, { type: "function", function: { name: "f" } }],
  ];
  for (const [tool_choice, expected] of choices) {
    assertEquals(toChat({ tools: [tool()], tool_choice }).body.tool_choice, expected);
    assertEquals(toChat({ tool_choice }).body.tool_choice, undefined, "without tools it goes");
  }
  assertEquals(toChat({ tools: [tool()] }).body.tool_choice, undefined);
  const weak = toChat({ tools: [tool()], tool_choice: { type: "any" } }, {
    tool_choice_required: false,
  });
  assertEquals([weak.body.tool_choice, weak.dropped], ["auto", ["tool_choice"]]);
});

Deno.test("several calls are switched off only with tools and only where the route knows the switch", () => {
  const tool_choice = { type: "auto", disable_parallel_tool_use: true };
  assertEquals(toChat({ tools: [tool()], tool_choice }).body.parallel_tool_calls, false);
  assertEquals(toChat({ tool_choice }).body.parallel_tool_calls, undefined);
  const on = { type: "auto", disable_parallel_tool_use: false };
  assertEquals(toChat({ tools: [tool()], tool_choice: on }).body.parallel_tool_calls, undefined);
  const unknown = toChat({ tools: [tool()], tool_choice }, { parallel_flag: false });
  assertEquals(unknown.body.parallel_tool_calls, undefined);
  assertEquals(unknown.dropped, ["tool_choice.disable_parallel_tool_use"]);
});

Deno.test("a thinking budget becomes a word, clipped to the route's list", () => {
  const words: readonly (readonly [number, string])[] = [
    [1024, "low"],
    [2000, "medium"],
    [8192, "high"],
    [24_576, "high"],
  ];
  for (const [budget_tokens, word] of words) {
    const thinking = { type: "enabled", budget_tokens };
    assertEquals(toChat({ max_tokens: 50_000, thinking }).body.reasoning_effort, word);
  }
  const thinking = { type: "enabled", budget_tokens: 40_000 };
  const capabilities: RouteCapabilities = { efforts: ["low", "medium", "high", "xhigh"] };
  assertEquals(
    toChat({ max_tokens: 50_000, thinking }, capabilities).body.reasoning_effort,
    "xhigh",
  );
  const without = toChat({ max_tokens: 50_000, thinking }, { efforts: [] });
  assertEquals([without.body.reasoning_effort, without.dropped], [undefined, ["thinking"]]);
});

Deno.test("adaptive thinking carries its effort, or the middle one", () => {
  const thinking = { type: "adaptive" };
  assertEquals(toChat({ thinking }).body.reasoning_effort, "medium");
  const output_config = { effort: "xhigh" };
  assertEquals(toChat({ thinking, output_config }).body.reasoning_effort, "high");
  assertEquals(toChat({ output_config: { effort: "low" } }).body.reasoning_effort, "low");
});

Deno.test("disabled thinking is the least that the route knows", () => {
  const thinking = { type: "disabled" };
  assertEquals(toChat({ thinking }, { efforts: ["none", "low"] }).body.reasoning_effort, "none");
  assertEquals(
    toChat({ thinking }, { efforts: ["minimal", "low"] }).body.reasoning_effort,
    "minimal",
  );
  assertEquals(toChat({ thinking }).body.reasoning_effort, "low");
  const none = toChat({ thinking }, { efforts: [] });
  assertEquals([none.body.reasoning_effort, none.dropped], [undefined, []]);
});

Deno.test("a route that refuses tools with reasoning gets the word none", () => {
  const capabilities: RouteCapabilities = { effort_with_tools: "none" };
  assertEquals(toChat({ tools: [tool()] }, capabilities).body.reasoning_effort, "none");
  const thinking = { type: "enabled", budget_tokens: 2000 };
  const both = toChat({ tools: [tool()], thinking, max_tokens: 5000 }, capabilities);
  assertEquals([both.body.reasoning_effort, both.dropped], ["none", ["thinking"]]);
  assertEquals(
    toChat({ thinking, max_tokens: 5000 }, capabilities).body.reasoning_effort,
    "medium",
  );
});

Deno.test("structured output is strict only where the schema qualifies", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const closed = { ...schema, required: ["a"], additionalProperties: false };
  for (const [given, strict] of [[schema, false], [closed, true]] as const) {
    const output_config = { format: { type: "json_schema", schema: given } };
    assertEquals(toChat({ output_config }).body.response_format, {
      type: "json_schema",
      json_schema: { name: "output", schema: given, strict },
    });
  }
});

Deno.test("a route without JSON Schema gets the schema in words, and the field is named", () => {
  const format = { type: "json_schema", schema: { type: "object", properties: {} } };
  for (const structured of ["json_object", "none"] as const) {
    const { body, dropped } = toChat({ output_config: { format } }, { structured });
    assertEquals(
      body.response_format,
      structured === "none" ? undefined : { type: "json_object" },
    );
    assertEquals(dropped, ["output_config.format"]);
    const [first] = body.messages as JsonObject[];
    assertStringIncludes(String(first?.content), '{"type":"object","properties":{}}');
  }
});

Deno.test("up to as many stop sequences as the route takes", () => {
  assertEquals(toChat({ stop_sequences: ["a", "b"] }).body.stop, ["a", "b"]);
  assertEquals(toChat({ stop_sequences: [] }).body.stop, undefined);
  assertRefused({ stop_sequences: ["a", "b", "c", "d", "e"] }, "stop_sequences");
  const none = toChat({ stop_sequences: ["a"] }, { stop_max: 0 });
  assertEquals([none.body.stop, none.dropped], [undefined, ["stop_sequences"]]);
});

Deno.test("sampling is carried, or named where the model fixes it", () => {
  const { body, dropped } = toChat({ temperature: 0.5, top_p: 0.9, top_k: 5 });
  assertEquals([body.temperature, body.top_p, body.top_k], [0.5, 0.9, undefined]);
  assertEquals(dropped, ["top_k"]);
  const known = converted("messages", "chat", request({ top_k: 5 }), { extra_fields: ["top_k"] });
  assertEquals([known.body.top_k, known.dropped], [5, []]);
  const fixed = toChat({ temperature: 0.5, top_p: 0.9 }, { sampling: "fixed" });
  assertEquals([fixed.body.temperature, fixed.body.top_p], [undefined, undefined]);
  assertEquals(fixed.dropped, ["temperature", "top_p"]);
  assertEquals(toChat({ temperature: 1, top_p: 1 }, { sampling: "fixed" }).dropped, []);
});

Deno.test("the user's id goes where the route asks for it, long ones hashed", () => {
  const long = "x".repeat(90);
  assertEquals(toChat({ metadata: { user_id: "u" } }).body.user, undefined);
  const capabilities: RouteCapabilities = { extra_fields: ["safety_identifier"] };
  assertEquals(toChat({ metadata: { user_id: "u" } }, capabilities).body.safety_identifier, "u");
  const hashed = toChat({ metadata: { user_id: long } }, capabilities).body.safety_identifier;
  assertEquals(String(hashed).length, 16);
});

Deno.test("the service tier is carried where the route knows it", () => {
  const capabilities: RouteCapabilities = { extra_fields: ["service_tier"] };
  assertEquals(toChat({ service_tier: "auto" }, capabilities).body.service_tier, "auto");
  assertEquals(
    toChat({ service_tier: "standard_only" }, capabilities).body.service_tier,
    "default",
  );
  assertEquals(toChat({ service_tier: "auto" }).body.service_tier, undefined);
});

Deno.test("a stream always asks for usage, unless the route does not know how", () => {
  const { body } = toChat({ stream: true });
  assertEquals([body.stream, body.stream_options], [true, { include_usage: true }]);
  assertEquals(toChat({ stream: true }, { include_usage: false }).body.stream_options, undefined);
  assertEquals(toChat({}).body.stream_options, undefined);
});

Deno.test("what the vendor alone can do is refused or named", () => {
  assertRefused({ container: "c" }, "container");
  assertRefused({ mcp_servers: [{ name: "x" }] }, "mcp_servers");
  assertEquals(toChat({ mcp_servers: [] }).dropped, []);
  for (const name of ["context_management", "inference_geo", "fallbacks", "speed", "made_up"]) {
    assertEquals(toChat({ [name]: "x" }).dropped, [name]);
  }
});

Deno.test("names of unknown fields cannot break out of a header", () => {
  assertEquals(toChat({ "a\r\nset-cookie: b": 1 }).dropped, ["a__set-cookie__b"]);
});

Deno.test("the list of dropped fields is bounded", () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x${i}`, 1]));
  const { dropped } = toChat(many);
  assertEquals([dropped.length, dropped.at(-1)], [65, "more"]);
});

Deno.test("wrong fields are named", () => {
  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ messages: "x" }, "messages"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages.0.role"],
    [{ messages: [user(5)] }, "messages.0.content"],
    [{ messages: [user([{ type: "text" }])] }, "messages.0.content.0.text"],
    [
      { messages: [user([{ type: "image", source: { type: "x" } }])] },
      "messages.0.content.0.source.type",
    ],
    [{ messages: [] }, "messages"],
    [{ temperature: "hot" }, "temperature"],
    [{ tools: [{}] }, "tools.0.name"],
    [{ tool_choice: { type: "x" } }, "tool_choice.type"],
    [{ thinking: { type: "enabled" } }, "thinking.budget_tokens"],
    [{ stream: "yes" }, "stream"],
    [{ stop_sequences: [1] }, "stop_sequences.0"],
    [{ output_config: { effort: "huge" } }, "output_config.effort"],
  ];
  for (const [more, param] of wrong) {
    const error = refusal("messages", "chat", request(more));
    assertEquals([error.code, error.param], ["invalid_request", param], error.message);
  }
});
