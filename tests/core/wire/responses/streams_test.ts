import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { maxAnswerBytes, maxToolCallsPerAnswer } from "../../../../core/wire/contract/limits.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { PipeContext } from "../../../../core/wire/contract/contract.ts";
import type { StreamEvent } from "../../../../core/wire/conversation/mod.ts";
import { shapeAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { responsesDialect } from "../../../../core/wire/responses/dialect.ts";
import {
  answerOfEvents,
  arbitraryAnswer,
  eventsOfAnswer,
  toldAnswer,
} from "../../../support/answer_events.ts";
import { readEvents } from "../../../support/strict_client/strict_client.ts";
import {
  readResponsesAnswer,
  readResponsesStream,
} from "../../../support/strict_client/strict_client_responses.ts";

const context: PipeContext = {
  clientModel: "premium",
  requestId: "req_abc123",
  clientWantsUsage: true,
  nowSeconds: 1_700_000_000,
};

function encodeStream(events: readonly StreamEvent[]): Uint8Array {
  const encoder = responsesDialect.createStreamEncoder(context, {});
  return new TextEncoder().encode(events.map((event) => encoder.encode(event)).join(""));
}

function decodeStream(bytes: Uint8Array): StreamEvent[] {
  const decoder = responsesDialect.createStreamDecoder({});
  const events: StreamEvent[] = [];
  for (const { name, data } of readEvents(bytes)) {
    decoder.frame(name, data, (event) => events.push(event));
  }
  decoder.bodyEnd((event) => events.push(event));
  return events;
}

const cuts = fc.array(fc.nat(30), { maxLength: 4 });
const choices = fc.array(fc.nat(3), { maxLength: 8 });

Deno.test("a streamed answer is accepted by a strict client and equals the whole one", () => {
  fc.assert(
    fc.property(arbitraryAnswer, cuts, choices, (answer, cuts, choices) => {
      const outcome = readResponsesStream(encodeStream(eventsOfAnswer(answer, cuts, choices)));
      assert(outcome.kind === "response");
      const whole = readResponsesAnswer(responsesDialect.encodeAnswer(answer, context, {}));
      assertEquals(outcome.response, whole);
    }),
    { numRuns: 300 },
  );
});

Deno.test("what a client gets streamed and whole is read back as the same answer", () => {
  fc.assert(
    fc.property(arbitraryAnswer, cuts, choices, (answer, cuts, choices) => {
      const whole = responsesDialect.encodeAnswer(answer, context, {});
      const streamed = decodeStream(encodeStream(eventsOfAnswer(answer, cuts, choices)));
      const read = responsesDialect.decodeAnswer(shapeAnswer("responses", whole), {});
      assertEquals(answerOfEvents(streamed), toldAnswer(read));
      assertEquals(read.usage, answer.usage);
    }),
    { numRuns: 300 },
  );
});

Deno.test("texts that touch become one part, also across a hosted tool", () => {
  const block = { type: "text", path: "" } as const;
  const { output } = readResponsesAnswer(responsesDialect.encodeAnswer(
    {
      blocks: [
        { ...block, text: "One " },
        { type: "foreign", style: "messages", path: "", kind: "x", raw: {}, otherwise: "ignore" },
        { ...block, text: "two", citations: [{ url: "https://example.com", title: "E" }] },
      ],
      stop: { reason: "end" },
    },
    context,
    {},
  ));
  assertEquals<unknown>(output, [{
    id: "msg_abc123_0",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{
      type: "output_text",
      text: "One two",
      annotations: [{
        type: "url_citation",
        start_index: 4,
        end_index: 7,
        title: "E",
        url: "https://example.com",
      }],
      logprobs: [],
    }],
  }]);
});

Deno.test("sources are placed on the text of their block, streamed as whole", () => {
  const events: StreamEvent[] = [
    { type: "text", block: 0, json: '"One\\n"' },
    { type: "block_end", block: 0 },
    { type: "text", block: 1, json: '"two"' },
    { type: "citation", block: 1, citation: { url: "https://example.com", title: "E" } },
    { type: "block_end", block: 1 },
    { type: "stop", stop: { reason: "end" } },
    { type: "end" },
  ];
  const outcome = readResponsesStream(encodeStream(events));
  assert(outcome.kind === "response");
  const [message] = outcome.response.output;
  assert(message?.type === "message" && message.content[0]?.type === "output_text");
  assertEquals<unknown>(message.content[0].annotations, [{
    type: "url_citation",
    start_index: 4,
    end_index: 7,
    title: "E",
    url: "https://example.com",
  }]);
});

Deno.test("a source that comes before its text is placed like any other", () => {
  const citation = { url: "https://example.com", title: "E" };
  const events: StreamEvent[] = [
    { type: "reasoning", block: 0, json: '"Hm."' },
    { type: "block_end", block: 0 },
    { type: "citation", block: 1, citation },
    { type: "text", block: 1, json: '"One"' },
    { type: "block_end", block: 1 },
    // Of a block without text nothing is left.
    { type: "call", block: 2, id: "call_1", name: "f" },
    { type: "block_end", block: 2 },
    { type: "citation", block: 3, citation },
    { type: "block_end", block: 3 },
    { type: "stop", stop: { reason: "tool_calls" } },
    { type: "end" },
  ];
  const outcome = readResponsesStream(encodeStream(events));
  assert(outcome.kind === "response");
  const [, message, call, ...rest] = outcome.response.output;
  assertEquals([call?.type, rest], ["function_call", []]);
  assert(message?.type === "message" && message.content[0]?.type === "output_text");
  assertEquals(message.content[0].annotations.length, 1);
});

Deno.test("a refusal in words is a complete answer, a filter's cut is not", () => {
  const refused: StreamEvent[] = [
    { type: "refusal", block: 0, json: '"No."' },
    { type: "stop", stop: { reason: "refusal", explanation: "No." } },
    { type: "end" },
  ];
  const said = readResponsesStream(encodeStream(refused));
  assert(said.kind === "response");
  assertEquals(said.response.status, "completed");
  const filtered: StreamEvent[] = [
    { type: "stop", stop: { reason: "refusal", explanation: "Blocked." } },
    { type: "end" },
  ];
  const cut = readResponsesStream(encodeStream(filtered));
  assert(cut.kind === "response");
  assertEquals(cut.response.incomplete_details, { reason: "content_filter" });
  for (const { response } of [said, cut]) {
    const [message] = response.output;
    assert(message?.type === "message" && message.content[0]?.type === "refusal");
  }
});

Deno.test("an error in the middle ends the stream as failed, with the code that agents look for", () => {
  const events: StreamEvent[] = [
    { type: "start" },
    { type: "text", block: 0, json: '"Hel"' },
    { type: "error", error: new GatewayError("context_length_exceeded", "prompt is too long") },
  ];
  assertEquals(readResponsesStream(encodeStream(events)), {
    kind: "error",
    code: "context_length_exceeded",
    text: "prompt is too long",
  });
});

Deno.test("an error before anything else is a whole failed response, with a code that agents retry", () => {
  const events: StreamEvent[] = [{ type: "error", error: new GatewayError("overloaded", "Later") }];
  const bytes = encodeStream(events);
  assertEquals(readResponsesStream(bytes), { kind: "error", code: "server_error", text: "Later" });
});

Deno.test("an answer beyond the bound is not kept", () => {
  const encoder = responsesDialect.createStreamEncoder(context, {});
  const json = JSON.stringify("x".repeat(4 * 1024 * 1024));
  assertThrows(
    () => {
      for (let kept = 0; kept <= maxAnswerBytes; kept += json.length) {
        encoder.encode({ type: "text", block: 0, json });
      }
    },
    GatewayError,
    "too long",
  );
});

/** Frames of an upstream, by their type. */
function upstream(...events: JsonObject[]): Uint8Array {
  const frames = events.map((event, sequence_number) =>
    `event: ${String(event["type"])}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`
  );
  return new TextEncoder().encode(frames.join(""));
}

const created: JsonObject = { type: "response.created", response: { id: "resp_1", output: [] } };
const call: JsonObject = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "add",
  arguments: '{"a":1}',
};
const completed = (output: JsonObject[]): JsonObject => ({
  type: "response.completed",
  response: { status: "completed", output, usage: { input_tokens: 3, output_tokens: 4 } },
});

const addCall = { type: "call", text: '{"a":1}', id: "call_1", name: "add", custom: false };

const deviations: Record<string, Uint8Array> = {
  "with deltas": upstream(
    created,
    { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a"' },
    { type: "response.function_call_arguments.delta", output_index: 0, delta: ":1}" },
    { type: "response.function_call_arguments.done", output_index: 0, arguments: '{"a":1}' },
    { type: "response.output_item.done", output_index: 0, item: call },
    completed([call]),
  ),
  "without deltas": upstream(
    created,
    { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: "" } },
    { type: "response.output_item.done", output_index: 0, item: call },
    completed([call]),
  ),
  "with whole items only": upstream(
    created,
    { type: "response.output_item.done", output_index: 0, item: call },
    completed([call]),
  ),
  "with the last event only": upstream(created, completed([call])),
  "that counts its items from 1": upstream(
    created,
    { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a":1}' },
    { type: "response.output_item.done", output_index: 1, item: call },
    completed([call]),
  ),
  "that never ends its item": upstream(
    created,
    { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a":1}' },
    completed([call]),
  ),
};

for (const [name, bytes] of Object.entries(deviations)) {
  Deno.test(`a call from an upstream ${name} is read once`, () => {
    const told = answerOfEvents(decodeStream(bytes));
    assertEquals<unknown>(told.blocks, [addCall]);
    assertEquals(told.stop, { reason: "tool_calls" });
    assertEquals(told.usage?.output, 4);
    assert(told.ended);
  });
}

Deno.test("items without a place come one after another, as they stream", () => {
  const reasoning = {
    type: "reasoning",
    id: "rs_1",
    summary: [],
    content: [{ type: "reasoning_text", text: "Hm" }],
  };
  const message = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    content: [{ type: "output_text", text: "Hello" }],
  };
  const words = ["Hel", "lo"].map((delta) => ({ type: "response.output_text.delta", delta }));
  const added = (item: JsonObject) => ({ type: "response.output_item.added", item });
  const done = (item: JsonObject) => ({ type: "response.output_item.done", item });
  const thought = [
    added({ ...reasoning, content: [] }),
    { type: "response.reasoning_text.delta", delta: "Hm" },
    done(reasoning),
  ];
  for (const output of [[reasoning, message, call], []]) {
    for (const begun of [[added({ ...message, content: [] })], []]) {
      const events = [created, ...thought, ...begun, ...words, done(message), done(call)];
      const bytes = upstream(...events, completed(output));
      const told = decodeStream(bytes);
      assertEquals(
        told.flatMap((event) => event.type === "text" ? [JSON.parse(event.json)] : []),
        ["Hel", "lo"],
      );
      const { blocks } = answerOfEvents(told);
      assertEquals(
        blocks.map((
          block,
        ) => [Reflect.get(Object(block), "type"), Reflect.get(Object(block), "text")]),
        [
          ["reasoning", "Hm"],
          ["text", "Hello"],
          ["call", '{"a":1}'],
        ],
      );
    }
  }
});

Deno.test("several parts of a summary are one text, and the item's proof comes with it", () => {
  const item: JsonObject = {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "One" }, { type: "summary_text", text: "Two" }],
    encrypted_content: "gAAA",
  };
  const at = (summary_index: number): JsonObject => ({ output_index: 0, summary_index });
  const streamed = upstream(
    created,
    { type: "response.output_item.added", output_index: 0, item: { ...item, summary: [] } },
    { type: "response.reasoning_summary_part.added", ...at(0) },
    { type: "response.reasoning_summary_text.delta", ...at(0), delta: "One" },
    { type: "response.reasoning_summary_part.added", ...at(1) },
    { type: "response.reasoning_summary_text.delta", ...at(1), delta: "Two" },
    // Told a second time in full: taken once.
    { type: "response.reasoning_text.delta", output_index: 0, delta: "One and two" },
    { type: "response.output_item.done", output_index: 0, item },
    completed([item]),
  );
  const told = answerOfEvents(decodeStream(streamed));
  const body = { status: "completed", output: [item] };
  const whole = responsesDialect.decodeAnswer(shapeAnswer("responses", body), {});
  assertEquals(told.blocks, toldAnswer(whole).blocks);
  assertEquals<unknown>(told.blocks, [{
    type: "reasoning",
    text: "One\n\nTwo",
    proof: {
      kind: "item",
      signer: "responses",
      id: "rs_1",
      encryptedContent: "gAAA",
      summary: ["One", "Two"],
    },
  }]);
});

Deno.test("a hosted tool's call that no other style has is told as foreign and never as a tool call", () => {
  const item: JsonObject = { type: "file_search_call", id: "fs_1", status: "completed" };
  const events = decodeStream(upstream(
    created,
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_item.done", output_index: 0, item },
    completed([item]),
  ));
  assertEquals(events.map((event) => event.type), [
    "start",
    "foreign",
    "block_end",
    "usage",
    "stop",
    "end",
  ]);
});

const quota: JsonObject = { code: "rate_limit_exceeded", message: "Slow down" };
const failures: Record<string, Uint8Array> = {
  "an error event of the vendor": upstream(created, { type: "error", error: quota }),
  "an error event of the specification": upstream(created, { type: "error", ...quota }),
  "a failed response": upstream(created, {
    type: "response.failed",
    response: { status: "failed", error: quota },
  }),
};

for (const [name, bytes] of Object.entries(failures)) {
  Deno.test(`${name} is an error and no end`, () => {
    const told = answerOfEvents(decodeStream(bytes));
    assertEquals(told.error, "Slow down");
    assert(!told.ended);
  });
}

Deno.test("a stream without its closing event has no end, and [DONE] is none", () => {
  const bytes = upstream(created, {
    type: "response.output_text.delta",
    output_index: 0,
    content_index: 0,
    delta: "Hel",
  });
  assert(!answerOfEvents(decodeStream(bytes)).ended);
  const done = new TextEncoder().encode("data: [DONE]\n\n");
  assert(!answerOfEvents(decodeStream(new Uint8Array([...bytes, ...done]))).ended);
});

Deno.test("an event that is no JSON is the provider's fault", () => {
  const decoder = responsesDialect.createStreamDecoder({});
  assertThrows(
    () => decoder.frame("response.created", "{", () => {}),
    GatewayError,
    "not JSON",
  );
});

Deno.test("items without end are not counted forever", () => {
  const decoder = responsesDialect.createStreamDecoder({});
  assertThrows(
    () => {
      for (let i = 0; i <= maxToolCallsPerAnswer; i++) {
        const item = { type: "message" };
        const data = JSON.stringify({ type: "response.output_item.added", output_index: i, item });
        decoder.frame("response.output_item.added", data, () => {});
      }
    },
    GatewayError,
    "too many",
  );
});
