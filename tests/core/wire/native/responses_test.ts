import { assert, assertEquals } from "../../../support/assert.ts";
import { assertSplitMakesNoDifference, namedStream, pipeText } from "./piping.ts";

const created = ["response.created", {
  sequence_number: 0,
  response: { id: "resp_a", status: "in_progress", output: [], usage: null },
}] as const;
const added = (item: object) =>
  ["response.output_item.added", { sequence_number: 1, output_index: 0, item }] as const;
const done = (item: object) =>
  ["response.output_item.done", { sequence_number: 8, output_index: 0, item }] as const;
const delta = (name: string, delta: string) => [name, { sequence_number: 2, delta }] as const;
const closing = (status: string, response: object) =>
  [`response.${status}`, {
    sequence_number: 9,
    response: { id: "resp_a", status, error: null, incomplete_details: null, ...response },
  }] as const;

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 25 },
  total_tokens: 140,
};
const counts = { input: 30, cacheRead: 60, cacheWrite: 10, output: 40, reasoning: 25 };

const message = { type: "message", content: [{ type: "output_text", text: "Chào bạn" }] };
const body = namedStream(
  created,
  added({ type: "message", content: [], status: "in_progress" }),
  ["response.content_part.added", { sequence_number: 2, part: { type: "output_text", text: "" } }],
  delta("response.output_text.delta", "Chào"),
  delta("response.output_text.delta", " bạn"),
  ["response.output_text.done", { sequence_number: 5, text: "Chào bạn" }],
  done(message),
);
const completed = namedStream(closing("completed", { output: [message], usage }));
const errorEvent = (sequence_number: number, type: string, message: string, code: string) =>
  `event: error\ndata: ${
    JSON.stringify({ type: "error", sequence_number, error: { type, message, param: null, code } })
  }\n\n`;

Deno.test("a stream passes untouched, its closing event waits, usage is read from it", () => {
  const piped = pipeText("responses", body + completed);
  assertEquals([piped.passed, piped.ending], [body, completed]);
  assertEquals(piped.reading, {
    usage: counts,
    usageRejected: false,
    toolUses: {},
    serviceTier: undefined,
    sawOutput: true,
    outputBytes: 11,
    answerBytes: 11,
    state: "completed",
    error: undefined,
    stopReason: "completed",
  });
});

Deno.test("an incomplete answer is a clean end and its usage counts", () => {
  const incomplete = namedStream(
    closing("incomplete", { incomplete_details: { reason: "max_output_tokens" }, usage }),
  );
  const piped = pipeText("responses", body + incomplete);
  assertEquals(piped.ending, incomplete);
  assertEquals(
    [piped.reading.state, piped.reading.stopReason, piped.reading.usage],
    ["completed", "max_output_tokens", counts],
  );
});

Deno.test("a failed answer and every shape of error event end in an error event", () => {
  const cases: [string, string, string][] = [
    [
      "failed",
      namedStream(closing("failed", {
        error: { code: "server_error", message: "It broke" },
        usage,
      })),
      "upstream_unreachable",
    ],
    [
      "failed by rate limit",
      namedStream(closing("failed", {
        error: { code: "rate_limit_exceeded", message: "It broke" },
      })),
      "rate_limit_exceeded",
    ],
    [
      "nested",
      namedStream(["error", {
        sequence_number: 9,
        error: { type: "invalid_request_error", code: "rate_limit_exceeded", message: "It broke" },
      }]),
      "rate_limit_exceeded",
    ],
    [
      "flat",
      namedStream(["error", {
        sequence_number: 9,
        code: "server_is_overloaded",
        message: "It broke",
        param: null,
      }]),
      "overloaded",
    ],
    ["text", "event: error\ndata: It broke\n\n", "upstream_unreachable"],
    ["unnamed", 'data: {"type":"error","message":"It broke"}\n\n', "upstream_unreachable"],
  ];
  for (const [name, event, code] of cases) {
    const piped = pipeText("responses", body + event + completed);
    assertEquals(piped.passed, body, name);
    assertEquals(piped.reading.state, "error", name);
    assertEquals(piped.reading.error, { code, message: "It broke" }, name);
    assertEquals(
      /^event: error\ndata: \{"type":"error",.*"message":"It broke".*\}\n\nevent: response\.failed\n/
        .test(piped.ending),
      true,
      name,
    );
  }
  assertEquals(pipeText("responses", body + cases[0]![1]).reading.usage, counts);
});

Deno.test("an error event of ours carries the number after the last that passed", () => {
  const text = "The provider's answer broke off";
  const afterBody = pipeText("responses", body).ending;
  assert(afterBody.startsWith(errorEvent(9, "api_error", text, "upstream_unreachable")));
  assert(afterBody.includes('"type":"response.failed","sequence_number":10'));
  const alone = pipeText("responses", "").ending;
  assert(alone.includes(errorEvent(1, "api_error", text, "upstream_unreachable")));
});

Deno.test("an error ends the stream as a failed response of the upstream's id, with a code that agents retry", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["server_is_overloaded", "It broke", "server_error"],
    ["slow_down", "It broke", "rate_limit_exceeded"],
    ["server_error", "It broke", "server_error"],
    ["context_length_exceeded", "prompt is too long: It broke", "context_length_exceeded"],
  ];
  for (const [told, message, code] of cases) {
    const broken = ["error", { sequence_number: 9, code: told, message: "It broke" }] as const;
    const { ending } = pipeText("responses", body + namedStream(broken));
    const data = ending.split("\n").filter((line) => line.startsWith("data: "));
    const events = data.map((line) => JSON.parse(line.slice(6)));
    assertEquals(events.map(({ type }) => type), ["error", "response.failed"], told);
    const { response } = events[1];
    assertEquals(response.error, { code, message }, told);
    assertEquals([response.status, response.id], ["failed", created[1].response.id], told);
  }
});

Deno.test("a stream that never began begins for its error", () => {
  const types = [...pipeText("responses", "").ending.matchAll(/^event: (.*)$/gm)].map(([, type]) =>
    type
  );
  assertEquals(types, ["response.created", "error", "response.failed"]);
});

Deno.test("output starts with the first delta or the first call, not with an empty item", () => {
  const cases: [string, boolean, number, ...(readonly [string, object?])[]][] = [
    ["created", false, 0, created],
    ["empty message", false, 0, added({ type: "message", content: [] })],
    [
      "empty reasoning",
      false,
      0,
      added({ type: "reasoning", summary: [] }),
      done({ type: "reasoning", summary: [] }),
    ],
    ["empty delta", false, 0, delta("response.output_text.delta", "")],
    ["text", true, 2, delta("response.output_text.delta", "ab")],
    ["refusal", true, 2, delta("response.refusal.delta", "ab")],
    ["reasoning", true, 2, delta("response.reasoning_summary_text.delta", "ab")],
    ["call", true, 0, added({ type: "function_call", arguments: "" })],
    ["arguments", true, 2, delta("response.function_call_arguments.delta", "{}")],
    ["custom tool", true, 2, delta("response.custom_tool_call_input.delta", "ab")],
    ["whole item, no delta", true, 11, done(message)],
    ["search", true, 0, added({ type: "web_search_call" })],
  ];
  for (const [name, sawOutput, outputBytes, ...events] of cases) {
    const { reading } = pipeText("responses", namedStream(...events));
    assertEquals([reading.sawOutput, reading.outputBytes], [sawOutput, outputBytes], name);
  }
});

Deno.test("a whole item is not measured again after its deltas, the next one without deltas is", () => {
  const call = { type: "function_call", arguments: '{"a":1}' };
  const { reading } = pipeText(
    "responses",
    body + namedStream(added({ type: "function_call" }), done(call)),
  );
  assertEquals(reading.outputBytes, 11 + 7);
});

Deno.test("absurd usage is rejected, absent usage is no usage", () => {
  const cases: [unknown, boolean][] = [
    [{ input_tokens: -3, output_tokens: 1 }, true],
    [{ input_tokens: 3, output_tokens: 0.5 }, true],
    [{ input_tokens: 3, output_tokens: 5e8 }, true],
    [{ input_tokens: 3, output_tokens: 5, output_tokens_details: { reasoning_tokens: -1 } }, true],
    ["lots", true],
    [null, false],
    [{}, false],
  ];
  for (const [given, rejected] of cases) {
    const { reading } = pipeText("responses", namedStream(closing("completed", { usage: given })));
    assertEquals(
      [reading.usage, reading.usageRejected],
      [undefined, rejected],
      JSON.stringify(given),
    );
  }
});

Deno.test("of input and output one may be absent: it is 0", () => {
  const usageOf = (usage: object) =>
    pipeText("responses", namedStream(closing("completed", { usage }))).reading.usage;
  const counts = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  assertEquals(usageOf({ input_tokens: 3 }), { ...counts, input: 3 });
  assertEquals(usageOf({ output_tokens: 3 }), { ...counts, output: 3 });
});

Deno.test("counts that overlap are clamped to the input", () => {
  const { reading } = pipeText(
    "responses",
    namedStream(closing("completed", {
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 15, cache_write_tokens: 15 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 9 },
      },
    })),
  );
  assertEquals(reading.usage, { input: 0, cacheRead: 15, cacheWrite: 5, output: 3, reasoning: 3 });
});

Deno.test("a [DONE] of the Chat style passes behind the closing event, not in its place", () => {
  const whole = pipeText("responses", body + completed + "data: [DONE]\n\n");
  assertEquals([whole.passed, whole.ending], [body, completed + "data: [DONE]\n\n"]);
  const piped = pipeText("responses", body + "data: [DONE]\n\n");
  assertEquals(piped.passed, body);
  assertEquals(piped.reading.state, "open");
});

Deno.test("events that only have a type in their data are read too", () => {
  const unnamed = (body + completed).replaceAll(/event: .*\n/g, "");
  const piped = pipeText("responses", unnamed);
  assertEquals(piped.reading, pipeText("responses", body + completed).reading);
  assertEquals(piped.passed + piped.ending, unnamed);
});

Deno.test("property: no split changes the bytes or the reading", () => {
  const encoder = new TextEncoder();
  assertSplitMakesNoDifference("responses", encoder.encode(body + completed), {}, 200);
  assertSplitMakesNoDifference("responses", encoder.encode(body));
});
