import { assert, assertEquals } from "../../../support/assert.ts";
import {
  promptPrefixes,
  type ReportedCall,
  SeenPrompts,
} from "../../../../core/calls/bounds/seen_prompts.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { noTokens } from "../../../../core/billing/tokens/token_bounds.ts";

const call: ReportedCall = {
  usage: { ...noTokens, input: 100, cacheRead: 900, output: 10 },
  estimatedInputTokens: 1_000,
  outputBytes: 40,
};
const user = (text: string, more: JsonObject = {}): JsonObject => ({
  role: "user",
  content: [{ type: "text", text, ...more }],
});
const marked = { cache_control: { type: "ephemeral" } };

Deno.test("the order of fields and moved cache marks do not change the hash of a prompt", () => {
  const tools = [{ name: "t", input_schema: {} }];
  const one = promptPrefixes("m", "messages", {
    messages: [user("Hello", marked)],
    system: "Be brief",
    tools,
  });
  const other = promptPrefixes("m", "messages", {
    max_tokens: 5,
    tools,
    system: "Be brief",
    messages: [user("Hello"), { role: "assistant", content: "Hi" }, user("Go on", marked)],
  });
  assertEquals(other.messages[0], one.whole);
  assertEquals(other.head, one.head);
});

Deno.test("another text, model or style changes the hash of a prompt", () => {
  const body = { messages: [user("Hello")] };
  const hash = promptPrefixes("m", "messages", body).whole?.hash;
  assert(hash !== promptPrefixes("m", "messages", { messages: [user("Hallo")] }).whole?.hash);
  assert(hash !== promptPrefixes("n", "messages", body).whole?.hash);
  assert(hash !== promptPrefixes("m", "chat", body).whole?.hash);
  const apart = (parts: string[]) => promptPrefixes("m", "responses", { input: parts }).whole?.hash;
  assert(apart(["ab", "c"]) !== apart(["a", "bc"]));
});

Deno.test("a very long prompt is known by its instructions only, and few marks are kept", () => {
  const seen = new SeenPrompts();
  const prompt = promptPrefixes("m", "messages", {
    system: "Be brief",
    messages: [user("x".repeat(1_000_001))],
  });
  assertEquals([prompt.whole, prompt.messages.length], [undefined, 0]);
  seen.note("k", prompt, call, 0);
  assertEquals(seen.find("k", prompt, 0)?.cachedTokens, Math.ceil((prompt.head?.chars ?? 0) / 4));
  const long = promptPrefixes("m", "messages", { messages: Array(1_000).fill(user("Hello")) });
  assertEquals(long.messages.length, 16);
});

Deno.test("seen prompts are forgotten after an hour, and the table is bounded", () => {
  const seen = new SeenPrompts();
  const prompt = promptPrefixes("m", "chat", { messages: [user("Hello")] });
  seen.note("k", prompt, call, 0);
  assertEquals(seen.find("k", prompt, 3_600_000)?.cachedTokens, 900);
  assertEquals(seen.find("k", prompt, 3_600_001), undefined);
  for (let i = 0; i < 40_010; i++) seen.note(`k${i}`, prompt, call, 1);
  assertEquals(seen.size, 40_000);
  assertEquals(seen.find("k", prompt, 1), undefined);
  assertEquals(seen.find("k40009", prompt, 1)?.cachedTokens, 900);
});

Deno.test("one call of spaces does not make the next text cheap", () => {
  const seen = new SeenPrompts();
  const prompt = promptPrefixes("m", "chat", { messages: [user(" ")] });
  const usage = { ...noTokens, input: 10, output: 10 };
  seen.note("k", prompt, { usage, estimatedInputTokens: 320, outputBytes: 1_280 }, 0);
  const found = seen.find("k", prompt, 0);
  assertEquals([found?.inputScale, found?.outputScale], [0.5, 0.5]);
});
