/**
 * Peculiarities of known providers, as transcripts in the form that their documentation shows: what a client of the
 * same style and one of another style get, and what is billed.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { type PresetName, presetOf } from "../../../core/catalog/presets/presets.ts";
import type { AnswerReading, StreamReading } from "../../../core/wire/contract/contract.ts";
import { readAnswer } from "../../../core/wire/convert/answer_reading.ts";
import { convertRequest } from "../../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../../core/wire/convert/converting_pipe.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import { parseExactly } from "../../../core/lib/json/exact_json.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { decodeProviderError } from "../../../core/wire/convert/provider_errors.ts";

const context = {
  clientModel: "m",
  requestId: "req_1",
  clientWantsUsage: true,
  injectedUsage: false,
  nowSeconds: 1,
};

function facts(preset: PresetName) {
  return presetOf(preset).facts?.chat ?? {};
}

/** Runs a Chat stream through the native pipe, and through the conversion for a Messages client. */
function run(preset: PresetName, transcript: string): {
  readonly reading: StreamReading;
  readonly passed: string;
  readonly messages: string;
} {
  const bytes = new TextEncoder().encode(transcript);
  const native = createNativePipe("chat", context);
  const passed = text(native.push(bytes)) + text(native.end());
  const converted = convertRequest("messages", "chat", {
    model: "m",
    max_tokens: 10,
    messages: [{ role: "user", content: "Hi" }],
  }, { capabilities: facts(preset), upstreamModel: "m", maxOutputTokens: 100 });
  assert(converted.ok);
  const pipe = createConvertingPipe("chat", "messages", context, converted.request.memory);
  const messages = text(pipe.push(bytes)) + text(pipe.end());
  assertEquals(pipe.reading.usage, native.reading.usage);
  return { reading: native.reading, passed, messages };
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function whole(body: string): AnswerReading {
  const value = parseExactly(body);
  assert(isJsonObject(value));
  return readAnswer("chat", value);
}

const chunk = (value: object) =>
  `data: ${
    JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...value })
  }\n\n`;
const delta = (value: object, finish_reason: string | null = null, more: object = {}) =>
  chunk({ choices: [{ index: 0, delta: value, finish_reason, ...more }] });
const done = "data: [DONE]\n\n";

Deno.test("openrouter: comments before the answer, reasoning details, usage with the last chunk", () => {
  const { reading, messages } = run(
    "openrouter",
    ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" +
      delta({
        role: "assistant",
        content: "",
        reasoning: "Hm",
        reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0, format: null }],
      }) +
      delta({ content: "Chào" }) +
      chunk({
        choices: [{
          index: 0,
          delta: { content: "" },
          finish_reason: "stop",
          native_finish_reason: "STOP",
        }],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.001 },
      }) + done,
  );
  assertEquals(reading.state, "completed");
  assertEquals(reading.usage?.output, 5);
  assert(messages.includes("thinking_delta") && messages.includes("Chào"), messages);
});

Deno.test("openrouter: an error within the stream is an error, not an end", () => {
  const { reading, messages } = run(
    "openrouter",
    delta({ role: "assistant", content: "Cha" }) + chunk({
      error: { code: 502, message: "Provider disconnected" },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    }),
  );
  assertEquals(reading.state, "error");
  assert(messages.includes("event: error") && !messages.includes("message_stop"), messages);
});

Deno.test("openrouter: an error in a 200 is an error", () => {
  const { error } = whole('{"error":{"code":429,"message":"Rate limited"}}');
  assertEquals(error?.code, "rate_limit_exceeded");
});

Deno.test("deepseek: comments and empty lines as keep-alives, cached tokens by their own names", () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    prompt_cache_hit_tokens: 8,
    prompt_cache_miss_tokens: 2,
  };
  const { reading, messages } = run(
    "deepseek",
    ": keep-alive\n\n" + delta({ role: "assistant", content: null, reasoning_content: "Hm" }) +
      delta({ content: "Chào", reasoning_content: null }) +
      chunk({ choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }], usage }) +
      done,
  );
  assertEquals(reading.usage?.cacheRead, 8);
  assertEquals(reading.usage?.input, 2);
  assert(messages.includes("thinking_delta"), messages);
  const answer = { choices: [{ message: { content: "Chào" }, finish_reason: "stop" }], usage };
  const read = whole(`\n\n\n${JSON.stringify(answer)}`);
  assertEquals([read.empty, read.usage?.cacheRead], [false, 8]);
});

Deno.test("moonshot: usage in the last choice, cached tokens beside the sums", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cached_tokens: 4 };
  const { reading } = run(
    "moonshot",
    delta({ role: "assistant", content: "Chào" }) + delta({}, "stop", { usage }) + done,
  );
  assertEquals(reading.usage?.output, 5);
  assertEquals(reading.usage?.cacheRead, 4);
});

Deno.test("groq: usage in a member of its own", () => {
  const { reading } = run(
    "groq",
    delta({ role: "assistant", content: "Chào" }) + chunk({
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      x_groq: { id: "r", usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
    }) + done,
  );
  assertEquals(reading.usage?.output, 5);
});

Deno.test("minimax: an error in a 200, and thinking in tags", () => {
  const codes = [[1002, "rate_limit_exceeded"], [1008, "upstream_unreachable"], [
    2013,
    "invalid_request",
  ], [1000, "upstream_unreachable"]] as const;
  for (const [status_code, code] of codes) {
    const answer = { id: "x", choices: null, base_resp: { status_code, status_msg: "no" } };
    assertEquals(whole(JSON.stringify(answer)).error?.code, code);
  }
  const fine = { choices: [{ message: { content: "Chào" } }], base_resp: { status_code: 0 } };
  assertEquals(whole(JSON.stringify(fine)).error, undefined);
  const { messages } = run(
    "minimax",
    delta({ role: "assistant", content: "<think>\nHm" }) +
      delta({ content: "\n</think>\n\nChào" }) +
      delta({}, "stop") + done,
  );
  assert(messages.includes("thinking_delta") && !messages.includes("<think>"), messages);
});

Deno.test("azure: chunks without choices, and filter results, say nothing", () => {
  const { reading, messages } = run(
    "azure-deployments",
    chunk({
      choices: [],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    }) +
      delta({ role: "assistant", content: "Chào" }, null, { content_filter_results: {} }) +
      delta({}, "stop") + done,
  );
  assertEquals(reading.state, "completed");
  assert(messages.includes("Chào"), messages);
});

Deno.test("mistral: short ids, and usage with the finish reason", () => {
  const call = { id: "D681PevKs", function: { name: "f", arguments: "{}" }, index: 0 };
  const { reading, messages } = run(
    "mistral",
    chunk({
      choices: [{
        index: 0,
        delta: { role: "assistant", content: "", tool_calls: [call] },
        finish_reason: "tool_calls",
      }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    }) + done,
  );
  assertEquals(reading.usage?.output, 5);
  assert(messages.includes('"tool_use"'), messages);
  const converted = convertRequest("messages", "chat", {
    model: "m",
    max_tokens: 10,
    tools: [{ name: "f", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_0123456789", name: "f", input: {} }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_0123456789", content: "x" }],
      },
    ],
  }, { capabilities: facts("mistral"), upstreamModel: "m", maxOutputTokens: 100 });
  assert(converted.ok);
  const ids = [
    ...JSON.stringify(converted.request.body).matchAll(/"(?:id|tool_call_id)":"(\w+)"/g),
  ];
  assertEquals(new Set(ids.map(([, id]) => id)).size, 1);
  assert(ids.every(([, id = ""]) => id.length === 9));
});

Deno.test("ollama and llama.cpp: whole calls in one chunk, reasoning by its short name", () => {
  const call = {
    id: "call_1",
    index: 0,
    type: "function",
    function: { name: "f", arguments: '{"a":1}' },
  };
  for (const preset of ["ollama", "llama-cpp"] as const) {
    const { messages } = run(
      preset,
      delta({ role: "assistant", content: "", reasoning: "Hm" }) + delta({ tool_calls: [call] }) +
        delta({}, "tool_calls") +
        chunk({
          choices: [],
          usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
          timings: {},
        }) +
        done,
    );
    assert(messages.includes("thinking_delta") && messages.includes("input_json_delta"), messages);
  }
});

Deno.test("vllm: an error event within the stream", () => {
  const { reading } = run(
    "vllm",
    delta({ role: "assistant", content: "Cha" }) +
      `data: ${
        JSON.stringify({
          error: { object: "error", message: "CUDA", type: "InternalServerError", code: 500 },
        })
      }\n\n` +
      done,
  );
  assertEquals(reading.state, "error");
});

Deno.test("google: calls without an index, and errors in a list", () => {
  const call = (id: string) => ({
    id,
    type: "function",
    function: { name: "f", arguments: "{}" },
    extra_content: { google: { thought_signature: "sig" } },
  });
  const { messages } = run(
    "google",
    delta({ role: "assistant", tool_calls: [call("a")] }) + delta({ tool_calls: [call("b")] }) +
      delta({ role: "assistant" }, "tool_calls") + done,
  );
  assertEquals(messages.match(/"type":"tool_use"/g)?.length, 2, messages);
  const error = decodeProviderError(
    "chat",
    429,
    JSON.stringify([{ error: { code: 429, message: "Quota", status: "RESOURCE_EXHAUSTED" } }]),
  );
  assertEquals(error.code, "rate_limit_exceeded");
});
