/** Answers as the vendor sends them, whole and streamed, for clients of every style. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { readConverseUsage } from "../../../../core/wire/converse/decode_answer.ts";
import { convertedAnswer } from "../conversion/converting.ts";
import { streamed } from "../conversion/streaming.ts";

const usage = {
  inputTokens: 31,
  outputTokens: 24,
  totalTokens: 75,
  cacheReadInputTokens: 16,
  cacheWriteInputTokens: 4,
};

function answerOf(content: readonly Json[], stopReason = "end_turn"): JsonObject {
  return {
    metrics: { latencyMs: 551 },
    output: { message: { content: [...content], role: "assistant" } },
    stopReason,
    usage,
  };
}

type Event = readonly [kind: string, payload: JsonObject];

function frames(events: readonly Event[]): string {
  return events.map(([kind, payload]) =>
    `event: ${kind}\ndata: ${JSON.stringify({ ...payload, p: "abcdefg" })}\n\n`
  ).join("");
}

/** A stream as the vendor's documentation shows it: no start of a text block, usage after the stop. */
const events: readonly Event[] = [
  ["messageStart", { role: "assistant" }],
  ["contentBlockDelta", { contentBlockIndex: 0, delta: { reasoningContent: { text: "Two " } } }],
  ["contentBlockDelta", { contentBlockIndex: 0, delta: { reasoningContent: { text: "cities" } } }],
  ["contentBlockDelta", {
    contentBlockIndex: 0,
    delta: { reasoningContent: { signature: "c2lnbmVk" } },
  }],
  ["contentBlockStop", { contentBlockIndex: 0 }],
  ["contentBlockDelta", { contentBlockIndex: 1, delta: { text: "Let me " } }],
  ["contentBlockDelta", { contentBlockIndex: 1, delta: { text: "look." } }],
  ["contentBlockStop", { contentBlockIndex: 1 }],
  ["contentBlockStart", {
    contentBlockIndex: 2,
    start: { toolUse: { toolUseId: "tooluse_1", name: "get_weather" } },
  }],
  ["contentBlockDelta", { contentBlockIndex: 2, delta: { toolUse: { input: '{"city":' } } }],
  ["contentBlockDelta", { contentBlockIndex: 2, delta: { toolUse: { input: '"Huế"}' } } }],
  ["contentBlockStop", { contentBlockIndex: 2 }],
  ["contentBlockStart", {
    contentBlockIndex: 3,
    start: { toolUse: { toolUseId: "tooluse_2", name: "now" } },
  }],
  ["contentBlockStop", { contentBlockIndex: 3 }],
  ["messageStop", { stopReason: "tool_use" }],
  ["metadata", { usage, metrics: { latencyMs: 551 } }],
];

const content: readonly Json[] = [
  { reasoningContent: { reasoningText: { text: "Two cities", signature: "c2lnbmVk" } } },
  { text: "Let me look." },
  { toolUse: { toolUseId: "tooluse_1", name: "get_weather", input: { city: "Huế" } } },
  { toolUse: { toolUseId: "tooluse_2", name: "now", input: {} } },
];

Deno.test("a whole answer and a stream reach clients with reasoning, text, calls and usage", () => {
  const whole = JSON.parse(
    JSON.stringify(convertedAnswer("converse", "chat", answerOf(content, "tool_use"))),
  );
  const { message, finish_reason } = whole.choices[0];
  assertEquals([message.content, message.reasoning_content, finish_reason], [
    "Let me look.",
    "Two cities",
    "tool_calls",
  ]);
  const calls: { id: string; function: { name: string; arguments: string } }[] = message.tool_calls;
  assertEquals(calls.map((one) => [one.id, one.function.name, one.function.arguments]), [
    ["tooluse_1", "get_weather", '{"city":"Huế"}'],
    ["tooluse_2", "now", "{}"],
  ]);
  assertEquals(whole.usage.prompt_tokens, 51);
  for (const size of [1, 7, 4096]) {
    const { text, reading } = streamed("converse", "messages", frames(events), { sizes: [size] });
    assert(text.includes('"stop_reason":"tool_use"') && text.includes("message_stop"), text);
    assert(text.includes('"id":"tooluse_2"'), text);
    assertEquals([reading.state, reading.stopReason], ["completed", "tool_use"]);
    assertEquals(reading.usage, {
      input: 31,
      cacheRead: 16,
      cacheWrite: 4,
      output: 24,
      reasoning: 0,
    });
  }
});

Deno.test("a signature comes back to the model, whole and streamed alike", () => {
  const memory = { reasoningSigner: "bedrock" };
  const whole = JSON.stringify(
    convertedAnswer("converse", "messages", answerOf(content, "tool_use"), memory),
  );
  const seal = /"signature":"([^"]+)"/.exec(whole)?.[1] ?? "";
  assert(seal.startsWith("ugw1."), whole);
  const { text } = streamed("converse", "messages", frames(events), { memory });
  assert(text.includes(seal), text);
});

Deno.test("redacted reasoning is kept as it came", () => {
  const redacted = { reasoningContent: { redactedContent: "cmVkYWN0ZWQ=" } };
  const memory = { reasoningSigner: "messages" };
  const whole = convertedAnswer("converse", "messages", answerOf([redacted]), memory);
  assertEquals(whole.content, [{ type: "redacted_thinking", data: "cmVkYWN0ZWQ=" }]);
  const delta = { contentBlockIndex: 0, delta: redacted };
  const { text } = streamed(
    "converse",
    "messages",
    frames([
      ["messageStart", { role: "assistant" }],
      ["contentBlockDelta", delta],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: "end_turn" }],
      ["metadata", { usage }],
    ]),
    { memory },
  );
  assert(text.includes("cmVkYWN0ZWQ="), text);
});

Deno.test("tokens are counted in buckets that do not overlap", () => {
  const hour = {
    ...usage,
    cacheDetails: [{ ttl: "1h", inputTokens: 3 }, { ttl: "5m", inputTokens: 1 }],
  };
  const base = { input: 31, cacheRead: 16, cacheWrite: 4, output: 24, reasoning: 0 };
  assertEquals(readConverseUsage(usage), { kind: "counts", usage: base });
  assertEquals(readConverseUsage(hour), {
    kind: "counts",
    usage: { ...base, cacheWriteHour: 3 },
  });
  for (const absurd of [{ inputTokens: -1 }, { outputTokens: "7" }, [], 4]) {
    assertEquals(readConverseUsage(absurd).kind, "absurd");
  }
  for (const none of [null, undefined, { totalTokens: 9 }]) {
    assertEquals(readConverseUsage(none).kind, "none");
  }
});

Deno.test("each stop reason reaches the clients in their own words", () => {
  const cases: [string, string, string][] = [
    ["end_turn", "end_turn", "stop"],
    ["max_tokens", "max_tokens", "length"],
    ["model_context_window_exceeded", "max_tokens", "length"],
    ["stop_sequence", "stop_sequence", "stop"],
    ["content_filtered", "refusal", "content_filter"],
    ["guardrail_intervened", "refusal", "content_filter"],
    ["a_new_reason", "a_new_reason", "a_new_reason"],
  ];
  for (const [reason, messages, chat] of cases) {
    const answer = answerOf([{ text: "Hi" }], reason);
    assertEquals(convertedAnswer("converse", "messages", answer).stop_reason, messages);
    const choices = JSON.parse(JSON.stringify(convertedAnswer("converse", "chat", answer))).choices;
    assertEquals(choices[0].finish_reason, chat, reason);
  }
});

Deno.test("an answer that the vendor could not read is no answer, whole or streamed", () => {
  for (const reason of ["malformed_tool_use", "malformed_model_output"]) {
    const answer = answerOf([{ text: "Hi" }], reason);
    assertEquals(readAnswer("converse", answer).error?.code, "upstream_unreachable");
    assertThrows(() => convertedAnswer("converse", "chat", answer));
    const { text, reading } = streamed(
      "converse",
      "messages",
      frames([...events.slice(0, 8), ["messageStop", { stopReason: reason }]]),
    );
    assertEquals(reading.state, "error");
    assert(text.includes("event: error") && !text.includes("message_stop"), text);
  }
});

Deno.test("a stream without metadata is whole, one without a stop is not", () => {
  const whole = streamed("converse", "chat", frames(events.slice(0, -1)));
  assertEquals(whole.reading.state, "completed");
  assertEquals(whole.reading.usage, undefined);
  const cut = streamed("converse", "chat", frames(events.slice(0, -2)));
  assert(cut.reading.state !== "completed" && !cut.text.includes("[DONE]"), cut.text);
});

Deno.test("an exception within the stream ends it with an error", () => {
  const error = { type: "error", error: { type: "rate_limit_error", message: "Too many" } };
  const { text, reading } = streamed(
    "converse",
    "chat",
    frames(events.slice(0, 6)) + `event: error\ndata: ${JSON.stringify(error)}\n\n`,
  );
  assertEquals(reading.error?.code, "rate_limit_exceeded");
  assert(!text.includes("[DONE]"), text);
});

Deno.test("web sources become citations, whole and streamed", () => {
  const citation = {
    title: "Huế",
    sourceContent: [{ text: "It rains." }],
    location: { web: { url: "https://weather.example/hue", domain: "weather.example" } },
  };
  const whole = JSON.stringify(convertedAnswer(
    "converse",
    "chat",
    answerOf([{ citationsContent: { content: [{ text: "Rain" }], citations: [citation] } }]),
  ));
  assert(whole.includes("https://weather.example/hue") && whole.includes('"Rain"'), whole);
  const { text } = streamed(
    "converse",
    "messages",
    frames([
      ["messageStart", { role: "assistant" }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Rain" } }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { citation } }],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: "end_turn" }],
      ["metadata", { usage }],
    ]),
  );
  assert(text.includes("https://weather.example/hue"), text);
});

Deno.test("a call without a name is none, and an empty answer is empty", () => {
  const nameless = { toolUse: { toolUseId: "t", name: "", input: {} } };
  const beside = answerOf([{ text: "Hi" }, nameless]);
  const whole = JSON.stringify(convertedAnswer("converse", "messages", beside));
  assert(!whole.includes("tool_use"), whole);
  assertEquals(readAnswer("converse", answerOf([])).empty, true);
  assertEquals(readAnswer("converse", answerOf([{ text: "" }])).empty, true);
  assertEquals(readAnswer("converse", answerOf([], "content_filtered")).empty, false);
  const { text } = streamed(
    "converse",
    "messages",
    frames([
      ["messageStart", { role: "assistant" }],
      ["contentBlockStart", {
        contentBlockIndex: 0,
        start: { toolUse: { toolUseId: "t", name: "" } },
      }],
      ["contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: "{}" } } }],
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: "end_turn" }],
      ["metadata", { usage }],
    ]),
  );
  assert(!text.includes("tool_use"), text);
});
