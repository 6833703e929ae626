/** A request of the server: what endpoints read of it, and the standard `Request` for everything else. */
import type { RequestHead } from "../../../core/net/http1/server/request_head.ts";
import type { HttpRequest, Pieces } from "../../http/body/http_request.ts";
import type { RequestBody } from "./request_body.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";

// Writes the `date` header of answers.

/**
 * Returns a function that gives the current time as HTTP writes it. Most answers are of the same
 * second as the one before, so the text of a second is made once.
 *
 * @example
 * ```ts
 * import { httpDates } from "./served_request.ts";
 * const date = httpDates({ nowMs: () => 1_500, monotonicMs: () => 0 });
 * if (date() !== "Thu, 01 Jan 1970 00:00:01 GMT") throw new Error(date());
 * ```
 */
export function httpDates(clock: Clock): () => string {
  let second = -1;
  let text = "";
  return () => {
    const now = Math.floor(clock.nowMs() / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1_000).toUTCString();
    }
    return text;
  };
}

/** Bytes of a body that `bytes()` takes memory for before they arrive. */
const aheadBytes = 64 * 1024;

/** A request whose head has arrived. */
export class ServedRequest implements HttpRequest {
  readonly headers: RequestHead;
  readonly #body: RequestBody;
  #url: string | undefined;
  #stream: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #aborter: AbortController | undefined;
  #hasLeft = false;

  constructor(head: RequestHead, body: RequestBody) {
    this.headers = head;
    this.#body = body;
  }

  get method(): string {
    return this.headers.method;
  }

  /** The path is the one that was sent: nothing in it is resolved or decoded. */
  get url(): string {
    return this.#url ??= `http://${this.headers.host}${
      this.headers.target === "*" ? "/*" : this.headers.target
    }`;
  }

  /** Aborts when the client leaves while its request is served. */
  get signal(): AbortSignal {
    this.#body.watch();
    this.#aborter ??= new AbortController();
    if (this.#hasLeft) this.#aborter.abort();
    return this.#aborter.signal;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.headers.body === 0) return null;
    return this.#stream ??= streamOf(this.#body);
  }

  arrivedBody(): Uint8Array<ArrayBuffer> | undefined {
    return this.#body.takeArrived();
  }

  get isBodyHeldBack(): boolean {
    return this.#body.isAwaited;
  }

  pieces(): Pieces | undefined {
    if (this.headers.body === 0) return undefined;
    const body = this.#body;
    return {
      read: async () => await body.read() ?? undefined,
      ...(this.headers.body === "chunked" ? {} : {
        readInto: (view: Uint8Array<ArrayBuffer>) => body.readInto(view),
      }),
      cancel: () => Promise.resolve(body.cancel()),
    };
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const arrived = this.#body.takeArrived();
    if (arrived !== undefined) return arrived;
    const { body: declared } = this.headers;
    if (declared !== "chunked" && declared <= aheadBytes) return await this.#inPlace(declared);
    let whole = new Uint8Array(declared === "chunked" ? 0 : aheadBytes);
    let length = 0;
    for (;;) {
      const piece = await this.#body.read();
      if (piece === null) return length === whole.length ? whole : whole.slice(0, length);
      if (length + piece.length > whole.length) {
        const larger = new Uint8Array(Math.max(whole.length * 2, length + piece.length));
        larger.set(whole);
        whole = larger;
      }
      whole.set(piece, length);
      length += piece.length;
    }
  }

  async #inPlace(declaredBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const whole = new Uint8Array(declaredBytes);
    let length = 0;
    while (length < whole.length) {
      const bytes = await this.#body.readInto(whole.subarray(length));
      // A part of it was read before.
      if (bytes === undefined) return whole.slice(0, length);
      length += bytes;
    }
    return whole;
  }

  /** Takes what has arrived of a body that nobody reads. */
  skipUnread(): void {
    if (this.#stream?.locked !== true) this.#body.skipArrived();
  }

  /** Notes that the client has left. */
  left(): void {
    this.#hasLeft = true;
    this.#aborter?.abort();
  }

  /** Makes the same request for code that needs a standard one; `undefined` if its host makes no valid URL. */
  toRequest(): Request | undefined {
    const { url, method, headers, signal } = this;
    if (!URL.canParse(url)) return undefined;
    const hasBody = method !== "GET" && method !== "HEAD" && this.body !== null;
    const request = new Request(url, {
      method,
      headers: headers.entries(),
      body: hasBody ? this.body : null,
      signal,
    });
    // The constructor resolves `..` and the like; every layer must see the path that was sent.
    if (request.url !== url) Object.defineProperty(request, "url", { value: url });
    return request;
  }
}

/** Makes a stream of a body that reads into the buffers of its reader. */
function streamOf(body: RequestBody): ReadableStream<Uint8Array<ArrayBuffer>> {
  let rest: Uint8Array = new Uint8Array(0);
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      if (rest.length === 0) rest = await body.read() ?? rest;
      const request = controller.byobRequest;
      const view = request?.view;
      if (rest.length === 0) {
        controller.close();
        request?.respond(0);
      } else if (request !== null && view !== null && view !== undefined) {
        const taken = rest.subarray(0, view.byteLength);
        new Uint8Array(view.buffer, view.byteOffset, taken.length).set(taken);
        rest = rest.subarray(taken.length);
        request.respond(taken.length);
      } else {
        controller.enqueue(rest.slice());
        rest = rest.subarray(rest.length);
      }
    },
  }, { highWaterMark: 0 });
}
