import { assertEquals } from "../../../support/assert.ts";
import type { RouteCapabilities, Style } from "../../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { converted } from "./converting.ts";

const long = "All work and no play. ".repeat(250);
const parameters = { type: "object", properties: { path: { type: "string" } } };
const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };

const chat = {
  model: "m",
  tools: [{ type: "function", function: { name: "read", description: long, parameters } }],
  messages: [
    { role: "system", content: long },
    { role: "user", content: "Read it" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "It says hello" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: [{ type: "text", text: "Why" }, { type: "text", text: "?" }] },
  ],
};

const responses = {
  model: "m",
  instructions: long,
  tools: [{ type: "function", name: "read", description: long, parameters, strict: false }],
  input: [
    { role: "user", content: "Read it" },
    { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "It says hello" },
  ],
};

/** Paths of everything that holds a mark. */
function marked(value: Json | undefined, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((one, i) => marked(one, `${path}.${i}`));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "cache_control" ? [path.slice(1)] : marked(member, `${path}.${name}`)
  );
}

function marksOf(from: Style, body: JsonObject, capabilities: RouteCapabilities = {}): string[] {
  return marked(converted(from, "messages", body, capabilities).body);
}

Deno.test("clients without marks get them behind instructions and the last two user turns", () => {
  assertEquals(marksOf("chat", chat), [
    "system.0",
    "messages.2.content.0",
    "messages.4.content.1",
  ]);
  assertEquals(marksOf("responses", responses), [
    "system.0",
    "messages.0.content.0",
    "messages.2.content.0",
  ]);
});

Deno.test("what a request reads from the cache is what the one before it wrote", () => {
  const before = converted("chat", "messages", { ...chat, messages: chat.messages.slice(0, 4) });
  const after = converted("chat", "messages", chat);
  const written = marked(before.body).at(-1);
  assertEquals(written, "messages.2.content.0");
  assertEquals(marked(after.body).includes(written ?? ""), true);
});

Deno.test("tools hold the mark where there are no instructions; a question alone has none", () => {
  const messages = [{ role: "user", content: long }];
  assertEquals(marksOf("chat", { ...chat, messages }), ["messages.0.content.0", "tools.0"]);
  assertEquals(marksOf("chat", { model: "m", messages }), []);
  const asked = [{ role: "system", content: long }, ...messages];
  assertEquals(marksOf("chat", { model: "m", messages: asked }), ["system.0"]);
});

Deno.test("a short prompt, a client's own marks and a route that says so keep marks away", () => {
  const short = { ...chat, tools: undefined, messages: chat.messages.slice(1, 2) };
  assertEquals(marksOf("chat", JSON.parse(JSON.stringify(short))), []);
  const own = [{
    role: "user",
    content: [{ type: "text", text: long, cache_control: { type: "ephemeral" } }],
  }];
  assertEquals(marksOf("chat", { ...chat, messages: own }), ["messages.0.content.0"]);
  assertEquals(marksOf("chat", chat, { auto_cache: false }), []);
  assertEquals(marksOf("chat", chat, { cache_marks: "none" }), []);
});
