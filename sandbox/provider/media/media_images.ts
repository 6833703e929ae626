/** Answers `POST /images/generations` and `/images/edits` in the sandbox, with small pictures of the requested shape. */
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { type MediaFields, referenceCount } from "../../../core/calls/body/fields.ts";
import {
  type MediaTriggers,
  mediaTrouble,
  optionalText,
  readMediaTriggers,
  requiredText,
} from "./media_request.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { vendorErrorBody } from "../base/vendor_error.ts";

// Writes small pictures as PNG files (ISO/IEC 15948), uncompressed, so that sizes are known.

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Maximum length of a stored block of DEFLATE (RFC 1951, section 3.2.4). */
const blockBytes = 65_535;

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) bytes[4 + i] = type.charCodeAt(i);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

/** Wraps bytes in a zlib stream (RFC 1950) of stored blocks. */
function stored(raw: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(raw.length / blockBytes));
  const bytes = new Uint8Array(2 + blocks * 5 + raw.length + 4);
  const view = new DataView(bytes.buffer);
  bytes.set([0x78, 0x01]);
  let at = 2;
  for (let block = 0; block < blocks; block++) {
    const part = raw.subarray(block * blockBytes, (block + 1) * blockBytes);
    bytes[at] = block === blocks - 1 ? 1 : 0;
    view.setUint16(at + 1, part.length, true);
    view.setUint16(at + 3, ~part.length & 0xffff, true);
    bytes.set(part, at + 5);
    at += 5 + part.length;
  }
  view.setUint32(at, adler32(raw));
  return bytes;
}

/**
 * Draws a gradient whose colours are derived from `seed`.
 *
 * @example
 * ```ts
 * import { drawPng } from "./media_images.ts";
 * const png = drawPng({ width: 16, height: 9, seed: 7 });
 * const view = new DataView(png.buffer);
 * if (view.getUint32(16) !== 16 || view.getUint32(20) !== 9) throw new Error("wrong size");
 * ```
 */
export function drawPng(
  picture: { readonly width: number; readonly height: number; readonly seed: number },
): Uint8Array<ArrayBuffer> {
  const { width, height, seed } = picture;
  const raw = new Uint8Array(height * (1 + width * 3));
  let at = 0;
  for (let y = 0; y < height; y++) {
    raw[at++] = 0; // no filter
    for (let x = 0; x < width; x++) {
      raw[at++] = (seed + Math.floor(x * 255 / width)) & 0xff;
      raw[at++] = (seed * 3 + Math.floor(y * 255 / height)) & 0xff;
      raw[at++] = (seed * 7 + Math.floor((x + y) * 255 / (width + height))) & 0xff;
    }
  }
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits per channel, true colour
  const parts = [
    Uint8Array.from(signature),
    chunk("IHDR", header),
    chunk("IDAT", stored(raw)),
    chunk("IEND", new Uint8Array(0)),
  ];
  const png = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    png.set(part, offset);
    offset += part.length;
  }
  return png;
}

/** Divisor of the requested sides: it keeps the aspect ratio and makes the file small. */
const shrink = 16;
const promptTokens = 20;
const tokensPerImage = 100;

interface ImageJob {
  readonly operation: "image_generation" | "image_edit";
  readonly prompt: string;
  readonly count: number;
  readonly size: string;
  readonly partialImages: number;
  readonly triggers: MediaTriggers;
  readonly nowSeconds: number;
  readonly asUrl: boolean;
}

function drawnImage(job: ImageJob, index: number): string {
  const [width = 1024, height = 1024] = job.size.split("x").map(Number);
  const side = (pixels: number) => Math.max(4, Math.round(pixels / shrink));
  const seed = Number.parseInt(hashHex(`${job.prompt}#${index}`).slice(0, 6), 16);
  return drawPng({ width: side(width), height: side(height), seed }).toBase64();
}

function usageOf(images: number): JsonObject {
  const output = images * tokensPerImage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { text_tokens: promptTokens, image_tokens: 0 },
    output_tokens: output,
    total_tokens: promptTokens + output,
  };
}

function wholeAnswer(job: ImageJob): JsonObject {
  const data = Array.from({ length: job.count }, (_, index): JsonObject => {
    const base64 = drawnImage(job, index);
    return job.asUrl ? { url: `data:image/png;base64,${base64}` } : { b64_json: base64 };
  });
  return {
    created: job.nowSeconds,
    data,
    background: "opaque",
    output_format: "png",
    quality: "low",
    size: job.size,
    usage: usageOf(job.count),
  };
}

function* events(job: ImageJob): Generator<StreamEvent> {
  for (let index = 0; index < job.count; index++) {
    const common = {
      created_at: job.nowSeconds,
      size: job.size,
      quality: "low",
      background: "opaque",
      output_format: "png",
      b64_json: drawnImage(job, index),
    };
    for (let partial = 0; partial < job.partialImages; partial++) {
      const type = `${job.operation}.partial_image`;
      const data = JSON.stringify({ type, partial_image_index: partial, ...common });
      yield { event: type, data, delta: true };
    }
    const type = `${job.operation}.completed`;
    const data = JSON.stringify({ type, ...common, usage: usageOf(1) });
    yield { event: type, data, delta: true };
  }
}

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify({ type: "error", ...vendorErrorBody("chat", 500) }),
  delta: false,
};

/** Answers an image request. @throws {SandboxRefusal} */
export function answerImages(
  fields: MediaFields,
  operation: ImageJob["operation"],
  nowSeconds: number,
): Reply {
  requiredText(fields, "model");
  const prompt = requiredText(fields, "prompt");
  const triggers = readMediaTriggers(prompt);
  const references = referenceCount(fields, "image") + referenceCount(fields, "images");
  if (operation === "image_edit" && references === 0) {
    throw new SandboxRefusal("image: is required");
  }
  const trouble = mediaTrouble(triggers);
  if (trouble !== undefined) return trouble;
  const asked = Number(optionalText(fields, "n") ?? 1);
  const made = triggers.common.empty ? 0 : triggers.own.get("images") ?? asked;
  const size = optionalText(fields, "size") ?? "auto";
  const job: ImageJob = {
    operation,
    prompt,
    count: Math.min(made, 16),
    size: size === "auto" ? "1024x1024" : size,
    partialImages: Number(optionalText(fields, "partial_images") ?? 0),
    triggers,
    nowSeconds,
    asUrl: optionalText(fields, "response_format") === "url",
  };
  if (optionalText(fields, "stream") === "true") {
    return streamReply(events(job), triggers.common, errorEvent);
  }
  const body = triggers.common.errorIn200 ? vendorErrorBody("chat", 500) : wholeAnswer(job);
  return jsonReply(200, body, triggers.common);
}
