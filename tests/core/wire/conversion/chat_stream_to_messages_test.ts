/** A Chat stream for a Messages client: the machine of section 10.1, and every deviation of section 2.5. */
import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "../../../support/assert.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import type { ConversionMemory } from "../../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import {
  bufferedBlockBytes,
  maxToolCallsPerAnswer,
} from "../../../../core/wire/contract/limits.ts";
import { context, converted } from "./converting.ts";
import { framesOf, readMessagesStream } from "./stream_clients.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

function toMessages(transcript: string) {
  const whole = streamed("chat", "messages", transcript);
  for (const sizes of [[1], [7], [3, 50, 1]]) {
    const split = streamed("chat", "messages", transcript, { sizes });
    assertEquals(split.text, whole.text, `split ${sizes}`);
    assertEquals(split.reading, whole.reading);
  }
  return { ...whole, ...readMessagesStream(whole.text) };
}

const blocksOf = (chunks: readonly Json[], done = true): JsonObject[] => {
  const { message, error } = toMessages(chatFrames(chunks, done));
  assertEquals(error, undefined);
  assert(Array.isArray(message.content));
  return message.content.filter(isJsonObject);
};

const open = chunk({ role: "assistant", content: "", refusal: null });
const calls = (...tool_calls: JsonObject[]): Json => chunk({ tool_calls });
const start = (index: number, id: string, name: string, args: Json = ""): JsonObject => ({
  index,
  id,
  type: "function",
  function: { name, arguments: args },
});
const piece = (index: number, args: Json): JsonObject => ({ index, function: { arguments: args } });
const use = (id: string, name: string, input: Json): JsonObject => ({
  type: "tool_use",
  id,
  name,
  input,
});
const text = (words: string): JsonObject => ({ type: "text", text: words });

Deno.test("text and two calls come out as the vendor would send them", () => {
  const usage = { prompt_tokens: 120, completion_tokens: 40, total_tokens: 160 };
  const { text: out } = streamed(
    "chat",
    "messages",
    chatFrames([
      open,
      chunk({ content: "Let me look." }),
      calls(start(0, "call_a", "f")),
      calls(piece(0, '{"x":1}')),
      calls(start(1, "call_b", "g")),
      calls(piece(1, "{}")),
      chunk({}, "tool_calls"),
      { ...chunk({}) as JsonObject, choices: [], usage },
    ]),
  );
  assertEquals(framesOf(out).map((frame) => frame.data), [
    '{"type":"message_start","message":{"id":"msg_000000abc0000xyz","type":"message","role":"assistant","model":"client-model","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me look."}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_a","name":"f","input":{}}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"x\\":1}"}}',
    '{"type":"content_block_stop","index":1}',
    '{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_b","name":"g","input":{}}}',
    '{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}',
    '{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
    '{"type":"content_block_stop","index":2}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":120,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":40,"service_tier":"standard"}}',
    '{"type":"message_stop"}',
  ]);
});

Deno.test("the end is kept back for end()", () => {
  const { early, reading } = streamed(
    "chat",
    "messages",
    chatFrames([open, chunk({ content: "a" }), chunk({}, "stop")]),
  );
  assert(!early.includes("message_delta") && !early.includes("message_stop"));
  assertEquals([reading.state, reading.stopReason], ["completed", "stop"]);
});

Deno.test("a first chunk without choices, id and model is no output", () => {
  const azure = { id: "", model: "", choices: [], prompt_filter_results: [{ prompt_index: 0 }] };
  assertEquals(blocksOf([azure, open, chunk({ content: "a" }), chunk({}, "stop")]), [text("a")]);
  const pipe = createConvertingPipe("chat", "messages", context, {});
  pipe.push(new TextEncoder().encode(chatFrames([azure, open], false)));
  assertEquals([pipe.reading.sawOutput, pipe.reading.outputBytes], [false, 0]);
});

Deno.test("whole calls in one delta, all with index 0, are calls of their own", () => {
  const chunks = [
    open,
    calls(start(0, "call_a", "f", '{"x":1}')),
    calls(start(0, "call_b", "g", '{"y":2}')),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [use("call_a", "f", { x: 1 }), use("call_b", "g", { y: 2 })]);
});

Deno.test("whole calls without any id, all with index 0, are calls of their own", () => {
  const whole = (name: string, args: string): JsonObject => ({
    index: 0,
    function: { name, arguments: args },
  });
  const blocks = blocksOf([
    open,
    calls(whole("f", '{"x":1}')),
    calls(whole("f", '{"x":2}')),
    chunk({}, "stop"),
  ]);
  assertEquals(blocks.map((block) => block.input ?? null), [{ x: 1 }, { x: 2 }]);
  assert(blocks[0]?.id !== blocks[1]?.id);
});

Deno.test("id and name repeated with each delta mean nothing", () => {
  const chunks = [
    open,
    calls(start(0, "call_a", "f", '{"x"')),
    calls(start(0, "call_a", "f", ":1}")),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [use("call_a", "f", { x: 1 })]);
});

Deno.test("a name in pieces is put together before the call is told", () => {
  const chunks = [
    open,
    calls(start(0, "call_a", "get_")),
    calls({ index: 0, function: { name: "weather" } }),
    calls(piece(0, "{}")),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [use("call_a", "get_weather", {})]);
});

Deno.test("ids that are numbers or hold other characters become legal", () => {
  const first = calls({ ...start(0, "", "f", "{}"), id: 0 });
  assertEquals(blocksOf([open, first, chunk({}, "stop")])[0]?.id, "0");
  const [block] = blocksOf([open, calls(start(0, "llm_version:0", "f", "{}")), chunk({}, "stop")]);
  assertEquals(block?.id, "ugwid_llm_version-3a0");
});

Deno.test("null, missing, empty and object arguments are understood", () => {
  const inputs: readonly (readonly [Json | undefined, Json])[] = [
    [null, {}],
    [undefined, {}],
    ["", {}],
    [{ a: 1 }, { a: 1 }],
    ["{}", {}],
  ];
  for (const [args, input] of inputs) {
    const delta = { index: 0, id: "call_a", function: { name: "f", arguments: args } };
    assertEquals(blocksOf([open, calls(delta), chunk({}, "tool_calls")]), [
      use("call_a", "f", input),
    ]);
  }
});

Deno.test("arguments that are no object are kept until the call ends, and become one", () => {
  const inputs: readonly (readonly [string, Json])[] = [
    ['"{\\"x\\":1}"', { x: 1 }],
    ["[1,2]", { _raw: "[1,2]" }],
    ["null", { _raw: "null" }],
    [" ", {}],
    [' \n {"x":1}', { x: 1 }],
  ];
  for (const [args, input] of inputs) {
    const pieces = [...args].map((char) => calls(piece(0, char)));
    const chunks = [open, calls(start(0, "call_a", "f")), ...pieces, chunk({}, "tool_calls")];
    assertEquals(blocksOf(chunks), [use("call_a", "f", input)], args);
  }
});

Deno.test("an empty object as a placeholder is not doubled by the arguments that follow", () => {
  const chunks = [
    open,
    calls(start(0, "call_a", "f", "{}")),
    calls(piece(0, '{"x":')),
    calls(piece(0, "1}")),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [use("call_a", "f", { x: 1 })]);
});

Deno.test("an empty object within the arguments stays, wherever they are cut", () => {
  const input = { x: {}, y: [{}] };
  const text = JSON.stringify(input);
  for (let first = 1; first < text.length; first++) {
    for (let second = first; second < text.length; second++) {
      const chunks = [
        open,
        calls(start(0, "call_a", "f", text.slice(0, first))),
        calls(piece(0, text.slice(first, second))),
        calls(piece(0, text.slice(second))),
        chunk({}, "tool_calls"),
      ];
      assertEquals(blocksOf(chunks), [use("call_a", "f", input)]);
    }
  }
});

Deno.test("call indexes may start at 1 or be missing", () => {
  const from1 = [
    open,
    calls(start(1, "call_a", "f")),
    calls(piece(1, "{}")),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(from1), [use("call_a", "f", {})]);
  const { index: _, ...bare } = start(0, "call_a", "f");
  const { index: _again, ...rest } = start(0, "call_a", "f", '{"x":1}');
  assertEquals(
    blocksOf([open, calls(bare), calls(rest), chunk({}, "tool_calls")]),
    [use("call_a", "f", { x: 1 })],
  );
});

Deno.test("a delta without index, id and name belongs to the call before it", () => {
  const bare = (args: string): Json => calls({ function: { arguments: args } });
  for (const id of [{ id: "call_a" }, {}]) {
    const blocks = blocksOf([
      open,
      calls({ ...id, type: "function", function: { name: "f", arguments: "" } }),
      bare('{"x"'),
      bare(":1"),
      bare("}"),
      calls({ ...("id" in id ? { id: "call_b" } : {}), function: { name: "g" } }),
      bare('{"y":2}'),
      chunk({}, "tool_calls"),
    ]);
    const said = blocks.map(({ name, input }) => [name ?? null, input ?? null]);
    assertEquals(said, [["f", { x: 1 }], ["g", { y: 2 }]]);
  }
});

Deno.test("deltas of one list without index and id are told apart by their place in it", () => {
  const bare = (args: string): JsonObject => ({ function: { arguments: args } });
  const blocks = blocksOf([
    open,
    calls({ function: { name: "f", arguments: '{"x"' } }, { function: { name: "f" } }),
    calls(bare(":1}"), bare('{"x":2}')),
    chunk({}, "tool_calls"),
  ]);
  assertEquals(blocks.map((block) => block.input ?? null), [{ x: 1 }, { x: 2 }]);
});

Deno.test("without ids the name of another tool begins another call, a piece of a name does not", () => {
  const named = (name: string, args: string): Json =>
    calls({ index: 0, function: { name, arguments: args } });
  const { memory: known } = converted("messages", "chat", {
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "a" }],
    tools: ["f", "g", "get_weather", "weather"].map((name) => ({
      name,
      input_schema: { type: "object" },
    })),
  });
  const cases: readonly (readonly [Json[], ConversionMemory, Json])[] = [
    [[named("f", ""), named("g", "")], known, [["f", {}], ["g", {}]]],
    [[named("f", ""), named("g", "")], {}, [["f", {}], ["g", {}]]],
    [[named("f", '{"x":1'), named("g", '{"y":2}')], known, [["f", { unfinished: '{"x":1' }], [
      "g",
      { y: 2 },
    ]]],
    [[named("f", ""), named("f", '{"x":1}')], known, [["f", { x: 1 }]]],
    [[named("get_", ""), named("weather", "{}")], known, [["get_weather", {}]]],
  ];
  for (const [deltas, memory, expected] of cases) {
    const transcript = chatFrames([open, ...deltas, chunk({}, "tool_calls")]);
    const { message } = readMessagesStream(
      streamed("chat", "messages", transcript, { memory }).text,
    );
    assert(Array.isArray(message.content));
    const blocks = message.content.filter(isJsonObject);
    assertEquals<Json>(blocks.map(({ name, input }) => [name ?? null, input ?? null]), expected);
  }
});

Deno.test("no finish reason: [DONE] is a clean end, the end of the body is not", () => {
  const done = toMessages(chatFrames([open, chunk({ content: "a" })]));
  assertEquals([done.message.stop_reason, done.reading.state], ["end_turn", "completed"]);
  const tool = toMessages(chatFrames([open, calls(start(0, "call_a", "f", "{}"))]));
  assertEquals(tool.message.stop_reason, "tool_use");
  const cut = toMessages(chatFrames([open, chunk({ content: "a" })], false));
  assertEquals([cut.error?.type, cut.reading.state], ["api_error", "open"]);
});

Deno.test("no [DONE] after a finish reason is a clean end", () => {
  const { message, reading } = toMessages(
    chatFrames([open, chunk({ content: "a" }), chunk({}, "stop")], false),
  );
  assertEquals([message.stop_reason, reading.state], ["end_turn", "completed"]);
});

Deno.test("content in the finishing chunk counts", () => {
  assertEquals(blocksOf([open, chunk({ content: "a" }), chunk({ content: "b" }, "stop")]), [
    text("ab"),
  ]);
});

Deno.test("a second finish reason counts only as tool_calls after stop", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const twice = (first: string, second: string) =>
    toMessages(chatFrames([
      open,
      chunk({ content: "a" }, first),
      chunk({ content: "" }, second, { usage }),
    ])).message.stop_reason;
  assertEquals(twice("length", "stop"), "max_tokens");
  assertEquals(twice("stop", "stop"), "end_turn");
});

Deno.test("tool_calls without any call is a plain end: there is nothing to wait for", () => {
  const { message } = toMessages(chatFrames([chunk({ content: "a" }), chunk({}, "tool_calls")]));
  assertEquals(message.stop_reason, "end_turn");
});

Deno.test("usage on every chunk is replaced, never added", () => {
  const usage = (completion_tokens: number) => ({
    usage: { prompt_tokens: 9, completion_tokens, total_tokens: 9 + completion_tokens },
  });
  const { message, reading } = toMessages(
    chatFrames([
      chunk({ content: "a" }, null, usage(1)),
      chunk({ content: "b" }, null, usage(2)),
      chunk({}, "stop", usage(3)),
    ]),
  );
  assertEquals(reading.usage?.output, 3);
  assertEquals((message.usage as JsonObject).output_tokens, 3);
});

Deno.test("usage is found in the finishing chunk, in a choice, and at Groq's place", () => {
  const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
  const choice = { index: 0, delta: {}, finish_reason: "stop", usage };
  const places = [
    chunk({}, "stop", { usage }),
    chunk({}, "stop", { x_groq: { usage } }),
    { ...chunk({}) as JsonObject, choices: [choice] },
  ];
  for (const place of places) {
    const { message } = toMessages(chatFrames([open, chunk({ content: "a" }), place]));
    assertEquals((message.usage as JsonObject).output_tokens, 2);
  }
});

Deno.test("absurd usage is marked and not shown", () => {
  const usage = { prompt_tokens: -4, completion_tokens: 2, total_tokens: 6 };
  const { reading } = toMessages(
    chatFrames([chunk({ content: "a" }), chunk({}, "stop", { usage })]),
  );
  assertEquals([reading.usage, reading.usageRejected], [undefined, true]);
});

Deno.test("comments and empty frames mean nothing", () => {
  const frames = chatFrames([open, chunk({ content: "a" }), chunk({}, "stop")]);
  const noisy = `: OPENROUTER PROCESSING\n\n${frames.replace("\n\n", "\n\n: more\n\ndata:\n\n")}`;
  assertEquals(toMessages(noisy).message.content, [text("a")]);
});

Deno.test("reasoning under each of its names is thinking before the text", () => {
  for (const name of ["reasoning_content", "reasoning"]) {
    const blocks = blocksOf([
      open,
      chunk({ content: null, [name]: "h" }),
      chunk({ content: "", [name]: "m" }),
      chunk({ content: "a" }),
      chunk({}, "stop"),
    ]);
    assertEquals(blocks.map((block) => block.thinking ?? block.text), ["hm", "a"]);
    assert(String(blocks[0]?.signature).startsWith("ugw1."));
  }
});

Deno.test("reasoning told twice over, as text and as details, is told once, with its signature", () => {
  const detail = (more: JsonObject): JsonObject => ({
    type: "reasoning.text",
    format: "anthropic-claude-v1",
    index: 0,
    ...more,
  });
  const blocks = blocksOf([
    chunk({
      content: "",
      reasoning: null,
      reasoning_details: [detail({ text: "", signature: "" })],
    }),
    chunk({ content: "", reasoning: "h", reasoning_details: [detail({ text: "h" })] }),
    chunk({ content: "", reasoning: "m", reasoning_details: [detail({ text: "m" })] }),
    chunk({
      content: "",
      reasoning: null,
      reasoning_details: [detail({ text: "", signature: "c2ln" })],
    }),
    chunk({ content: "a", reasoning: null, reasoning_details: [] }),
    chunk({}, "stop"),
  ]);
  assertEquals(blocks, [{ type: "thinking", thinking: "hm", signature: "c2ln" }, text("a")]);
});

Deno.test("encrypted reasoning of the vendor is a redacted block", () => {
  const detail = { type: "reasoning.encrypted", data: "ZGF0YQ==", format: "anthropic-claude-v1" };
  assertEquals(
    blocksOf([chunk({ reasoning_details: [detail] }), chunk({ content: "a" }), chunk({}, "stop")]),
    [{ type: "redacted_thinking", data: "ZGF0YQ==" }, text("a")],
  );
});

Deno.test("an error chunk ends the stream with an error and no message_stop", () => {
  const error = { code: 502, message: "Provider returned error", metadata: { raw: "secret" } };
  const frames = chatFrames([
    open,
    chunk({ content: "a" }),
    { ...chunk({ content: "" }, "error") as JsonObject, error },
  ]);
  const { error: told, reading, text: out } = toMessages(frames);
  assertEquals(told, { type: "api_error", message: "Provider returned error" });
  assertEquals([reading.state, reading.error?.code], ["error", "upstream_unreachable"]);
  assert(!out.includes("message_stop") && !out.includes("secret"));
});

Deno.test("an error event ends the stream with an error", () => {
  const frames = chatFrames([open, chunk({ content: "a" })], false) +
    'event: error\ndata: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n';
  assertEquals(toMessages(frames).error, { type: "overloaded_error", message: "Overloaded" });
});

Deno.test("an error within the choice ends the stream with an error", () => {
  const error = { code: 502, message: "Provider disconnected" };
  const failed = { choices: [{ index: 0, delta: {}, finish_reason: "error", error }] };
  const frames = chatFrames([chunk({ content: "Par" }), failed]);
  const { text } = streamed("chat", "messages", frames);
  assertStringIncludes(text, "event: error");
  assert(!text.includes("message_stop") && !text.includes('stop_reason":"end_turn'), text);
});

Deno.test("further choices are ignored", () => {
  const second = (delta: JsonObject): Json => ({
    ...chunk({}) as JsonObject,
    choices: [{ index: 1, delta, finish_reason: null }],
  });
  const blocks = blocksOf([
    open,
    second({ content: "no" }),
    chunk({ content: "yes" }),
    second({ tool_calls: [start(0, "call_a", "f", "{}")] }),
    chunk({}, "stop"),
  ]);
  assertEquals(blocks, [text("yes")]);
});

Deno.test("interleaved calls come out one after another", () => {
  const chunks = [
    open,
    calls(start(0, "call_a", "f"), start(1, "call_b", "g")),
    calls(piece(1, '{"y"')),
    calls(piece(0, '{"x"')),
    calls(piece(1, ":2}"), piece(0, ":1}")),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [use("call_a", "f", { x: 1 }), use("call_b", "g", { y: 2 })]);
});

Deno.test("the short way for pieces of the same shape never mixes up calls", () => {
  const usage = { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  const chunks = [
    open,
    calls(start(0, "call_a", "f")),
    calls(piece(0, '{"x":')),
    calls(piece(0, "[1,")),
    chunk({ tool_calls: [start(1, "call_b", "g")] }, null, usage),
    chunk({ tool_calls: [piece(1, '{"y":')] }, null, usage),
    chunk({ tool_calls: [piece(1, "[")] }, null, usage),
    calls(piece(0, "2")),
    calls(piece(0, "]}")),
    calls(piece(1, "3")),
    calls(piece(1, "]}")),
    chunk({}, "tool_calls"),
  ];
  const blocks = [use("call_a", "f", { x: [1, 2] }), use("call_b", "g", { y: [3] })];
  assertEquals(blocksOf(chunks), blocks);
});

Deno.test("the open call streams on while a later one waits", () => {
  const { early } = streamed(
    "chat",
    "messages",
    chatFrames([
      calls(start(0, "call_a", "f", '{"x"'), start(1, "call_b", "g", '{"y":2}')),
      calls(piece(0, ":1}")),
    ], false),
  );
  assertStringIncludes(early, '"partial_json":":1}"');
  assert(!early.includes("call_b"));
});

Deno.test("a call that is whole makes way for the next without waiting for the end", () => {
  const { early } = streamed(
    "chat",
    "messages",
    chatFrames(
      [calls(start(0, "call_a", "f", "{}")), calls(start(1, "call_b", "g", '{"y"'))],
      false,
    ),
  );
  assertStringIncludes(early, "call_b");
  assertStringIncludes(early, '"partial_json":"{\\"y\\""');
});

Deno.test("text after a call opens a block of its own", () => {
  const chunks = [
    open,
    chunk({ content: "a" }),
    calls(start(0, "call_a", "f", "{}")),
    chunk({ content: "b" }),
    chunk({}, "tool_calls"),
  ];
  assertEquals(blocksOf(chunks), [text("a"), use("call_a", "f", {}), text("b")]);
});

Deno.test("arguments cut by the output limit stay cut, under max_tokens", () => {
  const { message } = toMessages(
    chatFrames([open, calls(start(0, "call_a", "f", '{"x":"cu')), chunk({}, "length")]),
  );
  assertEquals(message.stop_reason, "max_tokens");
  assertEquals(message.content, [use("call_a", "f", { unfinished: '{"x":"cu' })]);
});

Deno.test("a refusal is text and tells why it stopped", () => {
  const { message } = toMessages(
    chatFrames([open, chunk({ refusal: "I " }), chunk({ refusal: "won't." }), chunk({}, "stop")]),
  );
  assertEquals(message.content, [text("I won't.")]);
  assertEquals(message.stop_reason, "refusal");
  assertEquals(message.stop_details, {
    type: "refusal",
    category: null,
    explanation: "I won't.",
  });
});

Deno.test("the old function_call streams as a call", () => {
  const chunks = [
    chunk({ role: "assistant", content: null, function_call: { name: "f", arguments: "" } }),
    chunk({ function_call: { arguments: '{"x":' } }),
    chunk({ function_call: { arguments: "1}" } }),
    chunk({}, "function_call"),
  ];
  const [block] = blocksOf(chunks);
  assertEquals([block?.name, block?.input], ["f", { x: 1 }]);
});

Deno.test("a thought signature stands before its call as sealed thinking", () => {
  const extra_content = { google: { thought_signature: "Z3M=" } };
  const blocks = blocksOf([
    calls({ ...start(0, "call_a", "f", "{}"), extra_content }),
    chunk({}, "tool_calls"),
  ]);
  assertEquals(blocks.map((block) => block.type), ["thinking", "tool_use"]);
  assert(String(blocks[0]?.signature).startsWith("ugw1."));
});

Deno.test("an answer of nothing is a whole answer", () => {
  const { message, reading } = toMessages(chatFrames([open, chunk({}, "length")]));
  assertEquals([message.content, message.stop_reason], [[], "max_tokens"]);
  assertEquals([reading.sawOutput, reading.outputBytes], [false, 0]);
});

Deno.test("what is no stream of the style is the upstream's fault; what came before still goes out", () => {
  const pipe = createConvertingPipe("chat", "messages", context, {});
  const bytes = new TextEncoder().encode(
    chatFrames([chunk({ content: "a" })], false) + "data: {oops\n\n",
  );
  assertStringIncludes(new TextDecoder().decode(pipe.push(bytes)), '"text":"a"');
  assertThrows(() => pipe.push(bytes), GatewayError, "cannot be read");
  assertStringIncludes(new TextDecoder().decode(pipe.end()), "event: error");
});

Deno.test("too many calls and too much waiting end the stream, not the process", () => {
  const many = Array.from(
    { length: maxToolCallsPerAnswer + 1 },
    (_, i) => calls(start(i, `call_${i}`, "f", "{}")),
  );
  const pipe = createConvertingPipe("chat", "messages", context, {});
  const bytes = new TextEncoder().encode(chatFrames(many, false));
  pipe.push(bytes);
  assertThrows(() => pipe.push(bytes), GatewayError, "too many tool calls");
  const long = createConvertingPipe("chat", "messages", context, {});
  const half = "x".repeat(bufferedBlockBytes / 2);
  const encode = (value: Json) => new TextEncoder().encode(chatFrames([value], false));
  long.push(encode(calls(start(0, "call_a", "f", '{"x":"'), start(1, "call_b", "g", '{"y":"'))));
  long.push(encode(calls(piece(1, half))));
  assertThrows(() => long.push(encode(calls(piece(1, half)))), GatewayError, "too long");
  const odd = createConvertingPipe("chat", "messages", context, {});
  odd.push(encode(calls(start(0, "call_a", "f", '"'))));
  odd.push(encode(calls(piece(0, half))));
  assertThrows(() => odd.push(encode(calls(piece(0, half)))), GatewayError, "too long");
});

Deno.test("bytes of text, reasoning, refusals and arguments are counted as they are in UTF-8", () => {
  const { reading } = toMessages(
    chatFrames([
      chunk({ content: "tiếng" }),
      chunk({ content: " Việt\n" }),
      chunk({ reasoning_content: "\u{1f600}" }),
      chunk({ refusal: "é" }),
      calls(start(0, "call_a", "f", '{"x":"ô"}')),
      chunk({}, "tool_calls"),
    ]),
  );
  const all = 'tiếng Việt\n\u{1f600}é{"x":"ô"}';
  assertEquals(reading.outputBytes, new TextEncoder().encode(all).length);
});
