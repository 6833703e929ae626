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
import { maxRemoteMediaBytes } from "./limits.ts";
import type { Transport, UpstreamExchange, UpstreamResponse } from "../transport/transport.ts";
import { parseRemoteUrl } from "./remote_url.ts";
import { type MediaType, sniffBytes, sniffMediaType } from "./sniff.ts";

/** Redirects followed for a client's URL: picture hosts use one or two. */
const maxRedirects = 3;

/** Milliseconds for one file behind a client's URL, redirects included; the client waits for it. */
const remoteMediaMs = 20_000;

/** What fetching needs from outside: a transport and deadlines. */
export interface GuardedFetchWorld {
  /** Must use a guarded connect: this function checks URLs, that one checks addresses. */
  readonly transport: Transport;
  readonly deadlines: Deadlines;
}

/** What is fetched, and within which bounds. */
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

/** What is requested from the server, and what errors call it. */
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
