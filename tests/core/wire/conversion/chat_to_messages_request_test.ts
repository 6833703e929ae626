/** A Chat request for a Messages route, row by row (docs/conversion.md#requests-chat-client-messages-model). */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { RouteCapabilities } from "../../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, converted, refusal } from "./converting.ts";

const user = (content: Json): JsonObject => ({ role: "user", content });
const assistant = (more: JsonObject): JsonObject => ({ role: "assistant", content: null, ...more });

function request(more: JsonObject): JsonObject {
  return { model: "m", messages: [user("Hi")], ...more };
}

function toMessages(more: JsonObject, capabilities: RouteCapabilities = {}) {
  return accepted("chat", "messages", request(more), capabilities);
}

function turnsOf(more: JsonObject, capabilities: RouteCapabilities = {}): JsonObject[] {
  const { messages } = toMessages(more, capabilities).body;
  assert(Array.isArray(messages));
  return messages.filter(isJsonObject);
}

function assertRefused(
  more: JsonObject,
  param: string,
  capabilities: RouteCapabilities = {},
): void {
  const error = refusal("chat", "messages", request(more), capabilities);
  assertEquals([error.status, error.param], [400, param], error.message);
}

const call = (id: string, args: Json = '{"a":1}', name = "f"): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const result = (id: string, content: Json = "ok"): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const tool = (more: JsonObject = {}): JsonObject => ({
  type: "function",
  function: {
    name: "f",
    description: "does f",
    parameters: { type: "object", properties: { a: { type: "number" } } },
    ...more,
  },
});

Deno.test("max_tokens is the client's cap, else the model's, bounded where nobody streams", () => {
  assertEquals(toMessages({ max_tokens: 10 }).body.max_tokens, 10);
  assertEquals(toMessages({ max_completion_tokens: 20, max_tokens: 10 }).body.max_tokens, 20);
  assertEquals(toMessages({ max_tokens: 100_000 }).body.max_tokens, 64_000);
  assertEquals(toMessages({ stream: true }).body.max_tokens, 64_000);
  assertEquals(toMessages({}).body.max_tokens, 21_333);
  assertEquals(toMessages({}, { max_output: 8192 }).body.max_tokens, 8192);
});

Deno.test("leading instructions become system blocks in order, with their cache marks", () => {
  const marked = { type: "text", text: "B", cache_control: { type: "ephemeral", ttl: "1h" } };
  const messages = [
    { role: "system", content: "A" },
    { role: "developer", content: [marked, { type: "text", text: "" }] },
    user("Hi"),
  ];
  assertEquals(toMessages({ messages }).body.system, [{ type: "text", text: "A" }, marked]);
});

Deno.test("later instructions keep their place: as a system turn, or passed on by the user", () => {
  const messages = [
    user("a"),
    { role: "assistant", content: "b" },
    { role: "system", content: "Be brief" },
    user("c"),
  ];
  const told = toMessages({ messages });
  assertEquals(told.body.system, undefined);
  assertEquals(told.dropped, ["messages.2"]);
  assertEquals(told.body.messages, [
    user("a"),
    { role: "assistant", content: "b" },
    user([
      { type: "text", text: "[Instruction from the system, not from the user]\nBe brief" },
      { type: "text", text: "c" },
    ]),
  ]);
  const placed = toMessages({ messages }, { mid_system: true });
  assertEquals(placed.dropped, []);
  assertEquals(placed.body.messages, [
    user("a"),
    { role: "assistant", content: "b" },
    user("c"),
    { role: "system", content: "Be brief" },
  ]);
});

Deno.test("instructions between a call and its result stand behind the result", () => {
  const messages = [
    user("a"),
    assistant({ tool_calls: [call("call_1")] }),
    { role: "system", content: "Be brief" },
    result("call_1"),
  ];
  assertEquals(turnsOf({ messages, tools: [tool()] }, { mid_system: true }).map((t) => t.role), [
    "user",
    "assistant",
    "user",
    "system",
  ]);
});

Deno.test("several instructions in a row become one system turn", () => {
  const messages = [
    user("a"),
    { role: "system", content: "One" },
    { role: "developer", content: "Two" },
  ];
  assertEquals(turnsOf({ messages }, { mid_system: true })[1], {
    role: "system",
    content: [{ type: "text", text: "One" }, { type: "text", text: "Two" }],
  });
});

Deno.test("empty texts and messages go, neighbours of one role merge", () => {
  const messages = [
    user([{ type: "text", text: "a" }, { type: "text", text: " " }]),
    user(""),
    user("b"),
  ];
  assertEquals(turnsOf({ messages }), [
    user([{ type: "text", text: "a" }, { type: "text", text: "b" }]),
  ]);
  assertRefused({ messages: [user("")] }, "messages");
});

Deno.test("a conversation of instructions only gets a user's word", () => {
  const { body, dropped } = toMessages({ messages: [{ role: "developer", content: "Sing" }] });
  assertEquals([body.messages, dropped], [[user("Begin.")], ["messages"]]);
});

Deno.test("images as data URLs become base64, by any spelling of their type", () => {
  const image = (url: string) => ({ type: "image_url", image_url: { url, detail: "high" } });
  const source = (media_type: string) => ({
    type: "image",
    source: { type: "base64", media_type, data: "aGk=" },
  });
  const urls: readonly (readonly [string, string])[] = [
    ["data:image/png;base64,aGk=", "image/png"],
    ["data:image/jpg;base64,aGk=", "image/jpeg"],
    ["data:IMAGE/WEBP;charset=x;base64,aGk=", "image/webp"],
  ];
  for (const [url, type] of urls) {
    assertEquals(turnsOf({ messages: [user([image(url)])] })[0]?.content, [source(type)]);
  }
  for (const type of ["svg+xml", "heic", "tiff"]) {
    assertRefused(
      { messages: [user([image(`data:image/${type};base64,aGk=`)])] },
      "messages.0.content.0",
    );
  }
  assertRefused(
    { messages: [user([image("data:image/png,plain")])] },
    "messages.0.content.0.image_url.url",
  );
});

Deno.test("image URLs pass over https; a PDF by URL or data is a document", () => {
  const image = (url: string) => [{ type: "image_url", image_url: { url } }];
  const content = (url: string) => turnsOf({ messages: [user(image(url))] })[0]?.content;
  assertEquals(content("https://example.com/a.png"), [
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
  ]);
  assertEquals(content("https://example.com/a.pdf?x=1"), [
    { type: "document", source: { type: "url", url: "https://example.com/a.pdf?x=1" } },
  ]);
  assertEquals(content("data:application/pdf;base64,aGk="), [{
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
  }]);
  assertRefused(
    { messages: [user(image("http://example.com/a.png"))] },
    "messages.0.content.0",
  );
  assertRefused(
    { messages: [user(image("https://example.com/a.png"))] },
    "messages.0.content.0",
    { images: "none" },
  );
});

Deno.test("files become documents by their type, uploaded ones are refused", () => {
  const file = (more: JsonObject) => [{ type: "file", file: more }];
  const content = (more: JsonObject) => turnsOf({ messages: [user(file(more))] })[0]?.content;
  assertEquals(content({ filename: "p.pdf", file_data: "data:application/pdf;base64,aGk=" }), [{
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
    title: "p.pdf",
  }]);
  assertEquals(content({ filename: "n.txt", file_data: "data:text/plain;base64,dGnhur9uZw==" }), [{
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "tiếng" },
    title: "n.txt",
  }]);
  assertRefused(
    { messages: [user(file({ file_id: "file_1" }))] },
    "messages.0.content.0.file.file_id",
  );
  assertRefused(
    {
      messages: [user(file({ filename: "a.zip", file_data: "data:application/zip;base64,aGk=" }))],
    },
    "messages.0.content.0",
  );
});

Deno.test("audio is refused, in and out", () => {
  const part = { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } };
  assertRefused({ messages: [user([part])] }, "messages.0.content.0");
  assertRefused({ modalities: ["text", "audio"] }, "modalities");
  assertRefused({ audio: { voice: "x", format: "wav" } }, "audio");
  assertRefused(
    { messages: [user("a"), assistant({ audio: { id: "x" } }), user("b")] },
    "messages.1.audio",
  );
});

Deno.test("calls become tool_use after the text, with parsed arguments", () => {
  const messages = [
    user("a"),
    assistant({ content: "Let me look.", tool_calls: [call("call_1"), call("call_2", "")] }),
    result("call_1"),
    result("call_2", [{ type: "text", text: "x" }, { type: "text", text: "y" }]),
    user("and?"),
  ];
  assertEquals(turnsOf({ messages, tools: [tool()] }).slice(1), [
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "call_1", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "call_2", name: "f", input: {} },
      ],
    },
    user([
      { type: "tool_result", tool_use_id: "call_1", content: "ok" },
      {
        type: "tool_result",
        tool_use_id: "call_2",
        content: [{ type: "text", text: "x" }, { type: "text", text: "y" }],
      },
      { type: "text", text: "and?" },
    ]),
  ]);
});

Deno.test("broken arguments of an old turn are wrapped and named, objects and double encoding are taken", () => {
  const inputs: readonly (readonly [Json, JsonObject, boolean])[] = [
    ['{"a":', { _raw: '{"a":' }, true],
    ["[1]", { _raw: "[1]" }, true],
    [{ a: 2 }, { a: 2 }, false],
    ['"{\\"a\\":3}"', { a: 3 }, false],
    [null, {}, false],
  ];
  for (const [args, input, isNamed] of inputs) {
    const messages = [
      user("a"),
      assistant({ tool_calls: [call("call_1", args)] }),
      result("call_1"),
    ];
    const { body, dropped } = toMessages({ messages, tools: [tool()] });
    const turns = body.messages as JsonObject[];
    assertEquals(turns[1]?.content, [{ type: "tool_use", id: "call_1", name: "f", input }]);
    assertEquals(dropped, isNamed ? ["messages.1.tool_calls.0"] : []);
  }
});

Deno.test("null and empty assistant content make no block; a refusal is text", () => {
  const messages = [
    user("a"),
    assistant({ content: "", tool_calls: [call("call_1")] }),
    result("call_1", ""),
    assistant({ refusal: "I will not." }),
    user("b"),
  ];
  const turns = turnsOf({ messages, tools: [tool()] });
  assertEquals((turns[1]?.content as Json[]).length, 1);
  assertEquals(turns[2]?.content, [{ type: "tool_result", tool_use_id: "call_1", content: "" }]);
  assertEquals(turns[3]?.content, "I will not.");
});

Deno.test("unsigned reasoning is dropped, signed reasoning goes back unchanged", () => {
  const signature = "c2lnbmF0dXJl+/=";
  const forms: readonly JsonObject[] = [
    { thinking_blocks: [{ type: "thinking", thinking: "hm", signature }] },
    {
      reasoning_content: "hm",
      reasoning_details: [
        { type: "reasoning.text", text: "hm", signature, format: "anthropic-claude-v1" },
      ],
    },
    {
      reasoning_details: [
        { type: "reasoning.text", text: "h", index: 0 },
        { type: "reasoning.text", text: "m", index: 0 },
        { type: "reasoning.text", text: "", signature, format: "anthropic-claude-v1", index: 0 },
      ],
    },
  ];
  for (const form of forms) {
    const messages = [user("a"), { role: "assistant", content: "b", ...form }, user("c")];
    assertEquals(turnsOf({ messages })[1]?.content, [
      { type: "thinking", thinking: "hm", signature },
      { type: "text", text: "b" },
    ]);
  }
  for (const name of ["reasoning_content", "reasoning"]) {
    const messages = [user("a"), { role: "assistant", content: "b", [name]: "hm" }, user("c")];
    assertEquals(turnsOf({ messages })[1]?.content, "b");
  }
});

Deno.test("a result without a call becomes the user's words, a call without a result is answered", () => {
  const orphan = toMessages({
    messages: [user("a"), assistant({ content: "b" }), result("call_9")],
  });
  assertEquals(orphan.dropped, ["messages.2"]);
  assertEquals((orphan.body.messages as JsonObject[])[2], user("Tool result: ok"));
  const messages = [user("a"), assistant({ tool_calls: [call("call_1")] }), user("b")];
  const open = toMessages({ messages, tools: [tool()] });
  assertEquals(open.dropped, ["messages.1.tool_calls.0"]);
  assertEquals((open.body.messages as JsonObject[])[2]?.content, [
    { type: "tool_result", tool_use_id: "call_1", content: "[no result]", is_error: true },
    { type: "text", text: "b" },
  ]);
});

Deno.test("calls and results without ids are matched by order", () => {
  const messages = [
    user("a"),
    assistant({ tool_calls: [call(""), call("")] }),
    result("", "one"),
    result("", "two"),
  ];
  const [, calls, results] = turnsOf({ messages, tools: [tool()] });
  const ids = (calls?.content as JsonObject[]).map((block) => block.id);
  assertEquals(new Set(ids).size, 2);
  assertEquals(results?.content, [
    { type: "tool_result", tool_use_id: ids[0] ?? null, content: "one" },
    { type: "tool_result", tool_use_id: ids[1] ?? null, content: "two" },
  ]);
});

Deno.test("ids that come again in a later turn are told apart, call and result alike", () => {
  const round = [assistant({ tool_calls: [call("get_x:0")] }), result("get_x:0")];
  const turns = turnsOf({ messages: [user("a"), ...round, ...round], tools: [tool()] });
  const ids = turns.flatMap((turn) =>
    Array.isArray(turn.content) ? turn.content.filter(isJsonObject) : []
  ).map((block) => block.id ?? block.tool_use_id);
  assertEquals(ids.length, 4);
  assertEquals([ids[0], ids[2]], [ids[1], ids[3]]);
  assert(ids[0] !== ids[2]);
  for (const id of ids) assert(/^[a-zA-Z0-9_-]+$/.test(String(id)));
});

Deno.test("the old functions form works, with made ids", () => {
  const messages = [
    user("a"),
    assistant({ function_call: { name: "f", arguments: '{"a":1}' } }),
    { role: "function", name: "f", content: "ok" },
  ];
  const functions = [{ name: "f", parameters: { type: "object", properties: {} } }];
  const { body, memory } = toMessages({ messages, functions, function_call: { name: "f" } });
  assertEquals(memory.legacyFunctions, true);
  assertEquals(body.tool_choice, { type: "tool", name: "f", disable_parallel_tool_use: true });
  assertEquals((body.messages as JsonObject[]).slice(1), [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "call_0", name: "f", input: { a: 1 } }],
    },
    user([{ type: "tool_result", tool_use_id: "call_0", content: "ok" }]),
  ]);
});

Deno.test("a conversation that begins with the assistant gets a user turn before it", () => {
  const messages = [{ role: "assistant", content: "Welcome" }, user("Hi")];
  const { body, dropped } = toMessages({ messages });
  assertEquals((body.messages as JsonObject[]).map((turn) => turn.role), [
    "user",
    "assistant",
    "user",
  ]);
  assertEquals(dropped, ["messages.0"]);
});

Deno.test("a prefill loses the white space at its end, or is refused", () => {
  const messages = [user("a"), { role: "assistant", content: "So: \n" }];
  assertEquals(turnsOf({ messages })[1]?.content, "So:");
  assertRefused({ messages }, "messages.1", { prefill: "no" });
});

Deno.test("a tool keeps its whole schema; a missing or typeless one becomes an object", () => {
  const parameters = {
    type: "object",
    $schema: "x",
    properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
    additionalProperties: false,
  };
  const schemas: readonly (readonly [JsonObject | undefined, JsonObject])[] = [
    [parameters, parameters],
    [undefined, { type: "object", properties: {} }],
    [{ properties: {} }, { type: "object", properties: {} }],
  ];
  for (const [given, expected] of schemas) {
    const [written] = toMessages({ tools: [tool({ parameters: given })] }).body
      .tools as JsonObject[];
    assertEquals(written?.input_schema, expected);
    assertEquals(written?.strict, undefined);
  }
});

Deno.test("a schema with a union at its top is wrapped, named, and its calls with it", () => {
  const parameters = { anyOf: [{ type: "object" }, { type: "string" }] };
  const messages = [user("a"), assistant({ tool_calls: [call("call_1")] }), result("call_1")];
  const { body, dropped, memory } = toMessages({ messages, tools: [tool({ parameters })] });
  const [written] = body.tools as JsonObject[];
  assertEquals(written?.input_schema, {
    type: "object",
    properties: { input: parameters },
    required: ["input"],
    additionalProperties: false,
  });
  assertEquals([...memory.wrappedTools ?? []], ["f"]);
  assertEquals(dropped, ["tools.0"]);
  const turn = (body.messages as JsonObject[])[1];
  assertEquals(turn?.content, [
    { type: "tool_use", id: "call_1", name: "f", input: { input: { a: 1 } } },
  ]);
});

Deno.test("strict stays where the vendor's grammar can hold the schema, and goes in silence elsewhere", () => {
  const closed = { type: "object", properties: {}, additionalProperties: false };
  const bounded = {
    ...closed,
    properties: { n: { type: "integer", minimum: 1 } },
    required: ["n"],
  };
  for (const [parameters, strict] of [[closed, true], [bounded, undefined]] as const) {
    const { body, dropped } = toMessages({ tools: [tool({ parameters, strict: true })] });
    assertEquals([(body.tools as JsonObject[])[0]?.strict, dropped], [strict, []]);
  }
});

Deno.test("a free-text tool becomes a function with one text field, its grammar in words", () => {
  const custom = {
    type: "custom",
    custom: {
      name: "calc",
      description: "Calculates",
      format: { type: "grammar", grammar: { syntax: "lark", definition: "start: INT" } },
    },
  };
  const { body, dropped, memory } = toMessages({
    tools: [custom],
    tool_choice: { type: "custom", custom: { name: "calc" } },
    messages: [
      user("a"),
      assistant({
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "calc", input: "4" } }],
      }),
      result("call_1"),
    ],
  });
  assertEquals(body.tools, [{
    name: "calc",
    description: "Calculates\n\nThe input must match this lark grammar:\nstart: INT",
    input_schema: {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
      additionalProperties: false,
    },
  }]);
  assertEquals(body.tool_choice, { type: "tool", name: "calc" });
  assertEquals((body.messages as JsonObject[])[1]?.content, [
    { type: "tool_use", id: "call_1", name: "calc", input: { input: "4" } },
  ]);
  assertEquals([dropped, [...memory.customTools ?? []]], [["tools.0"], ["calc"]]);
});

Deno.test("tool choice has a word for each word; without tools it goes", () => {
  const choices: readonly (readonly [Json, JsonObject])[] = [
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    [{ type: "function", function: { name: "f" } }, { type: "tool", name: "f" }],
  ];
  for (const [tool_choice, expected] of choices) {
    assertEquals(toMessages({ tools: [tool()], tool_choice }).body.tool_choice, expected);
    assertEquals(
      toMessages({ tool_choice, parallel_tool_calls: false }).body.tool_choice,
      undefined,
    );
  }
});

Deno.test("allowed tools leave the others out", () => {
  const tools = [tool(), tool({ name: "g" })];
  const allowed_tools = {
    mode: "required",
    tools: [{ type: "function", function: { name: "g" } }],
  };
  const { body } = toMessages({ tools, tool_choice: { type: "allowed_tools", allowed_tools } });
  assertEquals((body.tools as JsonObject[]).map((written) => written.name), ["g"]);
  assertEquals(body.tool_choice, { type: "any" });
});

Deno.test("parallel_tool_calls: false makes a choice where there is none", () => {
  const parallel_tool_calls = false;
  assertEquals(toMessages({ tools: [tool()], parallel_tool_calls }).body.tool_choice, {
    type: "auto",
    disable_parallel_tool_use: true,
  });
  const none = toMessages({ tools: [tool()], parallel_tool_calls, tool_choice: "none" });
  assertEquals(none.body.tool_choice, { type: "none" });
  const on = toMessages({ tools: [tool()], parallel_tool_calls: true });
  assertEquals(on.body.tool_choice, undefined);
});

Deno.test("effort asks adaptive models for effort", () => {
  const words: readonly (readonly [string, string])[] = [
    ["minimal", "low"],
    ["low", "low"],
    ["medium", "medium"],
    ["high", "high"],
    ["xhigh", "high"],
    ["max", "high"],
  ];
  for (const [reasoning_effort, effort] of words) {
    const { body } = toMessages({ reasoning_effort });
    assertEquals([body.thinking, body.output_config], [{ type: "adaptive" }, { effort }]);
  }
  const none = toMessages({ reasoning_effort: "none" }).body;
  assertEquals([none.thinking, none.output_config], [{ type: "disabled" }, undefined]);
  assertEquals(toMessages({}).body.thinking, undefined);
});

Deno.test("effort gives budget models a budget below the cap, which is never raised", () => {
  const capabilities: RouteCapabilities = { thinking: "budget" };
  const budgets: readonly (readonly [string, number])[] = [
    ["minimal", 1024],
    ["low", 1024],
    ["medium", 4096],
    ["high", 16_384],
  ];
  for (const [reasoning_effort, budget_tokens] of budgets) {
    const { body } = toMessages({ reasoning_effort }, capabilities);
    assertEquals(body.thinking, { type: "enabled", budget_tokens });
  }
  const tight = toMessages({ reasoning_effort: "high", max_tokens: 2000 }, capabilities).body;
  assertEquals([tight.thinking, tight.max_tokens], [
    { type: "enabled", budget_tokens: 1999 },
    2000,
  ]);
  const none = toMessages({ reasoning_effort: "high", max_tokens: 500 }, capabilities);
  assertEquals([none.body.thinking, none.dropped], [undefined, ["reasoning_effort"]]);
  const cannot = toMessages({ reasoning_effort: "high" }, { thinking: "none" });
  assertEquals([cannot.body.thinking, cannot.dropped], [undefined, ["reasoning_effort"]]);
});

Deno.test("thinking drops the sampling that the vendor refuses beside it, by name", () => {
  const { body, dropped } = toMessages({
    reasoning_effort: "low",
    temperature: 0.5,
    top_p: 0.5,
    top_k: 3,
  });
  assertEquals([body.temperature, body.top_p, body.top_k], [undefined, undefined, undefined]);
  assertEquals(dropped, ["temperature", "top_p", "top_k"]);
  const fine = toMessages({ reasoning_effort: "low", temperature: 1, top_p: 0.97 });
  assertEquals([fine.body.top_p, fine.dropped], [0.97, []]);
});

Deno.test("a forced tool drops a thinking budget, not adaptive thinking", () => {
  const more = { reasoning_effort: "low", tools: [tool()], tool_choice: "required" };
  const budget = toMessages(more, { thinking: "budget" });
  assertEquals([budget.body.thinking, budget.dropped], [undefined, ["reasoning_effort"]]);
  assertEquals(toMessages(more).body.thinking, { type: "adaptive" });
});

Deno.test("structured output keeps its schema; what the grammar refuses moves into descriptions", () => {
  const schema = {
    type: "object",
    properties: {
      n: { type: "integer", minimum: 1, description: "how many" },
      s: { type: ["string", "null"], maxLength: 5 },
    },
    required: ["n"],
  };
  const response_format = { type: "json_schema", json_schema: { name: "x", schema, strict: true } };
  assertEquals(toMessages({ response_format }).body.output_config, {
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          n: { type: "integer", description: "how many\nminimum: 1" },
          s: { description: "maxLength: 5", anyOf: [{ type: "string" }, { type: "null" }] },
        },
        required: ["n"],
        additionalProperties: false,
      },
    },
  });
  const both = toMessages({ response_format, reasoning_effort: "low" }).body.output_config;
  assertEquals(Object.keys(both as JsonObject), ["effort", "format"]);
});

Deno.test("json_object is asked for in words and named", () => {
  const { body, dropped } = toMessages({ response_format: { type: "json_object" } });
  assertStringIncludes(JSON.stringify(body.system), "one JSON object");
  assertEquals([body.output_config, dropped], [undefined, ["response_format"]]);
  assertEquals(toMessages({ response_format: { type: "text" } }).dropped, []);
});

Deno.test("temperature is clamped, and never stands beside top_p", () => {
  const hot = toMessages({ temperature: 1.7 });
  assertEquals([hot.body.temperature, hot.dropped], [1, ["temperature"]]);
  const both = toMessages({ temperature: 0.5, top_p: 0.9 });
  assertEquals([both.body.temperature, both.body.top_p, both.dropped], [0.5, undefined, ["top_p"]]);
  const free = toMessages({ temperature: 0.5, top_p: 0.9 }, { temp_top_p_exclusive: false });
  assertEquals(free.body.top_p, 0.9);
  const fixed = toMessages({ temperature: 0.5, top_p: 0.9 }, { sampling: "fixed" });
  assertEquals([fixed.body.temperature, fixed.dropped], [undefined, ["temperature", "top_p"]]);
});

Deno.test("stop becomes a list without blank entries", () => {
  assertEquals(toMessages({ stop: "END" }).body.stop_sequences, ["END"]);
  const blank = toMessages({ stop: ["a", "\n"] });
  assertEquals([blank.body.stop_sequences, blank.dropped], [["a"], ["stop"]]);
  assertEquals(toMessages({ stop: null }).body.stop_sequences, undefined);
});

Deno.test("user and tier are carried", () => {
  assertEquals(toMessages({ user: "u" }).body.metadata, { user_id: "u" });
  assertEquals(toMessages({ user: "u", safety_identifier: "s" }).body.metadata, { user_id: "s" });
  assertEquals(toMessages({ service_tier: "default" }).body.service_tier, "standard_only");
  assertEquals(toMessages({ service_tier: "auto" }).body.service_tier, "auto");
  assertEquals(toMessages({ service_tier: "flex" }).body.service_tier, undefined);
});

Deno.test("what cannot be carried is named, what clients rely on is refused", () => {
  const named = [
    "seed",
    "logit_bias",
    "frequency_penalty",
    "presence_penalty",
    "prediction",
    "verbosity",
    "moderation",
    "prompt_cache_key",
    "metadata",
    "store",
    "made_up",
  ];
  for (const name of named) {
    assertEquals(toMessages({ [name]: name === "store" ? true : { x: 1 } }).dropped, [name]);
  }
  assertRefused({ n: 2 }, "n");
  assertRefused({ logprobs: true }, "logprobs");
});

Deno.test("values that ask for nothing are not named", () => {
  const { dropped } = toMessages({
    n: 1,
    logprobs: false,
    store: false,
    frequency_penalty: 0,
    presence_penalty: 0,
    top_logprobs: 0,
    logit_bias: {},
    metadata: {},
    modalities: ["text"],
    seed: null,
    stream_options: null,
  });
  assertEquals(dropped, []);
});

Deno.test("the client's request for a usage chunk does not reach the vendor", () => {
  const { body, dropped } = toMessages({ stream: true, stream_options: { include_usage: true } });
  assertEquals([body.stream, body.stream_options, dropped], [true, undefined, []]);
});

Deno.test("the forms of other vendors for reasoning are understood", () => {
  const asked: readonly (readonly [JsonObject, JsonObject | undefined])[] = [
    [{ reasoning: { effort: "low" } }, { type: "adaptive" }],
    [{ reasoning: { enabled: false } }, { type: "disabled" }],
    [{ thinking: { type: "disabled" } }, { type: "disabled" }],
    [{ thinking: { type: "enabled" } }, { type: "adaptive" }],
    [{ reasoning: {} }, undefined],
  ];
  for (const [more, thinking] of asked) {
    assertEquals(toMessages(more).body.thinking, thinking);
  }
  const budget = converted("chat", "messages", request({ reasoning: { max_tokens: 3000 } }), {
    thinking: "budget",
  });
  assertEquals(budget.body.thinking, { type: "enabled", budget_tokens: 3000 });
});

Deno.test("wrong fields are named", () => {
  const wrong: readonly (readonly [JsonObject, string])[] = [
    [{ messages: "x" }, "messages"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages.0.role"],
    [{ messages: [user([{ type: "video" }])] }, "messages.0.content.0.type"],
    [{ messages: [user([{ type: "text" }])] }, "messages.0.content.0.text"],
    [{ max_tokens: 0 }, "max_tokens"],
    [{ n: 0 }, "n"],
    [{ stop: [1] }, "stop"],
    [{ reasoning_effort: "huge" }, "reasoning_effort"],
    [{ response_format: { type: "xml" } }, "response_format.type"],
    [{ tools: [{ type: "function" }] }, "tools.0.function"],
    [{ tools: [tool()], tool_choice: "maybe" }, "tool_choice"],
  ];
  for (const [more, param] of wrong) {
    const error = refusal("chat", "messages", request(more));
    assertEquals([error.code, error.param], ["invalid_request", param], error.message);
  }
});
