/** Numbers that no double holds pass every conversion with all their digits, on every runtime. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { parseExactly } from "../../../../core/lib/json/exact_json.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import { stringifyExactly } from "../../../../core/lib/runtime/built_ins.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { converted, convertedAnswer } from "./converting.ts";
import { streamed } from "./streaming.ts";

const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];
const directions = styles.flatMap((from) =>
  styles.filter((to) => to !== from).map((to) => ({ from, to }))
);

const args = '{"id":12345678901234567890,"most":1e400,"least":-98765432109876543210,"half":0.5}';

function object(text: string): JsonObject {
  const value = parseExactly(text);
  assert(isJsonObject(value));
  return value;
}

/** A conversation in which the model called a tool with such numbers, as text of its style. */
const requests: Readonly<Record<BodyStyle, string>> = {
  messages: `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"Hi"},
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"find","input":${args}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"none"}]}]}`,
  chat: `{"model":"m","messages":[{"role":"user","content":"Hi"},
    {"role":"assistant","tool_calls":[{"id":"call_1","type":"function",
      "function":{"name":"find","arguments":${JSON.stringify(args)}}}]},
    {"role":"tool","tool_call_id":"call_1","content":"none"}]}`,
  responses: `{"model":"m","input":[{"role":"user","content":"Hi"},
    {"type":"function_call","call_id":"call_1","name":"find","arguments":${JSON.stringify(args)}},
    {"type":"function_call_output","call_id":"call_1","output":"none"}]}`,
};

/** An answer that is such a call. */
const answers: Readonly<Record<BodyStyle, string>> = {
  messages: `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use",
    "stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1},
    "content":[{"type":"tool_use","id":"toolu_1","name":"find","input":${args}}]}`,
  chat: `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[
    {"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
      "tool_calls":[{"id":"call_1","type":"function",
        "function":{"name":"find","arguments":${JSON.stringify(args)}}}]}}]}`,
  responses: `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
    {"type":"function_call","id":"fc_1","call_id":"call_1","name":"find","status":"completed",
      "arguments":${JSON.stringify(args)}}]}`,
};

/** The same as a stream of which each style sends the whole arguments at once. */
const streams: Readonly<Record<BodyStyle, readonly string[]>> = {
  messages: [
    '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
    `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"find","input":${args}}}`,
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}',
    '{"type":"message_stop"}',
  ],
  chat: [
    `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"find","arguments":${args}}}]},"finish_reason":null}]}`,
    '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
  ],
  responses: [
    '{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}}',
    `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"find","status":"completed","arguments":${
      JSON.stringify(args)
    }}}`,
    `{"type":"response.completed","response":${answers.responses}}`,
  ],
};

function transcript(style: BodyStyle): string {
  const frames = streams[style].map((text) => {
    const data = text.replaceAll("\n", " ");
    const { type } = object(data);
    return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${data}\n\n`;
  });
  return frames.join("") + (style === "chat" ? "data: [DONE]\n\n" : "");
}

/** All of the arguments, whether they are an object here, a text, or pieces of one. */
function holdsNumbers(text: string): void {
  for (const number of ["12345678901234567890", "1e400", "-98765432109876543210", "0.5"]) {
    assert(text.includes(`:${number}`), `${number} is not in ${text}`);
  }
}

for (const { from, to } of directions) {
  Deno.test(`${from} to ${to}: numbers that no double holds keep their digits`, () => {
    holdsNumbers(stringifyExactly(converted(from, to, object(requests[from])).body));
    holdsNumbers(stringifyExactly(convertedAnswer(from, to, object(answers[from]))));
    const { text, reading } = streamed(from, to, transcript(from));
    assertEquals(reading.state, "completed");
    holdsNumbers(text);
  });
}
