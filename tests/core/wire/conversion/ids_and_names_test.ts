/** Ids and names change by pure functions (docs/internals/WIRE_FORMATS.md#ids-and-names). */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { CallIds } from "../../../../core/wire/fields/answer_ids.ts";
import { hashBase62, hashHex } from "../../../../core/lib/hash/short_hash.ts";
import { toolIdFor, toolNameFor, wordId } from "../../../../core/wire/tools/tool_preparation.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, convertedAnswer } from "./converting.ts";

const anyId = fc.string({ unit: "binary", maxLength: 80 });
const rules = {
  any: /^[^]*$/,
  max40: /^[^]{0,40}$/,
  alnum9: /^[a-zA-Z0-9]{9}$/,
  word: /^[a-zA-Z0-9_-]+$/,
} as const;

Deno.test("ids are legal at the route, unchanged where they were, and two ids stay two", () => {
  fc.assert(
    fc.property(anyId, anyId, (one, other) => {
      for (const rule of ["any", "max40", "alnum9", "word"] as const) {
        const mapped = toolIdFor(rule, one);
        assert(rules[rule].test(mapped), `${rule}: ${mapped}`);
        assertEquals(toolIdFor(rule, mapped), mapped, "mapping twice changes nothing");
        if (rules[rule].test(one)) assertEquals(mapped, one);
        if (one !== other) assert(mapped !== toolIdFor(rule, other), `${rule}: ${one} ${other}`);
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("ids that differ only in forbidden characters stay apart", () => {
  const ids = ["get_x:0", "get_x_0", "get_x.0", "get_x 0", "get_x/0"].map(wordId);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("hashes do not collide among many similar texts", () => {
  const texts = Array.from({ length: 20_000 }, (_, i) => `call_${i}`);
  assertEquals(new Set(texts.map(hashHex)).size, texts.length);
  assertEquals(new Set(texts.map((text) => hashBase62(text, 9))).size, texts.length);
});

Deno.test("names are legal, unchanged where they were, and two names stay two", () => {
  fc.assert(
    fc.property(anyId, anyId, fc.constantFrom(64, 128), (one, other, max) => {
      const mapped = toolNameFor(one, max);
      assert(mapped.length <= max && /^[a-zA-Z0-9_-]+$/.test(mapped), mapped);
      assertEquals(toolNameFor(mapped, max), mapped);
      if (one !== other) assert(mapped !== toolNameFor(other, max));
    }),
    { numRuns: 1000 },
  );
});

Deno.test("long and odd tool names are changed everywhere and come back in the answer", () => {
  const odd = "mcp.server/tool";
  const long = "x".repeat(100);
  const { body, memory } = accepted("messages", "chat", {
    model: "m",
    max_tokens: 10,
    tools: [
      { name: "plain", input_schema: { type: "object" } },
      { name: long, input_schema: { type: "object" } },
    ],
    tool_choice: { type: "tool", name: long },
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: long, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "b" }] },
    ],
  });
  const sent = toolNameFor(long, 64);
  assert(sent.length === 64 && sent !== toolNameFor(odd, 64));
  const tools = body.tools as JsonObject[];
  assertEquals(tools.map((tool) => (tool.function as JsonObject).name), ["plain", sent]);
  assertEquals(body.tool_choice, { type: "function", function: { name: sent } });
  const assistant = (body.messages as JsonObject[])[1];
  const [call] = assistant?.tool_calls as JsonObject[];
  assertEquals((call?.function as JsonObject).name, sent);
  const tool_calls = [{
    id: "call_1",
    type: "function",
    function: { name: sent, arguments: "{}" },
  }];
  const answer = convertedAnswer("chat", "messages", {
    choices: [{ index: 0, message: { content: null, tool_calls }, finish_reason: "tool_calls" }],
  }, memory);
  assertEquals((answer.content as JsonObject[])[0]?.name, long);
});

Deno.test("a foreign id is the same in call and result, at every kind of route", () => {
  const id = "functions.get_weather:0";
  for (const tool_id of ["any", "max40", "alnum9", "word"] as const) {
    const { body } = accepted("messages", "chat", {
      model: "m",
      max_tokens: 10,
      tools: [{ name: "f", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [{ type: "tool_use", id, name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "b" }] },
      ],
    }, { tool_id });
    const [, assistant, result] = body.messages as JsonObject[];
    const [call] = assistant?.tool_calls as JsonObject[];
    assertEquals(call?.id, result?.tool_call_id);
    assertEquals(call?.id, toolIdFor(tool_id, id));
  }
});

Deno.test("an answer's call ids survive the change of style in a later request", () => {
  // The client got this id from a Chat route and now speaks to a Messages route.
  const given = new CallIds("req_1", "toolu_", wordId).next("call_abc");
  assertEquals(given, "call_abc");
  assertEquals(toolIdFor("max40", given), "call_abc");
});
