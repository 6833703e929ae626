/**
 * Models without structured output answer through a tool. What such an answer's client gets is the answer alone,
 * streamed as whole.
 */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { ConversionMemory } from "../../../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { bufferedBlockBytes } from "../../../../core/wire/contract/limits.ts";
import { accepted, context, type Converted, convertedAnswer } from "./converting.ts";
import { readChatStream } from "./stream_clients.ts";
import { messagesFrames, streamed } from "./streaming.ts";

const schema = { type: "object", properties: {}, additionalProperties: false };
const response_format = { type: "json_schema", json_schema: { name: "x", schema } };
const own = { type: "function", function: { name: "f" } };

function request(more: JsonObject, capabilities = {}): Converted {
  const body = { model: "m", messages: [{ role: "user", content: "Hi" }], response_format };
  return accepted("chat", "messages", { ...body, ...more }, {
    structured: "tool",
    ...capabilities,
  });
}

const memory: ConversionMemory = request({}).memory;

function text(words: string): JsonObject {
  return { type: "text", text: words };
}

function use(name: string, input: JsonObject): JsonObject {
  return { type: "tool_use", name, input };
}

function answer(input: JsonObject): JsonObject {
  return use(memory.answerTool ?? "", input);
}

/** The content of an answer as the vendor streams it, each text and input in one piece. */
function transcript(content: readonly JsonObject[], stop_reason: Json): string {
  const events = content.flatMap((block, index) => {
    const isText = block.type === "text";
    const json = JSON.stringify(block.input ?? {});
    const delta = isText
      ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: json === "{}" ? "" : json };
    return [
      {
        type: "content_block_start",
        index,
        content_block: isText ? { type: "text", text: "" } : { ...block, input: {} },
      },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  const begin = {
    type: "message_start",
    message: { usage: { input_tokens: 1, output_tokens: 1 } },
  };
  const stop = { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 2 } };
  return messagesFrames([begin, ...events, stop, { type: "message_stop" }]);
}

interface Told {
  readonly content: Json | undefined;
  readonly calls: readonly unknown[];
  readonly finish: Json | undefined;
}

function told(message: JsonObject, finish: Json | undefined): Told {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const names = calls.map((call) => isJsonObject(call) ? call.function : undefined);
  return { content: message.content, calls: names, finish };
}

/** What a Chat client gets of an answer: the same whole as streamed. */
function toChat(blocks: readonly JsonObject[], stop_reason: Json = "tool_use"): Told {
  const content = blocks.map((block, i) =>
    block.type === "text" ? block : { ...block, id: `t${i}` }
  );
  const usage = { input_tokens: 1, output_tokens: 2 };
  const body = { content, stop_reason, usage };
  const whole = convertedAnswer("messages", "chat", body, memory);
  const [choice] = Array.isArray(whole.choices) ? whole.choices : [];
  assert(isJsonObject(choice) && isJsonObject(choice.message));
  const stream = readChatStream(
    streamed("messages", "chat", transcript(content, stop_reason), { memory }).text,
  );
  const one = told(choice.message, choice.finish_reason);
  assertEquals(told(stream.message, stream.finishReason), one);
  return one;
}

Deno.test("the answer is the arguments of its tool, and nothing beside them", () => {
  const only = { content: '{"a":1}', calls: [], finish: "stop" };
  assertEquals(toChat([answer({ a: 1 })]), only);
  assertEquals(toChat([text("Here:"), answer({ a: 1 })]), only);
  assertEquals(toChat([text("Here:"), text(" it is"), answer({ a: 1 }), text("Done.")]), only);
  assertEquals(toChat([answer({ a: 1 }), answer({ a: 2 })]), only);
  assertEquals(toChat([answer({})]), { ...only, content: "{}" });
});

Deno.test("text stays where the model did not call the answer's tool", () => {
  const said = { content: "No.", calls: [], finish: "stop" };
  assertEquals(toChat([text("No.")], "end_turn"), said);
  assertEquals(toChat([text("No.")], "max_tokens"), { ...said, finish: "length" });
  assertEquals(toChat([text("Let me look."), use("f", { a: 1 })]), {
    content: "Let me look.",
    calls: [{ name: "f", arguments: '{"a":1}' }],
    finish: "tool_calls",
  });
});

Deno.test("a whole answer and a streamed one agree on any mix of text, calls and answers", () => {
  const block = fc.constantFrom(text("Hm. "), answer({ a: 1 }), answer({}), use("f", { b: 2 }));
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 6 }), (blocks) => {
      const { content, calls } = toChat(blocks);
      const answers = blocks.filter((one) => one.name === memory.answerTool);
      assertEquals(calls.length, blocks.filter((one) => one.name === "f").length);
      if (calls.length > 0 || answers.length === 0) return;
      assertEquals(content, JSON.stringify(answers[0]?.input));
    }),
  );
});

Deno.test("text is held back only as long as it may have to make way", () => {
  const pipe = createConvertingPipe("messages", "chat", context, memory);
  const decoder = new TextDecoder();
  const push = (out: string) => decoder.decode(pipe.push(new TextEncoder().encode(out)));
  const frames = transcript([text("Let me look."), use("f", { a: 1 })], "tool_use");
  const call = frames.indexOf(
    'event: content_block_start\ndata: {"type":"content_block_start","index":1',
  );
  assert(!push(frames.slice(0, call)).includes("Let me look."));
  assertEquals(pipe.reading.sawOutput, true);
  assert(push(frames.slice(call)).includes("Let me look."));
});

Deno.test("text that is held back is bounded", () => {
  const open = { type: "content_block_start", index: 0, content_block: text("") };
  const piece = { type: "text_delta", text: "x".repeat(1024 * 1024) };
  const delta = { type: "content_block_delta", index: 0, delta: piece };
  const pipe = createConvertingPipe("messages", "chat", context, memory);
  pipe.push(new TextEncoder().encode(messagesFrames([open])));
  const bytes = new TextEncoder().encode(messagesFrames([delta]));
  assertThrows(() => {
    for (let sent = 0; sent <= bufferedBlockBytes * 2; sent += bytes.length) {
      pipe.push(bytes);
    }
  }, GatewayError);
});

Deno.test("one call is asked for where only the answer can be called", () => {
  const name = memory.answerTool ?? "";
  assertEquals(request({}).body.output_config, undefined);
  assertEquals(request({}).body.tool_choice, {
    type: "tool",
    name,
    disable_parallel_tool_use: true,
  });
  const without = request({}, { parallel_flag: false });
  assertEquals([without.body.tool_choice, without.dropped], [{ type: "tool", name }, []]);
  // The client's own tools may be called several at a time.
  const beside = request({ tools: [own] });
  assertEquals(Array.isArray(beside.body.tools) && beside.body.tools.length, 2);
  assertEquals([beside.body.tool_choice, beside.dropped], [{ type: "any" }, []]);
  const single = request({ tools: [own], parallel_tool_calls: false });
  assertEquals(single.body.tool_choice, { type: "any", disable_parallel_tool_use: true });
});

Deno.test("a choice of tools that had to change is named", () => {
  const choose = (tool_choice: Json) => {
    const { body, dropped } = request({ tools: [own], tool_choice });
    return [body.tool_choice, dropped];
  };
  assertEquals(choose("auto"), [{ type: "any" }, ["tool_choice"]]);
  assertEquals(choose("required"), [{ type: "any" }, []]);
  const forced = { type: "tool", name: memory.answerTool, disable_parallel_tool_use: true };
  assertEquals(choose("none"), [forced, []]);
  const named = { type: "function", function: { name: "f" } };
  assertEquals(choose(named), [{ type: "tool", name: "f" }, []]);
});
