/** The caller's own search for tools, and tools that come later, as Codex sends them: usable with every model. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { isJsonObject, type JsonObject } from "../../../../../core/lib/json/json.ts";
import { accepted, convertedAnswer, refusal } from "../../conversion/converting.ts";
import { chatFrames, chunk, streamed } from "../../conversion/streaming.ts";

const search = {
  type: "tool_search",
  execution: "client",
  description: "Finds tools",
  parameters: {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "number" } },
    required: ["query"],
    additionalProperties: false,
  },
};
const fn = (name: string): JsonObject => ({
  type: "function",
  name,
  description: name,
  strict: false,
  defer_loading: true,
  parameters: { type: "object", properties: {} },
});
const call = (call_id: string, query: string): JsonObject => ({
  type: "tool_search_call",
  call_id,
  status: "completed",
  execution: "client",
  arguments: { query, limit: 8 },
});
const found = (call_id: string, ...tools: JsonObject[]): JsonObject => ({
  type: "tool_search_output",
  call_id,
  status: "completed",
  execution: "client",
  tools,
});
const user = { role: "user", content: "Book a table" };
const calendar = (...names: string[]): JsonObject => ({
  type: "namespace",
  name: "mcp__calendar",
  description: "The calendar",
  tools: names.map(fn),
});

function request(more: JsonObject): JsonObject {
  return {
    model: "m",
    input: [user],
    tools: [{ ...fn("exec"), defer_loading: false }, search],
    ...more,
  };
}

const names = (tools: unknown): unknown[] =>
  (Array.isArray(tools) ? tools : []).map((tool) => tool.name ?? tool.function.name);

Deno.test("a search that the caller runs is a function for other models", () => {
  const chat = accepted("responses", "chat", request({ tool_choice: { type: "tool_search" } }));
  assertEquals(chat.dropped, []);
  assert(Array.isArray(chat.body.tools));
  assertEquals(chat.body.tools[1], {
    type: "function",
    function: {
      name: "tool_search",
      description: "Finds tools",
      parameters: search.parameters,
    },
  });
  assertEquals(chat.body.tool_choice, { type: "function", function: { name: "tool_search" } });
  assertEquals(names(accepted("responses", "messages", request({})).body.tools), [
    "exec",
    "tool_search",
  ]);
});

Deno.test("what a search found can be called from then on, and the model is told of it", () => {
  const input = [
    user,
    call("s1", "calendar"),
    found("s1", calendar("list", "create"), fn("mail")),
    call("s2", "calendar"),
    found("s2", calendar("list", "remove"), { type: "custom", name: "patch" }),
    call("s3", "nothing"),
    found("s3"),
    {
      type: "function_call",
      call_id: "c",
      namespace: "mcp__calendar",
      name: "list",
      arguments: "{}",
    },
    { type: "function_call_output", call_id: "c", output: "none" },
  ];
  for (const to of ["chat", "messages"] as const) {
    const { body, dropped } = accepted("responses", to, request({ input }));
    assertEquals(names(body.tools), [
      "exec",
      "tool_search",
      "mcp__calendar__list",
      "mcp__calendar__create",
      "mail",
      "mcp__calendar__remove",
      "patch",
    ]);
    assertEquals(dropped, ["input.4.tools.1"], "the free-text tool has become a function");
    const history = JSON.stringify(body.messages);
    for (
      const part of [
        "mcp__calendar__list, mcp__calendar__create, mail",
        "mcp__calendar__list, mcp__calendar__remove, patch",
        "No tools were found",
      ]
    ) assertStringIncludes(history, part);
    assertStringIncludes(history.replaceAll("\\", ""), '"query":"calendar"');
  }
});

Deno.test("tools that an item brings stand among the others", () => {
  const input = [{ type: "additional_tools", role: "developer", tools: [calendar("list")] }, user];
  const { body, dropped } = accepted("responses", "messages", { model: "m", input });
  assertEquals([names(body.tools), dropped], [["mcp__calendar__list"], []]);
  const wrong = { type: "additional_tools", role: "developer", tools: [{ type: "local_shell" }] };
  const refused = refusal("responses", "messages", { model: "m", input: [wrong, user] });
  assertEquals(refused.param, "input.0.tools.0");
});

Deno.test("a call of the search comes back as its own item, whole and streamed", () => {
  const { memory } = accepted("responses", "chat", request({}));
  const asked = (text: string) => ({
    role: "assistant",
    content: null,
    tool_calls: [
      { index: 0, id: "s1", type: "function", function: { name: "tool_search", arguments: text } },
      { index: 1, id: "c1", type: "function", function: { name: "exec", arguments: "" } },
    ],
  });
  const expected = (args: JsonObject) => [
    {
      type: "tool_search_call",
      status: "completed",
      call_id: "s1",
      execution: "client",
      arguments: args,
    },
    { type: "function_call", status: "completed", call_id: "c1", name: "exec", arguments: "{}" },
  ];
  const withoutId = (items: unknown) =>
    (Array.isArray(items) ? items : []).filter(isJsonObject).map(({ id, ...item }) => {
      assert(typeof id === "string" && id !== "");
      return item;
    });
  const cases: [string, JsonObject][] = [['{"query":"mail","limit":8}', {
    query: "mail",
    limit: 8,
  }], [
    "",
    {},
  ]];
  for (const [text, args] of cases) {
    const whole = convertedAnswer("chat", "responses", {
      choices: [{ index: 0, message: asked(text), finish_reason: "tool_calls" }],
    }, memory);
    assertEquals(withoutId(whole.output), expected(args));
    const frames = chatFrames([chunk(asked(text)), chunk({}, "tool_calls")]);
    const events = streamed("chat", "responses", frames, { memory }).text.split("\n\n")
      .flatMap((frame) => frame.includes("data: ") ? [JSON.parse(frame.split("data: ")[1]!)] : []);
    const done = events.filter(({ type }) => type === "response.output_item.done");
    assertEquals(withoutId(done.map(({ item }) => item)), expected(args));
    const added = events.find(({ type }) => type === "response.output_item.added");
    assertEquals([added.item.type, added.item.status], ["tool_search_call", "in_progress"]);
    assert(!events.some(({ item_id }) => item_id === added.item.id), "it has no deltas");
  }
});

Deno.test("a search that its vendor runs is left out and named: all that it could find is there", () => {
  const tools = [{ ...fn("mail") }, { type: "tool_search" }];
  const input = [
    user,
    { ...call("", "mail"), call_id: null, execution: "server" },
    { ...found("", fn("mail")), call_id: null, execution: "server" },
    { role: "user", content: "Go on" },
  ];
  const { body, dropped } = accepted("responses", "messages", { model: "m", tools, input });
  assertEquals(names(body.tools), ["mail"]);
  assertEquals(dropped, ["tools.0.defer_loading", "tools.1", "input.1", "input.2"]);
});

Deno.test("tools whose schema only their vendor's models know are refused with what to do instead", () => {
  for (const type of ["local_shell", "apply_patch", "shell", "computer"]) {
    const refused = refusal("responses", "messages", request({ tools: [fn("exec"), { type }] }));
    assertEquals([refused.code, refused.param], ["conversion_refused", "tools.1"]);
    assertStringIncludes(refused.message, `${type} has a schema that only its own provider knows`);
    assertStringIncludes(refused.message, "as a function");
  }
});

Deno.test("a tool that only the vendor's search would load is offered at once, and that is named", () => {
  const deferred = (name: string, defer_loading: boolean) => ({ ...fn(name), defer_loading });
  const group = { type: "namespace", name: "g", tools: [deferred("inner", true)] };
  const body = {
    model: "m",
    input: "Hi",
    tools: [deferred("now", false), deferred("later", true), group],
  };
  for (const to of ["chat", "messages", "gemini", "converse"] as const) {
    const { body: sent, dropped } = accepted("responses", to, body);
    assertEquals(dropped, ["tools.1.defer_loading", "tools.2.tools.0.defer_loading"], to);
    for (const name of ["now", "later", "inner"]) assert(JSON.stringify(sent).includes(name), to);
  }
});
