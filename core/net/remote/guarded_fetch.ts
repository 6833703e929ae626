/**
 * Fetches a picture or a document that a client names by URL, for a route that needs its bytes.
 *
 * Bounds: public addresses at every hop (`guarded_connect.ts`), few redirects, few bytes, little
 * time, and the first bytes must be those of the expected type. No cookie, credential or header of
 * the client is sent.
 *
 * - Folder `core/net/remote/`: addresses that clients name: checking them, and fetching what is there.
 * - In: URLs from requests, and functions that resolve and connect.
 * - Out: fetched bytes of a known type, or the reason for a refusal.
 * - Never: connects to an address that is not public, or sends a cookie, credential or header of the client.
 */
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { ByteCounter } from "../../lib/bytes/byte_budget.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxRemoteMediaBytes } from "./address.ts";
import type { Transport, UpstreamExchange, UpstreamResponse } from "../transport/transport.ts";
import { parseRemoteUrl } from "./remote_url.ts";

// Detects media types by their first bytes. The type that a client or a server names is never
// trusted.

/** The media types of pictures that are detected. */
export type ImageMediaType = "image/png" | "image/jpeg" | "image/webp" | "image/gif";
/** The media types that are detected. */
export type MediaType = ImageMediaType | "video/mp4" | "application/pdf";

/** The image types that references may have. */
export const imageMediaTypes: ReadonlySet<string> = new Set<ImageMediaType>([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);

/** The document types that chat models accept. */
export const documentMediaTypes: ReadonlySet<string> = new Set<MediaType>(["application/pdf"]);

/** The number of first bytes that {@linkcode sniffMediaType} needs. */
export const sniffBytes = 12;

const extensions: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "video/mp4": "mp4",
  "application/pdf": "pdf",
};

/** Returns the usual file extension, without the dot. */
export function fileExtension(mediaType: MediaType): string {
  return extensions[mediaType];
}

function hasAscii(bytes: Uint8Array, at: number, text: string): boolean {
  if (bytes.length < at + text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/**
 * Detects the media type of a file from its first {@linkcode sniffBytes} bytes; `undefined` for
 * unsupported types.
 *
 * Signatures: PNG (ISO/IEC 15948), JPEG (ITU T.81), GIF89a, RIFF/WEBP, ISO base media `ftyp`
 * (ISO/IEC 14496-12), PDF (ISO 32000).
 *
 * @example
 * ```ts
 * import { sniffMediaType } from "./guarded_fetch.ts";
 * const gif = new TextEncoder().encode("GIF89a......");
 * if (sniffMediaType(gif) !== "image/gif") throw new Error("not seen");
 * if (sniffMediaType(new TextEncoder().encode("<html>")) !== undefined) throw new Error("believed");
 * ```
 */
export function sniffMediaType(bytes: Uint8Array): MediaType | undefined {
  if (bytes[0] === 0x89 && hasAscii(bytes, 1, "PNG\r\n\x1a\n")) return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (hasAscii(bytes, 0, "GIF87a") || hasAscii(bytes, 0, "GIF89a")) return "image/gif";
  if (hasAscii(bytes, 0, "RIFF") && hasAscii(bytes, 8, "WEBP")) return "image/webp";
  if (hasAscii(bytes, 0, "%PDF-")) return "application/pdf";
  if (hasAscii(bytes, 4, "ftyp")) return "video/mp4";
  return undefined;
}

/** Redirects followed for a client's URL: picture hosts use one or two. */
const maxRedirects = 3;

/** Milliseconds for one file behind a client's URL, redirects included; the client waits for it. */
const remoteMediaMs = 20_000;

/** World that fetching needs: a transport and deadlines. */
export interface GuardedFetchWorld {
  /** Must use a guarded connect: this function checks URLs, that one checks addresses. */
  readonly transport: Transport;
  readonly deadlines: Deadlines;
}

/** Address to fetch, and its bounds. */
export interface GuardedFetchOptions {
  /** The field that errors name. */
  readonly field: string;
  readonly accepts: ReadonlySet<string>;
  /** Default: a picture. */
  readonly kind?: RemoteKind;
  readonly maxBytes?: number;
  readonly totalMs?: number;
  /** Counts the bytes that are read, and may refuse them. */
  readonly counter?: ByteCounter;
}

/** The kinds of files that are fetched. */
export type RemoteKind = "picture" | "document";

/** Kinds of files that are requested, with the name that errors have for them. */
const kinds: Readonly<Record<RemoteKind, { readonly accept: string; readonly word: string }>> = {
  picture: { accept: "image/*", word: "an image" },
  document: { accept: "application/pdf", word: "a PDF document" },
};

/** A fetched file with its detected type. */
export interface RemoteMedia {
  readonly mediaType: MediaType;
  readonly bytes: Uint8Array;
}

function refusal(field: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

/**
 * Fetches the URL `text`, or throws the reason.
 *
 * All network failures have one message: a client must not learn from the difference which names
 * and ports exist inside the network.
 *
 * @throws {GatewayError} `invalid_request` that names the field; what the counter throws when the
 * bytes do not fit
 */
export async function fetchRemoteMedia(
  world: GuardedFetchWorld,
  text: string,
  options: GuardedFetchOptions,
): Promise<RemoteMedia> {
  const { kind = "picture" } = options;
  let current: UpstreamExchange | undefined;
  let late = false;
  const deadline = world.deadlines.create(() => {
    late = true;
    current?.cancel();
  });
  deadline.arm(options.totalMs ?? remoteMediaMs);
  try {
    let url = checkedUrl(text, options.field);
    for (let hop = 0; hop <= maxRedirects; hop++) {
      current = world.transport.open({
        method: "GET",
        url: url.href,
        headers: [["accept", kinds[kind].accept], ["accept-encoding", "identity"]],
        body: null,
      });
      if (late) current.cancel();
      const response = await current.response;
      if (response.status < 300 || response.status > 399) {
        return await readMedia(response, options);
      }
      current.cancel();
      const location = response.header("location") ?? "";
      if (!URL.canParse(location, url.href)) break;
      url = checkedUrl(new URL(location, url.href).href, options.field);
    }
    throw refusal(options.field, "the URL could not be fetched");
  } catch (error) {
    if (late) throw refusal(options.field, "the URL took too long to fetch");
    if (error instanceof GatewayError) throw error;
    throw refusal(options.field, "the URL could not be fetched");
  } finally {
    deadline.disarm();
    current?.cancel();
  }
}

function checkedUrl(text: string, field: string): URL {
  const url = parseRemoteUrl(text);
  if (typeof url === "string") throw refusal(field, url);
  return url;
}

async function readMedia(
  response: UpstreamResponse,
  options: GuardedFetchOptions,
): Promise<RemoteMedia> {
  const { field, maxBytes = maxRemoteMediaBytes } = options;
  if (response.status !== 200) throw refusal(field, "the URL could not be fetched");
  const encoding = response.header("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw refusal(field, "the server sent a compressed file");
  }
  const tooLarge = () => refusal(field, `the file is over ${maxBytes} bytes`);
  if (Number(response.header("content-length") ?? 0) > maxBytes) throw tooLarge();

  const chunks: Uint8Array[] = [];
  let length = 0;
  let mediaType: MediaType | undefined;
  for (let view = await response.body.read(); view !== null; view = await response.body.read()) {
    length += view.length;
    if (length > maxBytes) throw tooLarge();
    options.counter?.take(view.length);
    chunks.push(view.slice());
    // Checked as soon as the type is known, so that nothing else is downloaded in full.
    if (mediaType === undefined && length >= sniffBytes) {
      mediaType = acceptedType(joined(chunks), options);
    }
  }
  const bytes = joined(chunks);
  return { mediaType: mediaType ?? acceptedType(bytes, options), bytes };
}

function acceptedType(
  bytes: Uint8Array,
  { accepts, field, kind = "picture" }: GuardedFetchOptions,
): MediaType {
  const mediaType = sniffMediaType(bytes);
  if (mediaType === undefined || !accepts.has(mediaType)) {
    throw refusal(field, `the URL is not ${kinds[kind].word} that is supported here`);
  }
  return mediaType;
}
