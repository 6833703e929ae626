import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { ConversionMemory, Style } from "../../../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";

const encoder = new TextEncoder();
const context = {
  clientModel: "m",
  requestId: "req_1",
  clientWantsUsage: true,
  nowSeconds: 1_700_000_000,
};

/** Converts a stream that comes in these parts; each buffer is spoiled afterwards. */
function converted(
  [from, to]: readonly [Style, Style],
  parts: readonly Uint8Array[],
  { isLent = false, memory = {} }: { isLent?: boolean; memory?: ConversionMemory } = {},
) {
  const pipe = createConvertingPipe(from, to, context, memory);
  const decoder = new TextDecoder();
  let text = "";
  for (const part of parts) {
    const bytes = part.slice();
    const out = isLent ? pipe.pushLent?.(bytes) : pipe.push(bytes);
    text += decoder.decode(out, { stream: true });
    bytes.fill(0x21);
  }
  text += decoder.decode(pipe.end());
  return { text, reading: pipe.reading };
}

type Event = readonly [kind: "text" | "thinking" | "source" | "other", text: string];

/** A source of the text around a position. */
const sourceOf = (id: number, at: number) => ({
  type: "url_citation",
  url_citation: {
    url: `https://example.com/${id}`,
    title: "T",
    start_index: Math.max(0, at - 2),
    end_index: at + id % 4,
  },
});

function chat(events: readonly Event[]): string {
  const chunk = (delta: object, rest: object = {}) =>
    `data: ${
      JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, ...rest }], usage: null })
    }\n\n`;
  let chars = 0;
  const bodies = events.map(([kind, text], at) => {
    if (kind === "other") return `: ${text.length}\n\n`;
    if (kind === "source") return chunk({ annotations: [sourceOf(at, chars)] });
    if (kind === "text") chars += text.length;
    return chunk(kind === "text" ? { content: text } : { reasoning_content: text });
  });
  return [
    chunk({ role: "assistant", content: "" }),
    ...bodies,
    chunk({ annotations: [sourceOf(-1, chars)] }),
    chunk({}, { finish_reason: "stop" }),
    "data: [DONE]\n\n",
  ].join("");
}

function messages(events: readonly Event[]): string {
  const event = (type: string, body: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`;
  let index = -1;
  let open: string | undefined;
  let out = event("message_start", { message: { id: "m", usage: { input_tokens: 1 } } });
  for (const [kind, text] of events) {
    if (kind === "other") {
      out += event("ping");
      continue;
    }
    if (kind === "source") {
      const { url, title } = sourceOf(index, 0).url_citation;
      const citation = { type: "web_search_result_location", url, title, cited_text: text };
      if (open === "text") {
        out += event("content_block_delta", {
          index,
          delta: { type: "citations_delta", citation },
        });
      }
      continue;
    }
    if (open !== kind) {
      if (open !== undefined) out += event("content_block_stop", { index });
      out += event("content_block_start", {
        index: ++index,
        content_block: { type: kind, [kind]: "" },
      });
      open = kind;
    }
    const delta = { type: `${kind}_delta`, [kind]: text };
    out += event("content_block_delta", { index, delta });
  }
  if (open !== undefined) out += event("content_block_stop", { index });
  return out + event("message_delta", { delta: { stop_reason: "end_turn" } }) +
    event("message_stop");
}

const piece = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom(
    "",
    " ",
    "\n",
    '"',
    "\\",
    "x\ud83d",
    "\ude00y",
    "\u{1f600}",
    "ế",
    "\u0001",
    "a\\u0041",
  ),
);
const events = fc.array(
  fc.tuple(
    fc.constantFrom("text", "text", "text", "text", "text", "thinking", "source", "other"),
    piece,
  ),
  { maxLength: 30 },
) as fc.Arbitrary<Event[]>;

const directions = [
  ["chat", "messages"],
  ["messages", "chat"],
  ["chat", "responses"],
  ["messages", "gemini"],
] as const;

Deno.test("texts that are not decoded arrive as those that are, with the same reading", () => {
  for (const direction of directions) {
    const write = direction[0] === "chat" ? chat : messages;
    fc.assert(
      fc.property(events, (some) => {
        const bytes = encoder.encode(write(some));
        // Frames that come byte by byte are never compared.
        const single = converted(direction, [...bytes].map((byte) => new Uint8Array([byte])));
        for (const isLent of [false, true]) {
          assertEquals(converted(direction, [bytes], { isLent }), single);
        }
      }),
      { numRuns: 150 },
    );
  }
});

Deno.test("bytes that are no UTF-8 are replaced in every frame", () => {
  const [before = "", after = ""] = chat([["text", "one"], ["text", "two"], ["text", "?"]])
    .split("?");
  for (const wrong of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf5, 0x80]]) {
    const bytes = new Uint8Array([...encoder.encode(before), ...wrong, ...encoder.encode(after)]);
    const { text } = converted(["chat", "messages"], [bytes], { isLent: true });
    assert(text.includes('"text":"\ufffd'), text);
  }
});

Deno.test("names of tools are restored, and thinking is separated, as before", () => {
  const stream = encoder.encode(chat([["text", "<think>a"], ["text", "b"], ["text", "</think>c"]]));
  const { text } = converted(["chat", "messages"], [stream], {
    isLent: true,
    memory: { thinkTags: "pair" },
  });
  assert(text.includes('"thinking":"b"') && text.includes('"text":"c"'), text);
});
