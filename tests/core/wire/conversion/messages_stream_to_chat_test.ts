/** A Messages stream for a Chat client (docs/conversion.md#streams). */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { streamCitationChars } from "../../../../core/wire/contract/limits.ts";
import { context, convertedAnswer } from "./converting.ts";
import { framesOf, joinedDetails, readChatStream } from "./stream_clients.ts";
import { messagesFrames, type StreamCall, streamed } from "./streaming.ts";

interface Event {
  readonly type: string;
  readonly [key: string]: Json | undefined;
}

const begin: Event = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [],
    model: "m",
    stop_reason: null,
    usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 },
  },
};
const ping: Event = { type: "ping" };
const open = (index: number, content_block: JsonObject): Event => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, piece: JsonObject): Event => ({
  type: "content_block_delta",
  index,
  delta: piece,
});
const close = (index: number): Event => ({ type: "content_block_stop", index });
const stop = (stop_reason: Json, usage: JsonObject = { output_tokens: 7 }, more = {}): Event => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null, ...more },
  usage,
});
const end: Event = { type: "message_stop" };

const text = (index: number, ...words: string[]): Event[] => [
  open(index, { type: "text", text: "" }),
  ...words.map((word) => delta(index, { type: "text_delta", text: word })),
  close(index),
];
const use = (index: number, id: string, name: string, ...pieces: string[]): Event[] => [
  open(index, { type: "tool_use", id, name, input: {} }),
  ...["", ...pieces].map((piece) =>
    delta(index, { type: "input_json_delta", partial_json: piece })
  ),
  close(index),
];

function functionsOf({ tool_calls: calls }: JsonObject): (Json | undefined)[] {
  return (Array.isArray(calls) ? calls : []).filter(isJsonObject).map((call) => call.function);
}

function toChat(events: readonly Event[], call: StreamCall = {}) {
  const transcript = messagesFrames(events);
  const whole = streamed("messages", "chat", transcript, call);
  for (const sizes of [[1], [11], [2, 90, 5]]) {
    const split = streamed("messages", "chat", transcript, { ...call, sizes });
    assertEquals(split.text, whole.text, `split ${sizes}`);
  }
  return { ...whole, ...readChatStream(whole.text) };
}

Deno.test("text comes out chunk by chunk, then the finish, usage and [DONE]", () => {
  const { text: out, early } = toChat([begin, ...text(0, "Hel", "lo"), stop("end_turn"), end]);
  const head =
    '{"id":"chatcmpl-000000abc0000xyz","object":"chat.completion.chunk","created":1700000000,"model":"client-model","choices":';
  const piece = (delta: string, finish = "null") =>
    `${head}[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}],"usage":null}`;
  assertEquals(framesOf(out).map((frame) => frame.data), [
    piece('{"role":"assistant","content":"","refusal":null}'),
    piece('{"content":"Hel"}'),
    piece('{"content":"lo"}'),
    piece("{}", '"stop"'),
    `${head}[],"usage":{"prompt_tokens":15,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`,
    "[DONE]",
  ]);
  assert(!early.includes('finish_reason":"stop') && !early.includes("[DONE]"));
});

Deno.test("who did not ask for usage sees none, not even null", () => {
  const quiet = { ...context, clientWantsUsage: false };
  const { text: out } = toChat([begin, ...text(0, "a"), stop("end_turn"), end], { context: quiet });
  assert(!out.includes("usage"));
});

Deno.test("calls are numbered among themselves, not by block", () => {
  const { message, finishReason } = toChat([
    begin,
    ...text(0, "Let me look."),
    ...use(1, "toolu_1", "f", '{"x":', "1}"),
    ...use(2, "toolu_2", "g"),
    stop("tool_use"),
    end,
  ]);
  assertEquals(message.content, "Let me look.");
  assertEquals(message.tool_calls, [
    { id: "toolu_1", type: "function", function: { name: "f", arguments: '{"x":1}' } },
    { id: "toolu_2", type: "function", function: { name: "g", arguments: "{}" } },
  ]);
  assertEquals(finishReason, "tool_calls");
});

Deno.test("input that comes whole with the start of a block is not lost", () => {
  const block = { type: "tool_use", id: "toolu_1", name: "f", input: { x: 1 } };
  const { message } = toChat([begin, open(0, block), close(0), stop("tool_use"), end]);
  assertEquals((message.tool_calls as JsonObject[])[0]?.function, {
    name: "f",
    arguments: '{"x":1}',
  });
});

Deno.test("thinking is reasoning_content, its signature a detail, redacted thinking too", () => {
  const { message } = toChat([
    begin,
    open(0, { type: "thinking", thinking: "", signature: "" }),
    ping,
    delta(0, { type: "thinking_delta", thinking: "h" }),
    delta(0, { type: "thinking_delta", thinking: "m" }),
    delta(0, { type: "signature_delta", signature: "c2ln+/=" }),
    close(0),
    open(1, { type: "redacted_thinking", data: "ZGF0YQ==" }),
    close(1),
    ...text(2, "a"),
    stop("end_turn"),
    end,
  ]);
  const id = "ugw1";
  const format = "anthropic-claude-v1";
  assertEquals([message.content, message.reasoning_content], ["a", "hm"]);
  assertEquals(joinedDetails(message.reasoning_details), [
    { type: "reasoning.text", id, text: "hm", signature: "c2ln+/=", format, index: 0 },
    { type: "reasoning.encrypted", id, data: "ZGF0YQ==", format, index: 1 },
  ]);
});

Deno.test("hosted tools and their input pieces are swallowed", () => {
  const { message, finishReason } = toChat([
    begin,
    open(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
    delta(0, { type: "input_json_delta", partial_json: '{"query":"q"}' }),
    close(0),
    open(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
    close(1),
    ...text(2, "a"),
    stop("end_turn"),
    end,
  ]);
  assertEquals([message.content, message.tool_calls, finishReason], ["a", undefined, "stop"]);
});

const citation = {
  type: "web_search_result_location",
  url: "https://example.com",
  title: "T",
  cited_text: "x",
  encrypted_index: "e",
};

/** A text with one source. */
function cited(index: number, words: string, title = "T"): Event[] {
  return [
    open(index, { type: "text", text: "" }),
    delta(index, { type: "text_delta", text: words }),
    delta(index, { type: "citations_delta", citation: { ...citation, title } }),
    close(index),
  ];
}

Deno.test("an answer without a stop reason ends as its content says, streamed as whole", () => {
  const endings: [Event[], JsonObject[], string][] = [
    [
      use(0, "toolu_1", "f", "{}"),
      [{ type: "tool_use", id: "t", name: "f", input: {} }],
      "tool_calls",
    ],
    [text(0, "a"), [{ type: "text", text: "a" }], "stop"],
  ];
  for (const [events, content, expected] of endings) {
    for (const ends of [[stop(null), end], [end]]) {
      assertEquals(toChat([begin, ...events, ...ends]).finishReason, expected);
    }
    const body = { content, stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
    const { choices } = convertedAnswer("messages", "chat", body);
    assert(Array.isArray(choices) && isJsonObject(choices[0]));
    assertEquals(choices[0].finish_reason, expected);
  }
  // The other way round: a call that never came is not waited for.
  const { finishReason } = toChat([begin, ...text(0, "a"), stop("tool_use"), end]);
  assertEquals(finishReason, "stop");
});

Deno.test("the tier that was used is told in the last chunk, wherever it was told upstream", () => {
  const usage = { output_tokens: 7, service_tier: "priority" };
  const events = [begin, ...text(0, "a"), stop("end_turn", usage), end];
  assertEquals(toChat(events).serviceTier, "priority");
  const silent = { context: { ...context, clientWantsUsage: false } };
  assertEquals(toChat(events, silent).serviceTier, "priority");
  assertEquals(toChat([begin, ...text(0, "a"), stop("end_turn"), end]).serviceTier, undefined);
});

Deno.test("web sources are annotations on their text", () => {
  const { message } = toChat([
    begin,
    ...text(0, "One. "),
    open(1, { type: "text", text: "" }),
    delta(1, { type: "citations_delta", citation }),
    delta(1, { type: "text_delta", text: "T\n" }),
    delta(1, { type: "text_delta", text: "wo." }),
    close(1),
    stop("end_turn"),
    end,
  ]);
  assertEquals(message.annotations, [{
    type: "url_citation",
    url_citation: { start_index: 5, end_index: 10, title: "T", url: "https://example.com" },
  }]);
});

Deno.test("the sources of all texts come in one chunk: libraries keep only the last list they see", () => {
  const { message, text: out } = toChat([
    begin,
    ...cited(0, "One. ", "A"),
    ...text(1, "Plain. "),
    ...use(2, "toolu_1", "f"),
    ...cited(3, "Two.", "B"),
    stop("end_turn"),
    end,
  ]);
  assertEquals(out.match(/"annotations"/g)?.length, 1);
  const places = (message.annotations as JsonObject[]).map((one) => {
    assert(isJsonObject(one.url_citation));
    const { start_index, end_index, title } = one.url_citation;
    return [title, start_index, end_index];
  });
  assertEquals(places, [["A", 0, 5], ["B", 12, 16]]);
});

Deno.test("sources beyond the bound are left out; the text is not", () => {
  const long = "x".repeat(streamCitationChars / 4);
  const words = ["a", "b", "c", "d", "e"];
  const events = words.flatMap((word, i) => cited(i, word, long));
  const { message } = toChat([begin, ...events, ...cited(5, "f", "short"), stop("end_turn"), end]);
  assertEquals(message.content, "abcdef");
  const titles = (message.annotations as JsonObject[]).map((one) =>
    isJsonObject(one.url_citation) && String(one.url_citation.title).length
  );
  assertEquals(titles, [long.length, long.length, long.length, "short".length]);
});

Deno.test("usage grows by what message_delta says, and is kept where it is silent or says less", () => {
  const silent = toChat([begin, ...text(0, "a"), stop("end_turn"), end]);
  assertEquals(silent.reading.usage, {
    input: 10,
    cacheRead: 5,
    cacheWrite: 0,
    output: 7,
    reasoning: 0,
  });
  const loud = toChat([
    begin,
    ...text(0, "a"),
    stop("pause_turn", { input_tokens: 404_500, cache_read_input_tokens: 0, output_tokens: 9 }),
    stop("end_turn", { output_tokens: 12, output_tokens_details: { thinking_tokens: 4 } }),
    end,
  ]);
  assertEquals(loud.reading.usage, {
    input: 404_495,
    cacheRead: 5,
    cacheWrite: 0,
    output: 12,
    reasoning: 4,
  });
  assertEquals(loud.finishReason, "stop");
});

Deno.test("every stop reason ends with its finish reason", () => {
  const reasons: readonly (readonly [Json, Json])[] = [
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["refusal", "content_filter"],
    ["something_new", "something_new"],
  ];
  for (const [reason, finish] of reasons) {
    const { finishReason, reading } = toChat([begin, ...text(0, "a"), stop(reason), end]);
    assertEquals([finishReason, reading.stopReason], [finish, String(reason)]);
  }
  assertEquals(
    toChat([begin, ...use(0, "toolu_1", "f"), stop("end_turn"), end]).finishReason,
    "tool_calls",
  );
});

Deno.test("a refusal without any block tells its reason", () => {
  const stop_details = { type: "refusal", category: "bio", explanation: "No." };
  const { message, finishReason, reading } = toChat([
    begin,
    stop("refusal", { output_tokens: 1 }, { stop_details }),
    end,
  ]);
  assertEquals([message.refusal, finishReason], ["No.", "content_filter"]);
  assertEquals(reading.sawOutput, true);
});

Deno.test("pings become comments", () => {
  const { text: out } = streamed("messages", "chat", messagesFrames([begin, ping]));
  assertStringIncludes(out, ": ping\n\n");
});

Deno.test("padding before the last brace and odd spacing change nothing", () => {
  const events = [begin, ...text(0, "a", "b }  }", "c"), stop("end_turn"), end];
  const padded = events.map((event) => {
    const data = JSON.stringify(event);
    return `event: ${event.type}\ndata: ${data.slice(0, -1)}        }\n\n`;
  }).join("");
  assertEquals(streamed("messages", "chat", padded).text, toChat(events).text);
});

Deno.test("an error event is an error chunk without [DONE]", () => {
  const error = { type: "overloaded_error", message: "Overloaded", details: null };
  const { error: told, text: out, reading } = toChat([
    begin,
    ...text(0, "a"),
    { type: "error", error, request_id: "req_secret" },
  ]);
  assertEquals(told, {
    type: "overloaded_error",
    message: "Overloaded",
    param: null,
    code: "overloaded",
  });
  assertEquals(reading.state, "error");
  assert(!out.includes("[DONE]") && !out.includes("req_secret"));
});

Deno.test("a body that ends without message_stop is an error, never a finish", () => {
  const { error, finishReason, reading } = toChat([begin, ...text(0, "a"), stop("end_turn")]);
  assertEquals([error?.type, finishReason, reading.state], ["api_error", null, "open"]);
});

Deno.test("a begin that is told twice is told once, with the counts of both", () => {
  const { text: out, message, usage } = toChat([
    begin,
    begin,
    ...text(0, "a"),
    stop("end_turn"),
    end,
  ]);
  assertEquals(out.match(/"role"/g)?.length, 1);
  assertEquals([message.content, usage?.["prompt_tokens"]], ["a", 15]);
});

Deno.test("an answer that begins again in the midst of a call is an error, never half a call", () => {
  const { error, finishReason } = toChat([
    begin,
    open(0, { type: "tool_use", id: "toolu_1", name: "f", input: {} }),
    delta(0, { type: "input_json_delta", partial_json: '{"x":"cu' }),
    begin,
    ...use(0, "toolu_2", "f", '{"x":"cut"}'),
    stop("tool_use"),
    end,
  ]);
  assertEquals([error?.type, finishReason], ["api_error", null]);
});

Deno.test("a tool call cut by the output limit, its block never closed, ends as length", () => {
  const { message, finishReason } = toChat([
    begin,
    open(0, { type: "tool_use", id: "toolu_1", name: "f", input: {} }),
    delta(0, { type: "input_json_delta", partial_json: '{"x":"cu' }),
    stop("max_tokens"),
    end,
  ]);
  assertEquals(finishReason, "length");
  assertEquals((message.tool_calls as JsonObject[])[0]?.function, {
    name: "f",
    arguments: '{"x":"cu',
  });
});

Deno.test("events and deltas that nobody knows are passed over", () => {
  const { message } = toChat([
    begin,
    { type: "content_block_news", index: 0 },
    open(0, { type: "text", text: "" }),
    delta(0, { type: "sparkle_delta", sparkle: "x" }),
    delta(0, { type: "text_delta", text: "a" }),
    close(0),
    stop("end_turn"),
    end,
  ]);
  assertEquals(message.content, "a");
});

Deno.test("pieces of calls that overlap go to the call that their index names", () => {
  const [open0, ...rest0] = use(0, "toolu_1", "f", '{"x":', "0", "}");
  const [open1, ...rest1] = use(1, "toolu_2", "g", '{"y":', "1", "}");
  const mixed = rest0.flatMap((event, i) => [rest1[i]!, event]);
  const orders: Event[][] = [
    [open0!, open1!, ...mixed],
    [open0!, open1!, ...rest1, ...rest0],
    [open0!, ...rest0.slice(0, 2), open1!, ...rest0.slice(2), ...rest1],
    [open0!, ...rest0.slice(0, 2), open1!, ...rest1, ...rest0.slice(2, -1)],
  ];
  for (const events of orders) {
    const { message } = toChat([begin, ...events, stop("tool_use"), end]);
    assertEquals(
      functionsOf(message),
      [{ name: "f", arguments: '{"x":0}' }, { name: "g", arguments: '{"y":1}' }],
      JSON.stringify(events),
    );
  }
});

Deno.test("events without an index belong to the block that began last", () => {
  const bare = (events: Event[]) => events.map(({ index: _, ...event }) => event);
  const blocks = [
    ...text(0, "a", "b"),
    ...use(1, "toolu_1", "f", '{"x":', "1}"),
    ...use(2, "toolu_2", "g", '{"y":', "2}"),
  ].filter(({ type }) => type !== "content_block_stop");
  for (const events of [bare(blocks), blocks]) {
    const { message } = toChat([begin, ...events, stop("tool_use"), end]);
    assertEquals(message.content, "ab");
    assertEquals(
      functionsOf(message).map((called) => isJsonObject(called) && called.arguments),
      ['{"x":1}', '{"y":2}'],
    );
  }
});

Deno.test("text and thinking whose block never began are not lost", () => {
  const { message } = toChat([
    begin,
    delta(0, { type: "thinking_delta", thinking: "Hm" }),
    delta(1, { type: "text_delta", text: "a" }),
    delta(1, { type: "text_delta", text: "b" }),
    close(1),
    delta(2, { type: "input_json_delta", partial_json: "{}" }),
    stop("end_turn"),
    end,
  ]);
  assertEquals([message.content, message.reasoning_content], ["ab", "Hm"]);
});

Deno.test("clients of the old functions form get one function_call", () => {
  const { message, finishReason } = toChat(
    [begin, ...use(0, "toolu_1", "f", '{"x":1}'), ...use(1, "toolu_2", "g"), stop("tool_use"), end],
    { memory: { legacyFunctions: true } },
  );
  assertEquals(message.function_call, { name: "f", arguments: '{"x":1}' });
  assertEquals([message.tool_calls, finishReason], [undefined, "function_call"]);
});

Deno.test("tools get their own names back, free-text tools their text, wrapped ones their arguments", () => {
  const memory = {
    toolNames: new Map([["a_b_1", "a.b"]]),
    customTools: new Set(["calc"]),
    wrappedTools: new Set(["w"]),
  };
  const { message } = toChat(
    [
      begin,
      ...use(0, "toolu_1", "a_b_1", "{}"),
      ...use(1, "toolu_2", "calc", '{"inp', 'ut":"4 + ', '\\"4\\""}'),
      ...use(2, "toolu_3", "w", '{"input":{"q":[1]}}'),
      stop("tool_use"),
      end,
    ],
    { memory },
  );
  assertEquals(message.tool_calls, [
    { id: "toolu_1", type: "function", function: { name: "a.b", arguments: "{}" } },
    { id: "toolu_2", type: "custom", custom: { name: "calc", input: '4 + "4"' } },
    { id: "toolu_3", type: "function", function: { name: "w", arguments: '{"q":[1]}' } },
  ]);
});

Deno.test("the tool that stands for the answer streams as the answer", () => {
  const { message, finishReason } = toChat(
    [begin, ...use(0, "toolu_1", "structured_answer", '{"a"', ":1}"), stop("tool_use"), end],
    { memory: { answerTool: "structured_answer" } },
  );
  assertEquals([message.content, message.tool_calls, finishReason], ['{"a":1}', undefined, "stop"]);
});

Deno.test("a client model name with quotes cannot break a chunk", () => {
  const odd = { ...context, clientModel: 'x","choices":[]' };
  const { text: out } = toChat([begin, ...text(0, "a"), stop("end_turn"), end], { context: odd });
  const first: Json = JSON.parse(framesOf(out)[0]?.data ?? "null");
  assert(isJsonObject(first));
  assertEquals(first.model, 'x","choices":[]');
});
