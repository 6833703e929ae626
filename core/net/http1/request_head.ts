/**
 * The request side of the protocol (RFC 9112 sections 3 and 5): where to connect, and the bytes to
 * send.
 */
import { parseUrl } from "../../lib/runtime/mod.ts";
import { lengthOf, piecesOf } from "../../lib/bytes/byte_parts.ts";
import type { ConnectTarget } from "../transport/connection.ts";
import { UpstreamFailure, type UpstreamRequest } from "../transport/transport.ts";
import type { WriteBuffers } from "./limits.ts";

/** The parts of a URL that a request needs, computed once per URL. */
export interface Destination {
  readonly target: ConnectTarget;
  /** Connections of the same origin are interchangeable. */
  readonly origin: string;
  /** Path and query as they go on the request line. */
  readonly path: string;
  /** Value of the `host` header: brackets around IPv6, no default port. */
  readonly host: string;
}

const refused = (why: string) => new UpstreamFailure("refused", `Cannot send the request: ${why}`);

/**
 * Splits an absolute URL.
 *
 * @throws {UpstreamFailure} with code `refused` for other schemes, user info or a URL that does not parse
 *
 * @example
 * ```ts
 * import { parseDestination } from "./request_head.ts";
 * const { target, host, path } = parseDestination("http://[::1]:8080/v1?a=b#c");
 * if (target.hostname !== "::1" || target.port !== 8080) throw new Error("wrong target");
 * if (host !== "[::1]:8080" || path !== "/v1?a=b") throw new Error("wrong request line");
 * ```
 */
export function parseDestination(text: string): Destination {
  const url = parseUrl(text);
  if (url === null) throw refused("the URL does not parse");
  const tls = url.protocol === "https:";
  if (!tls && url.protocol !== "http:") throw refused("the URL is neither http nor https");
  if (url.username !== "" || url.password !== "") throw refused("the URL carries user info");
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  if (hostname === "") throw refused("the URL has no host");
  const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
  return {
    target: { hostname, port, tls },
    origin: url.origin,
    path: url.pathname + url.search,
    host: url.host,
  };
}

/** Set by the driver alone: a caller's value would let one request be read as two. */
export const driverHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);

// RFC 9110 section 5.6.2 (token, lower case only) and 5.5 (field-value; CR, LF, NUL and controls refused).
const lowerCaseToken = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

const nothing: readonly Uint8Array[] = [];

/** A request in the form in which it is written: `first`, then `rest` if there is more. */
export interface RequestMessage {
  /** From {@linkcode WriteBuffers}. */
  readonly first: Uint8Array<ArrayBuffer>;
  readonly rest: readonly Uint8Array[];
}

/**
 * Encodes the head, with a body, or its first piece, of at most `singleWriteBytes` behind it, so
 * that one write sends both.
 *
 * Two writes are two packets, and with some peers 40 ms of delayed acknowledgement between them. A
 * larger body takes many packets anyway; it is written from where it lies, since copying it costs
 * more than the second write.
 *
 * @throws {UpstreamFailure} with code `refused` for a header that is not allowed
 */
export function encodeRequest(
  request: UpstreamRequest,
  destination: Destination,
  singleWriteBytes: number,
  buffers: WriteBuffers,
): RequestMessage {
  const start = headStart(request, destination);
  const end = headEnd(request);
  const pieces = request.body === null ? [] : piecesOf(request.body);
  const body = pieces[0];
  const isJoined = body !== undefined && body.length <= singleWriteBytes;
  const headBytes = start.length + end.length;
  const first = buffers.take(headBytes + (isJoined ? body.length : 0));
  first.set(start);
  for (let index = 0; index < end.length; index++) {
    first[start.length + index] = end.charCodeAt(index);
  }
  if (isJoined) first.set(body, headBytes);
  if (!isJoined) return { first, rest: pieces };
  return { first, rest: pieces.length === 1 ? nothing : pieces.slice(1) };
}

/**
 * Refuses a header that would let one request be read as two, or as another.
 *
 * @throws {UpstreamFailure} with code `refused`
 */
export function checkHeader(name: string, value: string): void {
  if (!lowerCaseToken.test(name)) throw refused("a header name is not a lower-case token");
  if (driverHeaders.has(name)) throw refused(`the header ${name} belongs to the driver`);
  if (!fieldValue.test(value)) throw refused(`the value of ${name} holds control characters`);
}

function fieldLines(headers: UpstreamRequest["headers"]): string {
  let text = "";
  let acceptsEncoding = false;
  for (const [name, value] of headers) {
    checkHeader(name, value);
    if (name === "accept-encoding") acceptsEncoding = true;
    text += `${name}: ${value}\r\n`;
  }
  // Compressed bytes could be neither metered nor converted.
  return acceptsEncoding ? text : `${text}accept-encoding: identity\r\n`;
}

/** A head up to its length, with what it was made for besides its list of headers. */
interface KnownStart {
  readonly method: UpstreamRequest["method"];
  readonly destination: Destination;
  readonly bytes: Uint8Array;
}

/**
 * Starts of heads by lists of headers that no longer change: most requests to a provider differ only in the body.
 */
const knownStarts = new WeakMap<UpstreamRequest["headers"], KnownStart>();

function headStart({ method, headers }: UpstreamRequest, destination: Destination): Uint8Array {
  const known = knownStarts.get(headers);
  if (known?.method === method && known.destination === destination) return known.bytes;
  const { path, host } = destination;
  const text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${fieldLines(headers)}`;
  // Characters above 0x7f are only in header values, and there each is one byte, as in `Headers`.
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  if (Object.isFrozen(headers)) knownStarts.set(headers, { method, destination, bytes });
  return bytes;
}

/**
 * RFC 9110 section 8.6: a POST states its length even if it is 0; a GET without content states none.
 */
function headEnd({ method, body }: UpstreamRequest): string {
  if (body !== null) return `content-length: ${lengthOf(body)}\r\n\r\n`;
  return method === "POST" ? "content-length: 0\r\n\r\n" : "\r\n";
}
