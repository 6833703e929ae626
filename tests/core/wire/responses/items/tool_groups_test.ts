/** Functions in groups (`namespace`), as Codex sends its own and those of MCP servers: usable with every model. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { isJsonObject, type JsonObject } from "../../../../../core/lib/json/json.ts";
import { accepted, convertedAnswer, refusal } from "../../conversion/converting.ts";
import { chatFrames, chunk, streamed } from "../../conversion/streaming.ts";

const parameters = { type: "object", properties: { id: { type: "string" } } };
const fn = (name: string): JsonObject => ({
  type: "function",
  name,
  description: name,
  parameters,
  strict: false,
});
const group = (name: string, ...tools: JsonObject[]): JsonObject => ({
  type: "namespace",
  name,
  description: `all of ${name}`,
  tools,
});
const agents = group("agents", fn("spawn"), fn("close"));
const files = group("mcp__files__", fn("close"), { type: "custom", name: "patch" });

function request(more: JsonObject): JsonObject {
  return { model: "m", input: "Hi", tools: [fn("exec"), agents, files], ...more };
}

const names = (tools: unknown): unknown[] =>
  (Array.isArray(tools) ? tools : []).map((tool) => tool.name ?? tool.function.name);
const flat = ["exec", "agents__spawn", "agents__close", "mcp__files__close", "mcp__files__patch"];

Deno.test("the functions of a group stand by themselves, told apart by their group", () => {
  for (const to of ["messages", "chat"] as const) {
    const { body, dropped } = accepted("responses", to, request({}));
    assertEquals(names(body.tools), flat);
    // The free-text tool has become a function.
    assertEquals(dropped, ["tools.2.tools.1"]);
  }
  const { tools } = accepted("responses", "messages", request({})).body;
  assert(Array.isArray(tools));
  assertEquals(tools.filter(isJsonObject).slice(1, 4).map(({ description }) => description), [
    "all of agents\n\nspawn",
    "close",
    "all of mcp__files__\n\nclose",
  ]);
  const unknown = group("g", { type: "computer_use_preview" });
  assertEquals(
    refusal("responses", "chat", request({ tools: [unknown] })).param,
    "tools.0.tools.0",
  );
});

Deno.test("calls of the history and a choice name the same function", () => {
  const input = [
    { role: "user", content: "Hi" },
    {
      type: "function_call",
      call_id: "c1",
      namespace: "agents",
      name: "close",
      arguments: "{}",
    },
    { type: "function_call_output", call_id: "c1", output: "ok" },
  ];
  const one = { type: "function", namespace: "mcp__files__", name: "close" };
  const forced = accepted("responses", "chat", request({ input, tool_choice: one }));
  assertEquals(forced.dropped, ["tools.2.tools.1"]);
  assertEquals(forced.body.tool_choice, {
    type: "function",
    function: { name: "mcp__files__close" },
  });
  assert(JSON.stringify(forced.body.messages).includes('"name":"agents__close"'));
  for (const entry of [{ type: "namespace", name: "agents" }, one]) {
    const tool_choice = { type: "allowed_tools", mode: "auto", tools: [entry] };
    const some = accepted("responses", "messages", request({ tool_choice }));
    const expected = entry === one ? ["mcp__files__close"] : ["agents__spawn", "agents__close"];
    assertEquals(names(some.body.tools), expected);
  }
});

Deno.test("the answer calls the function by its group and name, streamed as whole", () => {
  const { memory } = accepted("responses", "chat", request({}));
  const called = ["agents__close", "mcp__files__close", "mcp__files__patch", "exec", "made__up"];
  const tool_calls = called.map((name, index) => ({
    index,
    id: `c${index}`,
    type: "function",
    function: { name, arguments: '{"input":"x"}' },
  }));
  const message = { role: "assistant", content: null, tool_calls };
  const whole = convertedAnswer("chat", "responses", {
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
  }, memory);
  const expected = [
    ["function_call", "agents", "close"],
    ["function_call", "mcp__files__", "close"],
    ["custom_tool_call", "mcp__files__", "patch"],
    ["function_call", undefined, "exec"],
    ["function_call", undefined, "made__up"],
  ];
  const told = (items: readonly unknown[]) =>
    items.filter(isJsonObject).map(({ type, namespace, name }) => [type, namespace, name]);
  assert(Array.isArray(whole.output));
  assertEquals(told(whole.output), expected);
  const frames = chatFrames([chunk({ role: "assistant", tool_calls }), chunk({}, "tool_calls")]);
  const { text } = streamed("chat", "responses", frames, { memory });
  for (const type of ["response.output_item.added", "response.output_item.done"]) {
    const items = text.split("\n\n").filter((frame) => frame.startsWith(`event: ${type}\n`))
      .map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)).item);
    assertEquals(told(items), expected);
  }
});

Deno.test("functions whose joined names coincide stay apart, in calls of the history and of the answer", () => {
  const alike = request({
    tools: [group("a", fn("b__c")), group("a__b", fn("c")), fn("a__b__c"), group("a", fn("d"))],
    input: [
      { role: "user", content: "Hi" },
      ...["a", "a__b", undefined].flatMap((namespace, i) => [
        {
          type: "function_call",
          call_id: `c${i}`,
          ...(namespace === undefined ? {} : { namespace }),
          name: ["b__c", "c", "a__b__c"][i]!,
          arguments: "{}",
        },
        { type: "function_call_output", call_id: `c${i}`, output: "ok" },
      ]),
    ],
    tool_choice: { type: "function", namespace: "a__b", name: "c" },
  });
  for (const to of ["messages", "chat"] as const) {
    const { body, memory } = accepted("responses", to, alike);
    const given = names(body.tools).map(String);
    assertEquals(new Set(given).size, 4);
    assertEquals(given.slice(2), ["a__b__c", "a__d"]);
    for (const name of given) assert(name.startsWith("a__"), name);
    const choice = JSON.stringify(body.tool_choice);
    assert(choice.includes(`"name":"${given[1]}"`), choice);
    const history = JSON.stringify(body.messages);
    const at = given.slice(0, 3).map((name) => history.indexOf(`"name":"${name}"`));
    assert(at.every((place) => place > 0) && at[0]! < at[1]! && at[1]! < at[2]!, `${at}`);
    const calls = given.map((name, i) => ({
      id: `c${i}`,
      type: "function",
      function: { name, arguments: "{}" },
    }));
    const message = { role: "assistant", content: null, tool_calls: calls };
    const { output } = convertedAnswer("chat", "responses", {
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    }, memory);
    assert(Array.isArray(output));
    assertEquals(
      output.filter(isJsonObject).map(({ namespace, name }) => [namespace, name]),
      [["a", "b__c"], ["a__b", "c"], [undefined, "a__b__c"], ["a", "d"]],
    );
  }
});
