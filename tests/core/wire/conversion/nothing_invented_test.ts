/** What a provider or a client left empty never becomes a call, and no number is read into an error text. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { readProviderError } from "../../../../core/wire/errors/provider_error.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, context, convertedAnswer } from "./converting.ts";
import { chatFrames, chunk, messagesFrames, streamed } from "./streaming.ts";

const zero: JsonObject = { name: "", arguments: "" };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** The calls that a client of each style sees, whole or streamed. */
const callMarks: Readonly<Record<Exclude<Style, "chat" | "gemini">, string>> = {
  messages: '"tool_use"',
  responses: '"function_call"',
};

function chatAnswer(message: JsonObject, finish_reason = "stop"): JsonObject {
  return {
    id: "c",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
    usage,
  };
}

Deno.test("a call that a Chat server leaves at zero values is none, whole and streamed", () => {
  const shapes: readonly JsonObject[] = [
    { content: "Hi", tool_calls: null, function_call: zero },
    { content: "Hi", tool_calls: [{ index: 0, id: "", type: "function", function: zero }] },
    { content: "Hi", tool_calls: [{ index: 0, id: "call_1", type: "function", function: zero }] },
  ];
  for (const to of ["messages", "responses"] as const) {
    for (const shape of shapes) {
      const whole = JSON.stringify(convertedAnswer("chat", to, chatAnswer(shape, "tool_calls")));
      assert(!whole.includes(callMarks[to]), whole);
      assert(whole.includes('"Hi"'), whole);
      const { tool_calls, function_call } = shape;
      const deltas = ["H", "i", ""].map((content) => chunk({ content, tool_calls, function_call }));
      const { text } = streamed("chat", to, chatFrames([...deltas, chunk({}, "stop")]));
      assert(!text.includes(callMarks[to]), text);
      // The text around it stays one block, unless the id alone could be that of a call to come.
      if (JSON.stringify(shape).includes("call_1")) continue;
      const starts = text.split(to === "messages" ? "content_block_start" : "content_part.added");
      assertEquals(starts.length, 3, text);
    }
  }
});

Deno.test("a zero-valued call is no output on native Chat routes either", () => {
  const only = chatAnswer({ content: "", tool_calls: null, function_call: zero });
  assertEquals(readAnswer("chat", only).empty, true);
  const pipe = createNativePipe("chat", { ...context, injectedUsage: false });
  pipe.push(new TextEncoder().encode(chatFrames([chunk({ content: "", function_call: zero })])));
  assertEquals(pipe.reading.sawOutput, false);
});

Deno.test("arguments that come before their call's name are kept for it", () => {
  const call = (more: JsonObject) => chunk({ tool_calls: [{ index: 0, ...more }] });
  const deltas = [
    call({ id: "call_1", type: "function", function: { name: "", arguments: '{"a"' } }),
    call({ function: { name: "f" } }),
    call({ function: { arguments: ":1}" } }),
  ];
  const { text } = streamed("chat", "messages", chatFrames([...deltas, chunk({}, "tool_calls")]));
  const pieces = [...text.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json]): string => JSON.parse(json!));
  assertEquals(pieces.join(""), '{"a":1}');
  assert(text.includes('"name":"f"'));
});

Deno.test("a Messages call without a name is none, whole and streamed", () => {
  const block = { type: "tool_use", id: "toolu_1", name: "", input: {} };
  const answer = {
    id: "m",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hi" }, block],
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const events = [
    { type: "message_start", message: { ...answer, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: block },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: '{"a":1}' },
    },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  for (const [to, mark] of [["chat", "tool_calls"], ["responses", "function_call"]] as const) {
    const whole = JSON.stringify(convertedAnswer("messages", to, answer));
    assert(!whole.includes(mark), whole);
    const { text } = streamed("messages", to, messagesFrames(events));
    assert(!text.includes(mark), text);
  }
});

Deno.test("a Responses call without a name is none, and one that is named at its end is whole", () => {
  const item = (name: string) => ({
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    name,
    arguments: '{"a":1}',
  });
  const run = (name: string): string => {
    const output = [item(name)];
    const response = { id: "r", status: "completed", output, usage: null };
    const events = [
      { type: "response.created", response: { ...response, output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...item(""), arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a":1}' },
      { type: "response.output_item.done", output_index: 0, item: item(name) },
      { type: "response.completed", response },
    ];
    const whole = () => JSON.stringify(convertedAnswer("responses", "chat", response));
    // Without a name it is no call, and nothing else is there to be read.
    if (name === "") assertThrows(whole, GatewayError, "no answer");
    else assert(whole().includes('"tool_calls"'), whole());
    return streamed("responses", "chat", messagesFrames(events)).text;
  };
  assert(!run("").includes("tool_calls"));
  const named = run("f");
  assert(named.includes('"name":"f"'), named);
  assert(named.includes(JSON.stringify('{"a":1}')), named);
});

Deno.test("a call without a name in the history is none, with what answered it", () => {
  const chat = accepted("chat", "messages", {
    model: "m",
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello", tool_calls: null, function_call: zero },
      { role: "user", content: "More" },
      {
        role: "assistant",
        content: "Well",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "", arguments: "{}" } },
          { id: "call_2", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "unknown tool" },
      { role: "tool", tool_call_id: "call_2", content: "ok" },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  });
  // What holds nothing goes in silence, the rest is named.
  assertEquals(chat.dropped, ["messages.3.tool_calls.0", "messages.4"]);
  assertEquals(JSON.stringify(chat.body.messages).split('"tool_use"').length, 2);

  const messages = accepted("messages", "chat", {
    model: "m",
    max_tokens: 100,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "?" }] },
      { role: "user", content: "Go on" },
    ],
  });
  assertEquals(messages.dropped, ["messages.1.content.0", "messages.2.content.0"]);
  assertEquals(messages.body.messages, [{
    role: "user",
    content: [{ type: "text", text: "Hi" }, { type: "text", text: "Go on" }],
  }]);

  const responses = accepted("responses", "chat", {
    model: "m",
    input: [
      { role: "user", content: "Hi" },
      { type: "function_call", call_id: "c1", name: "", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "?" },
    ],
  });
  assertEquals(responses.dropped, ["input.1", "input.2"]);
  assertEquals(responses.body.messages, [{ role: "user", content: "Hi" }]);
});

Deno.test("a call whose group is its own name is that of the function offered without a group", () => {
  const tool = (name: string) => ({ type: "function", name, parameters: { type: "object" } });
  const call = { type: "function_call", call_id: "c1", namespace: "todo", name: "todo" };
  const input = [
    { role: "user", content: "Hi" },
    { ...call, arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "ok" },
  ];
  const plain = accepted("responses", "chat", { model: "m", input, tools: [tool("todo")] });
  assert(JSON.stringify(plain.body.messages).includes('"name":"todo"'));
  // A group that is really there keeps its function.
  const group = { type: "namespace", name: "todo", tools: [tool("todo")] };
  const grouped = accepted("responses", "chat", { model: "m", input, tools: [group] });
  assert(JSON.stringify(grouped.body.messages).includes('"name":"todo__todo"'));
  const answer = chatAnswer({
    content: null,
    tool_calls: [{ id: "c2", type: "function", function: { name: "todo__todo", arguments: "{}" } }],
  }, "tool_calls");
  const { output } = convertedAnswer("chat", "responses", answer, grouped.memory);
  assert(Array.isArray(output));
  const { name, namespace } = output[0] as JsonObject;
  assertEquals([name, namespace], ["todo", "todo"]);
});

Deno.test("numbers of a prompt that is too long come from known wordings only", () => {
  const told = (message: string): string => {
    const body: Json = { error: { message, type: "invalid_request_error", code: null } };
    return decodeProviderError("chat", 400, JSON.stringify(body)).message;
  };
  const known: readonly (readonly [string, number, number])[] = [
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9,001 tokens (9001 in the messages, 0 in the completion).",
      9001,
      8192,
    ],
    [
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input, 1000 in the output).",
      139000,
      131072,
    ],
    [
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 279421 tokens.",
      279421,
      272000,
    ],
    [
      "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens.",
      5000,
      4096,
    ],
    [
      "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
      5000,
      4096,
    ],
    [
      "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      5000,
      4096,
    ],
    [
      "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
      1196265,
      1048575,
    ],
    [
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      40000,
      32768,
    ],
    [
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      537812,
      131072,
    ],
    ["The prompt is too long: 140000, model maximum context length: 131071", 140000, 131071],
    [
      "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      9000,
      8192,
    ],
    ["prompt token count of 130000 exceeds the limit of 128000", 130000, 128000],
    ["Your request exceeded model token limit: 8192 (requested: 9000)", 9000, 8192],
    [
      "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
      5000,
      4096,
    ],
    ["Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", 5000, 4096],
  ];
  for (const [message, used, most] of known) {
    assertEquals(told(message), `prompt is too long: ${used} tokens > ${most} maximum`);
  }
  const numberless = [
    "Request failed: input exceeds the context window",
    "invalid params, context window exceeds limit (2013)",
    "Your input exceeds the context window of gpt-5.4-2026-03-05",
  ];
  for (const message of numberless) assertEquals(told(message), `prompt is too long: ${message}`);
  const id = "4f2b9981-77aa-4c01-9b1e-2f0c55d8e913";
  assertEquals(
    told(`Request ${id}: input exceeds the context window`),
    "prompt is too long: Request [removed]: input exceeds the context window",
  );
});

Deno.test("a cap on output that does not fit is not a prompt that is too long", () => {
  const message =
    "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context " +
    "length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).";
  const body = { error: { message, type: "BadRequestError", code: 400 } };
  const error = decodeProviderError("chat", 400, JSON.stringify(body));
  const told = "input length and `max_tokens` exceed context limit: 100 + 5000 > 4096, decrease " +
    "input length or `max_tokens` and try again";
  assertEquals([error.code, error.message], ["invalid_request", told]);
  const native = decodeProviderError("chat", 400, JSON.stringify(body), { native: true });
  assertEquals([native.code, native.message], ["invalid_request", message]);
  assertEquals(readProviderError(body).code, "invalid_request");
});
