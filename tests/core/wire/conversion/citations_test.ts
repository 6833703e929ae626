/** Web sources keep their place, their title and their address through every conversion, whole and streamed. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { withoutForeignBlocks } from "../../../../core/wire/messages/request/decode_blocks.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { list, readStream, readWhole } from "../../../conformance/clients.ts";
import { convertedAnswer } from "./converting.ts";
import { chatFrames, chunk, messagesFrames, streamed } from "./streaming.ts";

const text = "Rain in Huế. Sun in Vinh.";

/** A source as both OpenAI styles write it; `at` is its place. */
interface Source {
  readonly url: string;
  readonly title: string;
  readonly at: readonly [number, number];
}
const rain: Source = { url: "https://a.example/rain", title: "Rain", at: [0, 12] };
const sun: Source = { url: "https://b.example/sun", title: "Sun", at: [13, 25] };

function url({ url, title, at: [start_index, end_index] }: Source): JsonObject {
  return { start_index, end_index, title, url };
}
const annotation = (source: Source): JsonObject => ({
  type: "url_citation",
  url_citation: url(source),
});
const item = (source: Source): JsonObject => ({ type: "url_citation", ...url(source) });

function chatBody(message: JsonObject, more: JsonObject = {}): JsonObject {
  const choices = [{ index: 0, finish_reason: "stop", message: { content: text, ...message } }];
  return { id: "chatcmpl-1", object: "chat.completion", choices, ...more };
}

function responsesBody(annotations: JsonObject[]): JsonObject {
  const content = [{ type: "output_text", text, annotations }];
  const output = [{
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content,
  }];
  return { id: "resp_1", object: "response", status: "completed", output, usage };
}

const usage = { input_tokens: 9, output_tokens: 5 };

/** The sources that a strict client of `style` holds in the end. */
function sourcesOf(style: Style, answer: JsonObject): JsonObject[] {
  if (style === "chat") {
    const message = list(answer["choices"])[0]?.["message"];
    assert(isJsonObject(message));
    return list(message["annotations"]).map(({ url_citation }) => {
      assert(isJsonObject(url_citation));
      return url_citation;
    });
  }
  if (style === "responses") {
    const parts = list(answer["output"]).flatMap((one) => list(one["content"]));
    return parts.flatMap((part) => list(part["annotations"])).map(({ type: _, ...rest }) => rest);
  }
  return list(answer["content"]).flatMap((block) => list(block["citations"]));
}

function wholeSources(from: Style, to: Style, body: JsonObject): JsonObject[] {
  return sourcesOf(to, readWhole(to, convertedAnswer(from, to, body)));
}

function streamSources(from: Style, to: Style, transcript: string): JsonObject[] {
  const bytes = new TextEncoder().encode(streamed(from, to, transcript).text);
  const outcome = readStream(to, bytes);
  assert(outcome.kind === "answer", JSON.stringify(outcome));
  return sourcesOf(to, outcome.answer);
}

/** What a Messages client gets of sources that another vendor found. */
const cited = ({ url, title }: Source): JsonObject => ({
  type: "web_search_result_location",
  url,
  title,
  encrypted_index: "ugw1.0",
  cited_text: "",
});

Deno.test("places of sources pass between Chat and Responses as they are", () => {
  const both = [url(rain), url(sun)];
  const chat = chatBody({ annotations: [annotation(rain), annotation(sun)] });
  assertEquals(wholeSources("chat", "responses", chat), both);
  assertEquals(wholeSources("responses", "chat", responsesBody([item(rain), item(sun)])), both);
});

Deno.test("a Messages client gets sources of other vendors in its vendor's shape", () => {
  const both = [cited(rain), cited(sun)];
  const chat = chatBody({ annotations: [annotation(rain), annotation(sun)] });
  assertEquals(wholeSources("chat", "messages", chat), both);
  assertEquals(wholeSources("responses", "messages", responsesBody([item(rain), item(sun)])), both);
  const untitled = convertedAnswer("chat", "messages", chatBody({}, { citations: [rain.url] }));
  assertEquals(list(list(untitled["content"])[0]?.["citations"])[0]?.["title"], null);
});

/** Chat streams that name the same two sources before the text, with it, and behind it. */
const chatStreams: Record<string, Json[]> = {
  before: [
    chunk({ role: "assistant", annotations: [annotation(rain), annotation(sun)] }),
    chunk({ content: text }),
    chunk({}, "stop"),
  ],
  within: [
    chunk({ role: "assistant", content: text.slice(0, 12) }),
    chunk({ annotations: [annotation(rain)] }),
    chunk({ content: text.slice(12) }),
    chunk({ annotations: [annotation(rain), annotation(sun)] }),
    chunk({}, "stop"),
  ],
  "before and behind": [
    chunk({ role: "assistant", annotations: [annotation(rain)] }),
    chunk({ content: text.slice(0, 13) }),
    chunk({ content: text.slice(13) }),
    chunk({ annotations: [annotation(sun)] }),
    chunk({}, "stop"),
  ],
  behind: [
    chunk({ role: "assistant", content: text }),
    chunk({}, "stop"),
    chunk({ annotations: [annotation(rain), annotation(sun)] }),
  ],
};

for (const [place, chunks] of Object.entries(chatStreams)) {
  Deno.test(`sources of a Chat stream that come ${place} the text reach every client`, () => {
    const frames = chatFrames(chunks);
    assertEquals(streamSources("chat", "responses", frames), [url(rain), url(sun)]);
    assertEquals(streamSources("chat", "messages", frames), [cited(rain), cited(sun)]);
  });
}

function responsesFrames(events: readonly JsonObject[]): string {
  return events.map((event, i) =>
    `event: ${event["type"]}\ndata: ${JSON.stringify({ sequence_number: i, ...event })}\n\n`
  ).join("");
}

const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
const said = (delta: string) => ({ type: "response.output_text.delta", ...at, delta });
const told = (annotation_index: number, source: Source) => ({
  type: "response.output_text.annotation.added",
  ...at,
  annotation_index,
  annotation: item(source),
});
const done = (annotations: JsonObject[]) => {
  const response = responsesBody(annotations);
  const [whole] = list(response["output"]);
  assert(whole !== undefined);
  return [
    { type: "response.output_item.done", output_index: 0, item: whole },
    { type: "response.completed", response },
  ];
};
const begun = [
  { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "message", id: "msg_1", role: "assistant", content: [] },
  },
];

/** Responses streams that tell the sources where the text is, before it, or only with the whole item. */
const responsesStreams: Record<string, JsonObject[]> = {
  "with the text": [said(text.slice(0, 13)), told(0, rain), said(text.slice(13)), told(1, sun)],
  "before the text": [told(0, rain), told(1, sun), said(text)],
  "with the whole item": [said(text)],
  "half of them with the whole item": [said(text), told(0, rain)],
};

for (const [place, events] of Object.entries(responsesStreams)) {
  Deno.test(`sources of a Responses stream that come ${place} reach every client`, () => {
    const frames = responsesFrames([...begun, ...events, ...done([item(rain), item(sun)])]);
    assertEquals(streamSources("responses", "chat", frames), [url(rain), url(sun)]);
    assertEquals(streamSources("responses", "messages", frames), [cited(rain), cited(sun)]);
  });
}

/** What a Messages client reads: each block's text, and the addresses of its sources. */
function blocksOf(answer: JsonObject): [Json | undefined, (Json | undefined)[]][] {
  return list(answer["content"]).map((block) => [
    block["text"],
    list(block["citations"]).map((one) => one["url"]),
  ]);
}

function streamedBlocks(from: Style, transcript: string) {
  const bytes = new TextEncoder().encode(streamed(from, "messages", transcript).text);
  const outcome = readStream("messages", bytes);
  assert(outcome.kind === "answer", JSON.stringify(outcome));
  return blocksOf(outcome.answer);
}

Deno.test("a Messages client finds each source on the block that ends where its place does", () => {
  const divided = [["Rain in Huế. ", [rain.url]], ["Sun in Vinh.", [sun.url]]];
  const body = chatBody({ annotations: [annotation(rain), annotation(sun)] });
  assertEquals<unknown>(
    blocksOf(readWhole("messages", convertedAnswer("chat", "messages", body))),
    divided,
  );
  const frames = (events: JsonObject[]) =>
    responsesFrames([...begun, ...events, ...done([item(rain), item(sun)])]);
  const streams = [
    streamedBlocks("chat", chatFrames(chatStreams["before"] ?? [])),
    streamedBlocks("chat", chatFrames(chatStreams["within"] ?? [])),
    streamedBlocks("responses", frames([told(0, rain), told(1, sun), said(text)])),
    streamedBlocks(
      "responses",
      frames([
        said(text.slice(0, 12)),
        told(0, rain),
        ...[...text.slice(12)].map(said),
        told(1, sun),
      ]),
    ),
  ];
  for (const blocks of streams) assertEquals<unknown>(blocks, divided);
  // Told when all of the text has gone by: a stream cannot take it back.
  const late = streamedBlocks("chat", chatFrames(chatStreams["behind"] ?? []));
  assertEquals<unknown>(late, [[text, [rain.url, sun.url]]]);
});

Deno.test("blocks are divided so that none is blank and no character is cut", () => {
  const words = fc.array(fc.constantFrom("a", " ", "\n", "Huế", "\u{1f600}", ". "), {
    minLength: 1,
    maxLength: 12,
  });
  const places = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 5 });
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(words, places, sizes, (words, places, sizes) => {
    const text = words.join("");
    const annotations = places.map(([start, length], i) =>
      annotation({ url: `https://${i}.example`, title: "T", at: [start, start + length] })
    );
    const body = chatBody({ content: text, annotations });
    const whole = blocksOf(readWhole("messages", convertedAnswer("chat", "messages", body)));
    assertEquals(whole.map(([part]) => part).join(""), text);
    for (const [part] of whole) {
      assert(text.trim() === "" || String(part).trim() !== "", JSON.stringify(whole));
      assert(String(part).isWellFormed(), JSON.stringify(whole));
    }
    if (text.trim() !== "") {
      assertEquals(whole.flatMap(([, urls]) => urls).length, annotations.length);
    }
    // Sources that come first let a stream be divided in the same places, whatever its pieces.
    const pieces: Json[] = [chunk({ annotations })];
    for (let at = 0; at < text.length;) {
      const size = sizes[pieces.length % sizes.length] ?? 1;
      pieces.push(chunk({ content: text.slice(at, at + size) }));
      at += size;
    }
    if (text === "") return;
    const blocks = streamedBlocks("chat", chatFrames([...pieces, chunk({}, "stop")]));
    const inOrder = ([part, urls]: [Json | undefined, (Json | undefined)[]]) => [part, urls.sort()];
    assertEquals(blocks.map(inOrder), whole.map(inOrder));
  }));
});

Deno.test("a place is moved by the text before its block, and stays with its own text", () => {
  const block = (words: string, source: Source) => ({
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: words, annotations: [item(source)] }],
  });
  const output = [block("Xin chào. ", { ...rain, at: [0, 3] }), block(text, sun)];
  const body = { id: "resp_1", status: "completed", output };
  assertEquals(wholeSources("responses", "chat", body), [
    url({ ...rain, at: [0, 3] }),
    url({ ...sun, at: [10 + 13, 10 + 25] }),
  ]);
});

Deno.test("lists of sources beside the choices belong to the whole text, each address once", () => {
  const more: JsonObject = {
    search_results: [{ title: "Rain", url: rain.url, date: "2026-01-01" }],
    citations: [rain.url, sun.url, "not an address"],
  };
  const whole: readonly [number, number] = [0, text.length];
  const both = [url({ ...rain, at: whole }), url({ ...sun, title: "", at: whole })];
  assertEquals(wholeSources("chat", "responses", chatBody({}, more)), both);
  // Search providers repeat the list in every chunk; it may come before the text or with the last of it.
  const everywhere = chatFrames([
    chunk({ role: "assistant", content: "" }, null, more),
    chunk({ content: text.slice(0, 5) }, null, more),
    chunk({ content: text.slice(5) }, null, more),
    chunk({}, "stop", more),
  ]);
  assertEquals(streamSources("chat", "responses", everywhere), both);
  const last = chatFrames([chunk({ content: text }), chunk({}, "stop", more)]);
  assertEquals(streamSources("chat", "responses", last), both);
  const messages = streamSources("chat", "messages", last).map((one) => one["url"]);
  assertEquals(messages, [rain.url, sun.url]);
  // What an annotation places is not told a second time without its place.
  const placed = chatBody({ annotations: [annotation(rain)] }, more);
  assertEquals(wholeSources("chat", "responses", placed), [url(rain), both[1]!]);
});

Deno.test("places that cannot be places are none: the source is placed on its text", () => {
  for (const [start, end] of [[5, 2], [-1, 4], [0.5, 4], ["0", "4"]]) {
    const wrong = { ...item(rain), start_index: start ?? null, end_index: end ?? null };
    const found = wholeSources("responses", "chat", responsesBody([wrong]));
    assertEquals(found, [url({ ...rain, at: [0, text.length] })]);
  }
});

Deno.test("a Messages citation places its source on the text of its block", () => {
  const citation = {
    type: "web_search_result_location",
    url: sun.url,
    title: "Sun",
    encrypted_index: "EpAB",
    cited_text: "Sunny all day",
  };
  const given = {
    type: "search_result_location",
    source: rain.url,
    title: "Rain",
    cited_text: "Wet",
    search_result_index: 0,
    start_block_index: 0,
    end_block_index: 1,
  };
  const content = [
    { type: "text", text: "Rain in Huế. ", citations: [given] },
    { type: "text", text: "Sun in Vinh.", citations: [citation] },
  ];
  const body = { content, stop_reason: "end_turn" };
  const both = [url({ ...rain, at: [0, 13] }), url(sun)];
  assertEquals(wholeSources("messages", "chat", body), both);
  assertEquals(wholeSources("messages", "responses", body), both);
  const events = content.flatMap((block, index) => [
    {
      type: "content_block_start",
      index,
      content_block: { type: "text", text: "", citations: [] },
    },
    {
      type: "content_block_delta",
      index,
      delta: { type: "citations_delta", citation: block.citations[0] },
    },
    { type: "content_block_delta", index, delta: { type: "text_delta", text: block.text } },
    { type: "content_block_stop", index },
  ]);
  const frames = messagesFrames([
    { type: "message_start", message: { id: "msg_1", usage } } as { type: string },
    ...events,
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage } as { type: string },
    { type: "message_stop" },
  ]);
  assertEquals(streamSources("messages", "chat", frames), both);
  assertEquals(streamSources("messages", "responses", frames), both);
});

Deno.test("sources of another vendor do not return to a Messages vendor, its own do", () => {
  const own = { ...cited(rain), encrypted_index: "EpAB" };
  const said = (citations: Json[]) => ({
    messages: [{ role: "assistant", content: [{ type: "text", text, citations }] }],
  });
  assertEquals(withoutForeignBlocks(said([own])), undefined);
  assertEquals(withoutForeignBlocks(said([own, cited(sun)])), said([own]));
  assertEquals(withoutForeignBlocks(said([cited(sun)])), {
    messages: [{ role: "assistant", content: [{ type: "text", text }] }],
  });
});
