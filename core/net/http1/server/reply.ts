/** An answer of the server in a form that is cheaper to make and to write than a `Response`. */
import type { ByteSource } from "../../../lib/bytes/byte_parts.ts";

// Encodes the heads of answers (RFC 9112 section 4).

/** Reason phrases, which clients ignore (RFC 9112 section 4). A status without one has an empty phrase. */
const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  206: "Partial Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  417: "Expectation Failed",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** The server writes these itself: another value would let one answer be read as two. */
const ownNames: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
]);

const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Ways to show the end of an answer's body. */
export type ReplyFraming =
  /** By its length in bytes. */
  | number
  | "chunked"
  /** By the end of the connection, for clients of HTTP/1.0. */
  | "until_close"
  /** There is none, and nothing says how long it would be. */
  | "none";

/** Head of an answer. */
export interface ReplyHead {
  readonly status: number;
  /** Names are tokens in lower case: those of `Headers`, or literals of the code. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  readonly framing: ReplyFraming;
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean;
  /** Value of the `date` header. */
  readonly date: string;
}

/**
 * Writes a head; each character is one byte. Headers that belong to the server are left out.
 *
 * @throws {TypeError} for a value that would break the head
 *
 * @example
 * ```ts
 * import { replyHead } from "./reply.ts";
 * const text = replyHead({ status: 200, headers: [["a", "b"]], framing: 2, isLast: true, date: "now" });
 * const lines = ["HTTP/1.1 200 OK", "a: b", "date: now", "content-length: 2", "connection: close", "", ""];
 * if (text !== lines.join("\r\n")) throw new Error(text);
 * ```
 */
export function replyHead({ status, headers, framing, isLast, date }: ReplyHead): string {
  let text = `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`;
  for (const [name, value] of headers) {
    if (ownNames.has(name)) continue;
    if (!fieldValue.test(value)) {
      throw new TypeError("a header of the answer holds control characters");
    }
    text += `${name}: ${value}\r\n`;
  }
  text += `date: ${date}\r\n`;
  if (typeof framing === "number") text += `content-length: ${framing}\r\n`;
  else if (framing === "chunked") text += "transfer-encoding: chunked\r\n";
  return isLast ? `${text}connection: close\r\n\r\n` : `${text}\r\n`;
}

/** Response headers in their order, with the methods of `Headers` that answers need. Names are lower-case. */
class ReplyHeaders implements Iterable<readonly [name: string, value: string]> {
  readonly #entries: [name: string, value: string][];

  constructor(entries: [name: string, value: string][]) {
    this.#entries = entries;
  }

  /** The first value of a name. */
  get(name: string): string | null {
    for (const entry of this.#entries) if (entry[0] === name) return entry[1];
    return null;
  }

  has(name: string): boolean {
    for (const entry of this.#entries) if (entry[0] === name) return true;
    return false;
  }

  /** Replaces the first value of a name, or adds one. */
  set(name: string, value: string): void {
    const entry = this.#entries.find((entry) => entry[0] === name);
    if (entry === undefined) this.append(name, value);
    else entry[1] = value;
  }

  append(name: string, value: string): void {
    this.#entries.push([name, value]);
  }

  [Symbol.iterator](): Iterator<[name: string, value: string]> {
    return this.#entries[Symbol.iterator]();
  }
}

/**
 * Status, headers and body of an answer.
 *
 * @example
 * ```ts
 * import { Reply } from "./reply.ts";
 * const reply = new Reply(200, [["content-type", "text/plain"]], new TextEncoder().encode("hello"));
 * const response = reply.toResponse();
 * if (response.status !== 200 || await response.text() !== "hello") throw new Error("another answer");
 * ```
 */
export class Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The bytes, or what produces them. */
  readonly body: Uint8Array | ByteSource | null;

  constructor(
    status: number,
    headers: [name: string, value: string][],
    body: Uint8Array | ByteSource | null,
  ) {
    this.status = status;
    this.headers = new ReplyHeaders(headers);
    this.body = body;
  }

  /** Makes the same answer for code that needs a standard one. The body can be read once, here or there. */
  toResponse(): Response {
    const { status, headers, body } = this;
    const response = new Response(
      body === null || body instanceof Uint8Array
        ? body as Uint8Array<ArrayBuffer> | null
        : new ReadableStream<Uint8Array>(body, { highWaterMark: 0 }),
      { status },
    );
    // Appended one by one: the runtime converts a list in the constructor twice, which costs as much as parsing the
    // body of a request.
    for (const [name, value] of headers) response.headers.append(name, value);
    return response;
  }
}

/** Makes a standard answer of either form. */
export function responseOf(reply: Reply | Response): Response {
  return reply instanceof Reply ? reply.toResponse() : reply;
}
