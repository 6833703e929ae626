/** Chat and Responses are one vendor's: what both have survives the way there and back, requests, answers and streams. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { errorBody } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { readResponsesStream } from "../../../support/strict_client/strict_client_responses.ts";
import { accepted, convertedAnswer, refusal } from "./converting.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
  .map((word) => `${word}.`);
const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const given = (body: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));

const schema = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};

/** What both styles write alike, under one name. */
const shared = fc.record({
  temperature: some(fc.constantFrom(0, 0.5, 2)),
  top_p: some(fc.constantFrom(0.1, 1)),
  service_tier: some(fc.constantFrom("auto", "default", "flex", "scale", "priority")),
  user: some(words),
  safety_identifier: some(words),
  prompt_cache_key: some(words),
  prompt_cache_retention: some(fc.constantFrom("in_memory", "24h")),
  prompt_cache_options: some(fc.constant({ mode: "explicit", ttl: "30m" })),
  moderation: some(fc.constant({ model: "omni", policy: { input: { mode: "score" } } })),
});
/** What each writes in its own way. */
const requests = fc.record({
  system: some(words),
  said: fc.array(words, { minLength: 1, maxLength: 3 }),
  cap: some(fc.integer({ min: 16, max: 1000 })),
  effort: some(fc.constantFrom("low", "medium", "high")),
  verbosity: some(fc.constantFrom("low", "medium", "high")),
  top: some(fc.nat(20)),
  logprobs: fc.boolean(),
  stream: fc.boolean(),
  strict: some(fc.boolean()),
  format: fc.boolean(),
  tools: fc.boolean(),
  choice: some(fc.constantFrom("auto", "required", "none", "f")),
});
type Requests = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;

function chatRequest(common: JsonObject, asked: Requests): JsonObject {
  const { choice } = asked;
  const named = choice === "f" ? { type: "function", function: { name: "f" } } : choice;
  const strict = asked.strict === undefined ? {} : { strict: asked.strict };
  const f = { name: "f", description: "d", parameters: schema, strict: asked.strict ?? false };
  return given({
    model: "upstream-model",
    ...common,
    messages: [
      ...(asked.system === undefined ? [] : [{ role: "system", content: asked.system }]),
      ...asked.said.map((content, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content })),
      { role: "assistant", content: "So." },
      { role: "user", content: "End." },
    ].filter(({ role }, i, all) => role !== all[i - 1]?.role),
    max_completion_tokens: asked.cap,
    reasoning_effort: asked.effort,
    verbosity: asked.verbosity,
    ...(asked.logprobs ? given({ logprobs: true, top_logprobs: asked.top }) : {}),
    ...(asked.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(asked.format
      ? { response_format: { type: "json_schema", json_schema: { name: "n", schema, ...strict } } }
      : {}),
    ...(asked.tools
      ? given({ tools: [{ type: "function", function: f }], tool_choice: named })
      : {}),
  });
}

function responsesRequest(common: JsonObject, asked: Requests): JsonObject {
  const { choice } = asked;
  const named = choice === "f" ? { type: "function", name: "f" } : choice;
  const strict = asked.strict === undefined ? {} : { strict: asked.strict };
  const format = asked.format
    ? { format: { type: "json_schema", name: "n", schema, ...strict } }
    : {};
  const text = given({ ...format, verbosity: asked.verbosity });
  const f = { type: "function", name: "f", description: "d", parameters: schema };
  return given({
    model: "upstream-model",
    ...common,
    instructions: asked.system,
    input: [{ role: "user", content: asked.said[0]! }],
    max_output_tokens: asked.cap,
    ...(asked.effort === undefined ? {} : { reasoning: { effort: asked.effort } }),
    ...(Object.keys(text).length === 0 ? {} : { text }),
    store: false,
    include: [
      "reasoning.encrypted_content",
      ...(asked.logprobs ? ["message.output_text.logprobs"] : []),
    ],
    ...(asked.logprobs ? given({ top_logprobs: asked.top }) : {}),
    ...(asked.stream ? { stream: true } : {}),
    ...(asked.tools
      ? given({ tools: [{ ...f, strict: asked.strict ?? false }], tool_choice: named })
      : {}),
  });
}

function thereAndBack(from: Style, over: Style, body: JsonObject): JsonObject {
  const there = accepted(from, over, body);
  const back = accepted(over, from, there.body);
  assertEquals([there.dropped, back.dropped], [[], []]);
  return back.body;
}

Deno.test("a Chat request comes back from Responses as it was", () => {
  fc.assert(
    fc.property(shared, requests, (common, asked) => {
      const body = chatRequest(given(common), asked);
      assertEquals(thereAndBack("chat", "responses", body), body);
    }),
    { numRuns: 300 },
  );
});

Deno.test("a Responses request comes back from Chat as it was", () => {
  fc.assert(
    fc.property(shared, requests, (common, asked) => {
      const body = responsesRequest(given(common), asked);
      assertEquals(thereAndBack("responses", "chat", body), body);
    }),
    { numRuns: 300 },
  );
});

Deno.test("metadata reaches Responses; Chat takes it only for stored answers, so it is named there", () => {
  const metadata = { a: "b" };
  const chat: JsonObject = { model: "m", messages: [{ role: "user", content: "Hi" }], metadata };
  assertEquals(accepted("chat", "responses", chat).body.metadata, metadata);
  const responses = { model: "m", input: "Hi", metadata };
  const there = accepted("responses", "chat", responses);
  assertEquals([there.body.metadata, there.dropped], [undefined, ["metadata"]]);
  const answer = chatAnswer({ ...plain, text: "Hi" });
  // The client gets it back all the same.
  assertEquals(convertedAnswer("chat", "responses", answer, there.memory).metadata, metadata);
});

Deno.test("a route says which of the shared fields it knows; the others are named", () => {
  const input = { model: "m", input: "Hi" };
  const fields = {
    service_tier: "flex",
    user: "u",
    prompt_cache_key: "k",
    moderation: { model: "x" },
    text: { verbosity: "low" },
  };
  const none = accepted("responses", "chat", { ...input, ...fields }, { shared_fields: [] });
  assertEquals(none.dropped, ["text.verbosity", "prompt_cache_key", "moderation", "service_tier"]);
  assertEquals(Object.keys(none.body), ["model", "messages"]);
  const one = accepted("responses", "chat", { ...input, ...fields }, {
    shared_fields: ["prompt_cache_key"],
  });
  assertEquals(one.body.prompt_cache_key, "k");
  const asked = { ...input, include: ["message.output_text.logprobs"] };
  for (const to of ["chat", "messages"] as const) {
    assertEquals(refusal("responses", to, asked, { shared_fields: [] }).param, "include");
  }
  const chat: JsonObject = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  assertEquals(refusal("chat", "messages", { ...chat, logprobs: true }).param, "logprobs");
});

Deno.test("tiers of other vendors are told in words that clients of the pair know", () => {
  const tiers = [
    ["on_demand", "default"],
    ["provisioned", "default"],
    ["performance", "priority"],
    ["", null],
    ["made_up", null],
    ["flex", "flex"],
  ] as const;
  for (const [word, expected] of tiers) {
    const answer = { ...chatAnswer({ ...plain, text: "Hi" }), service_tier: word };
    assertEquals(convertedAnswer("chat", "responses", answer).service_tier, expected);
    const frames = [chunk({ content: "Hi" }, null, { service_tier: word }), chunk({}, "stop")];
    const { text } = streamed("chat", "responses", chatFrames(frames));
    const last = text.slice(text.lastIndexOf("data: ") + 6);
    assertEquals(JSON.parse(last).response.service_tier, expected);
  }
  const request = { model: "m", messages: [{ role: "user", content: "Hi" }] };
  const asked = (service_tier: string) =>
    accepted("chat", "responses", { ...request, service_tier }).body.service_tier;
  assertEquals(["on_demand", ""].map(asked), ["default", undefined]);
});

/** One token per character, as a model would tell them. */
function logprobsOf(text: string): JsonObject[] {
  return [...text].map((token, i): JsonObject => ({
    token,
    logprob: -(i + 1) / 7,
    bytes: [...new TextEncoder().encode(token)],
    top_logprobs: [{ token, logprob: -(i + 1) / 7, bytes: null }],
  }));
}

const result = (flagged: boolean): JsonObject => ({
  type: "moderation_result",
  model: "omni",
  flagged,
  categories: { violence: flagged },
  category_scores: { violence: 0.1 },
  category_applied_input_types: { violence: ["text"] },
});
const moderated: JsonObject = {
  input: { type: "moderation_results", model: "omni", results: [result(false)] },
  output: { type: "error", code: "c", message: "m" },
};

const answers = fc.record({
  text: fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  calls: fc.array(fc.constantFrom('{"a":1}', "{}"), { maxLength: 2 }),
  logprobs: fc.boolean(),
  moderation: fc.boolean(),
  tier: some(fc.constantFrom("default", "flex", "priority")),
  cached: fc.nat(5),
});
type Given = typeof answers extends fc.Arbitrary<infer Value> ? Value : never;

const plain: Given = {
  text: "",
  calls: [],
  logprobs: false,
  moderation: false,
  tier: undefined,
  cached: 0,
};

function usageOf({ cached }: Given): JsonObject {
  return {
    prompt_tokens: 10,
    completion_tokens: 7,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: 1, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 3,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

const callsOf = ({ calls }: Given) =>
  calls.map((text, i) => ({
    id: `call_${i}`,
    type: "function",
    function: { name: "f", arguments: text },
  }));

function chatAnswer(of: Given): JsonObject {
  const message = {
    role: "assistant",
    content: of.text,
    refusal: null,
    annotations: [],
    ...(of.calls.length === 0 ? {} : { tool_calls: callsOf(of) }),
  };
  return {
    id: "chatcmpl-000000abc0000xyz",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "client-model",
    system_fingerprint: null,
    choices: [{
      index: 0,
      message,
      logprobs: of.logprobs ? { content: logprobsOf(of.text), refusal: null } : null,
      finish_reason: of.calls.length === 0 ? "stop" : "tool_calls",
    }],
    usage: usageOf(of),
    ...(of.tier === undefined ? {} : { service_tier: of.tier }),
    ...(of.moderation ? { moderation: moderated } : {}),
  };
}

function chatStream(of: Given): string {
  const more = of.tier === undefined ? {} : { service_tier: of.tier };
  const pieces = [...of.text].map((piece, i): Json => {
    const content = of.logprobs ? [logprobsOf(of.text)[i]!] : [];
    const logprobs = of.logprobs ? { content, refusal: null } : null;
    const choice = { index: 0, delta: { content: piece }, logprobs, finish_reason: null };
    return { id: "c", object: "chat.completion.chunk", choices: [choice], ...more };
  });
  const calls = callsOf(of).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }));
  const end = chunk({}, of.calls.length === 0 ? "stop" : "tool_calls");
  const extra: Json[] = of.moderation ? [{ choices: [], moderation: moderated }] : [];
  return chatFrames([...pieces, ...calls, end, ...extra, { choices: [], usage: usageOf(of) }]);
}

/** What a Chat client has collected at the end of its stream. */
function collected(text: string): JsonObject {
  // A pattern's lines end at U+2028 too, those of the stream do not.
  const chunks = text.split("\n").filter((line) => line.startsWith("data: {"))
    .map((line): JsonObject => JSON.parse(line.slice(6)));
  let content = "";
  const logprobs: Json[] = [];
  const rest: Record<string, Json> = {};
  for (const one of chunks) {
    for (const name of ["usage", "service_tier", "moderation"]) {
      const value = one[name];
      if (value !== undefined && value !== null) rest[name] = value;
    }
    const [choice] = Array.isArray(one.choices) ? one.choices : [];
    if (!isJsonObject(choice) || !isJsonObject(choice.delta)) continue;
    if (typeof choice.delta.content === "string") content += choice.delta.content;
    if (isJsonObject(choice.logprobs)) logprobs.push(...choice.logprobs.content as Json[]);
    if (typeof choice.finish_reason === "string") rest.finish_reason = choice.finish_reason;
  }
  return { content, logprobs, ...rest };
}

Deno.test("a Chat answer comes back from Responses as it was", () => {
  fc.assert(
    fc.property(answers, (of) => {
      const there = convertedAnswer("chat", "responses", chatAnswer(of));
      assertEquals(convertedAnswer("responses", "chat", there), chatAnswer(of));
    }),
    { numRuns: 200 },
  );
});

Deno.test("a Chat stream comes back from Responses with all that it said", () => {
  fc.assert(
    fc.property(
      answers,
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
      (of, sizes) => {
        const there = streamed("chat", "responses", chatStream(of), { sizes }).text;
        const outcome = readResponsesStream(new TextEncoder().encode(there));
        assert(outcome.kind === "response");
        const back = streamed("responses", "chat", there, { sizes }).text;
        const { choices, usage, service_tier, moderation } = chatAnswer(of);
        const [choice] = choices as JsonObject[];
        assertEquals(
          collected(back),
          given({
            content: of.text,
            logprobs: of.logprobs ? logprobsOf(of.text) : [],
            usage,
            service_tier,
            moderation,
            finish_reason: choice!.finish_reason,
          }),
        );
        // Streamed and whole are one answer.
        const whole = convertedAnswer("chat", "responses", chatAnswer(of));
        const last = JSON.parse(there.slice(there.lastIndexOf("data: ") + 6)).response;
        assertEquals(last.output, whole.output);
        assertEquals([last.moderation, last.service_tier], [whole.moderation, whole.service_tier]);
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("a short word of the request stands in the answer of a Responses client, a long one does not", () => {
  const request = { model: "m", input: "Hi", temperature: 0.5, user: "u", prompt_cache_key: "k" };
  const { memory } = accepted("responses", "messages", {
    ...request,
    metadata: { a: "b".repeat(513) },
  });
  const answer = chatAnswer({ ...plain, text: "Hi" });
  const { temperature, user, prompt_cache_key, metadata } = convertedAnswer(
    "chat",
    "responses",
    answer,
    memory,
  );
  assertEquals([temperature, user, prompt_cache_key, metadata], [0.5, "u", "k", {}]);
});

Deno.test("the provider's own code of an error reaches clients that read codes", () => {
  const body = (code: string) =>
    JSON.stringify({ error: { message: "Bad", type: "invalid_request_error", code } });
  const told = (code: string) =>
    (errorBody(decodeProviderError("chat", 400, body(code)), "chat", "r").error as JsonObject).code;
  assertEquals(
    ["invalid_image_url", "unsupported_parameter", "content_filter", "400", "Not a word!", ""]
      .map(told),
    [
      "invalid_image_url",
      "unsupported_parameter",
      // A code of our own, which clients know by name.
      "content_policy_violation",
      "invalid_request",
      "invalid_request",
      "invalid_request",
    ],
  );
  const failed = chatFrames([
    chunk({ content: "Hi" }),
    { error: { message: "Bad", type: "invalid_request_error", code: "invalid_image_url" } },
  ]);
  assert(streamed("chat", "responses", failed).text.includes('"code":"invalid_image_url"'));
});
