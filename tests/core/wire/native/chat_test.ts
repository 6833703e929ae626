import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { assertSplitMakesNoDifference, chatStream, pipeText } from "./piping.ts";

const chunk = (delta: object, rest: object = {}, choiceRest: object = {}) => ({
  id: "chatcmpl-a",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choiceRest }],
  ...rest,
});
const finish = (finish_reason: string, rest: object = {}) => chunk({}, rest, { finish_reason });
const usageChunk = (usage: object | null) => ({
  id: "chatcmpl-a",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m",
  choices: [],
  usage,
});
const role = chunk({ role: "assistant", content: "", refusal: null });
const done = "data: [DONE]\n\n";
const hidden = { injectedUsage: true, clientWantsUsage: false };

const usage = {
  prompt_tokens: 20,
  completion_tokens: 7,
  total_tokens: 27,
  prompt_tokens_details: { cached_tokens: 4, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const counts = { input: 16, cacheRead: 4, cacheWrite: 0, output: 7, reasoning: 2 };

const plain = (withUsage: object) =>
  [
    { ...role, ...withUsage },
    chunk({ content: "Xin chào" }, withUsage),
    chunk({ content: ' "usage":null,"error":{} ' }, withUsage),
    chunk({ content: "usage" }, withUsage),
    { ...finish("stop"), ...withUsage, obfuscation: "x9" },
  ] as const;

Deno.test("a stream whose client asked for usage passes untouched; [DONE] waits", () => {
  const stream = chatStream(...plain({ usage: null }), usageChunk(usage));
  for (const injectedUsage of [true, false]) {
    const piped = pipeText("chat", stream + done, { injectedUsage, clientWantsUsage: true });
    assertEquals([piped.passed, piped.ending], [stream, done]);
    assertEquals(piped.reading, {
      usage: counts,
      usageRejected: false,
      toolUses: undefined,
      serviceTier: undefined,
      sawOutput: true,
      outputBytes: 9 + 25 + 5,
      answerBytes: 9 + 25 + 5,
      state: "completed",
      error: undefined,
      stopReason: "stop",
    });
  }
});

Deno.test("usage that only the gateway asked for leaves no trace, every other byte stays", () => {
  const piped = pipeText(
    "chat",
    chatStream(...plain({ usage: null }), usageChunk(usage)) + done,
    hidden,
  );
  assertEquals(piped.passed, chatStream(...plain({})));
  assertEquals(piped.ending, done);
  assertEquals(piped.reading.usage, counts);
});

Deno.test("usage of null is cut out wherever it stands, and only at the top", () => {
  const inner = '"choices":[{"index":0,"delta":{"content":"a","usage":1},"usage":null}]';
  const cases: [string, string][] = [
    [`{${inner},"usage":null}`, `{${inner}}`],
    [`{"usage":null,${inner}}`, `{${inner}}`],
    [`{"id":"x","usage":null,${inner}}`, `{"id":"x",${inner}}`],
    [`{"id":"x" , "usage" : null , ${inner}}`, `{"id":"x" , ${inner}}`],
    [`{ "usage" : null , ${inner} }`, `{  ${inner} }`],
    [`{${inner},"usage":null,"x":"}"}`, `{${inner},"x":"}"}`],
    [`{"usage":null, "usage":null,${inner},"usage":null}`, `{ ${inner}}`],
    [`{${inner},"us\\u0061ge":null}`, `{${inner}}`],
    [
      `{${inner},"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
      `{${inner},"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
    ],
    [`{${inner}}`, `{${inner}}`],
  ];
  for (const [sent, expected] of cases) {
    const { passed } = pipeText("chat", `data: ${sent}\n\n`, hidden);
    assertEquals(passed, `data: ${expected}\n\n`);
    JSON.parse(passed.slice(6));
  }
});

Deno.test("a chunk with empty choices that is no usage report stays", () => {
  const azure = chatStream({
    choices: [],
    created: 0,
    id: "",
    model: "",
    prompt_filter_results: [{ prompt_index: 0 }],
  });
  assertEquals(pipeText("chat", azure, hidden).passed, azure);
});

Deno.test("usage in several data lines of one event is removed too", () => {
  const piped = pipeText(
    "chat",
    'data: {"choices":[{"delta":{"content":"a"}}],\ndata: "usage":null}\n\n',
    hidden,
  );
  assertEquals(piped.passed, 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
});

Deno.test("usage that a provider sends beside its choices reaches a client that did not ask", () => {
  // As sent without `include_usage`: in the last chunk, in the choice itself, in a member of its own.
  const ends = [
    finish("stop", { usage }),
    chunk({}, {}, { finish_reason: "stop", usage }),
    finish("stop", { x_groq: { id: "req_a", usage } }),
  ];
  for (const end of ends) {
    const stream = chatStream(chunk({ content: "a" }), end);
    const piped = pipeText("chat", stream + chatStream(usageChunk(usage)) + done, hidden);
    assertEquals([piped.passed, piped.ending], [stream, done]);
    assertEquals(piped.reading.usage, counts);
  }
});

Deno.test("property: what is hidden is exactly the usage member of null", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue()), { maxLength: 5 }),
      fc.nat(6),
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(null, usage),
      fc.constantFrom(0, 2),
      (others, place, content, report, indent) => {
        const members = others.filter(([name]) => !["usage", "error", "model"].includes(name));
        members.push(["choices", [{ index: 0, delta: { content } }]]);
        const without = Object.fromEntries(members);
        const withUsage = [...members];
        withUsage.splice(Math.min(place, members.length), 0, ["usage", report]);
        const sent = JSON.stringify(Object.fromEntries(withUsage), undefined, indent)
          .replaceAll("\n", " ");
        const expected = report === null ? without : Object.fromEntries(withUsage);
        const { passed } = pipeText("chat", `data: ${sent}\n\n`, hidden);
        assertEquals(JSON.stringify(JSON.parse(passed.slice(6))), JSON.stringify(expected));
        if (indent === 0) assertEquals(passed, `data: ${JSON.stringify(expected)}\n\n`);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("output starts with text, reasoning, a call or a refusal, not with a role", () => {
  const call = (fields: object) => ({ tool_calls: [{ index: 0, ...fields }] });
  const cases: [string, boolean, number, object][] = [
    ["role", false, 0, { role: "assistant", content: "", refusal: null }],
    ["null content", false, 0, { role: "assistant", content: null, tool_calls: null }],
    ["empty lists", false, 0, { content: "", tool_calls: [], reasoning_details: [] }],
    ["text", true, 5, { content: "tối" }],
    ["escapes", true, 8, { content: '"\\\n\u0001🙂' }],
    ["refusal", true, 2, { refusal: "no" }],
    ["reasoning_content", true, 2, { content: null, reasoning_content: "ab" }],
    ["reasoning", true, 2, { content: "", reasoning: "ab", reasoning_details: [{ text: "ab" }] }],
    ["reasoning under both names", true, 2, { reasoning: "ab", reasoning_content: "ab" }],
    [
      "call begins",
      true,
      0,
      call({ id: "c", type: "function", function: { name: "f", arguments: "" } }),
    ],
    ["arguments", true, 7, call({ function: { arguments: '{"a":1}' } })],
    ["null arguments", true, 0, call({ function: { arguments: null } })],
    ["arguments as an object", true, 7, call({ function: { name: "f", arguments: { a: 1 } } })],
    ["custom tool", true, 3, call({ custom: { input: "abc" } })],
    ["no index", true, 2, { tool_calls: [{ id: "0", function: { name: "f", arguments: "{}" } }] }],
    ["legacy call", true, 2, { function_call: { name: "f", arguments: "{}" } }],
    ["audio", true, 2, { audio: { id: "a", transcript: "hi" } }],
    ["content parts", true, 5, {
      content: [{ type: "thinking", thinking: [{ type: "text", text: "abc" }] }, {
        type: "text",
        text: "de",
      }],
    }],
  ];
  for (const [name, sawOutput, outputBytes, delta] of cases) {
    const { reading, passed } = pipeText("chat", chatStream(chunk(delta)));
    assertEquals([reading.sawOutput, reading.outputBytes], [sawOutput, outputBytes], name);
    assertEquals(passed, chatStream(chunk(delta)), name);
  }
});

Deno.test("usage is read under every name and rule that vendors have", () => {
  const p = (prompt_tokens: number, completion_tokens: number, rest: object = {}) => ({
    prompt_tokens,
    completion_tokens,
    ...rest,
  });
  const said = (input: number, output: number, reasoning = 0) => ({
    input,
    cacheRead: 0,
    cacheWrite: 0,
    output,
    reasoning,
  });
  const cases: [string, object, object][] = [
    ["plain", p(20, 7), { input: 20, output: 7 }],
    ["details null", p(20, 7, { prompt_tokens_details: null, completion_tokens_details: null }), {
      input: 20,
      output: 7,
    }],
    [
      "cache write",
      p(3_329, 5, { prompt_tokens_details: { cached_tokens: 3_211, cache_write_tokens: 115 } }),
      { input: 3, cacheRead: 3_211, cacheWrite: 115, output: 5 },
    ],
    [
      "overlap",
      p(2_168, 5, { prompt_tokens_details: { cached_tokens: 2_161, cache_write_tokens: 2_161 } }),
      { input: 0, cacheRead: 2_161, cacheWrite: 7, output: 5 },
    ],
    ["more cached than prompt", p(5, 1, { prompt_tokens_details: { cached_tokens: 9 } }), {
      input: 0,
      cacheRead: 5,
      output: 1,
    }],
    ["hit and miss", p(17, 4, { prompt_cache_hit_tokens: 10, prompt_cache_miss_tokens: 7 }), {
      input: 7,
      cacheRead: 10,
      output: 4,
    }],
    ["cached at the top", p(17, 4, { cached_tokens: 2 }), { input: 15, cacheRead: 2, output: 4 }],
    [
      "reasoning left out of completion",
      p(213, 2, { total_tokens: 471, completion_tokens_details: { reasoning_tokens: 256 } }),
      { input: 213, output: 258, reasoning: 256, said: said(213, 2, 2) },
    ],
    ["thinking only in the total", p(66, 6, { total_tokens: 100 }), {
      input: 66,
      output: 34,
      reasoning: 28,
      said: said(66, 6),
    }],
    ["completion left out", { prompt_tokens: 66, total_tokens: 100 }, {
      input: 66,
      output: 34,
      reasoning: 34,
      said: said(66, 0),
    }],
    ["prompt alone", { prompt_tokens: 66 }, { input: 66, output: 0 }],
    ["completion alone", { completion_tokens: 6 }, { input: 0, output: 6 }],
    ["audio input in the total", p(66, 6, { total_tokens: 100, prompt_audio_seconds: 12 }), {
      input: 66,
      output: 6,
    }],
    [
      "audio tokens in the total",
      p(66, 6, { total_tokens: 100, prompt_tokens_details: { audio_tokens: 28 } }),
      { input: 66, inputAudio: 28, output: 6 },
    ],
    ["a total that is nonsense beside counts that are not", p(66, 6, { total_tokens: 1e12 }), {
      input: 66,
      output: 6,
      partlyAbsurd: true,
    }],
    ["total smaller than its parts", p(66, 6, { total_tokens: 3 }), { input: 66, output: 6 }],
    ["zero", p(0, 0, { total_tokens: 0 }), { input: 0, output: 0 }],
  ];
  for (const [name, given, expected] of cases) {
    const full = { cacheRead: 0, cacheWrite: 0, reasoning: 0, ...expected };
    for (
      const event of [
        usageChunk(given),
        finish("stop", { usage: given }),
        chunk({}, { x_groq: { id: "r", usage: given } }),
        chunk({}, {}, { usage: given }),
      ]
    ) {
      const { reading } = pipeText("chat", chatStream(event));
      assertEquals<unknown>(reading.usage, full, name);
      assertEquals(reading.usageRejected, false, name);
    }
  }
});

Deno.test("an answer that is repeated in each chunk beside its deltas is measured once", () => {
  const delta = (content: string) => ({ role: "assistant", content });
  const pieces = ["Xin", " chào", " bạn"];
  const chunks = (messageFirst: boolean) =>
    pieces.map((piece, i) => {
      const message = delta(pieces.slice(0, i + 1).join(""));
      const [a, b] = [{ message }, { delta: delta(piece) }];
      return { choices: [{ index: 0, ...(messageFirst ? { ...a, ...b } : { ...b, ...a }) }] };
    });
  for (const order of [true, false]) {
    const { reading } = pipeText("chat", chatStream(...chunks(order)));
    assertEquals(reading.outputBytes, new TextEncoder().encode("Xin chào bạn").length);
  }
  const alone = { choices: [{ index: 0, message: delta("Xin"), finish_reason: "stop" }] };
  assertEquals(pipeText("chat", chatStream(alone)).reading.outputBytes, 3);
});

Deno.test("absurd usage is rejected and leaves the earlier report", () => {
  const absurd: object[] = [
    { prompt_tokens: -1, completion_tokens: 3 },
    { prompt_tokens: 1, completion_tokens: 2.5 },
    { prompt_tokens: 1, completion_tokens: 3e8 },
    { prompt_tokens: "1", completion_tokens: 3 },
    { completion_tokens: 3, total_tokens: 1e12 },
    { prompt_tokens: 1, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: -4 } },
    { prompt_tokens: 1, completion_tokens: 3, prompt_tokens_details: { cached_tokens: -4 } },
    [],
  ];
  for (const given of absurd) {
    const { reading } = pipeText("chat", chatStream(usageChunk(usage), usageChunk(given)));
    assertEquals([reading.usage, reading.usageRejected], [counts, true], JSON.stringify(given));
  }
  const huge = '{"choices":[],"usage":{"prompt_tokens":1e999,"completion_tokens":1}}';
  assertEquals(pipeText("chat", chatStream(huge)).reading.usageRejected, true);
});

Deno.test("usage on every chunk: the last counts, nothing is added up", () => {
  const events = [1, 2, 3].map((n) =>
    chunk({ content: "a" }, {
      usage: { prompt_tokens: 9, completion_tokens: n, total_tokens: 9 + n },
    })
  );
  const { reading } = pipeText("chat", chatStream(...events));
  assertEquals(reading.usage, { input: 9, cacheRead: 0, cacheWrite: 0, output: 3, reasoning: 0 });
});

Deno.test("streams of other vendors pass untouched and end cleanly", () => {
  const text = chunk({ content: "a" });
  const cases: [string, string, string][] = [
    [
      "comments between",
      chatStream(": OPENROUTER PROCESSING", role, ": OPENROUTER PROCESSING", text, finish("stop")) +
      done,
      "stop",
    ],
    [
      "finish reason twice",
      chatStream(text, finish("tool_calls"), finish("tool_calls", { usage })) + done,
      "tool_calls",
    ],
    [
      "content in the finishing chunk",
      chatStream(chunk({ content: "a" }, {}, { finish_reason: "length" })) + done,
      "length",
    ],
    [
      "empty finish reasons before the last",
      chatStream(chunk({ content: "a" }, {}, { finish_reason: "" }), finish("stop")) + done,
      "stop",
    ],
    [
      "two choices interleaved",
      chatStream(
        text,
        { ...text, choices: [{ index: 1, delta: { content: "b" } }] },
        finish("stop"),
      ) + done,
      "stop",
    ],
    [
      "first chunk without choices' content",
      chatStream({ choices: [], id: "", prompt_filter_results: [] }, text, finish("stop")) + done,
      "stop",
    ],
    [
      "error null on every chunk",
      chatStream({ ...text, error: null }, finish("stop")) + done,
      "stop",
    ],
    [
      "message instead of delta",
      chatStream({ choices: [{ index: 0, message: { content: "a" }, finish_reason: "stop" }] }) +
      done,
      "stop",
    ],
    ["empty data lines", "data:\n\ndata:  \n\n" + chatStream(text, finish("stop")) + done, "stop"],
    [
      "id lines",
      chatStream(text, finish("stop")).replaceAll("data:", "id: 1\ndata:") + done,
      "stop",
    ],
  ];
  for (const [name, stream, stopReason] of cases) {
    const piped = pipeText("chat", stream);
    assertEquals(piped.passed + piped.ending, stream, name);
    assertEquals([piped.reading.state, piped.reading.stopReason], ["completed", stopReason], name);
  }
});

Deno.test("[DONE] without a finish reason is a clean end", () => {
  const piped = pipeText("chat", chatStream(chunk({ content: "a" })) + done);
  assertEquals([piped.reading.state, piped.reading.stopReason], ["completed", undefined]);
});

Deno.test("a finish reason without [DONE] is a clean end, and no [DONE] is added", () => {
  const stream = chatStream(chunk({ content: "a" }), finish("stop", { usage }));
  const piped = pipeText("chat", stream);
  assertEquals([piped.passed, piped.ending], [stream, ""]);
  assertEquals(piped.reading.state, "completed");
});

Deno.test("of several choices all that began must have a finish reason", () => {
  const of = (index: number, delta: object, finish_reason: string | null = null) =>
    chunk(delta, {}, { index, finish_reason });
  const begun = [of(0, { content: "a" }), of(1, { content: "b" })];
  const first = [...begun, of(0, {}, "stop")];
  const whole = [...first, of(1, { content: "c" }), of(1, {}, "length")];
  const late = [...first.slice(0, 1), of(0, {}, "stop"), of(1, { content: "b" })];
  const unnumbered = [chunk({ content: "a" }, {}, { index: undefined }), finish("stop")];
  const repeated = [...whole, of(1, {}), of(0, {}, "stop"), usageChunk(usage)];
  const cases: [object[], string | undefined][] = [
    [first, undefined],
    [late, undefined],
    [whole, "length"],
    [repeated, "stop"],
    [unnumbered, "stop"],
  ];
  for (const [chunks, reason] of cases) {
    const { ending, reading } = pipeText("chat", chatStream(...chunks));
    const expected = reason === undefined ? "open" : "completed";
    assertEquals([reading.state, reading.stopReason], [expected, reason], JSON.stringify(chunks));
    assertEquals(ending === "", reason !== undefined);
    // With its own end the stream is whole in any case.
    assertEquals(pipeText("chat", chatStream(...chunks) + done).reading.state, "completed");
  }
});

Deno.test("the end of the body without either is a cut, told as an error and without [DONE]", () => {
  for (
    const stream of [
      "",
      chatStream(role),
      chatStream(chunk({ content: "a" })),
      chatStream(usageChunk(usage)),
    ]
  ) {
    const piped = pipeText("chat", stream);
    assertEquals(piped.reading.state, "open");
    assertEquals(
      piped.ending,
      'data: {"error":{"type":"api_error","message":"The provider\'s answer broke off","param":null,"code":"upstream_unreachable"}}\n\n',
    );
  }
});

Deno.test("half a chunk at a cut never reaches the client", () => {
  const whole = chatStream(chunk({ content: "a" }));
  const half = chatStream(chunk({ content: "b" })).slice(0, -12);
  const piped = pipeText("chat", whole + half);
  assertEquals(piped.passed, whole);
  assertEquals(piped.reading.outputBytes, 1);
});

Deno.test("a last chunk or [DONE] without its blank line is read and closed", () => {
  const stream = chatStream(finish("stop"), usageChunk(usage));
  const open = pipeText("chat", stream.slice(0, -2));
  assertEquals(open.passed + open.ending, stream);
  assertEquals(open.reading.usage, counts);
  const closed = pipeText("chat", stream + done.slice(0, -1));
  assertEquals([closed.passed, closed.ending], [stream, `${done}\n`]);
  assertEquals(pipeText("chat", stream.slice(0, -2), hidden).passed, chatStream(finish("stop")));
});

Deno.test("errors inside the stream are decoded from every shape and end it without [DONE]", () => {
  const first = chatStream(chunk({ content: "a" }));
  const cases: [string, string, string][] = [
    [
      "chunk with error, numeric code",
      chatStream({
        id: "x",
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
        error: { code: 502, message: "Boom" },
      }),
      "upstream_unreachable",
    ],
    ["numeric 429", chatStream({ error: { code: 429, message: "Boom" } }), "rate_limit_exceeded"],
    [
      "event: error",
      `event: error\n${
        chatStream({
          error: { message: "Boom", type: "invalid_request_error", code: "tool_use_failed" },
        })
      }`,
      "invalid_request",
    ],
    ["event: error as text", "event: error\ndata: Boom\n\n", "upstream_unreachable"],
    ["error as text", chatStream({ code: "over_capacity", error: "Boom" }), "overloaded"],
    [
      "flat",
      chatStream({ object: "error", message: "Boom", type: "server_error", code: 500 }),
      "upstream_unreachable",
    ],
    ["detail", chatStream({ detail: "Boom" }), "upstream_unreachable"],
    [
      "other vendor's shape",
      chatStream({ type: "error", error: { type: "overloaded_error", message: "Boom" } }),
      "overloaded",
    ],
  ];
  for (const [name, event, code] of cases) {
    const piped = pipeText("chat", first + event + done);
    assertEquals(piped.passed, first, name);
    assertEquals(piped.reading.error, { code, message: "Boom" }, name);
    assertEquals(piped.reading.state, "error", name);
    assert(piped.ending.startsWith('data: {"error":{'), name);
    assert(!piped.ending.includes("[DONE]"), name);
  }
});

Deno.test("an error within a choice is an error of the stream, null is none", () => {
  const error = { code: 429, message: "Provider is busy" };
  const failed = chunk({}, {}, { finish_reason: "error", error });
  const piped = pipeText("chat", chatStream(chunk({ content: "a" }), failed) + done);
  assertEquals([piped.reading.state, piped.reading.error?.code], ["error", "rate_limit_exceeded"]);
  assert(!piped.passed.includes("busy") && !(piped.passed + piped.ending).includes("[DONE]"));
  const none = chatStream(chunk({ content: "a" }, {}, { error: null }), finish("stop")) + done;
  assertEquals(pipeText("chat", none).reading.state, "completed");
});

Deno.test("an error after a finish reason is an error", () => {
  const piped = pipeText("chat", chatStream(finish("stop"), { error: { message: "Boom" } }));
  assertEquals(piped.reading.state, "error");
});

Deno.test("bytes that are no chunks are refused", () => {
  for (
    const garbage of [
      "data: <html>\n\n",
      "data: 5\n\n",
      'data: {"choices":[{"delta":{"content":"a}\n\n',
    ]
  ) {
    const piped = pipeText("chat", garbage);
    assertEquals(piped.reading.state, "open");
    assert(piped.ending.includes("cannot be read"), garbage);
  }
});

Deno.test("a chunk of unknown kind passes", () => {
  const odd = chatStream({ id: "x", object: "something.new", value: 1 });
  assertEquals(pipeText("chat", odd).passed, odd);
});

Deno.test("property: no split changes the bytes or the reading", () => {
  const encoder = new TextEncoder();
  const stream = chatStream(": hello", ...plain({ usage: null }), usageChunk(usage)) + done;
  for (const bytes of [encoder.encode(stream), encoder.encode(stream.replaceAll("\n", "\r\n"))]) {
    assertSplitMakesNoDifference("chat", bytes, {}, 100);
    assertSplitMakesNoDifference("chat", bytes, hidden, 100);
  }
  assertSplitMakesNoDifference("chat", encoder.encode(stream.slice(0, -40)));
});
