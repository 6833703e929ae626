/** Random answers of both styles, each as a whole body and as a stream of the same content. */
import * as fc from "../../../support/property.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { chatFrames, chunk, messagesFrames } from "./streaming.ts";

export interface AnswerPair {
  readonly body: JsonObject;
  readonly transcript: string;
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
/** Text that is not blank: vendors send no blank blocks. */
const text = words.map((word) => `${word}.`);
const name = fc.constantFrom("f", "get_weather", "mcp__x__y");
const input = fc.dictionary(
  fc.string({ unit: "grapheme", maxLength: 6 }).filter((key) => key !== "__proto__"),
  fc.oneof(fc.integer(), words, fc.boolean(), fc.array(words, { maxLength: 2 })),
  { maxKeys: 3, noNullPrototype: true },
);
const count = fc.integer({ min: 0, max: 1_000_000 });
/** Where texts are cut into deltas. */
const cuts = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

/** A text in pieces; surrogate pairs may fall apart, as they do at real vendors. */
function cut(whole: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < whole.length;) {
    const size = sizes[pieces.length % sizes.length] ?? 1;
    pieces.push(whole.slice(at, at + size));
    at += size;
  }
  return pieces;
}

const messagesBlock = fc.oneof(
  fc.record({
    type: fc.constant("text" as const),
    text,
    citations: fc.array(
      fc.record({
        type: fc.constant("web_search_result_location" as const),
        url: fc.webUrl(),
        title: words,
      }, { noNullPrototype: true }),
      { maxLength: 2 },
    ),
  }),
  fc.record({
    type: fc.constant("thinking" as const),
    thinking: fc.oneof(text, fc.constant("")),
    signature: fc.base64String({ minLength: 4, maxLength: 40 }),
  }),
  fc.record({
    type: fc.constant("redacted_thinking" as const),
    data: fc.base64String({ minLength: 4 }),
  }),
  fc.record({ type: fc.constant("tool_use" as const), name, input }),
);

/** An answer of a Messages upstream. */
export const messagesAnswer: fc.Arbitrary<AnswerPair> = fc.record({
  blocks: fc.array(messagesBlock, { maxLength: 6 })
    // Without anything to be read it is no answer.
    .filter((all) => all.some((block) => block.type !== "thinking" || block.thinking !== "")),
  cuts,
  stop: fc.constantFrom("end_turn", "max_tokens", "stop_sequence", "refusal"),
  counts: fc.record({
    input_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    output_tokens: count,
  }),
  tier: fc.constantFrom(undefined, "standard", "priority", "batch"),
}).map(({ blocks, cuts, stop, counts, tier }) => {
  const told = tier === undefined ? {} : { service_tier: tier };
  const content: JsonObject[] = blocks.map((block, i) =>
    block.type === "tool_use" ? { ...block, id: `toolu_${i}` } : { ...block }
  );
  const stop_reason = content.some((block) => block.type === "tool_use") && stop === "end_turn"
    ? "tool_use"
    : stop;
  const shell = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    stop_sequence: null,
  };
  const events = [
    {
      type: "message_start",
      message: {
        ...shell,
        content: [],
        stop_reason: null,
        usage: { ...counts, output_tokens: 1, ...told },
      },
    },
    ...content.flatMap((block, index) => [
      ...blockEvents(block, index, cuts),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: counts },
    { type: "message_stop" },
  ];
  return {
    body: { ...shell, content, stop_reason, usage: { ...counts, ...told } },
    transcript: messagesFrames(events),
  };
});

function citationDeltas(citations: Json | undefined, index: number) {
  return (Array.isArray(citations) ? citations : []).map((citation) => ({
    type: "content_block_delta",
    index,
    delta: { type: "citations_delta", citation },
  }));
}

function blockEvents(block: JsonObject, index: number, cuts: readonly number[]) {
  const start = (content_block: JsonObject) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const deltas = (whole: string, write: (piece: string) => JsonObject) =>
    cut(whole, cuts).map((piece) => ({
      type: "content_block_delta",
      index,
      delta: write(piece),
    }));
  switch (block.type) {
    case "text":
      return [
        start({ type: "text", text: "" }),
        ...citationDeltas(block.citations, index).slice(0, 1),
        ...deltas(String(block.text), (piece) => ({ type: "text_delta", text: piece })),
        ...citationDeltas(block.citations, index).slice(1),
      ];
    case "thinking":
      return [
        start({ type: "thinking", thinking: "", signature: "" }),
        ...deltas(String(block.thinking), (piece) => ({ type: "thinking_delta", thinking: piece })),
        {
          type: "content_block_delta",
          index,
          delta: { type: "signature_delta", signature: String(block.signature) },
        },
      ];
    case "tool_use": {
      // The vendor streams no pieces but an empty one for a call without arguments.
      const json = JSON.stringify(block.input);
      return [
        start({ ...block, input: {} }),
        ...deltas(json === "{}" ? "" : json, (piece) => ({
          type: "input_json_delta",
          partial_json: piece,
        })),
      ];
    }
    default:
      return [start(block)];
  }
}

/** Calls of a Chat answer. */
const calls = fc.array(fc.record({ name, input }), { maxLength: 4 });

/** An answer of a Chat upstream; argument deltas of its calls interleave at random. */
export const chatAnswer: fc.Arbitrary<AnswerPair> = fc.record({
  reasoning: fc.option(text, { nil: "" }),
  content: fc.option(text, { nil: "" }),
  calls,
  cuts,
  order: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 40 }),
  together: fc.boolean(),
  finish: fc.constantFrom("stop", "length", "content_filter"),
  prompt: count,
  cached: count,
  completion: count,
  tier: fc.constantFrom(undefined, "default", "priority", "flex"),
}).filter(({ reasoning, content, calls }) => reasoning + content !== "" || calls.length > 0).map((
  given,
) => {
  const told = given.tier === undefined ? {} : { service_tier: given.tier };
  const tool_calls = given.calls.map((call, index) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
  const finish = given.finish === "stop" && tool_calls.length > 0 ? "tool_calls" : given.finish;
  const usage = {
    prompt_tokens: given.prompt,
    completion_tokens: given.completion,
    total_tokens: given.prompt + given.completion,
    prompt_tokens_details: { cached_tokens: given.cached },
  };
  const message: JsonObject = {
    role: "assistant",
    content: given.content === "" ? null : given.content,
    ...(given.reasoning === "" ? {} : { reasoning_content: given.reasoning }),
    ...(tool_calls.length === 0
      ? {}
      : { tool_calls: tool_calls.map(({ index: _, ...call }) => call) }),
  };
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    ...cut(given.reasoning, given.cuts).map((piece) => chunk({ reasoning_content: piece })),
    ...cut(given.content, given.cuts).map((piece) => chunk({ content: piece })),
    ...interleaved(tool_calls, given.cuts, given.order, given.together).map((tool_calls) =>
      chunk({ tool_calls })
    ),
    chunk({}, finish),
    { ...chunk({}) as JsonObject, choices: [], usage, ...told },
  ];
  return {
    body: {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
      ...told,
    },
    transcript: chatFrames(chunks),
  };
});

interface WholeCall {
  readonly index: number;
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The deltas of several calls in a random order that keeps each call's own. */
function interleaved(
  calls: readonly WholeCall[],
  cuts: readonly number[],
  order: readonly number[],
  together: boolean,
): JsonObject[][] {
  const queues: JsonObject[][] = calls.map((call) => [
    { ...call, function: { name: call.function.name, arguments: "" } },
    ...cut(call.function.arguments, cuts).map((piece) => ({
      index: call.index,
      function: { arguments: piece },
    })),
  ]);
  const deltas: JsonObject[] = [];
  // Calls are introduced by rising index; then their pieces mix.
  if (together) { for (const queue of queues) deltas.push(...queue.splice(0, 1)); }
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn++) {
    const open = queues.filter((queue) => queue.length > 0);
    const queue = together ? open[(order[turn % order.length] ?? 0) % open.length] : open[0];
    const next = queue?.shift();
    if (next !== undefined) deltas.push(next);
  }
  return deltas.map((delta) => [delta]);
}
