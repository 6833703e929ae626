import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { assertSplitMakesNoDifference, context, namedStream, pipeText } from "./piping.ts";

const start = (usage: object) =>
  [
    "message_start",
    { message: { id: "msg_a", role: "assistant", content: [], stop_reason: null, usage } },
  ] as const;
const block = (index: number, content_block: object) =>
  ["content_block_start", { index, content_block }] as const;
const delta = (index: number, delta: object) => ["content_block_delta", { index, delta }] as const;
const stop = (index: number) => ["content_block_stop", { index }] as const;
const end = (stop_reason: string | null, usage?: object) =>
  [
    "message_delta",
    { delta: { stop_reason, stop_sequence: null }, ...(usage && { usage }) },
  ] as const;

const lastEvent = namedStream(["message_stop"]);
const errorEvent = (type: string, message: string) =>
  `event: error\ndata: ${
    JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" })
  }\n\n`;

const text = namedStream(
  start({ input_tokens: 11, cache_read_input_tokens: 30, output_tokens: 1 }),
  block(0, { type: "text", text: "" }),
  ["ping"],
  delta(0, { type: "text_delta", text: "Xin chào" }),
  delta(0, { type: "text_delta", text: ' "usage":{"input_tokens":1} \n' }),
  stop(0),
  end("end_turn", { output_tokens: 9 }),
);

Deno.test("a text stream passes untouched and its last event waits for the end", () => {
  const piped = pipeText("messages", text + lastEvent);
  assertEquals(piped.passed, text);
  assertEquals(piped.ending, lastEvent);
  assertEquals(piped.reading, {
    usage: { input: 11, cacheRead: 30, cacheWrite: 0, output: 9, reasoning: 0 },
    usageRejected: false,
    toolUses: {},
    serviceTier: undefined,
    sawOutput: true,
    outputBytes: 9 + 29,
    answerBytes: 9 + 29,
    state: "completed",
    error: undefined,
    stopReason: "end_turn",
  });
});

Deno.test("nothing before the first delta counts as output", () => {
  const preamble = namedStream(
    start({ input_tokens: 5, output_tokens: 1 }),
    block(0, { type: "thinking", thinking: "", signature: "" }),
    ["ping"],
    delta(0, { type: "signature_delta", signature: "EqQB" }),
    stop(0),
    block(1, { type: "text", text: "" }),
    delta(1, { type: "text_delta", text: "" }),
  );
  const { reading } = pipeText("messages", preamble);
  assertEquals([reading.sawOutput, reading.outputBytes], [false, 0]);
});

Deno.test("each kind of block counts as output from its first usable byte", () => {
  const cases: [string, number, ...(readonly [string, object?])[]][] = [
    ["text", 2, block(0, { type: "text", text: "" }), delta(0, { type: "text_delta", text: "é" })],
    ["thinking", 3, delta(0, { type: "thinking_delta", thinking: "hmm" })],
    [
      "tool call without arguments",
      0,
      block(0, { type: "tool_use", id: "t", name: "f", input: {} }),
    ],
    ["tool arguments", 7, delta(0, { type: "input_json_delta", partial_json: '{"a":1}' })],
    ["redacted thinking", 4, block(0, { type: "redacted_thinking", data: "abcd" })],
    ["server tool", 0, block(0, { type: "server_tool_use", id: "s", name: "web_search" })],
    ["refusal without a block", 0, end("refusal", { output_tokens: 3 })],
  ];
  for (const [name, bytes, ...events] of cases) {
    const { reading } = pipeText("messages", namedStream(...events));
    assertEquals([reading.sawOutput, reading.outputBytes], [true, bytes], name);
  }
});

Deno.test("usage is cumulative: a larger count replaces, a smaller, absent or null one keeps", () => {
  const cases: [string, object, object, object][] = [
    [
      "only output_tokens at the end",
      {
        input_tokens: 10,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 2,
        output_tokens: 1,
      },
      { output_tokens: 50 },
      { input: 10, cacheRead: 4, cacheWrite: 2, output: 50, reasoning: 0 },
    ],
    [
      "server tools make the input grow",
      { input_tokens: 2_479, output_tokens: 1 },
      { input_tokens: 404_500, output_tokens: 900 },
      { input: 404_500, cacheRead: 0, cacheWrite: 0, output: 900, reasoning: 0 },
    ],
    [
      "neither a smaller count nor null replaces one",
      {
        input_tokens: 10,
        cache_read_input_tokens: 55_096,
        cache_creation_input_tokens: 3,
        output_tokens: 1,
      },
      {
        input_tokens: null,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: null,
        output_tokens: 7,
      },
      { input: 10, cacheRead: 55_096, cacheWrite: 3, output: 7, reasoning: 0 },
    ],
    [
      "thinking is part of the output",
      { input_tokens: 1, output_tokens: 1 },
      { output_tokens: 20, output_tokens_details: { thinking_tokens: 15 } },
      { input: 1, cacheRead: 0, cacheWrite: 0, output: 20, reasoning: 15 },
    ],
    [
      "cache writes given only by time to live",
      {
        input_tokens: 1,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 },
        output_tokens: 1,
      },
      { output_tokens: 2 },
      { input: 1, cacheRead: 0, cacheWrite: 9, cacheWriteHour: 5, output: 2, reasoning: 0 },
    ],
    [
      "iterations count what the top leaves out",
      { input_tokens: 1, output_tokens: 1 },
      {
        input_tokens: 100,
        output_tokens: 10,
        iterations: [
          { type: "compaction", input_tokens: 3_000, output_tokens: 200 },
          { type: "message", input_tokens: 100, cache_read_input_tokens: 0, output_tokens: 10 },
        ],
      },
      {
        input: 3_100,
        cacheRead: 0,
        cacheWrite: 0,
        output: 210,
        reasoning: 0,
        said: { input: 100, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 },
      },
    ],
    [
      "iterations that are nonsense leave the top",
      { input_tokens: 1, output_tokens: 1 },
      { input_tokens: 100, output_tokens: 10, iterations: [{ input_tokens: -3_000 }] },
      { input: 100, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0, partlyAbsurd: true },
    ],
  ];
  for (const [name, first, last, expected] of cases) {
    const { reading } = pipeText("messages", namedStream(start(first), end("end_turn", last)));
    assertEquals<unknown>(reading.usage, expected, name);
    assertEquals(reading.usageRejected, false, name);
  }
});

Deno.test("an absurd report is rejected and leaves the earlier one; a good one after it counts", () => {
  const good = { input_tokens: 10, output_tokens: 1 };
  const kept = { input: 10, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  const absurd = [-1, 1.5, 100_000_001, 1e300, "12", {}, true, Number.MAX_SAFE_INTEGER];
  for (const output_tokens of absurd) {
    const events = [start(good), end("end_turn", { output_tokens })] as const;
    const { reading } = pipeText("messages", namedStream(...events));
    assertEquals([reading.usage, reading.usageRejected], [kept, true], String(output_tokens));
    const mended = pipeText("messages", namedStream(...events, end(null, { output_tokens: 4 })));
    assertEquals(mended.reading.usage, { ...kept, output: 4 });
    assertEquals(mended.reading.usageRejected, false);
  }
});

Deno.test("one count is a report, in which the other is 0; none is no report", () => {
  const counts = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  const cases: [object | undefined, object | undefined][] = [
    [undefined, undefined],
    [{}, undefined],
    [{ output_tokens: 5 }, { ...counts, output: 5 }],
    [{ input_tokens: 5 }, { ...counts, input: 5 }],
  ];
  for (const [usage, expected] of cases) {
    const { reading } = pipeText("messages", namedStream(end("end_turn", usage)));
    assertEquals<unknown>([reading.usage, reading.usageRejected], [expected, false]);
  }
});

Deno.test("the output that message_start names is none", () => {
  for (const last of [undefined, {}, { input_tokens: 7 }, { output_tokens: null }]) {
    const { reading } = pipeText(
      "messages",
      namedStream(start({ input_tokens: 7, output_tokens: 9 }), end("end_turn", last)),
    );
    assertEquals([reading.usage?.input, reading.usage?.output], [7, 0]);
  }
});

Deno.test("an error inside the stream ends it with an error of the same kind, never with message_stop", () => {
  const failing = text + namedStream(["error", {
    error: { details: null, type: "overloaded_error", message: "Overloaded" },
    request_id: "req_of_the_provider",
  }]) + lastEvent;
  const piped = pipeText("messages", failing);
  assertEquals(piped.passed, text);
  assertEquals(piped.ending, errorEvent("overloaded_error", "Overloaded"));
  assertEquals(piped.reading.state, "error");
  assertEquals(piped.reading.error, { code: "overloaded", message: "Overloaded" });
});

Deno.test("an error that is no JSON or has no event name is still an error", () => {
  for (
    const event of [
      "event: error\ndata: upstream connect error\n\n",
      'data: {"type":"error","error":{"type":"api_error","message":"upstream connect error"}}\n\n',
      'event: message\ndata: {"type":"error","error":"upstream connect error"}\n\n',
    ]
  ) {
    const { reading } = pipeText("messages", event);
    assertEquals(reading.state, "error", event);
    assertEquals(
      reading.error,
      { code: "upstream_unreachable", message: "upstream connect error" },
      event,
    );
  }
});

Deno.test("a stream without message_stop was cut, whatever came before", () => {
  for (const cut of ["", text, text.slice(0, -20), text.slice(0, 200)]) {
    const piped = pipeText("messages", cut);
    assertEquals(piped.reading.state, "open");
    assertEquals(piped.ending, errorEvent("api_error", "The provider's answer broke off"));
    assertStringIncludes(text, piped.passed);
    assertEquals(piped.passed === "" || piped.passed.endsWith("\n\n"), true);
  }
});

Deno.test("a last event without its blank line is read and closed", () => {
  const piped = pipeText("messages", text + lastEvent.slice(0, -2));
  assertEquals([piped.reading.state, piped.ending], ["completed", lastEvent]);
});

Deno.test("events that only have a type in their data are read too", () => {
  const unnamed = (text + lastEvent).replaceAll(/event: .*\n/g, "");
  const named = pipeText("messages", text + lastEvent);
  const piped = pipeText("messages", unnamed);
  assertEquals(piped.reading, named.reading);
  assertEquals(piped.passed + piped.ending, unnamed);
});

Deno.test("padding, unknown events and comments pass as they are", () => {
  const odd =
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}       }\n\n' +
    ': keep-alive\n\nevent: something_new\ndata: {"type":"something_new","n":1}\n\nevent: ping\ndata:\n\n';
  const piped = pipeText("messages", odd + lastEvent);
  assertEquals(piped.passed, odd);
  assertEquals(piped.reading.outputBytes, 1);
});

Deno.test("tool arguments cut by max_tokens are no error", () => {
  const cutArguments = namedStream(
    start({ input_tokens: 4, output_tokens: 1 }),
    block(0, { type: "tool_use", id: "t", name: "make_file", input: {} }),
    delta(0, { type: "input_json_delta", partial_json: "" }),
    delta(0, { type: "input_json_delta", partial_json: '{"lines":["a' }),
    end("max_tokens", { output_tokens: 8 }),
  );
  const { reading } = pipeText("messages", cutArguments + lastEvent);
  assertEquals([reading.state, reading.stopReason], ["completed", "max_tokens"]);
  assertEquals(reading.outputBytes, 12);
});

Deno.test("bytes that are no such stream are refused; what was good before still leaves", () => {
  for (const garbage of ["event: message_start\ndata: <html>\n\n", "data: [1]\n\n"]) {
    const piped = pipeText("messages", garbage);
    assertEquals(
      piped.ending,
      errorEvent("api_error", "The provider sent an event that cannot be read"),
    );
    const late = pipeText("messages", text + garbage);
    assertEquals(late.passed, text);
    assertEquals(late.ending, piped.ending);
  }
});

Deno.test("what follows the last event is ignored, but for a [DONE]", () => {
  const piped = pipeText("messages", text + lastEvent + "data: [DONE]\n\n" + text);
  assertEquals([piped.passed, piped.ending], [text, lastEvent + "data: [DONE]\n\n"]);
});

Deno.test("fail() ends the stream with the error it is given, also after the last event came", () => {
  const pipe = createNativePipe("messages", context);
  pipe.push(new TextEncoder().encode(text + lastEvent));
  const ending = pipe.fail(new GatewayError("upstream_timeout", "The call took too long"));
  assertEquals(
    new TextDecoder().decode(ending),
    errorEvent("timeout_error", "The call took too long"),
  );
});

Deno.test("property: no split changes the bytes or the reading", () => {
  const encoder = new TextEncoder();
  assertSplitMakesNoDifference("messages", encoder.encode(text + lastEvent), {}, 200);
  assertSplitMakesNoDifference("messages", encoder.encode(text));
  const crlf = (text + lastEvent).replaceAll("\n", "\r\n");
  assertSplitMakesNoDifference("messages", encoder.encode(crlf));
  const piped = pipeText("messages", crlf);
  assertEquals(piped.passed + piped.ending, crlf);
});

Deno.test("a prompt that is too long has the one text that agents know, also when told within the stream", () => {
  const error = {
    type: "invalid_request_error",
    message:
      "The input token count (210000) exceeds the maximum number of tokens allowed (200000).",
  };
  const { ending } = pipeText("messages", namedStream(["error", { error }]));
  assertEquals(
    /"message":"([^"]*)"/.exec(ending)?.[1],
    "prompt is too long: 210000 tokens > 200000 maximum",
  );
});
