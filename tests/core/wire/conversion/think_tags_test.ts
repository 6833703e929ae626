/** `<think>…</think>` in the text of an answer becomes reasoning where the route says so, in any pieces. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { ConversionMemory, ThinkTags } from "../../../../core/wire/contract/contract.ts";
import { restoreAnswer } from "../../../../core/wire/convert/convert.ts";
import type { StreamEvent } from "../../../../core/wire/conversation/mod.ts";
import { splitThinking, thinkingSink } from "../../../../core/wire/convert/think_tags.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { converted, convertedAnswer } from "./converting.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

interface Told {
  readonly thinking: string;
  readonly text: string;
}

function whole(text: string, tags: ThinkTags): Told {
  const answer = splitThinking(
    { blocks: text === "" ? [] : [{ type: "text", path: "", text }], stop: { reason: "end" } },
    tags,
  );
  const { blocks } = restoreAnswer(answer, {});
  const of = (type: "reasoning" | "text") =>
    blocks.map((block) => block.type === type ? block.text : "").join("");
  return { thinking: of("reasoning"), text: of("text") };
}

function eventsOf(pieces: readonly string[], tags: ThinkTags): StreamEvent[] {
  const events: StreamEvent[] = [];
  const sink = thinkingSink(tags, (event) => events.push(event));
  for (const piece of pieces) sink({ type: "text", block: 0, json: JSON.stringify(piece) });
  sink({ type: "block_end", block: 0 });
  sink({ type: "stop", stop: { reason: "end" } });
  return events;
}

function inPieces(pieces: readonly string[], tags: ThinkTags): Told {
  const events = eventsOf(pieces, tags);
  const of = (type: "reasoning" | "text") =>
    events.map((event) => event.type === type ? JSON.parse(event.json) : "").join("");
  return { thinking: of("reasoning"), text: of("text") };
}

function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  let turn = 0;
  for (let at = 0; at < text.length;) {
    const size = sizes[turn++ % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

Deno.test("thinking and answer are told apart, and only at the beginning", () => {
  const rows: readonly (readonly [ThinkTags, string, string, string])[] = [
    ["pair", "<think>Hm.</think>Yes.", "Hm.", "Yes."],
    ["pair", "\n <think>\nHm.\n</think>\n\nYes. </think>", "Hm.\n", "Yes. </think>"],
    ["pair", "<think>\n\n</think>\n\nYes.", "", "Yes."],
    ["pair", "<think>Hm, cut", "Hm, cut", ""],
    ["pair", "<think>Hm</thi", "Hm</thi", ""],
    ["pair", "Yes: <think>x</think>", "", "Yes: <think>x</think>"],
    ["pair", "<thinking>x</thinking>", "", "<thinking>x</thinking>"],
    ["pair", "<thi", "", "<thi"],
    ["pair", " ".repeat(65) + "<think>x</think>", "", " ".repeat(65) + "<think>x</think>"],
    ["pair", "", "", ""],
    ["close", "Hm.</think>\nYes.", "Hm.", "Yes."],
    ["close", "<think>Hm.</think>Yes.", "Hm.", "Yes."],
    ["close", "Hm, cut", "Hm, cut", ""],
  ];
  for (const [tags, text, thinking, said] of rows) {
    assertEquals(whole(text, tags), { thinking, text: said }, text);
    assertEquals(inPieces([text], tags), { thinking, text: said }, text);
  }
});

const bits = fc.constantFrom(
  "<think>",
  "</think>",
  "<",
  "/",
  ">",
  "th",
  "ink",
  " ",
  "\n",
  "a",
  "😀",
);
const texts = fc.array(bits, { maxLength: 12 }).map((parts) => parts.join(""));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

Deno.test("any split of a stream gives what the whole answer gives", () => {
  fc.assert(
    fc.property(texts, sizes, fc.constantFrom("pair", "close"), (text, sizes, tags) => {
      assertEquals(inPieces(cut(text, sizes), tags), whole(text, tags));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("what is held back of a stream is bounded, and answers without tags pass piece by piece", () => {
  const spaces = eventsOf(Array.from({ length: 100 }, () => " "), "pair");
  assert(spaces.filter(({ type }) => type === "text").length >= 100 - 64);
  const sink: StreamEvent[] = [];
  const take = thinkingSink("pair", (event) => sink.push(event));
  take({ type: "text", block: 0, json: '"<think>"' });
  for (let i = 0; i < 100; i++) {
    take({ type: "text", block: 0, json: JSON.stringify("x".repeat(50)) });
    // At most the beginning of a tag waits.
    assertEquals(sink.filter(({ type }) => type === "reasoning").length, i + 1);
  }
});

const answer = (content: string): JsonObject => ({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
});

Deno.test("clients of every style get it as reasoning where the route says so, else untouched", () => {
  const text = "<think>Hm 😀.</think>\n\nYes.";
  const request = { model: "m", input: "Hi" };
  const { memory } = converted("responses", "chat", request, { think_tags: "pair" });
  const plain = converted("responses", "chat", request).memory;
  const pieces = cut(text, [3]).map((content) => chunk({ content }));
  const frames = chatFrames([...pieces, chunk({}, "stop")]);
  const run = (to: "messages" | "responses", with_: ConversionMemory) => [
    JSON.stringify(convertedAnswer("chat", to, answer(text), with_)),
    streamed("chat", to, frames, { memory: with_ }).text,
  ];
  for (const out of run("messages", memory)) {
    assert(out.includes('"type":"thinking"') && !out.includes("think>"), out);
  }
  for (const out of run("responses", memory)) {
    assert(out.includes('"type":"reasoning"') && !out.includes("think>"), out);
    assert(out.includes('"text":"Hm 😀."') && out.includes('"text":"Yes."'), out);
  }
  for (const out of run("messages", plain)) assert(!out.includes('"type":"thinking"'), out);
});

Deno.test("thinking that a tool call follows ends before it", () => {
  const call = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  const frames = chatFrames([
    chunk({ content: "<think>Hm" }),
    chunk({ tool_calls: [call] }),
    chunk({}, "tool_calls"),
  ]);
  const { text } = streamed("chat", "messages", frames, { memory: { thinkTags: "pair" } });
  const order = [...text.matchAll(/"content_block":\{"type":"(\w+)"/g)].map(([, type]) => type);
  assertEquals(order, ["thinking", "tool_use"]);
});
