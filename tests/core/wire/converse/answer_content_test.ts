/** What a Converse model makes beside text: pictures are carried, what no other style has is named in its place. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { decodeBase64, encodeBase64 } from "../../../../core/lib/runtime/built_ins.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import { convertAnswer } from "../../../../core/wire/convert/convert.ts";
import { readAnswer } from "../../../../core/wire/mod.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import { context, convertedAnswer } from "../conversion/converting.ts";
import { clientStyles } from "../conversion/provider_answers.ts";
import { streamed } from "../conversion/streaming.ts";

const bytes = Uint8Array.from({ length: 300 }, (_, i) => i * 7 % 256);
const data = encodeBase64(bytes);
const usage = { inputTokens: 5, outputTokens: 9, totalTokens: 14 };

function answerOf(content: readonly JsonObject[]): JsonObject {
  const message = { role: "assistant", content: [...content] };
  return { output: { message }, stopReason: "end_turn", usage };
}

type Event = readonly [name: string, payload: JsonObject];

function streamOf(events: readonly Event[]): string {
  const whole: readonly Event[] = [
    ["messageStart", { role: "assistant" }],
    ...events,
    ["messageStop", { stopReason: "end_turn" }],
    ["metadata", { usage }],
  ];
  return whole.map(([name, payload]) => `event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`)
    .join("");
}

/** A picture in pieces of so many bytes, each with padding of its own. */
function drawing(size: number, format: "start" | "delta" | "none", index = 0): Event[] {
  const named = { format: "jpeg" };
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => {
    const source = { bytes: encodeBase64(bytes.subarray(i * size, (i + 1) * size)) };
    return { source, ...(format === "delta" ? named : {}) };
  });
  return [
    ...format === "none" ? [] : [
      [
        "contentBlockStart",
        { contentBlockIndex: index, start: { image: format === "start" ? named : {} } },
      ] as const,
    ],
    ...pieces.map((image): Event => ["contentBlockDelta", {
      contentBlockIndex: index,
      delta: { image },
    }]),
    ["contentBlockStop", { contentBlockIndex: index }],
  ];
}

/** The data of the picture that a client gets. */
function pictureIn(client: Style, text: string): string | undefined {
  const found = client === "responses"
    ? /"result":"([^"]+)"/.exec(text)
    : client === "gemini"
    ? /"inlineData":\{"mimeType":"image\/\w+","data":"([^"]+)"/.exec(text)
    : /"url":"data:image\/\w+;base64,([^"]+)"/.exec(text);
  return found?.[1];
}

const drawn = ["chat", "responses", "gemini"] as const satisfies readonly Style[];

Deno.test("a picture of a Converse stream reaches every client that has pictures, in any pieces", () => {
  for (const client of drawn) {
    const whole = JSON.stringify(
      convertedAnswer(
        "converse",
        client,
        answerOf([{ image: { format: "png", source: { bytes: data } } }]),
      ),
    );
    assertEquals(pictureIn(client, whole), data, client);
    for (const size of [1, 2, 30, 100, 300]) {
      for (const format of ["start", "delta", "none"] as const) {
        const { text, reading } = streamed("converse", client, streamOf(drawing(size, format)));
        const name = `${client} ${size} ${format}`;
        assertEquals(decodeBase64(pictureIn(client, text) ?? ""), bytes, name);
        if (client !== "responses") {
          assertEquals(text.includes("image/jpeg"), format !== "none", name);
        }
        assertEquals([reading.state, reading.sawOutput], ["completed", true], name);
        assert(reading.outputBytes > 0 && reading.outputBytes <= 5_160, name);
      }
    }
  }
});

Deno.test("a whole answer with a picture is the same as a stream", () => {
  const body = answerOf([
    { text: "Here it is." },
    { image: { format: "png", source: { bytes: data } } },
  ]);
  const { empty, outputBytes } = readAnswer("converse", body);
  for (const client of drawn) {
    const { text, reading } = streamed("converse", client, answerFrames("converse", body));
    assertEquals(pictureIn(client, text), data, client);
    assertEquals([reading.outputBytes, !reading.sawOutput], [outputBytes, empty]);
  }
  const { text } = streamed("converse", "messages", answerFrames("converse", body));
  assert(text.includes("image/png left out") && text.includes("Here it is."), text);
});

Deno.test("two pictures whose pieces alternate stay apart, and a text between them is kept", () => {
  const [start, ...first] = drawing(100, "start", 0);
  const second = drawing(100, "start", 2);
  assert(start !== undefined);
  const said: Event[] = [
    ["contentBlockDelta", { contentBlockIndex: 1, delta: { text: "And:" } }],
    ["contentBlockStop", { contentBlockIndex: 1 }],
  ];
  const mixed = first.flatMap((event, i) => second[i] === undefined ? [event] : [event, second[i]]);
  const { text } = streamed(
    "converse",
    "chat",
    streamOf([start, ...said, ...mixed, ...second.slice(first.length)]),
  );
  assertEquals(text.split(`base64,${data}`).length, 3, text);
  assert(text.includes("And:"));
});

Deno.test("a picture that failed, that is no base64 or too large is named or an error, never a wrong picture", () => {
  const index = { contentBlockIndex: 0 };
  const delta = (image: JsonObject): Event => ["contentBlockDelta", { ...index, delta: { image } }];
  const stop: Event = ["contentBlockStop", index];
  for (
    const events of [
      [delta({ error: { message: "blocked" } }), stop],
      [delta({ source: {} }), stop],
      [delta({ source: { bytes: "a" } }), delta({ source: { bytes: "!" } }), stop],
    ]
  ) {
    for (const client of drawn) {
      const { text, reading } = streamed("converse", client, streamOf(events));
      // Nothing else is there to be read.
      assert(text.includes("The model answered only with image"), text);
      assertEquals([pictureIn(client, text), reading.state], [undefined, "error"]);
      const said: Event = ["contentBlockDelta", { contentBlockIndex: 1, delta: { text: "So:" } }];
      const beside = streamed("converse", client, streamOf([said, ...events]));
      assert(beside.text.includes("image left out"), beside.text);
      assertEquals(beside.reading.state, "completed");
    }
  }
  const piece = delta({ source: { bytes: "A".repeat(4_000_000) } });
  const { text, reading } = streamed("converse", "chat", streamOf([piece, piece, piece]));
  assert(text.includes('"error"') && reading.state !== "completed", text.slice(0, 200));
});

const source = { bytes: "AAAA" };

/** Content that only its own style has, as blocks of a whole answer, with the name that a client reads. */
const lost: readonly (readonly [ProviderStyle, JsonObject, string])[] = [
  ["converse", { video: { format: "mp4", source } }, "video"],
  ["converse", { document: { format: "pdf", name: "a", source } }, "document"],
  ["converse", { "made up\r\n": {} }, "content"],
  ["gemini", { inlineData: { mimeType: "text/html", data: "AAAA" } }, "inlineData"],
  ["gemini", { fileData: { mimeType: "video/mp4", fileUri: "https://a.example/b" } }, "fileData"],
];

/** Blocks that are no content of the answer: tools of the provider, and drafts. */
const quiet: readonly (readonly [ProviderStyle, JsonObject])[] = [
  ["converse", { toolUse: { type: "server_tool_use", toolUseId: "t", name: "nova_grounding" } }],
  ["converse", { toolResult: { toolUseId: "t", content: [] } }],
  ["gemini", { toolCall: { toolType: "FILE_SEARCH", id: "a" } }],
  ["gemini", { thought: true, inlineData: { mimeType: "image/png", data: "AAAA" } }],
];

function withText(provider: ProviderStyle, block: JsonObject): JsonObject {
  const said = { text: "Here it is." };
  if (provider === "converse") return answerOf([said, block]);
  const content = { role: "model", parts: [said, block] };
  return { candidates: [{ content, finishReason: "STOP", index: 0 }] };
}

Deno.test("content that no other style has is named in its place, whole and streamed", () => {
  for (const [provider, block, name] of lost) {
    const body = withText(provider, block);
    for (const client of clientStyles) {
      if (client === provider) continue;
      const named: string[] = [];
      const whole = JSON.stringify(
        convertAnswer(provider, client, body, context, {}, (what) => named.push(what)),
      );
      const stream = streamed(provider, client, answerFrames(provider, body));
      for (const text of [whole, stream.text]) {
        assert(text.includes(`[${name} left out`) && text.includes("Here it is."), text);
      }
      assertEquals([named, stream.reading.state], [[`answer.${name}`], "completed"]);
    }
  }
});

Deno.test("what the provider's own tools leave in an answer is no content, and no client hears of it", () => {
  for (const [provider, block] of quiet) {
    const body = withText(provider, block);
    for (const client of clientStyles) {
      if (client === provider) continue;
      const named: string[] = [];
      const whole = JSON.stringify(
        convertAnswer(provider, client, body, context, {}, (what) => named.push(what)),
      );
      const stream = streamed(provider, client, answerFrames(provider, body));
      for (const text of [whole, stream.text]) assert(!text.includes("left out"), text);
      assertEquals(named, []);
    }
  }
});
