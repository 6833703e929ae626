/**
 * The request side of the protocol (RFC 9112 sections 3 and 5): where to connect, and the bytes to
 * send.
 */
import { parseUrl } from "../runtime/mod.ts";
import { lengthOf, piecesOf } from "../bytes/byte_parts.ts";
import type { ConnectTarget } from "../../upstream/connection.ts";
import { UpstreamFailure, type UpstreamRequest } from "../../upstream/transport.ts";

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

const encoder = new TextEncoder();

const nothing: readonly Uint8Array[] = [];

/** A request in the form in which it is written: `first`, then `rest` if there is more. */
export interface RequestMessage {
  readonly first: Uint8Array;
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
): RequestMessage {
  const text = headText(request, destination);
  const pieces = request.body === null ? [] : piecesOf(request.body);
  const body = pieces[0];
  const isJoined = body !== undefined && body.length <= singleWriteBytes;
  const first = new Uint8Array(text.length + (isJoined ? body.length : 0));
  const { read, written } = encoder.encodeInto(text, first);
  // Characters above 0x7f became two bytes. Only header values contain them, and there each is one
  // byte, as in `Headers`.
  if (read !== text.length || written !== text.length) {
    for (let index = 0; index < text.length; index++) first[index] = text.charCodeAt(index);
  }
  if (isJoined) first.set(body, text.length);
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

/**
 * Field lines of lists that no longer change: most requests to a provider differ only in the body.
 */
const knownLines = new WeakMap<UpstreamRequest["headers"], string>();

function fieldLines(headers: UpstreamRequest["headers"]): string {
  const known = knownLines.get(headers);
  if (known !== undefined) return known;
  let text = "";
  let acceptsEncoding = false;
  for (const [name, value] of headers) {
    checkHeader(name, value);
    if (name === "accept-encoding") acceptsEncoding = true;
    text += `${name}: ${value}\r\n`;
  }
  // Compressed bytes could be neither metered nor converted.
  if (!acceptsEncoding) text += "accept-encoding: identity\r\n";
  if (Object.isFrozen(headers)) knownLines.set(headers, text);
  return text;
}

function headText(request: UpstreamRequest, destination: Destination): string {
  const { method, body } = request;
  let text = `${method} ${destination.path} HTTP/1.1\r\nhost: ${destination.host}\r\n` +
    fieldLines(request.headers);
  // RFC 9110 section 8.6: a POST states its length even if it is 0; a GET without content states
  // none.
  if (body !== null) text += `content-length: ${lengthOf(body)}\r\n`;
  else if (method === "POST") text += "content-length: 0\r\n";
  return text + "\r\n";
}
