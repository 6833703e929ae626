/** An answer of the server in a form that is cheaper to make and to write than a `Response`. */
import type { ByteSource } from "../../../lib/bytes/byte_source.ts";

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
