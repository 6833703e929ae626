/** Answers `POST /images/generations` and `/images/edits` in the sandbox, with small pictures of the requested shape. */
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { MediaFields } from "../../../core/calls/body/fields.ts";
import { referenceCount } from "../../../core/calls/body/fields.ts";
import {
  type MediaTriggers,
  mediaTrouble,
  optionalText,
  readMediaTriggers,
  requiredText,
} from "./media_request.ts";
import { drawPng } from "./media_png.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { vendorErrorBody } from "../base/vendor_error.ts";

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
