/** Whole answers both ways, row by row (docs/conversion.md#answers). */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { convertedAnswer } from "./converting.ts";

function message(more: JsonObject): JsonObject {
  return {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "upstream-model",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
    ...more,
  };
}

function completion(
  more: JsonObject,
  finish_reason: Json = "stop",
  rest: JsonObject = {},
): JsonObject {
  return {
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, message: { role: "assistant", content: null, ...more }, finish_reason }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    ...rest,
  };
}

const toChat = (more: JsonObject) => convertedAnswer("messages", "chat", message(more));
const toMessages = (more: JsonObject, finish: Json = "stop", rest: JsonObject = {}) =>
  convertedAnswer("chat", "messages", completion(more, finish, rest));

function choiceOf(answer: JsonObject): JsonObject {
  const choice = Array.isArray(answer.choices) ? answer.choices[0] : undefined;
  assert(isJsonObject(choice));
  return choice;
}

function messageOf(answer: JsonObject): JsonObject {
  const { message } = choiceOf(answer);
  assert(isJsonObject(message));
  return message;
}

Deno.test("a Chat client gets every member that a strict library expects", () => {
  assertEquals(toChat({}), {
    id: "chatcmpl-000000abc0000xyz",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "client-model",
    system_fingerprint: null,
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Hello", refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: "stop",
    }],
    usage: {
      prompt_tokens: 5,
      completion_tokens: 2,
      total_tokens: 7,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  });
});

Deno.test("a Messages client gets every member that a strict library expects", () => {
  assertEquals(toMessages({ content: "Hello" }), {
    id: "msg_000000abc0000xyz",
    type: "message",
    role: "assistant",
    model: "client-model",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 5,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 2,
      service_tier: "standard",
    },
  });
});

Deno.test("texts are joined without anything between them; no text is null", () => {
  const content = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
  assertEquals(messageOf(toChat({ content })).content, "ab");
  assertEquals(messageOf(toChat({ content: [] })).content, null);
});

Deno.test("empty content never becomes an empty text block", () => {
  assertEquals(toMessages({ content: "" }).content, []);
  assertEquals(toMessages({ content: null }).content, []);
});

Deno.test("thinking shows as reasoning_content and can be sent back by its details", () => {
  const content = [
    { type: "thinking", thinking: "hm", signature: "c2ln" },
    { type: "redacted_thinking", data: "ZGF0YQ==" },
    { type: "text", text: "a" },
  ];
  const id = "ugw1";
  const format = "anthropic-claude-v1";
  const written = messageOf(toChat({ content }));
  assertEquals([written.content, written.reasoning_content], ["a", "hm"]);
  assertEquals(written.reasoning_details, [
    { type: "reasoning.text", id, text: "hm", signature: "c2ln", format, index: 0 },
    { type: "reasoning.encrypted", id, data: "ZGF0YQ==", format, index: 1 },
  ]);
});

Deno.test("reasoning becomes the first block, under a signature that tells it from the vendor's own", () => {
  for (const name of ["reasoning_content", "reasoning"]) {
    const [first, second] = toMessages({ content: "a", [name]: "hm" }).content as JsonObject[];
    assertEquals([first?.type, first?.thinking], ["thinking", "hm"]);
    assert(String(first?.signature).startsWith("ugw1."));
    assertEquals(second, { type: "text", text: "a" });
  }
});

Deno.test("the vendor's own signatures survive a Chat server in between, byte for byte", () => {
  const signature = "EqQBCkgIARABGAIiQL+/x==";
  const reasoning_details = [
    { type: "reasoning.text", text: "hm", signature, format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.encrypted", data: "ZGF0YQ==", format: "anthropic-claude-v1", index: 1 },
  ];
  const { content } = toMessages({ content: "a", reasoning: "hm", reasoning_details });
  assertEquals(content, [
    { type: "thinking", thinking: "hm", signature },
    { type: "redacted_thinking", data: "ZGF0YQ==" },
    { type: "text", text: "a" },
  ]);
});

Deno.test("reasoning as parts of the content is reasoning", () => {
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
    { type: "text", text: "a" },
  ];
  const blocks = toMessages({ content }).content as JsonObject[];
  assertEquals(blocks.map((block) => block.type), ["thinking", "text"]);
});

Deno.test("calls keep ids, names and arguments", () => {
  const content = [{ type: "tool_use", id: "toolu_1", name: "f", input: { a: [1] } }];
  const written = toChat({ content, stop_reason: "tool_use" });
  assertEquals(choiceOf(written).finish_reason, "tool_calls");
  assertEquals(messageOf(written).tool_calls, [
    { id: "toolu_1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
  ]);
});

Deno.test("arguments become an object, never a string", () => {
  const inputs: readonly (readonly [Json, JsonObject])[] = [
    ['{"a":1}', { a: 1 }],
    ["", {}],
    [null, {}],
    [{ a: 1 }, { a: 1 }],
    ['{"a":1,"b":"cu', { a: 1 }],
    ['{"b":"cu', {}],
    ["[1]", { _raw: "[1]" }],
  ];
  for (const [text, input] of inputs) {
    const tool_calls = [{
      id: "call_1",
      type: "function",
      function: { name: "f", arguments: text },
    }];
    const { content, stop_reason } = toMessages({ tool_calls }, "tool_calls");
    assertEquals(content, [{ type: "tool_use", id: "call_1", name: "f", input }]);
    assertEquals(stop_reason, "tool_use");
  }
});

Deno.test("calls without ids, with numbers for ids, and with repeated ids get different legal ids", () => {
  for (const given of [[undefined, undefined], [0, 0], ["x:1", "x_1"], ["a", "a"]]) {
    const tool_calls = given.map((id) => ({
      ...(id === undefined ? {} : { id }),
      type: "function",
      function: { name: "f", arguments: "{}" },
    }));
    const blocks = toMessages({ tool_calls }, "tool_calls").content as JsonObject[];
    const ids = blocks.map((block) => String(block.id));
    assertEquals(new Set(ids).size, 2, ids.join());
    for (const id of ids) assert(/^[a-zA-Z0-9_-]+$/.test(id), id);
  }
});

Deno.test("hosted tools inside the call are not shown as the caller's tools", () => {
  const content = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    { type: "text", text: "a" },
  ];
  const written = messageOf(toChat({ content }));
  assertEquals([written.content, written.tool_calls], ["a", undefined]);
});

Deno.test("web sources become annotations on the text they belong to", () => {
  const citation = {
    type: "web_search_result_location",
    url: "https://example.com",
    title: "T",
    cited_text: "x",
    encrypted_index: "e",
  };
  const content = [
    { type: "text", text: "One. " },
    { type: "text", text: "Two.", citations: [citation, { type: "page_location" }] },
  ];
  assertEquals(messageOf(toChat({ content })).annotations, [{
    type: "url_citation",
    url_citation: { start_index: 5, end_index: 9, title: "T", url: "https://example.com" },
  }]);
});

Deno.test("every stop reason has its finish reason", () => {
  const reasons: readonly (readonly [Json, string])[] = [
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["compaction", "stop"],
    ["something_new", "something_new"],
    [null, "stop"],
    ["refusal", "content_filter"],
  ];
  for (const [stop_reason, finish] of reasons) {
    assertEquals(choiceOf(toChat({ stop_reason })).finish_reason, finish);
  }
  const content = [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }];
  for (const stop_reason of ["tool_use", "end_turn", null]) {
    assertEquals(choiceOf(toChat({ content, stop_reason })).finish_reason, "tool_calls");
  }
  assertEquals(choiceOf(toChat({ content, stop_reason: "max_tokens" })).finish_reason, "length");
});

Deno.test("every finish reason has its stop reason", () => {
  const reasons: readonly (readonly [Json, string])[] = [
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "refusal"],
    ["", "end_turn"],
    ["eos", "end_turn"],
    [null, "end_turn"],
    // Without a call there is nothing to wait for.
    ["tool_calls", "end_turn"],
  ];
  for (const [finish, stop] of reasons) {
    const written = toMessages({ content: "a" }, finish);
    assertEquals([written.stop_reason, written.stop_sequence], [stop, null]);
  }
  const tool_calls = [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }];
  for (const finish of ["tool_calls", "stop", "", null]) {
    assertEquals(toMessages({ tool_calls }, finish).stop_reason, "tool_use");
  }
  assertEquals(toMessages({ tool_calls }, "length").stop_reason, "max_tokens");
});

Deno.test("a refusal keeps its words both ways", () => {
  const stop_details = { type: "refusal", category: "bio", explanation: "No." };
  const chat = toChat({ content: [], stop_reason: "refusal", stop_details });
  assertEquals(messageOf(chat).refusal, "No.");
  assertEquals(choiceOf(chat).finish_reason, "content_filter");
  const messages = toMessages({ refusal: "No." });
  assertEquals(messages.content, [{ type: "text", text: "No." }]);
  assertEquals(messages.stop_reason, "refusal");
  assertEquals(messages.stop_details, { type: "refusal", category: null, explanation: "No." });
});

Deno.test("a filter that left the message out is a refusal", () => {
  const body = { choices: [{ index: 0, finish_reason: "content_filter" }] };
  const written = convertedAnswer("chat", "messages", body);
  assertEquals([written.stop_reason, written.content], ["refusal", []]);
});

Deno.test("only the first choice is the answer", () => {
  const choices = ["a", "b"].map((content, index) => ({
    index,
    message: { role: "assistant", content },
    finish_reason: "stop",
  }));
  assertEquals(toMessages({}, "stop", { choices }).content, [{ type: "text", text: "a" }]);
});

Deno.test("the old function_call is a call, and comes back to clients of the old form", () => {
  const function_call = { name: "f", arguments: '{"a":1}' };
  const [block] = toMessages({ function_call }, "function_call").content as JsonObject[];
  assertEquals([block?.name, block?.input], ["f", { a: 1 }]);
  const content = [{ type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } }];
  const legacy = convertedAnswer(
    "messages",
    "chat",
    message({ content, stop_reason: "tool_use" }),
    {
      legacyFunctions: true,
    },
  );
  assertEquals(messageOf(legacy).function_call, function_call);
  assertEquals(choiceOf(legacy).finish_reason, "function_call");
});

Deno.test("the tier that was used is told", () => {
  const tiers = { standard: "default", priority: "priority", batch: "default" };
  for (const [service_tier, expected] of Object.entries(tiers)) {
    const usage = { input_tokens: 1, output_tokens: 1, service_tier };
    assertEquals(toChat({ usage }).service_tier, expected);
  }
  const back = { default: "standard", priority: "priority", flex: "standard" };
  for (const [service_tier, expected] of Object.entries(back)) {
    const { usage } = toMessages({ content: "a" }, "stop", { service_tier });
    assertEquals(isJsonObject(usage) && usage.service_tier, expected);
  }
});

Deno.test("a choice that holds an error is an error", () => {
  const error = { code: 502, message: "Provider disconnected" };
  const message = { role: "assistant", content: "Par" };
  const choice = { index: 0, message, finish_reason: "error", error };
  assertThrows(() => convertedAnswer("chat", "messages", { choices: [choice] }), GatewayError);
  const good = convertedAnswer("chat", "messages", {
    choices: [{ ...choice, error: null, finish_reason: "stop" }],
  });
  assertEquals(good.stop_reason, "end_turn");
});

Deno.test("a 200 that holds an error is an error", () => {
  const bodies: readonly JsonObject[] = [
    { error: { message: "Overloaded", code: 529 } },
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  ];
  assertThrows(
    () => convertedAnswer("chat", "messages", bodies[0] ?? {}),
    GatewayError,
    "Overloaded",
  );
  assertThrows(
    () => convertedAnswer("messages", "chat", bodies[1] ?? {}),
    GatewayError,
    "Overloaded",
  );
});

Deno.test("a body that is no answer is the upstream's fault", () => {
  for (const style of ["chat", "messages"] as const) {
    const other = style === "chat" ? "messages" : "chat";
    assertThrows(() => convertedAnswer(style, other, { hello: 1 }), GatewayError, "no answer");
  }
});
