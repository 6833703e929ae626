/** Native Chat requests have the form that the route's capabilities say; all other bytes pass. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { RouteCapabilities } from "../../../../core/wire/contract/contract.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { sentRequest } from "../../../conformance/sent_requests.ts";

const texts = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
const call: JsonObject = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const result: JsonObject = { role: "tool", tool_call_id: "c", content: "r" };

function sent(messages: readonly JsonObject[], route: RouteCapabilities) {
  const sending = sentRequest("chat", { model: "m", messages: [...messages] }, "chat", route);
  assert(sending.kind === "sent");
  const { messages: written } = JSON.parse(new TextDecoder().decode(sending.bytes));
  return { written: written as Json[], dropped: sending.dropped };
}

Deno.test("lists of texts are one text for servers that take only texts, and named", () => {
  const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
  const messages: JsonObject[] = [
    { role: "system", content: texts },
    { role: "user", content: texts },
    { role: "user", content: [...texts, picture] },
    { role: "assistant", content: texts },
    { role: "user", content: "plain" },
  ];
  const { written, dropped } = sent(messages, { text_parts: false });
  assertEquals(written.map((message) => (message as JsonObject).content), [
    "a\n\nb",
    "a\n\nb",
    [...texts, picture],
    "a\n\nb",
    "plain",
  ]);
  assertEquals(dropped, ["messages.0.content", "messages.1.content", "messages.3.content"]);
  assertEquals(sent(messages, {}).written, messages);
});

Deno.test("a turn with calls has the reasoning that the server wants back, even if the client lost it", () => {
  const route: RouteCapabilities = { reasoning_replay: "reasoning_content" };
  const turn = (more: JsonObject): JsonObject[] => [
    { role: "user", content: "Hi" },
    { role: "assistant", content: null, tool_calls: [call], ...more },
    result,
  ];
  const lost = sent(turn({}), route);
  assertEquals((lost.written[1] as JsonObject).reasoning_content, "");
  assertEquals(lost.dropped, ["messages.1.reasoning_content"]);
  const other = sent(turn({ reasoning: "Hm." }), route);
  assertEquals((other.written[1] as JsonObject).reasoning_content, "Hm.");
  assertEquals((other.written[1] as JsonObject).reasoning, undefined);
  const whole = turn({ reasoning_content: "Hm." });
  assertEquals(sent(whole, route), { written: whole, dropped: [] });
  const plain = [{ role: "user", content: "a" }, { role: "assistant", content: "b" }, {
    role: "user",
    content: "c",
  }];
  assertEquals(sent(plain, route), { written: plain, dropped: [] });
});

Deno.test("reasoning does not go to servers that refuse it, and is named", () => {
  const messages: JsonObject[] = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b", reasoning_content: "Hm." },
    { role: "user", content: "c" },
  ];
  const { written, dropped } = sent(messages, { reasoning_replay: "none" });
  assertEquals(written[1], { role: "assistant", content: "b" });
  assertEquals(dropped, ["messages.1.reasoning_content"]);
  assertEquals(sent(messages, {}).written, messages);
});
