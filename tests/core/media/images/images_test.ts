import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import {
  answerAsStream,
  createImagePipe,
  readImageAnswer,
} from "../../../../core/media/images/answer.ts";
import {
  chargeForImages,
  type ImageEndpoint,
  readImageRequest,
} from "../../../../core/media/images/request.ts";
import { imageUpstreamBody } from "../../../../core/media/images/upstream_body.ts";
import type { UpstreamBodyTools } from "../../../../core/media/base/exchange.ts";
import {
  multipartBoundary,
  type NewFormPart,
  partText,
  readForm,
  writeForm,
} from "../../../../core/calls/body/multipart.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { FakeExchange } from "../../calls/stream/fake_exchange.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 1]);
const gif = encoder.encode("GIF89a......");
const pngText = png.toBase64();

function json(endpoint: ImageEndpoint, body: Record<string, unknown>) {
  const bytes = encoder.encode(JSON.stringify({ model: "img", prompt: "a cat", ...body }));
  return readImageRequest(endpoint, bytes, "application/json");
}

function form(endpoint: ImageEndpoint, parts: readonly NewFormPart[]) {
  const all = [{ name: "model", body: "img" }, { name: "prompt", body: "a cat" }, ...parts];
  const { body, contentType } = writeForm(all, "client-boundary");
  return readImageRequest(endpoint, body, contentType);
}

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("accepted");
}

const tools: UpstreamBodyTools = {
  fetchImage: (url) => {
    assertEquals(url, "https://example.com/remote.gif");
    return Promise.resolve({ mediaType: "image/gif", bytes: gif });
  },
  newBoundary: () => "our-boundary-0123456789abcdef",
};

const noFetch: UpstreamBodyTools = {
  ...tools,
  fetchImage: () => Promise.reject(new Error("nothing may be fetched here")),
};

Deno.test("n is a whole number from 1 to 10, in JSON and in forms", () => {
  for (const n of [1, 10, "3", null, undefined]) {
    const { count } = json("generations", { n });
    assertEquals(count, Number(n ?? 1));
  }
  const wrong = [0, 11, -1, 1.5, 1e30, "0", "11", "1.0", "", true, [1], "18446744073686646784"];
  for (const n of wrong) {
    const error = refusal(() => json("generations", { n }));
    assertEquals([error.status, error.param], [400, "n"], JSON.stringify(n));
    if (typeof n !== "string") continue;
    assertEquals(refusal(() => form("generations", [{ name: "n", body: n }])).param, "n");
  }
  assertEquals(form("generations", [{ name: "n", body: "4" }]).count, 4);
});

Deno.test("size is bounded, its choice is the provider's", () => {
  for (const size of ["auto", "1024x1024", "1536x1024", "64x8192"]) json("generations", { size });
  for (const size of ["63x100", "8193x100", "1024", "1024X1024", "-1x5", "99999x1", "", 7]) {
    assertEquals(refusal(() => json("generations", { size })).param, "size", String(size));
  }
});

Deno.test("partial_images is bounded like n", () => {
  for (const partial_images of [0, 1, 3, null, "0"]) json("generations", { partial_images });
  for (const partial_images of [4, -1, 0.5, "x"]) {
    const error = refusal(() => json("generations", { partial_images }));
    assertEquals(error.param, "partial_images");
  }
});

Deno.test("prompt and model are required; other content types are refused", () => {
  assertEquals(refusal(() => json("generations", { prompt: " " })).param, "prompt");
  assertEquals(refusal(() => json("generations", { model: "" })).param, "model");
  assertEquals(refusal(() => json("generations", { model: "m".repeat(257) })).param, "model");
  assertEquals(refusal(() => readImageRequest("edits", png, "text/plain")).status, 415);
  assertEquals(refusal(() => readImageRequest("edits", png, "")).status, 415);
});

Deno.test("an edit takes its reference from each of the four fields, in each form", () => {
  for (const field of ["image", "image_url", "reference_image", "ref_image"]) {
    const values = [
      "https://example.com/remote.gif",
      `data:image/png;base64,${pngText}`,
      pngText,
      { url: "https://example.com/remote.gif" },
    ];
    const kinds = values.map((value) => json("edits", { [field]: value }).references[0]?.kind);
    assertEquals(kinds, ["url", "base64", "base64", "url"], field);
    const inForm = form("edits", [
      { name: field, body: png, fileName: "a.png" },
      { name: `${field}[]`, body: png, fileName: "b.png" },
      { name: field, body: pngText },
    ]);
    assertEquals(inForm.references.map(({ kind }) => kind), ["file", "file", "base64"], field);
    assertEquals(refusal(() => json("edits", { [field]: "junk!" })).param, field);
  }
  const many = json("edits", { image: [pngText, pngText], ref_image: pngText });
  assertEquals(many.references.length, 3);
});

Deno.test("an edit without a reference, with too many, or with two masks is refused", () => {
  assertEquals(refusal(() => json("edits", {})).param, "image");
  assertEquals(refusal(() => json("edits", { image: null })).param, "image");
  const seventeen = Array.from({ length: 17 }, () => pngText);
  assertEquals(refusal(() => json("edits", { image: seventeen })).param, "image");
  const twoMasks = { image: pngText, mask: [pngText, pngText] };
  assertEquals(refusal(() => json("edits", twoMasks)).param, "mask");
});

Deno.test("a generation is forwarded byte for byte, except for the model's name", async () => {
  const source = '{ "model":"img", "prompt":"caf\\u00e9",\n "quality": "high", "n":1.0 }';
  const request = readImageRequest("generations", encoder.encode(source), "application/json");
  const same = await imageUpstreamBody(
    request,
    { upstreamModel: "img", capabilities: {} },
    noFetch,
  );
  assertEquals(decoder.decode(joined(same.bytes)), source);
  const other = await imageUpstreamBody(
    request,
    { upstreamModel: "up-1", capabilities: {} },
    noFetch,
  );
  assertEquals(decoder.decode(joined(other.bytes)), source.replace('"img"', '"up-1"'));
});

Deno.test("a generation sent as a form becomes the JSON that providers know", async () => {
  const request = form("generations", [
    { name: "n", body: "2" },
    { name: "stream", body: "false" },
    { name: "size", body: "1024x1024" },
  ]);
  const body = await imageUpstreamBody(
    request,
    { upstreamModel: "up-1", capabilities: {} },
    noFetch,
  );
  assertEquals(body.contentType, "application/json");
  assertEquals(JSON.parse(decoder.decode(joined(body.bytes))), {
    model: "up-1",
    prompt: "a cat",
    n: 2,
    stream: false,
    size: "1024x1024",
  });
});

Deno.test("a form of files keeps its boundary and every byte but the model's name", async () => {
  const request = form("edits", [
    { name: "image[]", body: png, fileName: "one.png", contentType: "image/png" },
    { name: "image[]", body: gif, fileName: "two.gif" },
    { name: "mask", body: png, fileName: "mask.png" },
    { name: "quality", body: "low" },
  ]);
  assert(request.body.kind === "form");
  const route = { upstreamModel: "another-name", capabilities: {} };
  const body = await imageUpstreamBody(request, route, noFetch);
  assertEquals(multipartBoundary(body.contentType), "client-boundary");
  const expected = decoder.decode(request.body.bytes).replace("img", "another-name");
  assertEquals(decoder.decode(joined(body.bytes)), expected);
});

Deno.test("references of every kind become files where the provider wants a form", async () => {
  const request = json("edits", {
    image: ["https://example.com/remote.gif", pngText],
    ref_image: `data:image/png;base64,${pngText}`,
    mask: pngText,
    n: 2,
    background: null,
    extra: { a: 1 },
  });
  const body = await imageUpstreamBody(request, { upstreamModel: "up-1", capabilities: {} }, tools);
  const parts = readForm(joined(body.bytes), multipartBoundary(body.contentType)!);
  const seen = parts.map((part) => [
    part.name,
    part.fileName ?? partText(part),
    part.contentType ?? "",
    part.fileName === undefined ? 0 : part.body.length,
  ]);
  assertEquals(seen, [
    ["model", "up-1", "", 0],
    ["prompt", "a cat", "", 0],
    ["n", "2", "", 0],
    ["extra", '{"a":1}', "", 0],
    ["image[]", "reference_1.gif", "image/gif", 12],
    ["image[]", "reference_2.png", "image/png", 12],
    ["image[]", "reference_3.png", "image/png", 12],
    ["mask", "reference_1.png", "image/png", 12],
  ]);
});

Deno.test("where the provider wants JSON, URLs stay URLs and files become data URLs", async () => {
  const route = { upstreamModel: "up-1", capabilities: { image_edits: "json" } };
  const request = form("edits", [
    { name: "image", body: "https://example.com/remote.gif" },
    { name: "image", body: png, fileName: "a.png" },
    { name: "n", body: "2" },
  ]);
  const body = await imageUpstreamBody(request, route, noFetch);
  const dataUrl = `data:image/png;base64,${pngText}`;
  assertEquals(JSON.parse(decoder.decode(joined(body.bytes))), {
    model: "up-1",
    prompt: "a cat",
    n: 2,
    images: [{ image_url: "https://example.com/remote.gif" }, { image_url: dataUrl }],
  });

  const standard = { images: [{ image_url: dataUrl }], quality: "low" };
  const native = json("edits", standard);
  assert(native.body.kind === "json");
  const same = await imageUpstreamBody(native, { ...route, upstreamModel: "img" }, noFetch);
  assert(same.bytes === native.body.json.bytes, "the SDK's own JSON form is not touched");
});

Deno.test("readImageAnswer() counts the existing images, whatever surrounds them", () => {
  const cases: [string, number | undefined][] = [
    ['{"data":[{"b64_json":"aGk="}]}', 1],
    [
      '{"created":1,"data":[{"url":"u","revised_prompt":"x"},{"b64_json":"a"}],"usage":{"a":[1]}}',
      2,
    ],
    ['{"data":[{"b64_json":null},{"b64_json":""},{},{"url":7},null,"x"]}', 0],
    ['{"data":[{"b64_json":"a","url":"b"}]}', 1],
    ['{"data":[{"x":{"b64_json":"a"}}]}', 0],
    ['{"x":{"data":[{"url":"u"}]}}', 0],
    ['{"data":{}}', 0],
    ["[]", undefined],
    ['{"data":[', undefined],
    ["<html>", undefined],
    ["", undefined],
  ];
  for (const [text, images] of cases) {
    assertEquals(readImageAnswer(encoder.encode(text))?.images, images, text);
  }
  assertEquals(readImageAnswer(encoder.encode('{"error":{"code":"x"}}'))?.hasError, true);
  assertEquals(readImageAnswer(encoder.encode('{"error":null,"data":[]}'))?.hasError, false);
});

Deno.test("an answer that may contain uncounted pictures is not usable, nor is one without a picture", () => {
  const usable = [
    '{"data":[{"url":"u"},null,{}]}',
    '{"d\\u0061ta":[{"b64_json":"aGk="}]}',
  ];
  const strange = [
    '{"data":[]}',
    '{"created":1,"data":[ ]}',
    '{"images":[{"b64_json":"aGk="}]}',
    '{"data":["data:image/png;base64,aGk="]}',
    '{"data":[{"b64_json":"aGk="},"data:image/png;base64,aGk="]}',
    '{"data":[["aGk="]]}',
    '{"data":[{"image":"aGk="}]}',
    '{"data":{"b64_json":"aGk="}}',
    '{"data":null}',
    "{}",
  ];
  for (const text of [...usable, ...strange]) {
    const reading = readImageAnswer(encoder.encode(text));
    assertEquals(reading?.isUsable, usable.includes(text), text);
  }
});

Deno.test("readImageAnswer() agrees with a full parse on any JSON", () => {
  fc.assert(fc.property(
    fc.array(fc.oneof(
      fc.record({ b64_json: fc.oneof(fc.string(), fc.constant(null)) }),
      fc.record({ url: fc.string(), extra: fc.jsonValue() }),
      fc.jsonValue(),
    )),
    fc.jsonValue(),
    (data, before) => {
      const value: unknown = JSON.parse(JSON.stringify({ before, data, usage: before }));
      const expected = data.filter((item) => {
        if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
        const { b64_json, url } = item as Record<string, unknown>;
        return [b64_json, url].some((text) => typeof text === "string" && text !== "");
      }).length;
      const reading = readImageAnswer(encoder.encode(JSON.stringify(value)));
      assertEquals(reading?.images, expected);
      const isStrange = data.some((item) => typeof item !== "object" || Array.isArray(item));
      assertEquals(reading?.isUsable, !isStrange && expected > 0);
    },
  ));
});

Deno.test("answerAsStream() gives each picture of any answer an event of one line", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(fc.property(
    fc.array(fc.oneof(
      fc.record({ b64_json: fc.base64String({ minLength: 1 }), revised_prompt: text }),
      fc.constant(null),
      fc.dictionary(text, fc.jsonValue()),
    )),
    fc.record({ size: fc.jsonValue(), usage: fc.jsonValue(), created: fc.integer() }),
    fc.integer({ min: 1, max: 10 }),
    fc.constantFrom(undefined, 2, "\r\n"),
    (data, about, count, indent) => {
      const bytes = encoder.encode(JSON.stringify({ ...about, data }, null, indent));
      if (readImageAnswer(bytes)?.isUsable !== true) return;
      const exchange = new FakeExchange();
      const made = answerAsStream({
        bytes,
        request: { endpoint: "generations", count },
        requestId: "req_1",
        nowSeconds: 0,
        exchange,
        body: exchange,
      });
      const isPicture = (item: unknown) =>
        typeof item === "object" && item !== null && ["b64_json", "url"].some((name) => {
          const value = (item as Record<string, unknown>)[name];
          return typeof value === "string" && value !== "";
        });
      const pictures = JSON.parse(decoder.decode(bytes)).data.filter(isPicture).slice(0, count);
      assertEquals(made === undefined, pictures.length === 0);
      if (made === undefined) return;
      const { started, images } = made;
      const sent = decoder.decode(started.preamble) + decoder.decode(started.pipe.end());
      const events = sent.split("\n\n").slice(0, -1).map((event) => {
        const lines = event.split(/\r\n|\r|\n/);
        assertEquals([lines.length, lines[0]], [2, "event: image_generation.completed"]);
        return JSON.parse(lines[1]!.slice("data: ".length));
      });
      assertEquals(events.length, pictures.length);
      for (const [i, event] of events.entries()) {
        assertEquals(event.type, "image_generation.completed");
        assertEquals(event.created_at, about.created);
        assertEquals(event.b64_json, pictures[i].b64_json);
        assertEquals("usage" in event, i === events.length - 1 || "usage" in pictures[i]);
      }
      assertEquals(images.counts(), { finished: events.length, begun: events.length });
    },
  ));
});

const previews =
  'event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image",' +
  '"b64_json":"AAAA","partial_image_index":0}\n\n';
const finished = 'event: image_generation.completed\ndata: {"type":"image_generation.completed",' +
  '"b64_json":"BBBB","usage":{"total_tokens":5}}\n\n';

Deno.test("a streamed image passes byte for byte, and its last event waits for the settlement", () => {
  for (let split = 1; split < previews.length + finished.length; split += 7) {
    const { pipe, counts } = createImagePipe(1, "req_1");
    const whole = encoder.encode(previews + finished);
    let passed = decoder.decode(pipe.push(whole.subarray(0, split)));
    passed += decoder.decode(pipe.push(whole.subarray(split)));
    assertEquals(passed, previews);
    assertEquals(pipe.reading.state, "completed");
    assertEquals(decoder.decode(pipe.end()), finished);
    assertEquals(counts(), { finished: 1, begun: 1 });
  }
});

Deno.test("several images end with the last one; events without a name are read by their type", () => {
  const nameless = finished.replace(/^event: .*\n/, "");
  const { pipe, counts } = createImagePipe(2, "req_1");
  assertEquals(decoder.decode(pipe.push(encoder.encode(nameless))), nameless);
  assertEquals([pipe.reading.state, pipe.reading.sawOutput], ["open", true]);
  pipe.push(encoder.encode(previews));
  assertEquals(counts(), { finished: 1, begun: 2 });
  pipe.push(encoder.encode(nameless));
  assertEquals(decoder.decode(pipe.end()), nameless);
  assertEquals(counts(), { finished: 2, begun: 2 });
});

Deno.test("a stream that ends with fewer images than requested is complete; one with none is not", () => {
  const fewer = createImagePipe(2, "req_1");
  fewer.pipe.push(encoder.encode(finished));
  assertEquals(fewer.pipe.end().length, 0);
  assertEquals(fewer.pipe.reading.state, "completed");
  const none = createImagePipe(1, "req_1");
  none.pipe.push(encoder.encode(previews));
  assert(decoder.decode(none.pipe.end()).startsWith("event: error\n"));
});

Deno.test("an error in the stream has the code that clients know", () => {
  const { pipe } = createImagePipe(1, "req_1");
  const told = pipe.push(encoder.encode(
    'event: error\ndata: {"type":"error","error":{"code":"moderation_blocked","message":"no"}}\n\n',
  ));
  assertEquals(told.length, 0);
  assertEquals([pipe.reading.state, pipe.reading.error?.code], [
    "error",
    "content_policy_violation",
  ]);
  assert(decoder.decode(pipe.end()).includes('"code":"content_policy_violation"'));
});

Deno.test("chargeForImages() follows the outcome table and never exceeds the request", () => {
  const perImage = { unit: "image", perUnitMicroVnd: 1_000n } as const;
  const perRequest = { unit: "request", perUnitMicroVnd: 900n } as const;
  const table: [Outcome, number, number, number, number, number][] = [
    // outcome, asked, finished, begun → per image, per request
    ["completed", 4, 4, 4, 4_000, 900],
    ["completed", 4, 3, 3, 3_000, 900],
    ["completed", 1, 5, 5, 1_000, 900],
    ["empty", 4, 0, 0, 0, 0],
    ["failed", 4, 0, 0, 0, 0],
    ["broken", 4, 2, 3, 2_000, 900],
    ["broken", 4, 0, 1, 0, 0],
    ["client_gone", 4, 2, 3, 3_000, 900],
    ["client_gone", 4, 0, 0, 0, 0],
  ];
  for (const [outcome, asked, done, begun, image, request] of table) {
    const end = { outcome, asked, finished: done, begun };
    const charges = [perImage, perRequest].map((price) =>
      Number(chargeForImages({ ...end, price }).priceMicroVnd)
    );
    assertEquals(charges, [image, request], JSON.stringify(end));
  }
});
