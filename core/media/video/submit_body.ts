/** Builds the body of a submission, with fields in the places that the provider's adapter names. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type NewFormPart, writeForm } from "../../calls/body/multipart.ts";
import {
  type MediaReference,
  referenceBytes,
  referenceFileName,
  referenceText,
} from "../../calls/body/reference.ts";
import type { UpstreamBody, UpstreamBodyTools } from "../base/exchange.ts";
import type { VideoAdapter } from "../../catalog/entries/video_rules.ts";
import type { VideoRequest } from "./request.ts";

// Reads and writes JSON of providers at paths such as `a.b.0.c`.

/**
 * Returns the value at a path; `undefined` if any step is missing.
 *
 * @example
 * ```ts
 * import { readPointer } from "./submit_body.ts";
 * if (readPointer({ data: [{ url: "u" }] }, "data.0.url") !== "u") throw new Error("not found");
 * ```
 */
export function readPointer(value: Json, pointer: string): Json | undefined {
  let current: Json | undefined = value;
  for (const step of pointer.split(".")) {
    if (Array.isArray(current)) {
      current = /^\d{1,4}$/.test(step) ? current[Number(step)] : undefined;
    } else if (isJsonObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}

/**
 * Sets the value at a path and creates the objects on the way. Paths come from the operator, not
 * from clients.
 */
function writePointer(target: JsonObject, pointer: string, value: Json): void {
  const steps = pointer.split(".");
  const last = steps.pop() ?? pointer;
  let current = target;
  for (const step of steps) {
    const next = current[step];
    if (isJsonObject(next)) {
      current = next;
      continue;
    }
    const made: JsonObject = {};
    current[step] = made;
    current = made;
  }
  current[last] = value;
}

type Fields = VideoAdapter["submit"]["fields"];
const valueFieldNames = [
  "model",
  "prompt",
  "seconds",
  "size",
  "width",
  "height",
  "aspectRatio",
  "resolution",
  "inputVideo",
] as const satisfies readonly (keyof Fields)[];

function valuesOf(
  request: VideoRequest,
  upstreamModel: string,
): Record<typeof valueFieldNames[number], Json> {
  const [width, height] = request.size.split("x");
  return {
    model: upstreamModel,
    prompt: request.prompt,
    seconds: request.sentSeconds,
    size: request.size,
    width: width ?? null,
    height: height ?? null,
    aspectRatio: request.aspectRatio,
    resolution: request.resolution ?? null,
    inputVideo: request.inputVideoUrl ?? null,
  };
}

/** Refuses fields for which this provider has no place. They would otherwise have no effect. */
function refuseHomeless(request: VideoRequest, fields: Fields): void {
  const homeless = (field: string): never => {
    throw new GatewayError("invalid_request", `${field}: is not supported by this model`, {
      param: field,
    });
  };
  if (request.inputReferences.length > 0 && fields.inputReferences === undefined) {
    homeless("input_reference");
  }
  if (request.lastFrame !== undefined && fields.lastFrame === undefined) homeless("last_frame");
  if (request.inputVideoUrl !== undefined && fields.inputVideo === undefined) {
    homeless("input_video");
  }
}

function valueFields(request: VideoRequest, adapter: VideoAdapter, upstreamModel: string) {
  const { fields, fixed } = adapter.submit;
  const entries: [string, Json][] = Object.entries(fixed);
  const values = valuesOf(request, upstreamModel);
  for (const name of valueFieldNames) {
    const value = values[name];
    const target = fields[name];
    if (target === undefined || value === null) continue;
    const { to, as } = typeof target === "string" ? { to: target, as: "string" as const } : target;
    entries.push([to, as === "number" ? Number(value) : String(value)]);
  }
  return entries;
}

/**
 * Builds the body of a submission.
 *
 * @throws {GatewayError} `invalid_request` when a picture cannot be fetched or has no place at this
 * provider
 */
export async function videoSubmitBody(
  request: VideoRequest,
  adapter: VideoAdapter,
  upstreamModel: string,
  tools: UpstreamBodyTools,
): Promise<UpstreamBody> {
  refuseHomeless(request, adapter.submit.fields);
  const values = valueFields(request, adapter, upstreamModel);
  const pictures = [...request.inputReferences, ...request.lastFrame ? [request.lastFrame] : []];
  const asForm = adapter.submit.body === "form" ||
    (adapter.submit.body === "form_if_files" && pictures.some(({ kind }) => kind === "file"));
  return asForm
    ? await formBody(request, adapter, values, tools)
    : jsonBody(request, adapter, values);
}

type PictureTarget = NonNullable<Fields["inputReferences"]>;

function jsonBody(
  request: VideoRequest,
  adapter: VideoAdapter,
  values: readonly [string, Json][],
): UpstreamBody {
  const { fields } = adapter.submit;
  const body: JsonObject = {};
  for (const [pointer, value] of values) writePointer(body, pointer, value);
  if (fields.inputReferences !== undefined && request.inputReferences.length > 0) {
    const value = pictureValue(fields.inputReferences, request.inputReferences, "input_reference");
    writePointer(body, fields.inputReferences.to, value);
  }
  if (fields.lastFrame !== undefined && request.lastFrame !== undefined) {
    const value = pictureValue(fields.lastFrame, [request.lastFrame], "last_frame");
    writePointer(body, fields.lastFrame.to, value);
  }
  return {
    contentType: "application/json",
    bytes: new TextEncoder().encode(stringifyExactly(body)),
  };
}

function pictureValue(
  target: PictureTarget,
  pictures: readonly MediaReference[],
  field: string,
): Json {
  const texts = pictures.map(referenceText);
  const objects = texts.map((text): JsonObject => ({ [target.key]: text }));
  const single = () => {
    if (pictures.length > 1) {
      throw new GatewayError("invalid_request", `${field}: this model takes one image`, {
        param: field,
      });
    }
  };
  switch (target.shape) {
    case "text":
      single();
      return texts[0] ?? null;
    case "object":
      single();
      return objects[0] ?? null;
    case "list":
      return texts;
    case "objects":
      return objects;
    case "object_or_objects":
      return objects.length === 1 ? objects[0] ?? null : objects;
  }
}

async function formBody(
  request: VideoRequest,
  adapter: VideoAdapter,
  values: readonly [string, Json][],
  tools: UpstreamBodyTools,
): Promise<UpstreamBody> {
  const { fields } = adapter.submit;
  const parts: NewFormPart[] = values.map(([name, value]) => ({
    name,
    body: typeof value === "string" ? value : stringifyExactly(value),
  }));
  if (fields.inputReferences !== undefined) {
    for (const [index, picture] of request.inputReferences.entries()) {
      const name = fields.inputReferences.to;
      parts.push(await filePart(name, picture, index, tools));
    }
  }
  if (fields.lastFrame !== undefined && request.lastFrame !== undefined) {
    parts.push(await filePart(fields.lastFrame.to, request.lastFrame, 0, tools));
  }
  const form = writeForm(parts, tools.newBoundary());
  return { contentType: form.contentType, bytes: form.body };
}

async function filePart(
  name: string,
  picture: MediaReference,
  index: number,
  tools: UpstreamBodyTools,
): Promise<NewFormPart> {
  const { mediaType, bytes } = picture.kind === "url"
    ? await tools.fetchImage(picture.url, picture.field)
    : { mediaType: picture.mediaType, bytes: referenceBytes(picture) };
  return {
    name,
    body: bytes,
    contentType: mediaType,
    fileName: referenceFileName(mediaType, index),
  };
}
