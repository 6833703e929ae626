/**
 * The heads of requests and answers (RFC 9112 sections 3 to 6), with the bounds of the HTTP/1.1 driver that its callers
 * use too.
 *
 * The request side says where to connect and makes the bytes to send. Response heads are parsed strictly: a head in
 * doubt ends the exchange.
 */
import { parseUrl } from "../../lib/runtime/built_ins.ts";
import { lengthOf, piecesOf } from "../../lib/bytes/byte_parts.ts";
import type { ConnectTarget } from "../transport/connection.ts";
import { UpstreamFailure, type UpstreamRequest } from "../transport/transport.ts";

/**
 * Milliseconds to open a connection unless a provider is configured otherwise: TCP and TLS take under 3 s
 * over a bad line.
 */
export const defaultConnectMs = 5_000;

/**
 * Milliseconds of silence within an answer. Models think between two pieces of output for minutes, not always
 * with pings; the vendors' own SDKs wait 10 minutes.
 */
export const defaultIdleMs = 600_000;

/**
 * Bytes of a request body that is copied behind the head to make one write; copying more costs more than a
 * second write.
 */
export const singleWriteBytes = 16 * 1024;

// Buffers in which heads and small bodies are put together: making one for each costs a fifth of an exchange.

/** Bytes of a head of usual size: credentials take the most of it. */
const usualHeadBytes = 4 * 1024;

/** Bytes of a buffer: one write, with its head. */
const bufferBytes = singleWriteBytes + usualHeadBytes;

/** Buffers kept: as many messages as are usually being written, or wait for the head of their answer. 1.3 MB. */
const buffersKept = 64;

/** Buffers that the messages of one transport, or of one server, use again. */
export class WriteBuffers {
  readonly #free: ArrayBuffer[] = [];

  /** Returns so many bytes to be filled completely: what an earlier message left is still in them. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > bufferBytes) return new Uint8Array(bytes);
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(bufferBytes), 0, bytes);
  }

  /** Takes back bytes that nothing reads any more. Not to be called for a request that may be sent again. */
  give(bytes: Uint8Array<ArrayBuffer>): void {
    const { buffer } = bytes;
    if (buffer.byteLength === bufferBytes && this.#free.length < buffersKept) {
      this.#free.push(buffer);
    }
  }
}

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
 * import { parseDestination } from "./heads.ts";
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

/** Ways to recognise the end of a body (RFC 9112 section 6.3). */
type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "until_close" };

/** A parsed response head, whose headers are looked up in its text. */
export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** Whether the peer allows another exchange on the connection after this body. */
  readonly keepAlive: boolean;
  /** Seconds from `keep-alive: timeout=…`: the peer closes an idle connection after them. */
  readonly keepAliveSeconds: number | undefined;
  header(name: string): string | undefined;
}

const CR = 13;
const LF = 10;

/**
 * Returns the index behind the empty line that ends a head, or -1.
 *
 * Searches `buffer[from, end)` only, so that a head that arrives byte by byte costs linear time;
 * the bytes before `from` must still be there.
 */
export function findHeadEnd(buffer: Uint8Array, from: number, end: number): number {
  let at = buffer.indexOf(LF, from);
  while (at !== -1 && at < end) {
    if (at >= 3 && buffer[at - 1] === CR && buffer[at - 2] === LF && buffer[at - 3] === CR) {
      return at + 1;
    }
    at = buffer.indexOf(LF, at + 1);
  }
  return -1;
}

const protocol = (why: string) => new UpstreamFailure("protocol", `Cannot read the answer: ${why}`);

/**
 * The whole grammar as one expression: one match costs a fraction of splitting the text into lines,
 * and most headers are never read. It also refuses white space before the colon and folded lines,
 * which parsers interpret in different ways. No two parts match the same character, so it takes
 * linear time.
 */
const wholeHead =
  /^HTTP\/1\.([01]) ([1-5][0-9][0-9])(?: [^\0\r\n]*)?\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*\r\n)*\r\n$/;
const decimal = /^[0-9]{1,15}$/;
const closeToken = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;
const keepAliveTimeout = /(?:^|[,;\s])timeout\s*=\s*([0-9]{1,6})/i;

// Not Latin-1: everything that is looked up is ASCII, and this decoder is three times as fast.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Parses a whole head, the empty line included.
 *
 * @throws {UpstreamFailure} with code `protocol`
 *
 * @example
 * ```ts
 * import { parseResponseHead } from "./heads.ts";
 * const head = parseResponseHead(
 *   new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
 * );
 * if (head.status !== 200 || head.header("content-length") !== "5") throw new Error("wrong head");
 * if (!head.keepAlive || head.framing.kind !== "length") throw new Error("wrong framing");
 * ```
 */
export function parseResponseHead(bytes: Uint8Array): ResponseHead {
  const text = decoder.decode(bytes);
  const match = wholeHead.exec(text);
  if (match === null) throw protocol("its head is malformed");
  return new Head(Number(match[2]), match[1] === "1", text);
}

class Head implements ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  readonly keepAlive: boolean;
  readonly keepAliveSeconds: number | undefined;
  readonly #text: string;
  /** The same characters at the same places, names in lower case. */
  readonly #lowerText: string;

  constructor(status: number, isVersion11: boolean, text: string) {
    this.status = status;
    this.#text = text;
    const lowerText = text.toLowerCase();
    // A few letters beyond ASCII become two in lower case.
    this.#lowerText = lowerText.length === text.length
      ? lowerText
      : text.replace(/[^\0-\x7f]/g, "?").toLowerCase();
    this.framing = framingOf(
      status,
      isVersion11,
      this.header("transfer-encoding"),
      this.header("content-length"),
    );
    this.keepAlive = isVersion11 && this.framing.kind !== "until_close" &&
      !closeToken.test(this.header("connection") ?? "");
    const hint = this.header("keep-alive");
    const timeout = hint === undefined ? undefined : keepAliveTimeout.exec(hint)?.[1];
    this.keepAliveSeconds = timeout === undefined ? undefined : Number(timeout);
  }

  header(name: string): string | undefined {
    const label = `\r\n${name}:`;
    let found: string | undefined;
    let at = this.#lowerText.indexOf(label);
    while (at !== -1) {
      const valueStart = at + label.length;
      const valueEnd = this.#text.indexOf("\r\n", valueStart);
      const value = this.#text.slice(valueStart, valueEnd).trim();
      found = found === undefined ? value : `${found}, ${value}`;
      at = this.#lowerText.indexOf(label, valueEnd);
    }
    return found;
  }
}

function framingOf(
  status: number,
  isVersion11: boolean,
  transferEncoding: string | undefined,
  contentLength: string | undefined,
): Framing {
  // Two framings at once are the classic way to smuggle a second answer (RFC 9112 section 11.2).
  if (transferEncoding !== undefined && contentLength !== undefined) {
    throw protocol("both transfer-encoding and content-length");
  }
  if (transferEncoding !== undefined) {
    if (!isVersion11) throw protocol("transfer-encoding in HTTP/1.0");
    if (transferEncoding.toLowerCase() !== "chunked") throw protocol("unknown transfer-encoding");
  }
  // Repeated fields were joined by a comma, so duplicates fail here too.
  if (contentLength !== undefined && !decimal.test(contentLength)) {
    throw protocol("content-length is not one number");
  }
  if (status < 200 || status === 204 || status === 304) return { kind: "none" };
  if (transferEncoding !== undefined) return { kind: "chunked" };
  if (contentLength !== undefined) return { kind: "length", bytes: Number(contentLength) };
  return { kind: "until_close" };
}
