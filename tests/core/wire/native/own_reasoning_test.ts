/** A native Chat provider never sees the reasoning that the gateway wrote for the client of another style's model. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { RouteCapabilities } from "../../../../core/wire/contract/contract.ts";
import { withoutOwnReasoning } from "../../../../core/wire/mod.ts";
import { convertedAnswer } from "../conversion/converting.ts";

const used = { input_tokens: 1, output_tokens: 1 };

/** Answers with reasoning of each other style, and the text of the reasoning that a client sees. */
const answers: Readonly<
  Record<string, readonly ["messages" | "responses" | "gemini", JsonObject]>
> = {
  "a signature": ["messages", {
    type: "message",
    content: [
      { type: "thinking", thinking: "Hm.", signature: "EqQBCkgIAR" },
      { type: "text", text: "a" },
    ],
    stop_reason: "end_turn",
    usage: used,
  }],
  "redacted thinking": ["messages", {
    type: "message",
    content: [{ type: "redacted_thinking", data: "EqQB" }, { type: "text", text: "a" }],
    stop_reason: "end_turn",
    usage: used,
  }],
  "an encrypted item": ["responses", {
    object: "response",
    status: "completed",
    output: [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Hm." }],
        encrypted_content: "gAAA",
      },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "a", annotations: [] }],
      },
    ],
    usage: { ...used, total_tokens: 2 },
  }],
  "a thought without a proof": ["gemini", {
    candidates: [{
      content: { role: "model", parts: [{ text: "Hm.", thought: true }, { text: "a" }] },
      finishReason: "STOP",
      index: 0,
    }],
  }],
};

function messageOf(body: JsonObject): JsonObject {
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const message = isJsonObject(choice) ? choice.message : undefined;
  return isJsonObject(message) ? message : {};
}

function fieldsOf(messages: readonly Json[] | undefined): string[] {
  const [message] = messages ?? [];
  return isJsonObject(message) ? Object.keys(message) : [];
}

Deno.test("a native Chat route gets its own form of reasoning, or none", () => {
  const cases: [RouteCapabilities, (text: string) => string[]][] = [
    [{}, () => []],
    [{ reasoning_replay: "extra_content" }, () => []],
    [{ reasoning_replay: "reasoning_content" }, () => ["reasoning_content"]],
    [{ reasoning_replay: "reasoning" }, () => ["reasoning"]],
  ];
  for (const [kind, [style, answer]] of Object.entries(answers)) {
    const message = messageOf(convertedAnswer(style, "chat", answer));
    assert(Array.isArray(message.reasoning_details), kind);
    for (const [capabilities, expected] of cases) {
      const kept = fieldsOf(withoutOwnReasoning([message], capabilities));
      assertEquals(
        kept.filter((name) => name.startsWith("reasoning")),
        expected(kind),
        `${kind} ${JSON.stringify(capabilities)}`,
      );
    }
    const replayed = JSON.stringify(
      withoutOwnReasoning([message], { reasoning_replay: "details" }),
    );
    assert(!replayed.includes("ugw1") && !replayed.includes("reasoning_content"), replayed);
    assertEquals(
      replayed.includes("EqQB"),
      style === "messages",
      "proofs of the Messages vendor have a form that aggregators know",
    );
  }
});

Deno.test("what a provider wrote itself passes unchanged", () => {
  const messages: JsonObject[] = [
    { role: "assistant", content: "a", reasoning_content: "Hm." },
    {
      role: "assistant",
      content: "a",
      reasoning: "Hm.",
      reasoning_details: [{
        type: "reasoning.text",
        id: "r1",
        text: "Hm.",
        signature: "EqQB",
        format: "anthropic-claude-v1",
        index: 0,
      }],
    },
    { role: "user", content: "ugw1.0" },
  ];
  assertEquals(withoutOwnReasoning(messages, {}), undefined);
});
