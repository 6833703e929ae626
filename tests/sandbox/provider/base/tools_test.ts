import { assertEquals } from "../../../support/assert.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { jsonOf, paths, readingOf, requestOf, styles } from "../sandbox_calls.ts";

const schemas: Record<string, JsonObject> = {
  get_weather: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
  },
  get_time: { type: "object", properties: {} },
};

function toolsIn(style: BodyStyle): JsonObject[] {
  return Object.entries(schemas).map(([name, schema]) => {
    if (style === "messages") return { name, input_schema: schema };
    if (style === "chat") return { type: "function", function: { name, parameters: schema } };
    return { type: "function", name, parameters: schema };
  });
}

const parallelOff: Record<BodyStyle, JsonObject> = {
  messages: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  chat: { parallel_tool_calls: false },
  responses: { parallel_tool_calls: false },
};

/** Returns the calls of a whole answer as `name arguments`. */
async function callsOf(style: BodyStyle, text: string, rest: JsonObject = {}): Promise<string[]> {
  const body = await jsonOf(
    paths[style],
    requestOf(style, text, { tools: toolsIn(style), ...rest }),
  );
  const list = (value: unknown): JsonObject[] =>
    Array.isArray(value) ? value.filter(isJsonObject) : [];
  if (style === "messages") {
    return list(body["content"]).filter((block) => block["type"] === "tool_use")
      .map((block) => `${block["name"]} ${JSON.stringify(block["input"])}`);
  }
  if (style === "responses") {
    return list(body["output"]).filter((item) => item["type"] === "function_call")
      .map((item) => `${item["name"]} ${item["arguments"]}`);
  }
  const message = list(body["choices"])[0]?.["message"];
  return list(isJsonObject(message) ? message["tool_calls"] : []).map((call) => {
    const named = call["function"];
    return isJsonObject(named) ? `${named["name"]} ${named["arguments"]}` : "";
  });
}

const weather = 'get_weather {"city":"city","days":1}';
const time = "get_time {}";

Deno.test("a tool is called only when the turn asks for it", async () => {
  for (const style of styles) {
    assertEquals(await callsOf(style, "How are you?"), [], style);
    assertEquals(await callsOf(style, "Please call get_time now"), [time], style);
    assertEquals(await callsOf(style, "use the tool"), [weather], style);
    assertEquals(await callsOf(style, "call all tools"), [weather, time], style);
    assertEquals(
      await callsOf(style, "call get_time and call get_weather"),
      [weather, time],
      style,
    );
    assertEquals(await callsOf(style, "call all tools", parallelOff[style]), [weather], style);
    assertEquals(await callsOf(style, "call get_time", { tools: [] }), [], style);
  }
});

Deno.test("tool_choice is obeyed", async () => {
  const choices: Record<BodyStyle, [none: JsonObject, any: JsonObject, forced: JsonObject]> = {
    messages: [
      { tool_choice: { type: "none" } },
      { tool_choice: { type: "any" } },
      { tool_choice: { type: "tool", name: "get_time" } },
    ],
    chat: [
      { tool_choice: "none" },
      { tool_choice: "required" },
      { tool_choice: { type: "function", function: { name: "get_time" } } },
    ],
    responses: [
      { tool_choice: "none" },
      { tool_choice: "required" },
      { tool_choice: { type: "function", name: "get_time" } },
    ],
  };
  for (const style of styles) {
    const [none, any, forced] = choices[style];
    assertEquals(await callsOf(style, "call get_time", none), [], style);
    assertEquals(await callsOf(style, "How are you?", any), [weather], style);
    assertEquals(await callsOf(style, "call get_time", any), [time], style);
    assertEquals(await callsOf(style, "call get_weather", forced), [time], style);
  }
});

Deno.test("allowed_tools limits which tools are called", async () => {
  const only = { type: "function", function: { name: "get_time" } };
  const chat = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [only] } };
  assertEquals(await callsOf("chat", "Hi", { tool_choice: chat }), [time]);
  const responses = {
    type: "allowed_tools",
    mode: "auto",
    tools: [{ type: "function", name: "get_time" }],
  };
  assertEquals(await callsOf("responses", "call all tools", { tool_choice: responses }), [time]);
});

Deno.test("a streamed call stops for tools and counts its arguments", async () => {
  const reasons = { messages: "tool_use", chat: "tool_calls", responses: "completed" };
  for (const style of styles) {
    const reading = await readingOf(
      style,
      requestOf(style, "call get_weather", { tools: toolsIn(style) }),
    );
    assertEquals(reading.stopReason, reasons[style], style);
    // "Calling get_weather." and {"city":"city","days":1}
    assertEquals(reading.outputBytes, 20 + 24, style);
  }
});

Deno.test("a custom tool gets text", async () => {
  const body = await jsonOf(
    paths.chat,
    requestOf("chat", "call shell", {
      tools: [{ type: "custom", custom: { name: "shell" } }],
    }),
  );
  assertEquals(
    JSON.stringify(body).includes('"custom":{"name":"shell","input":"call shell"}'),
    true,
  );
});

Deno.test("after tool results the answer quotes them and calls nothing again", async () => {
  const conversations: Record<BodyStyle, JsonObject> = {
    messages: {
      model: "m",
      max_tokens: 100,
      messages: [
        { role: "user", content: "call all tools" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "a", name: "get_time", input: {} }, {
            type: "tool_use",
            id: "b",
            name: "get_weather",
            input: {},
          }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "12:30" },
            { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "sunny" }] },
          ],
        },
      ],
    },
    chat: {
      model: "m",
      messages: [
        { role: "user", content: "call all tools" },
        { role: "assistant", content: null, tool_calls: [] },
        { role: "tool", tool_call_id: "a", content: "12:30" },
        { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "sunny" }] },
      ],
    },
    responses: {
      model: "m",
      input: [
        { role: "user", content: "call all tools" },
        { type: "function_call", call_id: "a", name: "get_time", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "12:30" },
        { type: "function_call_output", call_id: "b", output: "sunny" },
      ],
    },
  };
  for (const style of styles) {
    const body = await jsonOf(paths[style], { ...conversations[style], tools: toolsIn(style) });
    const expected = 'The tools said "12:30" and "sunny".';
    assertEquals(JSON.stringify(body).includes(JSON.stringify(expected).slice(1, -1)), true, style);
  }
});

Deno.test("a tool of a namespace is called by its name, and the call names the namespace", async () => {
  const named = { type: "namespace", name: "mcp__account", tools: toolsIn("responses") };
  const request = requestOf("responses", "call get_time", { tools: [named] });
  const { output } = await jsonOf(paths.responses, request);
  const calls = Array.isArray(output) ? output.filter(isJsonObject) : [];
  const [call] = calls.filter(({ type }) => type === "function_call");
  assertEquals([call?.["name"], call?.["namespace"]], ["get_time", "mcp__account"]);
});
