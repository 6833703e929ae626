/** Requests as large as they may be, of shapes that a careless conversion takes minutes for: nothing else runs then. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { normalizeTurns } from "../../../../core/wire/fields/normalize_turns.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { convertRequest } from "../../../../core/wire/convert/convert.ts";
import { sealPrefix } from "../../../../core/wire/fields/reasoning_seal.ts";
import { dialectOf } from "../../../../core/wire/convert/dialects.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

const options = { capabilities: { mid_system: true }, upstreamModel: "m", maxOutputTokens: 1_000 };
const said = (role: string, content: Json = "x"): JsonObject => ({ role, content });
const hello = said("user");

Deno.test("equal ids are numbered, past those that are taken", () => {
  const names = ["a", "a_2", "a", "a", "b", "a_4", "a"];
  const calls = names.map((id) => ({
    id,
    type: "function",
    function: { name: "n", arguments: "{}" },
  }));
  const results = names.map((tool_call_id) => ({ role: "tool", tool_call_id, content: "x" }));
  const { turns } = normalizeTurns(
    dialectOf("chat").decodeRequest({
      model: "m",
      messages: [hello, { role: "assistant", tool_calls: calls }, ...results],
    }),
  );
  const ids = (turns[1]?.blocks ?? []).map((block) => block.type === "tool_call" ? block.id : "");
  assertEquals(ids, ["a", "a_2", "a_3", "a_4", "b", "a_4_2", "a_5"]);
  const answered = turns[2]?.blocks.map((block) => block.type === "tool_result" && block.callId);
  assertEquals(answered, ids);
});

const costly = `{"a":[${"{},".repeat(2_000_000)}1]}`;

function withArguments(from: Style, texts: readonly string[]): JsonObject {
  if (from === "chat") {
    const calls = texts.map((text, i) => ({
      id: `c${i}`,
      type: "function",
      function: { name: "n", arguments: text },
    }));
    const results = texts.map((_, i) => ({ role: "tool", tool_call_id: `c${i}`, content: "x" }));
    return { model: "m", messages: [hello, { role: "assistant", tool_calls: calls }, ...results] };
  }
  return {
    model: "m",
    input: texts.flatMap((text, i) => [
      { type: "function_call", call_id: `c${i}`, name: "n", arguments: text },
      { type: "function_call_output", call_id: `c${i}`, output: "x" },
    ]),
  };
}

for (const from of ["chat", "responses"] as const) {
  Deno.test(`arguments in a ${from} request count like the body that they are part of`, () => {
    const parts = Array.from({ length: 100 }, () => `{"a":[${"{},".repeat(10_000)}1]}`);
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[costly], "500000 values"],
      [[JSON.stringify(costly)], "500000 values"],
      [parts, "500000 values"],
      [['{"a":'.repeat(1_000)], "128 levels"],
      [[`{${Array.from({ length: 60_000 }, (_, i) => `"n${i}":1`)}}`], "50000 different names"],
    ];
    for (const [texts, bound] of cases) {
      const converted = convertRequest(from, "messages", withArguments(from, texts), options);
      assert(!converted.ok && converted.error.message.includes(bound), bound);
      assertEquals(converted.error.status, 400);
    }
    const long = JSON.stringify({ path: "a.txt", content: '[{"x":1}]\n'.repeat(100_000) });
    assert(convertRequest(from, "messages", withArguments(from, [long]), options).ok);
  });
}

Deno.test("a made-up seal that is dear to open counts as none", () => {
  const seal = (json: string) => sealPrefix + btoa(json).replaceAll("=", "");
  const request = (signature: string) => ({
    model: "m",
    max_tokens: 5,
    messages: [hello, {
      role: "assistant",
      content: [{ type: "thinking", thinking: "x", signature }, { type: "text", text: "y" }],
    }, hello],
  });
  const { parse } = JSON;
  let longest = 0;
  JSON.parse = (text: string) => {
    longest = Math.max(longest, text.length);
    return parse(text);
  };
  try {
    const made = seal(`{"kind":"item","signer":"responses","x":${costly}}`);
    assert(convertRequest("messages", "chat", request(made), options).ok);
    assertEquals(longest, 0);
    const proof = { kind: "item", signer: "responses", encryptedContent: "gAAA".repeat(100_000) };
    assert(convertRequest("messages", "chat", request(seal(JSON.stringify(proof))), options).ok);
    assert(longest > 400_000, "an honest one is opened");
  } finally {
    JSON.parse = parse;
  }
});
