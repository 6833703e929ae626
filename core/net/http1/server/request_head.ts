/**
 * Parses request heads (RFC 9112 sections 2 to 6) strictly: a head in doubt is refused and its
 * connection closed, because two readers that disagree about one request let another be smuggled in.
 *
 * - Folder `core/net/http1/server/`: the rules of the server's side of HTTP/1.1, without sockets.
 * - In: bytes of a connection; answers as status, headers and length.
 * - Out: request heads, or the status to refuse them with; bytes of answer heads.
 * - Never: guesses what a malformed message could mean.
 */

/** Why a request is not read: the status to answer before the connection is closed. */
export class RequestRefusal extends Error {
  override name = "RequestRefusal";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const malformed = (why: string) => new RequestRefusal(400, `Cannot read the request: ${why}`);

/** A parsed request head, whose headers are looked up in its text. */
export interface RequestHead {
  readonly method: string;
  /** Path and query as they were sent; `*` only for OPTIONS. */
  readonly target: string;
  /** The authority: of an absolute target, or else of the `host` header. */
  readonly host: string;
  readonly isVersion11: boolean;
  /** Length of the body in bytes; 0 if there is none. */
  readonly body: number | "chunked";
  /** Whether the client allows another request on the connection. */
  readonly keepAlive: boolean;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Value of a header by lower-case name, joined by `, ` where repeated. Each character is one byte. */
  get(name: string): string | null;
  /** Whether there is a header of a lower-case name. */
  has(name: string): boolean;
  /** All headers in their order, names as they were sent. */
  entries(): [name: string, value: string][];
}

const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;

/**
 * Returns the index behind the empty line that ends a head, or -1.
 *
 * Searches `buffer[from, end)` only, so that a head that arrives byte by byte costs linear time;
 * `start` is where the head begins.
 *
 * @throws {RequestRefusal} as soon as a line ends without a carriage return
 */
export function findRequestHeadEnd(
  buffer: Uint8Array,
  start: number,
  from: number,
  end: number,
): number {
  let at = buffer.indexOf(LF, from);
  while (at !== -1 && at < end) {
    if (at === start || buffer[at - 1] !== CR) throw malformed("a line ends without CR");
    if (at >= start + 3 && buffer[at - 2] === LF) return at + 1;
    at = buffer.indexOf(LF, at + 1);
  }
  return -1;
}

/** Methods that are served; `CONNECT` and `TRACE` are none of them. */
const methods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/**
 * The whole grammar as one expression. It also refuses white space before the colon, folded lines
 * and control characters, which parsers interpret in different ways. No two parts match the same
 * character, so it takes linear time.
 *
 * Targets may have all visible characters that browsers send unescaped, which are more than RFC 3986
 * allows, but no `#`, quotes, angle brackets and backslashes.
 */
const wholeHead =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!$-;=?-[\]-~]+) HTTP\/1\.([01])\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/;
const absoluteTarget = /^https?:\/\/([^/?]*)([/?].*)?$/i;
const authority = /^(?:[!$%&'()*+,\-.;=_~0-9A-Za-z]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;
const decimal = /^[0-9]{1,15}$/;
/** A tab beside a framing value: allowed, but some parsers take it for a part of the value. */
const framingWithTab = /\r\n(?:content-length|transfer-encoding):[^\r]*\t/;
const closeToken = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes a head to one character per byte, as `Headers` does. */
function textOf(bytes: Uint8Array): string {
  // For ASCII, which nearly all heads are, this decoder is many times as fast as the loop.
  const text = decoder.decode(bytes);
  // Other bytes become fewer characters, or the mark of a fault.
  if (text.length === bytes.length && !text.includes("\ufffd")) return text;
  let exact = "";
  for (const byte of bytes) exact += String.fromCharCode(byte);
  return exact;
}

/**
 * Parses a whole head, the empty line included.
 *
 * @throws {RequestRefusal} 400 for a head that is malformed or ambiguous, 417 for an unknown
 * expectation, 501 for a method that is not served
 *
 * @example
 * ```ts
 * import { parseRequestHead } from "./request_head.ts";
 * const head = parseRequestHead(
 *   new TextEncoder().encode("POST /v1?a=b HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n"),
 * );
 * if (head.method !== "POST" || head.target !== "/v1?a=b") throw new Error("wrong request line");
 * if (head.host !== "here" || head.body !== 5 || !head.keepAlive) throw new Error("wrong head");
 * ```
 */
export function parseRequestHead(bytes: Uint8Array): RequestHead {
  const text = textOf(bytes);
  const match = wholeHead.exec(text);
  if (match === null) throw malformed("its head is malformed");
  const [, method = "", target = "", minor] = match;
  if (!methods.has(method)) throw new RequestRefusal(501, "The method is not served");
  return new Head(method, target, minor === "1", text);
}

class Head implements RequestHead {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly isVersion11: boolean;
  readonly body: number | "chunked";
  readonly keepAlive: boolean;
  readonly expectsContinue: boolean;
  readonly #text: string;
  /** The same characters at the same places, names in lower case. */
  readonly #lowerText: string;
  /** For each header where its name begins and ends: a call asks for some twenty headers, most of which are not there. */
  readonly #names: number[] = [];

  constructor(method: string, target: string, isVersion11: boolean, text: string) {
    this.method = method;
    this.isVersion11 = isVersion11;
    this.#text = text;
    this.#lowerText = text.toLowerCase();
    if (text.includes("\t") && framingWithTab.test(this.#lowerText)) {
      throw malformed("its framing is ambiguous");
    }
    this.#findNames();
    this.body = bodyOf(isVersion11, this.get("transfer-encoding"), this.get("content-length"));
    const host = hostOf(isVersion11, this.get("host"));
    const isPath = target.startsWith("/");
    const absolute = isPath ? undefined : absoluteOf(method, target);
    this.target = absolute?.target ?? target;
    this.host = absolute?.host ?? host;
    // Version 1.0 has no kept connections unless both sides extend it.
    this.keepAlive = isVersion11 && !closeToken.test(this.get("connection") ?? "");
    const expected = this.get("expect");
    if (expected !== null && expected.toLowerCase() !== "100-continue") {
      throw new RequestRefusal(417, "The expectation is not known");
    }
    this.expectsContinue = expected !== null && isVersion11 && this.body !== 0;
  }

  #findNames(): void {
    const text = this.#text;
    let lineStart = text.indexOf("\r\n") + 2;
    for (;;) {
      const lineEnd = text.indexOf("\r\n", lineStart);
      if (lineEnd === lineStart) return;
      this.#names.push(lineStart, text.indexOf(":", lineStart));
      lineStart = lineEnd + 2;
    }
  }

  #valueBehind(colon: number): string {
    return trimmed(this.#text, colon + 1, this.#text.indexOf("\r\n", colon));
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  get(name: string): string | null {
    const names = this.#names;
    let found: string | null = null;
    for (let i = 0; i < names.length; i += 2) {
      const start = names[i]!;
      const colon = names[i + 1]!;
      if (colon - start !== name.length || !this.#lowerText.startsWith(name, start)) continue;
      const value = this.#valueBehind(colon);
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  entries(): [name: string, value: string][] {
    const entries: [string, string][] = [];
    for (let i = 0; i < this.#names.length; i += 2) {
      const colon = this.#names[i + 1]!;
      entries.push([this.#text.slice(this.#names[i], colon), this.#valueBehind(colon)]);
    }
    return entries;
  }
}

/** Cuts out a value without the white space around it; `trim()` would remove more than HTTP does. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function bodyOf(
  isVersion11: boolean,
  transferEncoding: string | null,
  contentLength: string | null,
): number | "chunked" {
  if (transferEncoding !== null) {
    // Two framings at once are the classic way to smuggle a request (RFC 9112 section 11.2).
    if (contentLength !== null) throw malformed("transfer-encoding and content-length");
    if (!isVersion11) throw malformed("transfer-encoding in HTTP/1.0");
    // Repeated fields were joined by a comma, so they fail here and below.
    if (transferEncoding.toLowerCase() !== "chunked") throw malformed("unknown transfer-encoding");
    return "chunked";
  }
  if (contentLength === null) return 0;
  if (!decimal.test(contentLength)) throw malformed("content-length is not one number");
  return Number(contentLength);
}

function hostOf(isVersion11: boolean, host: string | null): string {
  if (host === null) {
    if (isVersion11) throw malformed("no host");
    return "localhost";
  }
  if (!authority.test(host)) throw malformed("the host is malformed");
  return host;
}

/** Takes a target apart that is no path: an absolute URL, or `*`. */
function absoluteOf(
  method: string,
  target: string,
): { readonly target: string; readonly host?: string } {
  if (target === "*" && method === "OPTIONS") return { target };
  const match = absoluteTarget.exec(target);
  const [, host = "", rest = "/"] = match ?? [];
  if (!authority.test(host)) throw malformed("the target is malformed");
  return { target: rest.startsWith("/") ? rest : `/${rest}`, host };
}
