/** Answers as the vendor sends them, whole and streamed, for clients of the other styles. */
import { assert, assertEquals, assertThrows } from "../../../../support/assert.ts";
import type { TokenUsage } from "../../../../../core/billing/tokens/token_bounds.ts";
import type { Json, JsonObject } from "../../../../../core/lib/json/json.ts";
import { readAnswer } from "../../../../../core/wire/convert/answer_reading.ts";
import { decodeProviderError } from "../../../../../core/wire/convert/provider_errors.ts";
import { readGeminiUsage } from "../../../../../core/wire/gemini/answer/answer_reading.ts";
import { convertedAnswer } from "../../conversion/converting.ts";
import { streamed } from "../../conversion/streaming.ts";
import { pipeParts } from "../../native/piping.ts";

const usageMetadata = {
  promptTokenCount: 31,
  candidatesTokenCount: 24,
  totalTokenCount: 190,
  cachedContentTokenCount: 16,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 31 }],
  thoughtsTokenCount: 135,
};

function answerOf(parts: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    candidates: [{
      content: { parts: [...parts], role: "model" },
      finishReason: "STOP",
      index: 0,
      ...more,
    }],
    usageMetadata,
    modelVersion: "gemini-3-pro",
    responseId: "r1",
  };
}

function frames(chunks: readonly Json[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
}

const calls: JsonObject[] = [
  { text: "Two cities.", thought: true },
  { functionCall: { name: "get_weather", args: { city: "Huế" } }, thoughtSignature: "c2lnbmVk" },
  { functionCall: { name: "get_weather", args: { city: "Đà Nẵng" } } },
];

/** A stream as the vendor sends it: usage in every chunk, the finish reason in the last. */
function streamOf(parts: readonly JsonObject[]): string {
  const { candidates: _, ...frame } = answerOf([]);
  return frames(parts.map((part, i) => ({
    candidates: [{
      content: { parts: [part], role: "model" },
      ...(i === parts.length - 1 ? { finishReason: "STOP" } : {}),
      index: 0,
    }],
    ...frame,
  })));
}

Deno.test("parallel calls without ids get ids of their own, whole and streamed alike", () => {
  const whole = convertedAnswer("gemini", "chat", answerOf(calls));
  const choices = JSON.parse(JSON.stringify(whole)).choices;
  const made: { id: string; function: { arguments: string } }[] = choices[0].message.tool_calls;
  assertEquals(made.map((one) => one.function.arguments), ['{"city":"Huế"}', '{"city":"Đà Nẵng"}']);
  assertEquals(new Set(made.map(({ id }) => id)).size, 2);
  assertEquals(choices[0].finish_reason, "tool_calls");
  assertEquals(choices[0].message.reasoning_content, "Two cities.");
  const { text, reading } = streamed("gemini", "chat", streamOf(calls), { sizes: [7] });
  for (const { id } of made) assert(text.includes(`"id":"${id}"`), text);
  assert(text.includes('"finish_reason":"tool_calls"'));
  assertEquals([reading.state, reading.stopReason, reading.usage?.output], [
    "completed",
    "STOP",
    159,
  ]);
});

Deno.test("tokens are counted in buckets that do not overlap", () => {
  const cases: [Json, TokenUsage][] = [
    [usageMetadata, { input: 15, cacheRead: 16, cacheWrite: 0, output: 159, reasoning: 135 }],
    // Results of hosted tools are read beside the prompt.
    [
      {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 500,
        candidatesTokenCount: 4,
        totalTokenCount: 514,
      },
      { input: 510, cacheRead: 0, cacheWrite: 0, output: 4, reasoning: 0 },
    ],
    // Some servers count thoughts among the candidates.
    [
      {
        promptTokenCount: 10,
        candidatesTokenCount: 30,
        thoughtsTokenCount: 20,
        totalTokenCount: 40,
      },
      { input: 10, cacheRead: 0, cacheWrite: 0, output: 30, reasoning: 20 },
    ],
    // The first chunks of a stream have no candidates yet.
    [
      { promptTokenCount: 10, totalTokenCount: 18, thoughtsTokenCount: 8 },
      { input: 10, cacheRead: 0, cacheWrite: 0, output: 8, reasoning: 8 },
    ],
  ];
  for (const [given, counts] of cases) {
    assertEquals(readGeminiUsage(given), { kind: "counts", usage: counts });
  }
  for (const absurd of [{ promptTokenCount: -1 }, { candidatesTokenCount: "7" }, [], 4]) {
    assertEquals(readGeminiUsage(absurd).kind, "absurd");
  }
  assertEquals(readGeminiUsage({ totalTokenCount: 9 }).kind, "none");
});

Deno.test("each finish reason reaches the clients in their own words", () => {
  const cases: [string, string, string][] = [
    ["STOP", "end_turn", "stop"],
    ["MAX_TOKENS", "max_tokens", "length"],
    ["CONTINUATION", "max_tokens", "length"],
    ["SAFETY", "refusal", "content_filter"],
    ["PROHIBITED_CONTENT", "refusal", "content_filter"],
    ["A_NEW_ONE", "A_NEW_ONE", "A_NEW_ONE"],
  ];
  for (const [finishReason, messages, chat] of cases) {
    const body = answerOf([{ text: "a" }], { finishReason });
    assertEquals(convertedAnswer("gemini", "messages", body).stop_reason, messages);
    const text = JSON.stringify(convertedAnswer("gemini", "chat", body));
    assert(text.includes(`"finish_reason":"${chat}"`), text);
  }
});

Deno.test("a blocked prompt is a refusal, not an empty answer", () => {
  const blocked = {
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
  };
  assertEquals(readAnswer("gemini", blocked).empty, false);
  const whole = convertedAnswer("gemini", "messages", blocked);
  assertEquals(whole.stop_reason, "refusal");
  const { text, reading } = streamed("gemini", "messages", frames([blocked]));
  assert(text.includes('"stop_reason":"refusal"'), text);
  assertEquals([reading.state, reading.sawOutput], ["completed", true]);
});

Deno.test("an answer without candidates, and one with an error, are none", () => {
  assertThrows(() => convertedAnswer("gemini", "chat", { modelVersion: "m" }));
  const error = {
    error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" },
  };
  assertEquals(readAnswer("gemini", error).error?.code, "service_unavailable");
  const { text, reading } = streamed("gemini", "chat", frames([error]));
  assertEquals(reading.state, "error");
  assert(text.includes("overloaded"), text);
});

Deno.test("a stream that ends without a finish reason was cut, converted and native", () => {
  const cut = streamOf([{ text: "a" }, { text: "b" }]).split("\r\n\r\n")[0] + "\r\n\r\n";
  const { text, reading } = streamed("gemini", "messages", cut);
  assertEquals(reading.state, "open");
  assert(text.includes("event: error") && !text.includes("message_stop"), text);
  const native = pipeParts("gemini", [new TextEncoder().encode(cut)]);
  assert(native.ending.includes('"error":{"code":502'), native.ending);
});

Deno.test("a native stream passes byte for byte but for the model's name, its end held", () => {
  const sent = streamOf([{ text: "a" }, { text: "b" }]);
  const { passed, ending, reading } = pipeParts("gemini", [new TextEncoder().encode(sent)]);
  assertEquals(passed + ending, sent.replaceAll("gemini-3-pro", "m"));
  assertEquals(ending.includes('"finishReason":"STOP"'), true);
  assertEquals(passed.includes("finishReason"), false);
  assertEquals([reading.state, reading.stopReason, reading.outputBytes], ["completed", "STOP", 2]);
  assertEquals(reading.usage?.cacheRead, 16);
});

Deno.test("a frame after a finish reason is not lost: some servers repeat it in every chunk", () => {
  const { candidates: _, ...frame } = answerOf([]);
  const sent = frames(["a", "b", "c"].map((text) => ({
    candidates: [{ content: { parts: [{ text }] }, finishReason: "STOP" }],
    ...frame,
  })));
  const { passed, ending } = pipeParts("gemini", [new TextEncoder().encode(sent)]);
  assertEquals(passed + ending, sent.replaceAll("gemini-3-pro", "m"));
  assert(streamed("gemini", "chat", sent).text.includes('"content":"c"'));
});

Deno.test("what is between operator and vendor is a 502, a prompt too long the one wording", () => {
  const error = (status: number, message: string, name: string) =>
    decodeProviderError(
      "gemini",
      status,
      JSON.stringify({ error: { code: status, message, status: name } }),
    );
  const key = error(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT");
  assertEquals([key.status, key.message.includes("API key")], [502, false]);
  const quota = "You exceeded your current quota, please check your plan and billing details.";
  const perMinute = error(429, quota, "RESOURCE_EXHAUSTED");
  assertEquals([perMinute.status, perMinute.code], [429, "rate_limit_exceeded"]);
  assert(!perMinute.message.includes("billing"), perMinute.message);
  assertEquals(
    error(429, "Resource has been exhausted.", "RESOURCE_EXHAUSTED").code,
    "rate_limit_exceeded",
  );
  const long =
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
  assertEquals(
    error(400, long, "INVALID_ARGUMENT").message,
    "prompt is too long: 1200000 tokens > 1048576 maximum",
  );
  assertEquals(error(404, "models/x is not found", "NOT_FOUND").code, "model_not_found");
});

Deno.test("sources and code that the provider ran reach clients that have places for them", () => {
  const body = answerOf([
    { executableCode: { language: "PYTHON", code: "print(1)" } },
    { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } },
    { text: "One." },
  ], {
    groundingMetadata: {
      webSearchQueries: ["one"],
      groundingChunks: [{ web: { uri: "https://example.com/a", title: "A" } }],
      groundingSupports: [{ segment: { endIndex: 4, text: "One." }, groundingChunkIndices: [0] }],
    },
  });
  const text = JSON.stringify(convertedAnswer("gemini", "messages", body));
  assert(text.includes('"url":"https://example.com/a"') && text.includes("print(1)"), text);
  const chat = JSON.stringify(convertedAnswer("gemini", "chat", body));
  assert(chat.includes('"url_citation"') && chat.includes("https://example.com/a"), chat);
});

Deno.test("an error that comes by itself within a stream is the provider's, once, without its model", () => {
  const error = {
    error: { code: 503, message: "gemini-3-pro is overloaded.", status: "UNAVAILABLE" },
  };
  const begun = frames([{
    candidates: [{ content: { parts: [{ text: "Xin" }], role: "model" } }],
  }]);
  for (const bare of [JSON.stringify(error), JSON.stringify(error, null, 2)]) {
    for (const end of ["\r\n\r\n", ""]) {
      const bytes = new TextEncoder().encode(begun + bare + end);
      const changes = { clientModel: "mine", upstreamModel: "gemini-3-pro" };
      const { passed, ending, reading } = pipeParts("gemini", [bytes], changes);
      assertEquals([reading.state, reading.error?.code], ["error", "service_unavailable"]);
      assertEquals(passed, begun);
      assert(ending.includes("mine is overloaded") && !ending.includes("gemini-3"), ending);
      const converted = streamed("gemini", "messages", begun + bare + end, { sizes: [7] });
      assertEquals(converted.reading.error?.code, "service_unavailable");
      assert(converted.text.includes("service_unavailable"), converted.text);
    }
  }
  const noise = pipeParts("gemini", [new TextEncoder().encode(`${begun}{"note": 1}\r\n\r\n`)]);
  assertEquals(noise.reading.state, "open");
});
