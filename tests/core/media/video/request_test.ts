import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { fieldsOfForm, fieldsOfJson } from "../../../../core/calls/body/fields.ts";
import { type NewFormPart, readForm, writeForm } from "../../../../core/calls/body/multipart.ts";
import { readVideoRequest, type VideoRequest } from "../../../../core/media/video/request.ts";
import { specVideoRules } from "../../../../core/catalog/entries/video_rules.ts";

type Model = keyof typeof specVideoRules;
const models: readonly Model[] = ["A", "B", "C", "D"];

/** The shortest bytes that begin like a PNG. */
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
const pngText = png.toBase64();

function fromJson(model: Model, body: JsonObject): VideoRequest {
  const fields = fieldsOfJson({ prompt: "a cat", ...body });
  return readVideoRequest(fields, specVideoRules[model], `video-${model.toLowerCase()}`);
}

function fromForm(model: Model, parts: readonly NewFormPart[]): VideoRequest {
  const form = writeForm([{ name: "prompt", body: "a cat" }, ...parts], "frontier");
  const fields = fieldsOfForm(readForm(form.body, "frontier"));
  return readVideoRequest(fields, specVideoRules[model], `video-${model.toLowerCase()}`);
}

function assertRefused(field: string, run: () => VideoRequest, message: string): void {
  let refusal: unknown;
  try {
    run();
  } catch (error) {
    refusal = error;
  }
  if (!(refusal instanceof GatewayError)) throw new Error(`accepted: ${message}`);
  assertEquals([refusal.status, refusal.param], [400, field], `${message}: ${refusal.message}`);
  assertEquals(refusal.message.startsWith(`${field}: `), true, refusal.message);
}

/** The four built-in profiles, written out a second time and by hand: the code's own table is what is under test. */
const allowedSeconds: Record<Model, ReadonlySet<number>> = {
  A: new Set([5, 10]),
  B: new Set([4, 6, 8]),
  C: new Set([5, 10, 15]),
  D: new Set([5, 10, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]),
};
const smallSizes = ["720x1280", "1280x720", "1024x1792", "1792x1024"];
const allSizes = [...smallSizes, "1024x1024", "768x1024", "1024x768", "1680x720"];
const allowedSizes: Record<Model, readonly string[]> = {
  A: smallSizes,
  B: smallSizes,
  C: allSizes,
  D: allSizes,
};
/** What A and B take for the shapes that they have not: 4:7 and 7:4 are nearer to a square than 9:16 and 16:9. */
const nearestSmallSize: Record<string, string> = {
  "1:1": "1024x1792",
  "3:4": "1024x1792",
  "4:3": "1792x1024",
  "21:9": "1280x720",
};
const sizeOfRatio = {
  "9:16": "720x1280",
  "16:9": "1280x720",
  "1:1": "1024x1024",
  "3:4": "768x1024",
  "4:3": "1024x768",
  "21:9": "1680x720",
};

for (const model of models) {
  Deno.test(`${model}: every whole number of seconds from 0 to 40 is taken or refused by the table`, () => {
    for (let seconds = 0; seconds <= 40; seconds++) {
      const forms: [string, () => VideoRequest][] = [
        [`number ${seconds}`, () => fromJson(model, { seconds })],
        [`string ${seconds}`, () => fromJson(model, { seconds: String(seconds) })],
        [`form ${seconds}`, () => fromForm(model, [{ name: "seconds", body: String(seconds) }])],
      ];
      for (const [message, run] of forms) {
        if (allowedSeconds[model].has(seconds)) {
          assertEquals([run().seconds, run().billedSeconds], [seconds, seconds], message);
        } else {
          assertRefused("seconds", run, message);
        }
      }
    }
  });

  Deno.test(`${model}: seconds that are no plain whole number are refused`, () => {
    const wrong = [5.5, -5, 1e21, "5.0", "05", " 5", "5s", "", "1e1", "0x5", true, {}, [5], [5, 5]];
    for (const seconds of wrong) {
      assertRefused("seconds", () => fromJson(model, { seconds }), JSON.stringify(seconds));
    }
    const twice = [{ name: "seconds", body: "5" }, { name: "seconds", body: "5" }];
    assertRefused("seconds", () => fromForm(model, twice), "twice in a form");
  });

  Deno.test(`${model}: seconds left out are billed as 5`, () => {
    for (const body of [{}, { seconds: null }]) {
      const request = fromJson(model, body);
      assertEquals([request.seconds, request.billedSeconds], [undefined, 5]);
      assertEquals(request.sentSeconds, model === "B" ? 6 : 5, "a length that the model makes");
    }
  });

  Deno.test(`${model}: sizes are taken or refused by the table`, () => {
    for (const size of [...allSizes, "1920x1080", "720X1280", "720x1280 ", "", "0x0", "9:16"]) {
      const runs = [
        () => fromJson(model, { size }),
        () => fromForm(model, [{ name: "size", body: size }]),
      ];
      for (const run of runs) {
        if (allowedSizes[model].includes(size)) assertEquals(run().size, size);
        else assertRefused("size", run, `${model} ${size}`);
      }
    }
    assertEquals(fromJson(model, {}).size, "720x1280");
    assertRefused("size", () => fromJson(model, { size: 720 }), "a number");
  });

  Deno.test(`${model}: an aspect ratio picks the size of that ratio, or the nearest one`, () => {
    for (const [aspect_ratio, size] of Object.entries(sizeOfRatio)) {
      const run = () => fromJson(model, { aspect_ratio });
      const has = allowedSizes[model].includes(size);
      assertEquals(run().size, has ? size : nearestSmallSize[aspect_ratio], aspect_ratio);
      assertEquals(run().approximatedFields, has ? [] : ["aspect_ratio"]);
    }
    for (const aspect_ratio of ["2:1", "16x9", "", 1]) {
      assertRefused("aspect_ratio", () => fromJson(model, { aspect_ratio }), `${aspect_ratio}`);
    }
  });

  Deno.test(`${model}: size and aspect ratio together must agree`, () => {
    const ratioOfSize: Record<string, string> = {
      ...Object.fromEntries(Object.entries(sizeOfRatio).map(([ratio, size]) => [size, ratio])),
      "1024x1792": "9:16",
      "1792x1024": "16:9",
    };
    const ratios = Object.keys(sizeOfRatio).filter((ratio) =>
      allowedSizes[model].some((size) => ratioOfSize[size] === ratio)
    );
    for (const size of allowedSizes[model]) {
      for (const aspect_ratio of ratios) {
        const run = () => fromJson(model, { size, aspect_ratio });
        if (ratioOfSize[size] === aspect_ratio) assertEquals(run().size, size);
        else assertRefused("aspect_ratio", run, `${size} ${aspect_ratio}`);
      }
    }
  });

  const maxReferences = model === "A" || model === "B" ? 3 : 10;
  Deno.test(`${model}: takes up to ${maxReferences} reference images, and not one more`, () => {
    for (let count = 0; count <= 12; count++) {
      const list = Array.from({ length: count }, () => pngText);
      const file = { name: "input_reference", body: png, fileName: "a.png" };
      const runs = [
        () => fromJson(model, { input_reference: list }),
        () => fromJson(model, { image_url: list }),
        () => fromForm(model, list.map(() => file)),
        () => fromForm(model, list.map(() => ({ ...file, name: "input_reference[]" }))),
      ];
      for (const run of runs) {
        if (count <= maxReferences) assertEquals(run().inputReferences.length, count);
        else assertRefused("input_reference", run, `${model} ${count}`);
      }
    }
  });

  Deno.test(`${model}: last_frame only on B, and only with input_reference`, () => {
    const both = { input_reference: pngText, last_frame: pngText };
    if (model === "B") {
      assertEquals(fromJson(model, both).lastFrame?.kind, "base64");
      assertRefused("last_frame", () => fromJson(model, { last_frame: pngText }), "alone");
      const two = { ...both, last_frame: [pngText, pngText] };
      assertRefused("last_frame", () => fromJson(model, two), "two of them");
      assertRefused("last_frame", () => fromJson(model, { ...both, last_frame: [] }), "none");
    } else {
      assertRefused("last_frame", () => fromJson(model, both), model);
    }
  });

  Deno.test(`${model}: input_video only on A, and only a public web address`, () => {
    const input_video = "https://example.com/clip.mp4";
    if (model === "A") {
      assertEquals(fromJson(model, { input_video }).inputVideoUrl, input_video);
      for (const wrong of ["", "clip.mp4", "file:///etc/passwd", "http://127.0.0.1/a.mp4", 7, {}]) {
        assertRefused("input_video", () => fromJson(model, { input_video: wrong }), `${wrong}`);
      }
    } else {
      assertRefused("input_video", () => fromJson(model, { input_video }), model);
    }
  });

  Deno.test(`${model}: resolution only on B`, () => {
    for (const resolution of ["720p", "1080p", "480p", "1080P", "", 1080]) {
      const run = () => fromJson(model, { resolution });
      if (model === "B" && (resolution === "720p" || resolution === "1080p")) {
        assertEquals(run().resolution, resolution);
      } else {
        assertRefused("resolution", run, `${model} ${resolution}`);
      }
    }
    assertEquals(fromJson(model, {}).resolution, model === "B" ? "720p" : undefined);
  });

  Deno.test(`${model}: a prompt is required and bounded`, () => {
    const wrong = ["", "  ", 7, ["a cat"], null, "x".repeat(32_001)];
    for (const prompt of wrong) {
      assertRefused(
        "prompt",
        () => fromJson(model, { prompt }),
        JSON.stringify(prompt).slice(0, 20),
      );
    }
    assertEquals(fromJson(model, { prompt: "một con mèo" }).prompt, "một con mèo");
    assertEquals(fromJson(model, { prompt: "x".repeat(32_000) }).prompt.length, 32_000);
  });
}

Deno.test("references are taken as URL, data URL, base64, the SDK's object, and as its form spelling", () => {
  const dataUrl = `data:image/png;base64,${pngText}`;
  const url = "https://example.com/a.png";
  const cases: [JsonObject[string], string][] = [
    [url, "url"],
    [dataUrl, "base64"],
    [pngText, "base64"],
    [{ image_url: url }, "url"],
    [{ image_url: { url: dataUrl } }, "base64"],
    [{ url }, "url"],
  ];
  for (const [value, kind] of cases) {
    const message = JSON.stringify(value);
    assertEquals(
      fromJson("C", { input_reference: value! }).inputReferences[0]?.kind,
      kind,
      message,
    );
  }
  const spelled = fromForm("C", [
    { name: "input_reference[image_url]", body: url },
    { name: "input_reference[]", body: dataUrl },
    { name: "input_reference[][image_url]", body: url },
    { name: "input_reference", body: png, fileName: "x" },
  ]);
  const kinds = spelled.inputReferences.map(({ kind }) => kind);
  assertEquals(kinds, ["url", "base64", "url", "file"]);
});

Deno.test("references that are not pictures are refused, naming their field", () => {
  const wrong = [
    "",
    "not base64!",
    "aGVsbG8gd29ybGQhISE=",
    "data:image/png,plain",
    "data:image/png;base64,",
    "ftp://example.com/a.png",
    "http://169.254.169.254/latest",
    "http://user:pw@example.com/a.png",
    { file_id: "file-1" },
    { image_url: 7 },
    7,
    true,
  ];
  for (const value of wrong) {
    assertRefused("input_reference", () => fromJson("C", { input_reference: value }), `${value}`);
  }
  const text = { name: "input_reference", body: "<html>", fileName: "a.png" };
  assertRefused("input_reference", () => fromForm("C", [text]), "a page that says it is a PNG");
});

Deno.test("unknown fields are reported, not forwarded", () => {
  const request = fromJson("D", { duration: 60, n: 4, user: null });
  assertEquals(request.unknownFields, ["duration", "n"]);
});

Deno.test("messages name the field, what is allowed and the model", () => {
  const messages: [JsonObject, Model, string][] = [
    [{ seconds: 7 }, "D", "seconds: must be 5, 10, 15 or 20 to 30 for video-d"],
    [{ seconds: 5 }, "B", "seconds: must be 4, 6 or 8 for video-b"],
    [{ aspect_ratio: "2:1" }, "A", "aspect_ratio: must be 9:16, 16:9, 1:1, 3:4, 4:3 or 21:9"],
    [
      { aspect_ratio: "1:1", size: "720x1280" },
      "C",
      "aspect_ratio: 1:1 is in conflict with size 720x1280; send one of them",
    ],
    [
      { input_reference: ["", "", "", ""] },
      "A",
      "input_reference: at most 3 images for video-a, 4 were sent",
    ],
    [{ resolution: "4k" }, "B", "resolution: must be 720p or 1080p for video-b"],
  ];
  for (const [body, model, message] of messages) {
    assertThrows(() => fromJson(model, body), GatewayError, message);
  }
});
