/**
 * Builds the body for the provider of an image call: the client's own bytes where the provider can
 * read them, otherwise a new body.
 *
 * A route's capability `image_edits` names what its provider accepts: `form` (files; the default)
 * or `json` (`images: [{ image_url }]`, URLs allowed).
 */
import { withFields } from "../../calls/body/json_body.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type NewFormPart, partText, replaceField, writeForm } from "../../calls/body/multipart.ts";
import {
  type MediaReference,
  referenceBytes,
  referenceFileName,
  referenceText,
} from "../../calls/body/reference.ts";
import { imageMediaTypes } from "../../net/remote/guarded_fetch.ts";
import type { UpstreamBody, UpstreamBodyTools } from "../base/exchange.ts";
import { type ImageRequest, referenceFields } from "./request.ts";

/** Fields that this file writes itself. */
const rewritten: ReadonlySet<string> = new Set([...referenceFields, "mask", "model"]);

/**
 * Builds the body for a route.
 *
 * @throws {GatewayError} `invalid_request` when a reference cannot be fetched or is not a picture
 */
export async function imageUpstreamBody(
  request: ImageRequest,
  route: {
    readonly upstreamModel: string;
    readonly capabilities: Readonly<Record<string, unknown>>;
  },
  tools: UpstreamBodyTools,
): Promise<UpstreamBody> {
  const wantsJson = request.endpoint === "generations" ||
    route.capabilities["image_edits"] === "json";
  const asItIs = unchangedBody(request, route.upstreamModel, wantsJson);
  if (asItIs !== undefined) return asItIs;
  return wantsJson
    ? jsonBody(request, route.upstreamModel)
    : await formBody(request, route.upstreamModel, tools);
}

/**
 * Returns the client's bytes with only the model's name replaced, if the provider can read them.
 */
function unchangedBody(
  request: ImageRequest,
  upstreamModel: string,
  wantsJson: boolean,
): UpstreamBody | undefined {
  const { body, endpoint } = request;
  if (body.kind === "json") {
    const readable = endpoint === "generations" || (wantsJson && usesOnlyImageList(request));
    if (!readable) return undefined;
    const changes = upstreamModel === request.model ? {} : { model: upstreamModel };
    return { contentType: "application/json", bytes: withFields(body.json, changes) };
  }
  if (wantsJson || !usesOnlyFiles(request)) return undefined;
  const bytes = upstreamModel === request.model
    ? body.bytes
    : replaceField(body.bytes, body.boundary, { name: "model", text: upstreamModel });
  return { contentType: `multipart/form-data; boundary="${body.boundary}"`, bytes };
}

/** Whether all references are in `images`, as in the SDK's JSON form. */
function usesOnlyImageList({ body, references }: ImageRequest): boolean {
  if (body.kind !== "json") return false;
  const { images, mask } = body.json.value;
  const isStandard = (item: Json | undefined) =>
    isJsonObject(item) && typeof item["image_url"] === "string" &&
    /^(?:https?|data):/i.test(item["image_url"]);
  return Array.isArray(images) && images.length === references.length && images.every(isStandard) &&
    (mask === undefined || mask === null || isStandard(mask));
}

/** Whether all references are files under the names that providers accept. */
function usesOnlyFiles({ body }: ImageRequest): boolean {
  if (body.kind !== "form") return false;
  return body.parts.every(({ name, fileName }) => {
    if (name === "image" || name === "image[]" || name === "mask") return fileName !== undefined;
    return !rewritten.has(name.replace(/\[.*$/, "")) || name === "model";
  });
}

function jsonBody(request: ImageRequest, upstreamModel: string): UpstreamBody {
  const value: JsonObject = { ...otherFields(request), model: upstreamModel };
  if (request.references.length > 0) {
    value["images"] = request.references.map((item) => ({ image_url: referenceText(item) }));
  }
  if (request.mask !== undefined) value["mask"] = { image_url: referenceText(request.mask) };
  return {
    contentType: "application/json",
    bytes: new TextEncoder().encode(stringifyExactly(value)),
  };
}

/**
 * Returns the fields besides references and model. Forms have only text; JSON for providers needs
 * the real types.
 */
function otherFields({ body }: ImageRequest): JsonObject {
  const fields: JsonObject = {};
  if (body.kind === "json") {
    for (const [name, value] of Object.entries(body.json.value)) {
      if (!rewritten.has(name)) fields[name] = value;
    }
    return fields;
  }
  for (const part of body.parts) {
    if (part.fileName !== undefined || rewritten.has(part.name.replace(/\[.*$/, ""))) continue;
    fields[part.name] = typedValue(part.name, partText(part));
  }
  return fields;
}

const numberFields: ReadonlySet<string> = new Set(["n", "output_compression", "partial_images"]);

function typedValue(name: string, text: string): Json {
  if (numberFields.has(name) && /^\d{1,9}$/.test(text)) return Number(text);
  if (name === "stream" && (text === "true" || text === "false")) return text === "true";
  return text;
}

async function formBody(
  request: ImageRequest,
  upstreamModel: string,
  tools: UpstreamBodyTools,
): Promise<UpstreamBody> {
  const parts: NewFormPart[] = [{ name: "model", body: upstreamModel }];
  for (const [name, value] of Object.entries(otherFields(request))) {
    if (value === undefined || value === null) continue;
    parts.push({ name, body: typeof value === "string" ? value : stringifyExactly(value) });
  }
  const name = request.references.length === 1 ? "image" : "image[]";
  for (const [index, reference] of request.references.entries()) {
    parts.push(await filePart(name, reference, index, tools));
  }
  if (request.mask !== undefined) parts.push(await filePart("mask", request.mask, 0, tools));
  const form = writeForm(parts, tools.newBoundary());
  return { contentType: form.contentType, bytes: form.body };
}

/**
 * Fetches one picture at a time: ten large ones at once would take ten times the memory and save
 * little time.
 */
async function filePart(
  name: string,
  reference: MediaReference,
  index: number,
  tools: UpstreamBodyTools,
): Promise<NewFormPart> {
  const { mediaType, bytes } = reference.kind === "url"
    ? await tools.fetchImage(reference.url, reference.field)
    : { mediaType: reference.mediaType, bytes: referenceBytes(reference) };
  return {
    name,
    body: bytes,
    contentType: mediaType,
    fileName: referenceFileName(imageMediaTypes.has(mediaType) ? mediaType : "image/png", index),
  };
}
