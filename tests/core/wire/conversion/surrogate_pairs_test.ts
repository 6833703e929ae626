/** A character that a provider split over two pieces reaches the client whole, in every converted stream. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { StreamEvent } from "../../../../core/wire/conversation/mod.ts";
import { joiningSink } from "../../../../core/wire/convert/converting_pipe.ts";
import { chatFrames, chunk, messagesFrames, streamed } from "./streaming.ts";

/** A lone half anywhere in a piece of text. */
const loneHalf =
  /\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]/;

/** Every piece of a stream is valid alone, since readers decode each one. */
function assertWhole(text: string): void {
  assert(!loneHalf.test(text), text);
}

Deno.test("halves in two deltas become one character, in text, reasoning and arguments", () => {
  const call = (args: string, more = {}) =>
    chunk({ tool_calls: [{ index: 0, ...more, function: { ...more, arguments: args } }] });
  const frames = chatFrames([
    chunk({ reasoning_content: "r\ud83d" }),
    chunk({ reasoning_content: "\ude00" }),
    chunk({ content: "a\ud83d" }),
    chunk({}, null, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
    chunk({ content: "\ude00b\ud83d" }),
    chunk({ content: "\ude01" }),
    call('{"x":"\ud83d', { id: "c1", name: "f" }),
    call('\ude00"}'),
    chunk({}, "tool_calls"),
  ]);
  for (const to of ["messages", "responses"] as const) {
    const { text } = streamed("chat", to, frames);
    assertWhole(text);
    const told = text.replace(
      /\\u([0-9a-f]{4})/g,
      (_, hex) => String.fromCharCode(parseInt(hex, 16)),
    );
    for (const whole of ["😀", "😀b", "😁"]) assert(told.includes(`"${whole}"`), text);
    assert(told.includes(`"😀\\"}"`), text);
  }
});

Deno.test("escapes in either case are joined, as they stand in the provider's frames", () => {
  const delta = (text: string) =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
  const begin = messagesFrames([
    { type: "message_start" },
    { type: "content_block_start", ...{ index: 0, content_block: { type: "text", text: "" } } },
  ]);
  const end = messagesFrames([
    { type: "content_block_stop", ...{ index: 0 } },
    { type: "message_delta", ...{ delta: { stop_reason: "end_turn" } } },
    { type: "message_stop" },
  ]);
  const halves = ["x", "y\\uD83D", "\\uDE00z", "\\\\ud83d", "w"].map(delta).join("");
  const { text } = streamed("messages", "chat", begin + halves + end);
  assertWhole(text.replaceAll("\\\\ud83d", ""));
  const content = [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json]) => JSON.parse(json!)).join("");
  // A backslash before `ud83d` is no escape.
  assertEquals(content, "xy😀z\\ud83dw");
});

Deno.test("a half without its partner becomes the replacement character, and nothing is lost behind it", () => {
  const frames = chatFrames([
    chunk({ content: "a\ud83d" }),
    chunk({ content: "b" }),
    chunk({ content: "\ude00c\ud83d" }),
    chunk({}, "stop"),
  ]);
  const { text } = streamed("chat", "messages", frames);
  assertWhole(text);
  const pieces = [...text.matchAll(/"text_delta","text":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json]) => JSON.parse(json!)).join("");
  assertEquals(pieces, "a\ufffdb\ufffdc\ufffd");
});

Deno.test("any split between code units gives the same text", () => {
  const unit = fc.constantFrom("😀", "\ud83d", "\ude00", "a", "\\", '"', "é");
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      (units, size) => {
        const text = units.join("");
        const out: string[] = [];
        const sink = joiningSink((event: StreamEvent) => {
          if ("json" in event) out.push(event.json);
        });
        for (let at = 0; at < text.length; at += size) {
          sink({ type: "text", block: 0, json: JSON.stringify(text.slice(at, at + size)) });
        }
        sink({ type: "block_end", block: 0 });
        const joined = out.map((json): string => JSON.parse(json)).join("");
        assertEquals(joined.toWellFormed(), text.toWellFormed());
        // No piece ends or begins within a character.
        for (const json of text.isWellFormed() ? out : []) {
          const piece: string = JSON.parse(json);
          const [first, last] = [piece.charCodeAt(0), piece.charCodeAt(piece.length - 1)];
          assert(!(first >= 0xdc00 && first < 0xe000) && !(last >= 0xd800 && last < 0xdc00), json);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("log probabilities go with the piece that holds their character", () => {
  const out: StreamEvent[] = [];
  const sink = joiningSink((event) => out.push(event));
  sink({ type: "text", block: 0, json: '"a\\ud83d"', logprobs: "[1]" });
  sink({ type: "text", block: 0, json: '"\\ude00"', logprobs: "[2]" });
  assertEquals(out, [
    { type: "text", block: 0, json: '"a"' },
    { type: "text", block: 0, json: '"\\ud83d\\ude00"', logprobs: "[1,2]" },
  ]);
});
