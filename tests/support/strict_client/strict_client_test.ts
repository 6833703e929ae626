import { assert, assertEquals, assertThrows } from "../assert.ts";
import { StrictClientError } from "./strict_client.ts";
import { readChatStream } from "./strict_client_chat.ts";
import { readMessagesStream } from "./strict_client_messages.ts";
import { readResponsesStream } from "./strict_client_responses.ts";

const bytes = (frames: readonly string[]): Uint8Array => new TextEncoder().encode(frames.join(""));
const named = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const messagesStart = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
};
const messagesFrames = [
  messagesStart,
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "a", name: "f", input: {} },
  },
  {
    type: "content_block_delta",
    index: 1,
    delta: { type: "input_json_delta", partial_json: '{"a"' },
  },
  {
    type: "content_block_delta",
    index: 1,
    delta: { type: "input_json_delta", partial_json: ":1}" },
  },
  { type: "content_block_stop", index: 1 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: { output_tokens: 9 },
  },
  { type: "message_stop" },
].map(named);

Deno.test("the strict Messages client accumulates what the stream says", () => {
  const outcome = readMessagesStream(bytes(messagesFrames));
  assert(outcome.kind === "message");
  assertEquals<unknown>(outcome.message.content, [
    { type: "text", text: "Hi" },
    { type: "tool_use", id: "a", name: "f", input: { a: 1 } },
  ]);
  assertEquals<unknown>(outcome.message.usage, { input_tokens: 3, output_tokens: 9 });
});

const chatBase = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const chatChoice = (delta: unknown, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ ...chatBase, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const chatFrames = [
  chatChoice({ role: "assistant", content: "" }),
  chatChoice({ content: "Hi" }),
  chatChoice({
    tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }],
  }),
  chatChoice({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
  chatChoice({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
  chatChoice({
    tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "f", arguments: "" } }],
  }),
  chatChoice({ tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
  chatChoice({}, "tool_calls"),
  `data: ${
    JSON.stringify({
      ...chatBase,
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
    })
  }\n\n`,
  "data: [DONE]\n\n",
];

Deno.test("the strict Chat client accumulates what the stream says", () => {
  const outcome = readChatStream(bytes(chatFrames), true);
  assert(outcome.kind === "completion");
  const choice = outcome.completion.choices[0];
  assertEquals(choice?.message.content, "Hi");
  assertEquals<unknown>(choice?.message.tool_calls, [
    { id: "a", type: "function", function: { name: "f", arguments: '{"a":1}' } },
    { id: "b", type: "function", function: { name: "f", arguments: "{}" } },
  ]);
  assertEquals(outcome.completion.usage?.total_tokens, 12);
});

const part = { type: "output_text", text: "", annotations: [] };
const message = { type: "message", id: "msg_1", role: "assistant" };
const call = { type: "function_call", id: "fc_1", call_id: "a", name: "f" };
const whole = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  tool_choice: "auto",
  tools: [],
};
const output = [
  { ...message, status: "completed", content: [{ ...part, text: "Hello" }] },
  { ...call, status: "completed", arguments: '{"a":1}' },
];
const inMessage = { item_id: "msg_1", output_index: 0, content_index: 0 };
const inCall = { item_id: "fc_1", output_index: 1 };
const responsesFrames = [
  {
    type: "response.created",
    response: { ...whole, status: "in_progress", output: [], usage: null },
  },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { ...message, status: "in_progress", content: [] },
  },
  { type: "response.content_part.added", ...inMessage, part },
  { type: "response.output_text.delta", ...inMessage, delta: "Hel" },
  { type: "response.output_text.delta", ...inMessage, delta: "lo" },
  { type: "response.output_text.done", ...inMessage, text: "Hello" },
  { type: "response.content_part.done", ...inMessage, part: { ...part, text: "Hello" } },
  { type: "response.output_item.done", output_index: 0, item: output[0] },
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { ...call, status: "in_progress", arguments: "" },
  },
  { type: "response.function_call_arguments.delta", ...inCall, delta: '{"a":1}' },
  { type: "response.function_call_arguments.done", ...inCall, arguments: '{"a":1}' },
  { type: "response.output_item.done", output_index: 1, item: output[1] },
  {
    type: "response.completed",
    response: {
      ...whole,
      status: "completed",
      output,
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 12,
      },
    },
  },
];
/** Numbered after the change under test, so that only the order itself can be at fault. */
const numbered = (events: readonly { readonly type: string }[]): string[] =>
  events.map((event, sequence_number) => named({ ...event, sequence_number }));

Deno.test("the strict Responses client accumulates what the stream says", () => {
  const outcome = readResponsesStream(bytes(numbered(responsesFrames)));
  assert(outcome.kind === "response");
  assertEquals<unknown>(outcome.response.output, output);
});

/** Every way to lose, repeat or swap one of the frames. */
function damaged<Frame>(frames: readonly Frame[]): [name: string, frames: Frame[]][] {
  return frames.flatMap((frame, at): [string, Frame[]][] => {
    const next = frames[at + 1];
    return [
      [`without ${at}`, frames.toSpliced(at, 1)],
      [`${at} twice`, frames.toSpliced(at, 0, frame)],
      ...(next === undefined
        ? []
        : [[`${at} behind the next`, frames.toSpliced(at, 2, next, frame)] as [string, Frame[]]]),
    ];
  });
}

function isAccepted(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof StrictClientError) return false;
    throw error;
  }
}

/** A lost or repeated piece of text is still a stream; everything else must be noticed. */
function checkAllNoticed<Frame>(
  frames: readonly Frame[],
  read: (frames: readonly Frame[]) => unknown,
  unnoticed: readonly string[],
): void {
  for (const [name, wrong] of damaged(frames)) {
    assertEquals(isAccepted(() => read(wrong)), unnoticed.includes(name), name);
  }
}

Deno.test("the strict Messages client notices every lost, repeated and swapped event", () => {
  checkAllNoticed(
    messagesFrames,
    (frames) => readMessagesStream(bytes(frames)),
    ["2 twice", "8 twice"],
  );
});

Deno.test("the strict Chat client notices every lost, repeated and swapped chunk", () => {
  checkAllNoticed(
    chatFrames,
    (frames) => readChatStream(bytes(frames), true),
    ["without 1", "1 twice", "1 behind the next"],
  );
});

Deno.test("the strict Responses client notices every lost, repeated and swapped event", () => {
  checkAllNoticed(responsesFrames, (events) => readResponsesStream(bytes(numbered(events))), []);
});

Deno.test("the strict Responses client notices a wrong sequence number", () => {
  const frames = numbered(responsesFrames);
  const wrong = frames.with(3, frames[3]!.replace('"sequence_number":3', '"sequence_number":4'));
  assertThrows(() => readResponsesStream(bytes(wrong)), StrictClientError, "sequence_number 4");
});

Deno.test("strict clients notice a stream that is cut inside an event", () => {
  const frames = messagesFrames.with(-1, messagesFrames.at(-1)!.trimEnd());
  assertThrows(() => readMessagesStream(bytes(frames)), StrictClientError, "is not closed");
});

Deno.test("the strict Chat client refuses usage that was not asked for", () => {
  assertThrows(() => readChatStream(bytes(chatFrames), false), StrictClientError, "did not ask");
});

Deno.test("strict clients tell an error from an answer", () => {
  const error = named({
    type: "error",
    ...{ error: { type: "overloaded_error", message: "Later" } },
  });
  assertEquals(readMessagesStream(bytes([...messagesFrames.slice(0, 3), error])), {
    kind: "error",
    type: "overloaded_error",
    text: "Later",
  });
  const chatError = 'data: {"error":{"type":"api_error","message":"Broken"}}\n\n';
  assertEquals(readChatStream(bytes([...chatFrames.slice(0, 3), chatError]), true), {
    kind: "error",
    type: "api_error",
    text: "Broken",
  });
});
