import { assertEquals } from "../../../support/assert.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

const messages = (content: JsonObject[], rest: JsonObject = {}): JsonObject => ({
  type: "message",
  role: "assistant",
  content,
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 2 },
  ...rest,
});
const chat = (message: JsonObject | undefined, rest: JsonObject = {}): JsonObject => ({
  object: "chat.completion",
  choices: [{ index: 0, ...(message && { message }), finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
  ...rest,
});
const responses = (output: JsonObject[], rest: JsonObject = {}): JsonObject => ({
  object: "response",
  status: "completed",
  error: null,
  output,
  usage: { input_tokens: 3, output_tokens: 2 },
  ...rest,
});

Deno.test("text, reasoning, calls and refusals are output; their absence is empty", () => {
  const cases: [Style, string, JsonObject, boolean, number][] = [
    ["messages", "text", messages([{ type: "text", text: "chào" }]), false, 5],
    ["messages", "no block", messages([]), true, 0],
    ["messages", "empty text", messages([{ type: "text", text: "" }]), true, 0],
    [
      "messages",
      "thinking",
      messages([{ type: "thinking", thinking: "ab", signature: "x" }]),
      false,
      2,
    ],
    ["messages", "call", messages([{ type: "tool_use", name: "f", input: { a: 1 } }]), false, 7],
    [
      "messages",
      "call without arguments",
      messages([{ type: "tool_use", name: "f", input: {} }]),
      false,
      0,
    ],
    ["messages", "refusal", messages([], { stop_reason: "refusal" }), false, 0],
    ["chat", "text", chat({ content: "chào" }), false, 5],
    ["chat", "parts", chat({ content: [{ type: "text", text: "ab" }] }), false, 2],
    ["chat", "empty", chat({ content: "" }), true, 0],
    ["chat", "null", chat({ content: null }), true, 0],
    ["chat", "refusal", chat({ content: null, refusal: "no" }), false, 2],
    ["chat", "reasoning only", chat({ content: "", reasoning_content: "ab" }), false, 2],
    [
      "chat",
      "call",
      chat({ content: null, tool_calls: [{ function: { name: "f", arguments: "{}" } }] }),
      false,
      2,
    ],
    ["chat", "legacy call", chat({ function_call: { name: "f", arguments: "" } }), false, 0],
    [
      "responses",
      "text",
      responses([{ type: "message", content: [{ type: "output_text", text: "ab" }] }]),
      false,
      2,
    ],
    [
      "responses",
      "refusal",
      responses([{ type: "message", content: [{ type: "refusal", refusal: "no" }] }]),
      false,
      2,
    ],
    ["responses", "empty message", responses([{ type: "message", content: [] }]), true, 0],
    ["responses", "empty reasoning", responses([{ type: "reasoning", summary: [] }]), true, 0],
    [
      "responses",
      "call",
      responses([{ type: "function_call", name: "f", arguments: "{}" }]),
      false,
      2,
    ],
    ["responses", "nothing", responses([]), true, 0],
  ];
  for (const [style, name, body, empty, outputBytes] of cases) {
    const reading = readAnswer(style, body);
    assertEquals([reading.empty, reading.outputBytes], [empty, outputBytes], `${style} ${name}`);
    assertEquals(reading.error, undefined, `${style} ${name}`);
    assertEquals(
      reading.usage,
      { input: 3, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 },
      `${style} ${name}`,
    );
  }
});

Deno.test("the upstream's word for why it stopped is kept", () => {
  assertEquals(readAnswer("messages", messages([])).stopReason, "end_turn");
  assertEquals(readAnswer("chat", chat({})).stopReason, "stop");
  assertEquals(readAnswer("responses", responses([])).stopReason, "completed");
  const cut = responses([], {
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  });
  assertEquals(readAnswer("responses", cut).stopReason, "max_output_tokens");
});

Deno.test("an error body that came with status 200 is an error", () => {
  const cases: [Style, JsonObject, string][] = [
    [
      "messages",
      { type: "error", error: { type: "overloaded_error", message: "m" } },
      "overloaded",
    ],
    ["chat", { error: { code: 429, message: "m" } }, "rate_limit_exceeded"],
    ["chat", { error: "m", code: "over_capacity" }, "overloaded"],
    ["chat", { object: "error", message: "m", type: "server_error" }, "upstream_unreachable"],
    ["chat", { detail: "m" }, "upstream_unreachable"],
    ["chat", chat({ content: "a" }, { error: { message: "m" } }), "upstream_unreachable"],
    [
      "responses",
      responses([], { status: "failed", error: { code: "rate_limit_exceeded", message: "m" } }),
      "rate_limit_exceeded",
    ],
    ["responses", { error: { type: "invalid_request_error", message: "m" } }, "invalid_request"],
  ];
  for (const [style, body, code] of cases) {
    const { error } = readAnswer(style, body);
    assertEquals<unknown>([error?.code, error?.message], [code, "m"], JSON.stringify(body));
  }
});

Deno.test("no usage, null usage and absurd usage are told apart", () => {
  for (const style of ["messages", "chat", "responses"] as const) {
    for (
      const [usage, rejected] of [[undefined, false], [null, false], [{}, false], [
        { input_tokens: -1, output_tokens: 1, prompt_tokens: -1, completion_tokens: 1 },
        true,
      ], ["many", true]] as const
    ) {
      const reading = readAnswer(style, usage === undefined ? {} : { usage });
      assertEquals(
        [reading.usage, reading.usageRejected],
        [undefined, rejected],
        `${style} ${usage}`,
      );
    }
  }
});

Deno.test("Groq's own place for usage is read, the standard place wins", () => {
  const groq = { x_groq: { usage: { prompt_tokens: 9, completion_tokens: 9 } } };
  assertEquals(readAnswer("chat", { choices: [], ...groq }).usage?.input, 9);
  assertEquals(readAnswer("chat", chat({ content: "a" }, groq)).usage?.input, 3);
});
