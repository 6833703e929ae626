import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import {
  countTexts,
  estimateInputTokens,
  maxTokenizedChars,
  promptParts,
  tokenizerSliceChars,
} from "../../../../core/billing/tokens/estimate_input.ts";
import { tokensOfUnseenImage } from "../../../../core/billing/tokens/rough_estimate.ts";

const body = (messages: Json, more: JsonObject = {}): JsonObject => ({
  model: "m",
  messages,
  ...more,
});
const user = (content: Json): JsonObject => ({ role: "user", content });

Deno.test("a longer prompt counts more, a system prompt and tools are counted", async () => {
  const short = await estimateInputTokens(body([user("Hi")]));
  const long = await estimateInputTokens(body([user("Hi ".repeat(100))]));
  assert(long > short + 90, `${short} ${long}`);
  const withSystem = await estimateInputTokens(body([user("Hi")], { system: "Be brief." }));
  assert(withSystem > short);
  const tools = [{
    name: "get_weather",
    description: "Weather of a city",
    input_schema: { type: "object", properties: { city: { type: "string" } } },
  }];
  const withTools = await estimateInputTokens(body([user("Hi")], { tools }));
  assert(withTools > short + 15 && withTools < short + 60, `${short} ${withTools}`);
});

Deno.test("a string and one text block count the same", async () => {
  assertEquals(
    await estimateInputTokens(body([user("Hello there")])),
    await estimateInputTokens(body([user([{ type: "text", text: "Hello there" }])])),
  );
});

Deno.test("control tokens in a prompt are plain text", async () => {
  assert(await estimateInputTokens(body([user("a <|endoftext|> b")])) > 8);
});

Deno.test("base64 and signatures are never given to the tokenizer", () => {
  const data = "QUJD".repeat(10_000);
  const { texts, flatTokens } = promptParts(body([
    user([
      { type: "image", source: { type: "base64", media_type: "image/png", data } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data } },
    ]),
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm", signature: data },
        { type: "redacted_thinking", data },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [{ type: "web_search_result", title: "T", url: "u", encrypted_content: data }],
        },
        { type: "tool_use", id: "a", name: "shot", input: {} },
      ],
    },
    user([{
      type: "tool_result",
      tool_use_id: "a",
      content: [{ type: "image", source: { type: "base64", media_type: "image/png", data } }],
    }]),
  ]));
  assertEquals(texts.filter((text) => text.includes("QUJD")), []);
  assert(flatTokens > 2 * tokensOfUnseenImage);
});

Deno.test("thinking counts in the running turn only", () => {
  const thinking = { type: "thinking", thinking: "SECRET PLAN", signature: "c2ln" };
  const call = { type: "tool_use", id: "a", name: "f", input: {} };
  const result = { type: "tool_result", tool_use_id: "a", content: "2" };
  const loop = [user("Hi"), { role: "assistant", content: [thinking, call] }, user([result])];
  const holds = (messages: Json): boolean =>
    promptParts(body(messages)).texts.includes("SECRET PLAN");
  assert(holds(loop));
  assert(!holds([...loop, { role: "assistant", content: "Two." }, user("And now?")]));
});

Deno.test("fields of a wrong shape count nothing and do no harm", async () => {
  const shapes: Json[] = [null, 1, "x", [], {}, [null], [1], [{ role: "user" }], [{ content: 1 }]];
  for (const messages of shapes) {
    const tokens = await estimateInputTokens({ messages, system: messages, tools: messages });
    assert(Number.isSafeInteger(tokens) && tokens >= 3, `${JSON.stringify(messages)}: ${tokens}`);
  }
});

Deno.test("of a long prompt a bounded part is counted and scaled", () => {
  let looked = 0;
  const perChar = (text: string): number => {
    looked += text.length;
    return text.length;
  };
  const texts = ["a".repeat(900_000), "", "b".repeat(100_000)];
  assertEquals(countTexts(texts, perChar), 1_000_000);
  assert(looked <= maxTokenizedChars);
});

Deno.test("no piece given to the tokenizer is longer than the bound, and nothing is left out", () => {
  fc.assert(fc.property(fc.array(fc.string({ maxLength: 3000 }), { maxLength: 12 }), (texts) => {
    let longest = 0;
    const total = countTexts(texts, (piece) => {
      longest = Math.max(longest, piece.length);
      return piece.length;
    });
    const all = texts.reduce((sum, text) => sum + text.length, 0);
    assertEquals(total, all);
    assert(longest <= tokenizerSliceChars);
  }));
});

Deno.test("a sample of mixed text comes close to the whole", () => {
  // Words cost one each: the sample must meet both halves.
  const words = (text: string): number => text.split(" ").length;
  const texts = ["ab ".repeat(100_000), "abcdefghi ".repeat(30_000)];
  const exact = 130_000;
  const estimate = countTexts(texts, words);
  assert(Math.abs(estimate - exact) < exact * 0.05, String(estimate));
});
