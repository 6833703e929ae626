/** A stream that the gateway ends for length is whole to a client of each style, wherever it was ended. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { StreamPipe } from "../../../../core/wire/contract/contract.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { responseObject } from "../../../../core/wire/responses/answer/response_object.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { readChatStream } from "../../../support/strict_client/strict_client_chat.ts";
import { readMessagesStream } from "../../../support/strict_client/strict_client_messages.ts";
import { readResponsesStream } from "../../../support/strict_client/strict_client_responses.ts";
import { context } from "../native/piping.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];
const billed = { input: 12, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
const tools = [{ name: "look", arguments: '{"place":"Huế"}' }];

const said = { type: "output_text", text: "Let me look.", annotations: [], logprobs: [] };

/** Text, then a call, as each vendor streams it. */
const events: Readonly<Record<BodyStyle, readonly (readonly [string | undefined, object])[]>> = {
  chat: [
    { role: "assistant", content: "", refusal: null },
    { content: "Let " },
    { content: "me look." },
    {
      tool_calls: [
        { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } },
      ],
    },
    { tool_calls: [{ index: 0, function: { arguments: '{"place":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"Huế"}' } }] },
  ].map((delta) => [undefined, {
    id: "chatcmpl-7",
    object: "chat.completion.chunk",
    created: 1_700_000_001,
    model: "upstream-model",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
    usage: null,
  }]),
  messages: [
    {
      type: "message_start",
      message: {
        id: "msg_7",
        type: "message",
        role: "assistant",
        model: "upstream-model",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 12,
          output_tokens: 1,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
        },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Let " } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "me look." } },
    { type: "content_block_stop", index: 0 },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "toolu_1", name: "look", input: {} },
    },
    ...['{"place":', '"Huế"}'].map((partial_json) => ({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json },
    })),
  ].map((event) => [event.type, event]),
  responses: [
    {
      type: "response.created",
      response: {
        ...responseObject({ ...context, clientModel: "upstream-model" }, {
          status: "in_progress",
          output: [],
        }),
        id: "resp_7",
        created_at: 9,
      },
    },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [], logprobs: [] },
    },
    ...["Let ", "me look."].map((delta) => ({
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta,
      logprobs: [],
    })),
    {
      type: "response.output_text.done",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      text: "Let me look.",
      logprobs: [],
    },
    {
      type: "response.content_part.done",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: said,
    },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [said],
      },
    },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: {
        id: "fc_1",
        type: "function_call",
        status: "in_progress",
        call_id: "call_1",
        name: "look",
        arguments: "",
      },
    },
    ...['{"place":', '"Huế"}'].map((delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: "fc_1",
      output_index: 1,
      delta,
    })),
  ].map((event, at) => [event.type, { ...event, sequence_number: at }]),
};

function pipeOf(upstream: BodyStyle, client: BodyStyle): StreamPipe {
  if (upstream === client) return createNativePipe(client, context);
  const memory = { offeredTools: new Set(tools.map(({ name }) => name)) };
  return createConvertingPipe(upstream, client, context, memory);
}

/** What the client gets of the first `count` events and the stop that follows; `undefined` before any output. */
function cutAfter(upstream: BodyStyle, client: BodyStyle, count: number): Uint8Array | undefined {
  const pipe = pipeOf(upstream, client);
  let text = "";
  for (const [name, event] of events[upstream].slice(0, count)) {
    const head = name === undefined ? "" : `event: ${name}\n`;
    text += decoder.decode(pipe.push(encoder.encode(`${head}data: ${JSON.stringify(event)}\n\n`)));
  }
  if (!pipe.reading.sawOutput) return undefined;
  const end = pipe.stopForLength(billed);
  assert(end !== undefined, "every chat style has a stop for length");
  return encoder.encode(text + decoder.decode(end));
}

/** Reads the stream as a client that forgives nothing; returns why it ended. */
function reasonOf(client: BodyStyle, bytes: Uint8Array): unknown {
  switch (client) {
    case "chat": {
      const outcome = readChatStream(bytes, true);
      assert(outcome.kind === "completion", JSON.stringify(outcome));
      return outcome.completion.choices[0]?.finish_reason;
    }
    case "messages": {
      const outcome = readMessagesStream(bytes);
      assert(outcome.kind === "message", JSON.stringify(outcome));
      assertEquals(outcome.message.usage.output_tokens, billed.output);
      return outcome.message.stop_reason;
    }
    case "responses": {
      const outcome = readResponsesStream(bytes);
      assert(outcome.kind === "response", JSON.stringify(outcome));
      assertEquals(outcome.response.usage?.output_tokens, billed.output);
      return outcome.response.incomplete_details?.reason;
    }
  }
}

const reasons = { chat: "length", messages: "max_tokens", responses: "max_output_tokens" };

for (const upstream of styles) {
  for (const client of styles) {
    Deno.test(`${upstream} to ${client}: a stop for length closes the stream after every event`, () => {
      let cuts = 0;
      for (let count = 1; count <= events[upstream].length; count++) {
        const bytes = cutAfter(upstream, client, count);
        if (bytes === undefined) continue;
        cuts++;
        assertEquals(reasonOf(client, bytes), reasons[client], `after ${count} events`);
      }
      assert(cuts > 3, "the cuts lie within the output");
    });
  }
}

Deno.test("responses natively: the closing event carries on id and numbering", () => {
  const bytes = cutAfter("responses", "responses", events.responses.length);
  assert(bytes !== undefined);
  const last = decoder.decode(bytes).trimEnd().split("\n\n").at(-1) ?? "";
  const event = JSON.parse(last.slice(last.indexOf("data: ") + 6));
  assertEquals(last.split("\n")[0], "event: response.incomplete");
  // The call's arguments and the call are closed before it.
  assertEquals(event.sequence_number, events.responses.length + 2);
  const { id, model, created_at, status, incomplete_details, usage } = event.response;
  assertEquals({ id, model, created_at, status }, {
    id: "resp_7",
    model: context.clientModel,
    created_at: 9,
    status: "incomplete",
  });
  assertEquals(incomplete_details, { reason: "max_output_tokens" });
  assertEquals(usage.output_tokens, billed.output);
  const [message, call] = event.response.output;
  assertEquals(message.content, [said]);
  assertEquals([call.status, call.arguments], ["incomplete", tools[0]?.arguments]);
});

Deno.test("responses natively: an answer too long to be kept closes without output", () => {
  const pipe = createNativePipe("responses", context);
  const [created, added, part, delta] = events.responses;
  const push = ([name, event]: readonly [string | undefined, object]) =>
    pipe.push(encoder.encode(`event: ${name}\ndata: ${JSON.stringify(event)}\n\n`));
  for (const each of [created, added, part]) if (each !== undefined) push(each);
  for (let pieces = 0; pieces < 70; pieces++) {
    push([delta?.[0], { ...delta?.[1], delta: "x".repeat(1_000), sequence_number: 3 + pieces }]);
  }
  const last = decoder.decode(pipe.stopForLength(billed));
  assertEquals(last.split("\n")[0], "event: response.incomplete");
  assertEquals(JSON.parse(last.slice(last.indexOf("data: ") + 6)).response.output, []);
});

Deno.test("chat natively: the last chunks have the provider's id, and end only choices that go on", () => {
  const pipe = createNativePipe("chat", context);
  const chunk = (index: number, finish_reason: string | null) => ({
    id: "chatcmpl-7",
    object: "chat.completion.chunk",
    created: 5,
    model: "m-1",
    choices: [{ index, delta: { content: "x" }, finish_reason }],
  });
  for (const each of [chunk(0, null), chunk(1, null), chunk(0, "stop")]) {
    pipe.push(encoder.encode(`data: ${JSON.stringify(each)}\n\n`));
  }
  const end = decoder.decode(pipe.stopForLength(billed));
  const sent = end.trimEnd().split("\n\n").map((line) => line.slice("data: ".length));
  assertEquals(sent.at(-1), "[DONE]");
  const [stop, usage] = sent.slice(0, -1).map((line) => JSON.parse(line));
  assertEquals([stop.id, stop.created, stop.model], ["chatcmpl-7", 5, context.clientModel]);
  assertEquals(stop.choices.map((choice: { index: number }) => choice.index), [1]);
  assertEquals(usage.usage.completion_tokens, billed.output);
  assertStringIncludes(end, '"finish_reason":"length"');
});
