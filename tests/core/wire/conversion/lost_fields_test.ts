/** Fields that were once lost silently; each is carried, named or refused. */
import { assertEquals } from "../../../support/assert.ts";
import type { RouteCapabilities, Style } from "../../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { list } from "../../../conformance/clients.ts";
import { accepted, type Converted, converted, refusal } from "./converting.ts";

const user: JsonObject = { role: "user", content: "Hi" };

function fromChat(
  more: JsonObject,
  to: Style = "messages",
  capabilities: RouteCapabilities = {},
): Converted {
  return accepted("chat", to, { model: "m", messages: [user], ...more }, capabilities);
}

function fromMessages(
  more: JsonObject,
  to: Style = "chat",
  capabilities: RouteCapabilities = {},
): Converted {
  const body = { model: "m", max_tokens: 4000, messages: [user], ...more };
  return accepted("messages", to, body, capabilities);
}

function tool(name: string): JsonObject {
  return { type: "function", function: { name } };
}

Deno.test("an empty object may be the whole request", () => {
  for (const to of ["messages", "responses"] as const) {
    const searching = { model: "m", messages: [user], web_search_options: {} };
    const allowed = converted("chat", to, searching, {}, 64_000, new Set(["web_search"]));
    assertEquals([list(allowed.body["tools"]).length, allowed.dropped], [1, []]);
    const { body, dropped } = converted("chat", to, searching, {}, 64_000, new Set([]));
    assertEquals([body["tools"], dropped], [undefined, ["web_search_options"]]);
    assertEquals(fromChat({ made_up: {} }, to).dropped, ["made_up"]);
    assertEquals(fromChat({ metadata: {}, logit_bias: {} }, to).dropped, []);
  }
  const { dropped } = accepted("responses", "chat", {
    model: "m",
    input: "Hi",
    metadata: {},
    made_up: {},
  });
  assertEquals(dropped, ["made_up"]);
});

Deno.test("a Chat client's request to think reaches the model in any of its forms", () => {
  const asked: [JsonObject, JsonObject | undefined, string[]][] = [
    [{ thinking: { type: "adaptive" } }, { type: "adaptive" }, []],
    [
      { thinking: { type: "adaptive", display: "summarized" } },
      { type: "adaptive", display: "summarized" },
      [],
    ],
    [{ thinking: { type: "auto" } }, undefined, ["thinking"]],
    [{ thinking: { type: "enabled", clear_thinking: false } }, { type: "adaptive" }, [
      "thinking.clear_thinking",
    ]],
    [{ reasoning: { summary: "auto" } }, undefined, ["reasoning.summary"]],
    [{ reasoning: { exclude: true } }, undefined, ["reasoning.exclude"]],
    [{ reasoning: { exclude: false, made_up: 1 } }, undefined, ["reasoning.made_up"]],
    [
      { reasoning: { enabled: true, summary: "auto" } },
      { type: "adaptive", display: "summarized" },
      [],
    ],
    [
      { reasoning_effort: "low", reasoning: { summary: "detailed" } },
      { type: "adaptive", display: "summarized" },
      [],
    ],
    [{ reasoning_effort: "high", thinking: { type: "adaptive" } }, { type: "adaptive" }, []],
    [{ reasoning: { enabled: true }, thinking: { type: "enabled" } }, { type: "adaptive" }, [
      "thinking",
    ]],
    [{ reasoning_effort: "high", thinking: { type: "disabled" } }, { type: "disabled" }, [
      "reasoning_effort",
    ]],
    [{ reasoning_effort: "none", reasoning: { enabled: true } }, { type: "disabled" }, [
      "reasoning",
    ]],
    [{ reasoning_effort: "low", reasoning: { effort: "high" } }, { type: "adaptive" }, [
      "reasoning.effort",
    ]],
  ];
  for (const [more, thinking, named] of asked) {
    const { body, dropped } = fromChat(more);
    assertEquals([body.thinking, dropped], [thinking, named], JSON.stringify(more));
  }
});

Deno.test("effort beside thinking is one request: neither goes without the other", () => {
  const both = { reasoning_effort: "high", thinking: { type: "enabled", budget_tokens: 2000 } };
  assertEquals(fromChat(both).body.output_config, { effort: "high" });
  assertEquals(fromChat(both, "messages", { thinking: "budget" }).body.thinking, {
    type: "enabled",
    budget_tokens: 2000,
  });
  const lost = fromChat(both, "messages", { thinking: "none" });
  assertEquals(lost.dropped, ["thinking", "reasoning_effort"]);
  const { dropped } = fromMessages(
    { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    "chat",
    { efforts: [] },
  );
  assertEquals(dropped, ["thinking", "output_config.effort"]);
});

Deno.test("thinking that shall not be shown is hidden where that can be asked for, else named", () => {
  const hidden = { thinking: { type: "enabled", budget_tokens: 2000, display: "omitted" } };
  assertEquals(fromMessages(hidden).dropped, ["thinking.display"]);
  assertEquals(fromMessages(hidden, "responses").body.reasoning, { effort: "medium" });
  assertEquals(fromChat(hidden, "messages", { thinking: "budget" }).body.thinking, hidden.thinking);
  assertEquals(fromChat(hidden).body.thinking, { type: "adaptive" });
});

Deno.test("the old form of tools beside the new one is named, and the other way round", () => {
  const both = { tools: [tool("f")], functions: [{ name: "g" }], function_call: { name: "g" } };
  for (const to of ["messages", "responses"] as const) {
    const { body, dropped } = fromChat(both, to);
    assertEquals(dropped, ["functions", "function_call"]);
    assertEquals((body.tools as JsonObject[]).length, 1);
  }
  const legacy = fromChat({ functions: [{ name: "g" }], tools: [], tool_choice: "required" });
  assertEquals([legacy.dropped, legacy.memory.legacyFunctions], [["tool_choice"], true]);
});

Deno.test("a forced call without any tool is named", () => {
  for (const to of ["messages", "responses"] as const) {
    assertEquals(fromChat({ tool_choice: "required" }, to).dropped, ["tool_choice"]);
    assertEquals(fromChat({ tool_choice: "auto" }, to).dropped, []);
  }
  assertEquals(fromMessages({ tool_choice: { type: "any" } }).dropped, ["tool_choice"]);
});

Deno.test("citations into a search result are named, like those into a document", () => {
  const found = {
    type: "search_result",
    source: "s",
    title: "t",
    content: [{ type: "text", text: "x" }],
    citations: { enabled: true },
  };
  for (const to of ["chat", "responses"] as const) {
    const { dropped } = fromMessages({ messages: [{ role: "user", content: [found] }] }, to);
    assertEquals(dropped, ["messages.0.content.0.citations"]);
  }
});

Deno.test("blocks under a role that cannot have them are refused, as the vendor does", () => {
  const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const wrong: [string, JsonObject][] = [
    ["user", { type: "tool_use", id: "t", name: "f", input: {} }],
    ["user", { type: "thinking", thinking: "x", signature: "c2ln" }],
    ["user", { type: "redacted_thinking", data: "c2ln" }],
    ["system", image],
    ["system", { type: "tool_result", tool_use_id: "t", content: "x" }],
  ];
  for (const [role, block] of wrong) {
    for (const to of ["chat", "responses"] as const) {
      const messages = [user, { role, content: [{ type: "text", text: "a" }, block] }];
      const { code, param } = refusal("messages", to, { model: "m", max_tokens: 9, messages });
      assertEquals([code, param], ["invalid_request", "messages.1.content.1"]);
    }
  }
});

Deno.test("what an instruction holds beside text is named", () => {
  const addition = { type: "tool_addition", tool: { type: "tool_reference", name: "f" } };
  const messages = [user, { role: "system", content: [{ type: "text", text: "a" }, addition] }];
  for (const to of ["chat", "responses"] as const) {
    assertEquals(fromMessages({ messages }, to).dropped, ["messages.1.content.1"]);
  }
});

Deno.test("what a client says about its schema goes with the schema", () => {
  const schema = { type: "object", properties: {}, additionalProperties: false };
  const json_schema = { name: "n", description: "a day", schema };
  const response_format = { type: "json_schema", json_schema };
  const { body } = fromChat({ response_format });
  const described = { description: "a day", ...schema };
  assertEquals(body.output_config, { format: { type: "json_schema", schema: described } });
});

Deno.test("what a tool returned beside its text follows the result, which names it", () => {
  const data = { type: "base64", data: "aGk=" };
  const parts: readonly (readonly [JsonObject, string])[] = [
    [{ type: "image", source: { ...data, media_type: "image/png" } }, "image"],
    [
      { type: "document", title: "a.pdf", source: { ...data, media_type: "application/pdf" } },
      "file a.pdf",
    ],
  ];
  for (const [part, name] of parts) {
    const { body } = fromMessages({
      messages: [
        user,
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [part] }],
        },
      ],
    });
    const [, , result, attached] = list(body["messages"]);
    assertEquals(result?.["content"], `[${name} attached below]`);
    assertEquals([attached?.["role"], JSON.stringify(attached).includes("aGk=")], ["user", true]);
  }
});

Deno.test("a conversation that begins with the assistant gets a turn before it, and is named", () => {
  const messages = [{ role: "assistant", content: "Hello!" }, user];
  const { body, dropped } = fromChat({ messages });
  assertEquals(list(body["messages"]).map(({ role }) => role ?? null), [
    "user",
    "assistant",
    "user",
  ]);
  assertEquals(dropped, ["messages.0"]);
});
