import { assert, assertEquals } from "../../../support/assert.ts";
import { parseJsonBody, withFields } from "../../../../core/calls/body/json_body.ts";
import {
  droppedReasoningFields,
  withoutForeignReasoning,
} from "../../../../core/calls/request/sealed_items.ts";
import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { convertRequest } from "../../../../core/wire/convert/convert.ts";
import { unsealedMark } from "../../../../core/wire/fields/reasoning_seal.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

const asked = { role: "user", content: "Read both files" };
const thinking = { type: "thinking", thinking: "Which first?", signature: "EqQBCkgIAR" };
const sealed = { type: "thinking", thinking: "Hm", signature: unsealedMark };
const call = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const turn = (...content: object[]) => ({ role: "assistant", content });
const result = (id: string) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: id, content: "text" }],
});

function bodyOf(messages: readonly object[], more: object = {}) {
  return parseJsonBody(new TextEncoder().encode(JSON.stringify({
    model: "m",
    max_tokens: 4096,
    thinking: { type: "enabled", budget_tokens: 2048 },
    tools: [{ name: "read", input_schema: { type: "object" } }],
    messages,
    ...more,
  })));
}

function repaired(messages: readonly object[], more: object = {}) {
  const body = bodyOf(messages, more);
  const replaced = withoutForeignReasoning("messages", body, {});
  const bytes = joined(withFields(body, replaced));
  const sent: JsonObject = JSON.parse(new TextDecoder().decode(bytes));
  return {
    sent,
    lost: droppedReasoningFields(replaced),
    isSame: Object.keys(replaced).length === 0,
  };
}

const mixed: Record<string, readonly object[]> = {
  "one turn of another style": [asked, turn(call("call_1")), result("call_1")],
  "one turn of another style with its reasoning": [
    asked,
    turn(sealed, call("toolu_1")),
    result("toolu_1"),
  ],
  "a turn of the vendor's, then one of another style": [
    asked,
    turn(thinking, call("toolu_1")),
    result("toolu_1"),
    turn(call("call_2")),
    result("call_2"),
  ],
};

for (const [what, messages] of Object.entries(mixed)) {
  Deno.test(`thinking is switched off and named in a tool loop with ${what}`, () => {
    const before = bodyOf(messages).value;
    assert(validateRequest("messages", before) !== undefined, "the vendor refuses it as it came");
    const { sent, lost } = repaired(messages);
    assertEquals(validateRequest("messages", sent), undefined);
    assertEquals(sent["thinking"], { type: "disabled" });
    assert(!JSON.stringify(sent["messages"]).includes('"type":"thinking"'));
    assertEquals(lost, ["thinking"]);
  });
}

const legal: Record<string, readonly object[]> = {
  "the vendor's own turns": [asked, turn(thinking, call("toolu_1")), result("toolu_1")],
  "a turn that the vendor wrote without thinking": [
    asked,
    turn(thinking, call("toolu_1")),
    result("toolu_1"),
    turn(call("toolu_2")),
    result("toolu_2"),
  ],
  "a vendor with other ids": [
    asked,
    turn(thinking, call("call_1")),
    result("call_1"),
    turn(call("call_2")),
    result("call_2"),
  ],
  "a new question behind a loop of another style": [
    asked,
    turn(call("call_1")),
    result("call_1"),
    turn({ type: "text", text: "Done" }),
    { role: "user", content: "Thanks" },
  ],
};

for (const [what, messages] of Object.entries(legal)) {
  Deno.test(`${what}: the request passes as it came`, () => {
    assert(repaired(messages).isSame);
  });
}

Deno.test("adaptive thinking needs no repair", () => {
  const [messages] = Object.values(mixed);
  assert(repaired(messages!, { thinking: { type: "adaptive" } }).isSame);
});

Deno.test("edits of the context that need thinking go with it", () => {
  const [messages] = Object.values(mixed);
  const keep = { type: "clear_tool_uses_20250919" };
  const clear = { type: "clear_thinking_20251015" };
  const both = repaired(messages!, { context_management: { edits: [clear, keep] } });
  assertEquals(both.sent["context_management"], { edits: [keep] });
  assertEquals(both.lost, ["thinking", "context_management"]);
  const one = repaired(messages!, { context_management: { edits: [clear] } });
  assertEquals(one.sent["context_management"], null);
});

Deno.test("a converted request that cannot think in its loop carries no thinking there either", () => {
  const conversion = convertRequest("chat", "messages", {
    model: "m",
    max_tokens: 4096,
    reasoning_effort: "high",
    tools: [{ type: "function", function: { name: "read", parameters: { type: "object" } } }],
    messages: [
      asked,
      {
        role: "assistant",
        content: null,
        reasoning_details: [{
          type: "reasoning.text",
          text: "Which first?",
          signature: "EqQBCkgIAR",
          format: "anthropic-claude-v1",
        }],
        tool_calls: [{
          id: "toolu_1",
          type: "function",
          function: { name: "read", arguments: "{}" },
        }],
      },
      { role: "tool", tool_call_id: "toolu_1", content: "text" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "call_2",
          type: "function",
          function: { name: "read", arguments: "{}" },
        }],
      },
      { role: "tool", tool_call_id: "call_2", content: "text" },
    ],
  }, { capabilities: { thinking: "budget" }, upstreamModel: "m", maxOutputTokens: 4096 });
  assert(conversion.ok);
  const { body } = conversion.request;
  assertEquals(body["thinking"], undefined);
  assert(!JSON.stringify(body["messages"]).includes('"type":"thinking"'));
});
