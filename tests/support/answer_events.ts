/**
 * Random answers for property tests, and the events of a stream with the same answer: text in random pieces, parallel
 * calls interleaved, ends as soon as a decoder would know them.
 */
import * as fc from "./property.ts";
import type {
  Answer,
  AnswerBlock,
  ReasoningProof,
  Stop,
  StreamEvent,
} from "../../core/wire/conversation/mod.ts";
import type { Json } from "../../core/lib/json/json.ts";
import type { TokenUsage } from "../../core/billing/tokens/token_bounds.ts";
import { defined } from "../../core/lib/base/defined.ts";

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });
const word = fc.stringMatching(/^[a-z_]{1,12}$/);

const proof: fc.Arbitrary<ReasoningProof> = fc.oneof(
  fc.record({
    kind: fc.constant("signature" as const),
    signer: fc.constant("messages"),
    signature: fc.base64String({ minLength: 4, maxLength: 40 }),
  }, { noNullPrototype: true }),
  fc.record({
    kind: fc.constant("item" as const),
    signer: fc.constant("responses"),
    id: fc.constant("rs_1"),
    encryptedContent: fc.base64String({ minLength: 4, maxLength: 40 }),
  }, { noNullPrototype: true }),
  fc.record({
    kind: fc.constant("redacted" as const),
    signer: fc.constant("messages"),
    data: fc.base64String({ minLength: 4, maxLength: 40 }),
  }, { noNullPrototype: true }),
);

/** Empty objects within others: a piece of arguments may be as short as a whole one. */
const nested = fc.constantFrom<Json>({}, [], [{}], { a: {} }, null);

const jsonArguments = fc.dictionary(word, fc.oneof(text, fc.integer(), fc.boolean(), nested), {
  maxKeys: 4,
}).map((value) => JSON.stringify(value));

const blocks: fc.Arbitrary<AnswerBlock>[] = [
  text.map((value): AnswerBlock => ({ type: "text", path: "", text: value })),
  fc.tuple(fc.oneof(text, fc.constant("")), fc.option(proof, { nil: undefined })).map(
    ([value, found]): AnswerBlock => ({
      type: "reasoning",
      path: "",
      text: found?.kind === "redacted" ? "" : value,
      ...defined({ proof: found }),
    }),
  ),
  fc.tuple(word, fc.oneof(jsonArguments, fc.constant(""))).map(([name, value]): AnswerBlock => ({
    type: "tool_call",
    path: "",
    id: "",
    name,
    input: { kind: "json_text", text: value },
  })),
];

const usage: fc.Arbitrary<TokenUsage> = fc.record({
  input: fc.nat(10_000),
  cacheRead: fc.nat(10_000),
  cacheWrite: fc.nat(10_000),
  output: fc.integer({ min: 100, max: 10_000 }),
  reasoning: fc.nat(100),
}, { noNullPrototype: true });

/** Whether a block is anything that a client can read. */
function isPart(block: AnswerBlock): boolean {
  return block.type !== "reasoning" || block.text !== "";
}

/** A whole answer of at least one part; calls have ids of their own, and the stop reason fits the blocks. */
export const arbitraryAnswer: fc.Arbitrary<Answer> = fc.record({
  blocks: fc.array(fc.oneof(...blocks), { maxLength: 8 }).filter((all) => all.some(isPart)),
  usage: fc.option(usage, { nil: undefined }),
  cut: fc.boolean(),
}, { noNullPrototype: true }).map(({ blocks, usage, cut }) => {
  const named = blocks.map((block, i) =>
    block.type === "tool_call" ? { ...block, id: `call_${i}` } : block
  );
  const calls = named.some((block) => block.type === "tool_call");
  const stop: Stop = { reason: cut ? "length" : calls ? "tool_calls" : "end" };
  return { blocks: named, stop, ...defined({ usage }) };
});

/**
 * The events of one block, its text cut at `cuts`. An empty block has no events.
 */
function eventsOf(block: AnswerBlock, number: number, cuts: readonly number[]): StreamEvent[] {
  const pieces = (value: string, type: "text" | "reasoning" | "arguments"): StreamEvent[] =>
    cutAt(value, cuts).map((piece) => ({ type, block: number, json: JSON.stringify(piece) }));
  switch (block.type) {
    case "text":
      return [...pieces(block.text, "text"), { type: "block_end", block: number }];
    case "reasoning": {
      if (block.text === "" && block.proof === undefined) return [];
      const proof: StreamEvent[] = block.proof === undefined
        ? []
        : [{ type: "reasoning_proof", block: number, proof: block.proof }];
      const end: StreamEvent = { type: "block_end", block: number };
      return [...pieces(block.text, "reasoning"), ...proof, end];
    }
    case "tool_call": {
      const { id, name, input } = block;
      const args = input.kind === "object" ? JSON.stringify(input.value) : input.text;
      return [
        { type: "call", block: number, id, name, ...(input.kind === "text" && { custom: true }) },
        ...pieces(args, "arguments"),
        { type: "block_end", block: number },
      ];
    }
    case "hosted_call": {
      const { style, id, call } = block;
      return [{ type: "hosted_call", block: number, style, id, call }, {
        type: "block_end",
        block: number,
      }];
    }
    case "picture":
      return [{ type: "picture", block: number, url: block.url }, {
        type: "block_end",
        block: number,
      }];
    case "sound": {
      const { mediaType, data } = block;
      return [{ type: "sound", block: number, mediaType, data }, {
        type: "block_end",
        block: number,
      }];
    }
    case "foreign":
      return [{ type: "foreign", block: number, kind: block.kind }, {
        type: "block_end",
        block: number,
      }];
  }
}

function cutAt(value: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (value.length + 1)))].sort((a, b) => a - b);
  const pieces: string[] = [];
  let from = 0;
  for (const place of [...places, value.length]) {
    if (place > from) pieces.push(value.slice(from, place));
    from = Math.max(from, place);
  }
  return pieces;
}

/**
 * A stream with the content of `answer`. Runs of neighbouring calls are interleaved by `choices`: each chooses the open
 * call that gets the next event.
 */
export function eventsOfAnswer(
  answer: Answer,
  cuts: readonly number[],
  choices: readonly number[],
): StreamEvent[] {
  const events: StreamEvent[] = [{ type: "start", id: "upstream_1" }];
  let picks = 0;
  const lanes: StreamEvent[][] = [];
  const flush = () => {
    while (lanes.length > 0) {
      const at = (choices[picks++ % Math.max(choices.length, 1)] ?? 0) % lanes.length;
      const next = lanes[at]?.shift();
      if (next !== undefined) events.push(next);
      if (lanes[at]?.length === 0) lanes.splice(at, 1);
    }
  };
  answer.blocks.forEach((block, number) => {
    const own = eventsOf(block, number, cuts);
    const isCall = block.type === "tool_call";
    if (!isCall) flush();
    // A call begins before the next one does; only what follows may interleave.
    if (isCall) events.push(...own.splice(0, 1));
    lanes.push(own);
    if (!isCall) flush();
  });
  flush();
  if (answer.usage !== undefined) events.push({ type: "usage", usage: answer.usage });
  events.push({ type: "stop", stop: answer.stop }, { type: "end" });
  return events;
}

/** The content of a list of events, for comparison with a whole answer. Foreign blocks and paths are omitted. */
export interface ToldAnswer {
  readonly blocks: readonly unknown[];
  readonly stop: Stop | undefined;
  readonly usage: TokenUsage | undefined;
  readonly ended: boolean;
  readonly error: string | undefined;
}

/** Adds up the events of a stream. */
export function answerOfEvents(events: readonly StreamEvent[]): ToldAnswer {
  const open = new Map<number, ToldBlock>();
  const told: { -readonly [Key in keyof ToldAnswer]: ToldAnswer[Key] } = {
    blocks: [],
    stop: undefined,
    usage: undefined,
    ended: false,
    error: undefined,
  };
  for (const event of events) {
    if ("block" in event) addToBlock(open, event);
    else if (event.type === "stop") told.stop = event.stop;
    else if (event.type === "usage") told.usage = event.usage;
    else if (event.type === "end") told.ended = true;
    else if (event.type === "error") told.error = event.error.message;
  }
  const blocks = [...open.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
  return { ...told, blocks: blocks.filter((block) => block.type !== "foreign") };
}

interface ToldBlock {
  type: string;
  text: string;
  [more: string]: unknown;
}

/** Events that belong to a block begun by another kind of event. */
const blockTypes: ReadonlyMap<string, string> = new Map([
  ["arguments", "call"],
  ["reasoning_proof", "reasoning"],
  ["citation", "text"],
]);

function addToBlock(
  open: Map<number, ToldBlock>,
  event: Extract<StreamEvent, { readonly block: number }>,
): void {
  if (event.type === "block_end") return;
  const type = blockTypes.get(event.type) ?? event.type;
  let block = open.get(event.block);
  if (block === undefined) {
    block = { type, text: "" };
    open.set(event.block, block);
  }
  if ("json" in event) block.text += JSON.parse(event.json);
  if (event.type === "picture") block.text = event.url;
  if (event.type === "sound") block.text += event.data;
  if (event.type === "reasoning_proof") block["proof"] = event.proof;
  if (event.type === "hosted_call") Object.assign(block, { id: event.id, call: event.call });
  if (event.type === "citation") {
    block["citations"] = [
      ...(Array.isArray(block["citations"]) ? block["citations"] : []),
      event.citation,
    ];
  }
  if (event.type === "call") {
    Object.assign(block, { id: event.id, name: event.name, custom: event.custom === true });
  }
}

/** A whole answer in the same form. */
export function toldAnswer(answer: Answer): ToldAnswer {
  const blocks = answer.blocks.flatMap((block): ToldBlock[] => {
    switch (block.type) {
      case "text":
        return [{
          type: block.refusal === true ? "refusal" : "text",
          text: block.text,
          ...defined({ citations: block.citations }),
        }];
      case "reasoning":
        return [{
          type: "reasoning",
          text: block.text,
          ...defined({ proof: block.proof }),
        }];
      case "tool_call": {
        const { id, name, input } = block;
        const text = input.kind === "object" ? JSON.stringify(input.value) : input.text;
        return [{ type: "call", text, id, name, custom: input.kind === "text" }];
      }
      case "hosted_call":
        return [{ type: "hosted_call", text: "", id: block.id, call: block.call }];
      case "picture":
        return [{ type: "picture", text: block.url }];
      case "sound":
        return [{ type: "sound", text: block.data }];
      case "foreign":
        return [];
    }
  });
  return { blocks, stop: answer.stop, usage: answer.usage, ended: true, error: undefined };
}
