/** Parses response heads (RFC 9112 sections 4 to 6) strictly: a head in doubt ends the exchange. */
import { UpstreamFailure } from "../transport/transport.ts";

/** How the end of a body is recognised (RFC 9112 section 6.3). */
export type Framing =
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
 * import { parseResponseHead } from "./response_head.ts";
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
