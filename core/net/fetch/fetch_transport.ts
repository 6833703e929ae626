/**
 * The `fetch` driver, for providers behind a proxy or with HTTP/2 only. It costs several times the CPU of
 * `core/net/http1/`.
 *
 * - Folder `core/net/fetch/`: the transport on `fetch`, for providers behind a proxy or with HTTP/2 only.
 * - In: an `UpstreamRequest`, and a `fetch` function.
 * - Out: an `UpstreamExchange`: response head and body, or a failure as a value.
 * - Never: follows a redirect, or waits for a peer without a deadline.
 */
import { joined } from "../../lib/bytes/byte_parts.ts";
import { invariant } from "../../lib/base/assert.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import { checkHeader, defaultIdleMs, parseDestination } from "../http1/heads.ts";
import { maxCallMs } from "../../lib/base/limits.ts";
import { isRepeatable } from "../http1/transport.ts";
import {
  type ByteReader,
  type Transport,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../transport/transport.ts";

/**
 * Bytes of the read buffer for a body that comes by `fetch`. It does not grow, and files come this way too.
 */
const fetchReadBytes = 8 * 1024;

/** `fetch` as it is used here; bind a client (proxy, certificates) into it where one is needed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Needs of the transport over `fetch`. */
export interface FetchTransportOptions {
  readonly fetch: Fetch;
  /** For a POST that must not be sent twice: a `fetch` that never reuses a connection, and so never sends again. */
  readonly fetchOnce: Fetch;
  readonly deadlines: Deadlines;
  /** Longest silence until the head of the answer; `fetch` does not distinguish connecting from waiting. */
  readonly headMs?: number;
  /** Longest silence between two pieces of a body. */
  readonly idleMs?: number;
  /** Bytes of the one buffer that a body is read through. */
  readonly readBytes?: number;
}

/**
 * A {@linkcode Transport} over `fetch`.
 *
 * Redirects are not followed. Every request names its `accept-encoding` (`identity` unless the caller says
 * otherwise); Deno's `fetch` then leaves the body as it came, and `content-encoding` stays true.
 *
 * `fetch` itself sends a request again, without notice, if a pooled connection ends before any answer, even if the
 * peer received it whole; hence `fetchOnce`.
 */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  const settled = {
    headMs: maxCallMs,
    idleMs: defaultIdleMs,
    readBytes: fetchReadBytes,
    ...options,
  };
  return { open: (request) => new FetchExchange(settled, request) };
}

const ignore = () => {};

class FetchExchange implements UpstreamExchange, ByteReader {
  readonly response: Promise<UpstreamResponse>;
  readonly #options: Required<FetchTransportOptions>;
  readonly #aborter = new AbortController();
  readonly #deadline: Deadline;
  #failure: UpstreamFailure | undefined;
  #reader: ReadableStreamBYOBReader | undefined;
  /** Transferred to the stream during a read, and returned by it. */
  #buffer: ArrayBuffer | undefined;
  #waiting = false;
  #ended = false;

  constructor(options: Required<FetchTransportOptions>, request: UpstreamRequest) {
    this.#options = options;
    this.#deadline = options.deadlines.create(() => {
      if (this.#waiting) {
        this.#stop(new UpstreamFailure("timeout", "The peer was silent for too long"));
      }
    });
    this.response = this.#run(request);
    // A caller that cancels may ignore the response.
    this.response.catch(ignore);
  }

  cancel(): void {
    this.#stop(new UpstreamFailure("cancelled", "The exchange was cancelled"));
  }

  async read(): Promise<Uint8Array | null> {
    if (this.#failure) throw this.#failure;
    const reader = this.#reader;
    if (this.#ended || reader === undefined) return null;
    invariant(!this.#waiting, "one read at a time");
    this.#deadline.arm(this.#options.idleMs);
    this.#waiting = true;
    try {
      const buffer = this.#buffer ?? new ArrayBuffer(this.#options.readBytes);
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (this.#failure) throw this.#failure;
      this.#buffer = value?.buffer;
      if (!done) return value;
      this.#end();
      return null;
    } catch (error) {
      throw this.#fail(new UpstreamFailure("cut", "The answer was cut", { cause: error }));
    } finally {
      this.#waiting = false;
    }
  }

  async #run(request: UpstreamRequest): Promise<UpstreamResponse> {
    try {
      parseDestination(request.url);
      const headers = sendableHeaders(request);
      this.#deadline.arm(this.#options.headMs);
      this.#waiting = true;
      const { fetch, fetchOnce } = this.#options;
      const response = await (isRepeatable(request) ? fetch : fetchOnce)(request.url, {
        method: request.method,
        headers,
        // A copy, because `fetch` does not accept memory that might be shared.
        body: request.body === null ? null : new Uint8Array(joined(request.body)),
        redirect: "manual",
        signal: this.#aborter.signal,
      });
      if (this.#failure) throw this.#failure;
      this.#reader = response.body?.getReader({ mode: "byob" });
      if (this.#reader === undefined) this.#end();
      return {
        status: response.status,
        header: (name) => response.headers.get(name) ?? undefined,
        body: this,
      };
    } catch (error) {
      throw this.#fail(failureOf(error));
    } finally {
      this.#waiting = false;
    }
  }

  #end(): void {
    this.#ended = true;
    this.#buffer = undefined;
    this.#deadline.disarm();
  }

  #stop(failure: UpstreamFailure): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#fail(failure);
  }

  #fail(failure: UpstreamFailure): UpstreamFailure {
    if (this.#failure !== undefined) return this.#failure;
    this.#failure = failure;
    this.#deadline.disarm();
    this.#aborter.abort();
    return failure;
  }
}

function sendableHeaders(request: UpstreamRequest): [string, string][] {
  const headers: [string, string][] = [];
  let acceptsEncoding = false;
  for (const [name, value] of request.headers) {
    checkHeader(name, value);
    if (name === "accept-encoding") acceptsEncoding = true;
    headers.push([name, value]);
  }
  if (!acceptsEncoding) headers.push(["accept-encoding", "identity"]);
  return headers;
}

/** Maps an error of `fetch`, which has one type for everything: only its text shows whether a connection was made. */
function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && cause.message.includes("(Connect)")) {
    return new UpstreamFailure("connect", "No connection", { cause: error });
  }
  return new UpstreamFailure("cut", "The answer was cut", { cause: error });
}
