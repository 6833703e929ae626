/** A picture from a client: a URL, base64 in JSON, or a file of a form. */
import { decodeBase64, encodeBase64 } from "../../lib/runtime/built_ins.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { parseRemoteUrl } from "../../net/remote/remote_url.ts";
import {
  fileExtension,
  imageMediaTypes,
  type MediaType,
  sniffBytes,
  sniffMediaType,
} from "../../net/remote/guarded_fetch.ts";

/**
 * A picture with the field in which the client sent it, since a mistake in it may be found only
 * when a route needs its bytes.
 */
export type MediaReference =
  | { readonly kind: "url"; readonly field: string; readonly url: string }
  /** Only its first bytes are checked; {@linkcode referenceBytes} decodes the whole. */
  | {
    readonly kind: "base64";
    readonly field: string;
    readonly mediaType: MediaType;
    readonly base64: string;
  }
  | {
    readonly kind: "file";
    readonly field: string;
    readonly mediaType: MediaType;
    readonly bytes: Uint8Array;
  };

/** Four base64 characters make three bytes. */
const sniffChars = Math.ceil(sniffBytes / 3) * 4;

function refuse(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

/**
 * Reads one reference of a JSON body: a string, or the object forms of the SDKs.
 *
 * A string is an http(s) URL, a data URL or plain base64; the objects are `{ image_url: "…" }`, `{
 * image_url: { url: "…" } }` and `{ url: "…" }`.
 *
 * @example
 * ```ts
 * import { readReference } from "./reference.ts";
 * const reference = readReference({ image_url: "https://example.com/cat.png" }, "image");
 * if (reference.kind !== "url") throw new Error("wrong kind");
 * ```
 *
 * @throws {GatewayError} `invalid_request` that names `field`
 */
export function readReference(value: Json, field: string): MediaReference {
  if (typeof value === "string") return readText(value, field);
  if (isJsonObject(value)) {
    if (value["file_id"] !== undefined) {
      refuse(field, "file_id is not supported here; send a URL, a data URL, base64 or a file");
    }
    const inner = value["image_url"] ?? value["url"];
    if (typeof inner === "string") return readText(inner, field);
    if (isJsonObject(inner) && typeof inner["url"] === "string") {
      return readText(inner["url"], field);
    }
  }
  refuse(field, "must be an http(s) URL, a data URL or base64");
}

function readText(text: string, field: string): MediaReference {
  const trimmed = text.trim();
  if (trimmed === "") refuse(field, "is empty");
  if (/^data:/i.test(trimmed)) return readDataUrl(trimmed, field);
  if (/^[a-z][a-z0-9+.-]*:/i.test(trimmed)) {
    const url = parseRemoteUrl(trimmed);
    if (typeof url === "string") refuse(field, url);
    return { kind: "url", field, url: url.href };
  }
  return readBase64(trimmed, field);
}

function readDataUrl(text: string, field: string): MediaReference {
  const comma = text.indexOf(",");
  const head = comma < 0 ? "" : text.slice("data:".length, comma).toLowerCase();
  if (!head.endsWith(";base64")) refuse(field, "a data URL must be base64: data:image/…;base64,…");
  return readBase64(text.slice(comma + 1), field);
}

/** Reads base64. The first bytes decide the type; the type that a data URL names is ignored. */
function readBase64(text: string, field: string): MediaReference {
  // Providers accept only the standard alphabet.
  const base64 = /[-_]/.test(text) ? text.replaceAll("-", "+").replaceAll("_", "/") : text;
  const head = bytesOf(base64.slice(0, sniffChars));
  if (head === undefined) refuse(field, "must be an http(s) URL, a data URL or base64");
  return { kind: "base64", field, mediaType: imageTypeOf(head, field), base64 };
}

/**
 * Reads one file of a form. The bytes are a view, not a copy.
 *
 * @throws {GatewayError} `invalid_request` that names `field`
 */
export function readFile(bytes: Uint8Array, field: string): MediaReference {
  if (bytes.length === 0) refuse(field, "the file is empty");
  return { kind: "file", field, mediaType: imageTypeOf(bytes, field), bytes };
}

function imageTypeOf(bytes: Uint8Array, field: string): MediaType {
  const mediaType = sniffMediaType(bytes);
  if (mediaType === undefined || !imageMediaTypes.has(mediaType)) {
    refuse(field, "must be a PNG, JPEG, WebP or GIF image");
  }
  return mediaType;
}

/** Decodes base64 with any padding, even a wrong one. */
function bytesOf(base64: string): Uint8Array | undefined {
  return decodeBase64(base64.replace(/=+$/, ""));
}

/**
 * Returns the bytes of a reference that is not a URL.
 *
 * @throws {GatewayError} `invalid_request` that names its field if the base64 is broken
 */
export function referenceBytes(reference: Exclude<MediaReference, { kind: "url" }>): Uint8Array {
  if (reference.kind === "file") return reference.bytes;
  return bytesOf(reference.base64) ?? refuse(reference.field, "is not valid base64");
}

/** Writes the reference as text for a JSON body: its URL, or a data URL. */
export function referenceText(reference: MediaReference): string {
  switch (reference.kind) {
    case "url":
      return reference.url;
    case "base64":
      return `data:${reference.mediaType};base64,${reference.base64}`;
    case "file":
      return `data:${reference.mediaType};base64,${encodeBase64(reference.bytes)}`;
  }
}

/**
 * Creates a file name for forms. The client's own name is not forwarded: it may reveal where or who
 * the client is.
 */
export function referenceFileName(mediaType: MediaType, index: number): string {
  return `reference_${index + 1}.${fileExtension(mediaType)}`;
}
