/**
 * The HTTP/1.1 driver: a small client made for proxying, several times cheaper than `fetch`.
 *
 * An {@linkcode Http1Exchange} runs one request and its answer over a connection. If a kept connection ends that took
 * the request, {@linkcode maySendAgain} decides whether it is sent a second time.
 *
 * - Folder `core/net/http1/`: an HTTP/1.1 client for proxying (RFC 9112): heads, framing, kept
 *   connections.
 * - In: an `UpstreamRequest`, and a function that connects.
 * - Out: an `UpstreamExchange`: response head and body, or a failure as a value.
 * - Never: opens a socket itself (`routes/process/deno_connect.ts` does), or guesses at a response head that is
 *   in doubt.
 */
import {
  type ByteReader,
  type PieceReceiver,
  type Transport,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../transport/transport.ts";
import {
  type ExchangeSetting,
  type Http1Bounds,
  Link,
  type LinkOwner,
  Pool,
  type PoolOptions,
} from "./connections.ts";
import { startPromise, withResolvers } from "../../lib/runtime/built_ins.ts";
import { invariant } from "../../lib/base/assert.ts";
import type { Connect, Connection } from "../transport/connection.ts";
import { ChunkedDecoder } from "./chunked.ts";
import {
  defaultConnectMs,
  defaultIdleMs,
  type Destination,
  encodeRequest,
  findHeadEnd,
  parseDestination,
  parseResponseHead,
  type RequestMessage,
  type ResponseHead,
  singleWriteBytes,
  WriteBuffers,
} from "./heads.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";

/**
 * Waits one turn of the event loop, so that reads and writes that have ended settle their promises.
 */
function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/**
 * Whether repeating the request does no more than making it once (RFC 9110 section 9.2.2), or the
 * caller takes the risk.
 */
export function isRepeatable({ method, onSentAgain }: UpstreamRequest): boolean {
  return method !== "POST" || onSentAgain !== undefined;
}

/**
 * Returns whether a request may be sent again after `pooled` has ended under it, and notifies its
 * caller if the peer may have acted on the first.
 *
 * A peer may close an idle connection while the request is on its way. From here that looks the
 * same as a peer that read the request, acted on it and died: no byte came back. The one certain
 * case is that a request which was not written completely was not acted on.
 */
async function maySendAgain(request: UpstreamRequest, pooled: Link): Promise<boolean> {
  if (pooled.answered) return false;
  // A write that has just ended may not have settled its promise yet.
  await eventLoopTurn();
  if (!pooled.requestWritten) return true;
  request.onSentAgain?.();
  return isRepeatable(request);
}

const cut = (why: string, cause?: unknown) =>
  new UpstreamFailure("cut", `The answer was cut: ${why}`, cause === undefined ? {} : { cause });

const ignore = () => {};

/** Microtasks within which the promise of a write is settled that has ended. */
const settlingMicrotasks = 8;

/** An exchange over HTTP/1.1; reads the body of its own answer. */
class Http1Exchange implements UpstreamExchange, ByteReader, LinkOwner {
  readonly #setting: ExchangeSetting;
  readonly response: Promise<UpstreamResponse>;
  /** Why the exchange failed. Set once; everything afterwards rejects with it. */
  #failure: UpstreamFailure | undefined;
  #link: Link | undefined;
  #interruptConnect: ((failure: UpstreamFailure) => void) | undefined;
  /**
   * Whether a reader waits for bytes. Only then is silence the peer's: a slow reader is not the
   * peer's silence.
   */
  #waiting = false;
  #headDone = false;
  /** Whether the clean end was handed out; the link then belongs to the pool. */
  #ended = false;
  /** Whether the last byte of the body was decoded. The reader may still hold it. */
  #bodyComplete = false;
  #head: ResponseHead | undefined;
  /** Up to where what has arrived holds no end of the head. */
  #searchedTo = 0;
  #interims = 0;
  #remainingBytes = 0;
  #decoder: ChunkedDecoder | undefined;
  #receiver: PieceReceiver | undefined;
  /** Made with the first read for a receiver: an answer that does not stream has none. */
  #onRead: ((byteCount: number | null) => void) | undefined;
  #onReadFailed: ((error: unknown) => void) | undefined;

  constructor(setting: ExchangeSetting, request: UpstreamRequest) {
    this.#setting = setting;
    this.response = this.#run(request);
    // A caller that cancels need not handle the response.
    this.response.catch(ignore);
  }

  cancel(): void {
    this.#stop(new UpstreamFailure("cancelled", "The exchange was cancelled"));
  }

  onLinkDue(link: Link): void {
    if (!this.#waiting) return;
    this.#stop(
      link.writeFailed
        ? cut("the request could not be written")
        : new UpstreamFailure("timeout", "The peer was silent for too long"),
    );
  }

  arrived(maxBytes: number): Uint8Array | undefined {
    const link = this.#link;
    const bytes = this.#remainingBytes;
    const isWhole = this.#head?.framing.kind === "length" && this.#failure === undefined &&
      !this.#waiting && bytes <= maxBytes;
    if (!isWhole || link === undefined || link.end - link.start < bytes) return undefined;
    // Copied before the pool gets the link, which reads into its buffer at once.
    const whole = link.buffer.slice(link.start, link.start + bytes);
    link.start += bytes;
    this.#remainingBytes = 0;
    this.#bodyComplete = true;
    this.#release();
    return whole;
  }

  async read(): Promise<Uint8Array | null> {
    if (this.#failure) throw this.#failure;
    if (this.#ended) return null;
    invariant(!this.#waiting, "one read at a time");
    try {
      for (;;) {
        const piece = this.#takePiece();
        if (piece !== null) return piece;
        if (this.#bodyComplete) {
          this.#release();
          return null;
        }
        const link = this.#needLink();
        link.recycle();
        link.arm(this.#setting.bounds.idleMs);
        this.#waiting = true;
        const byteCount = await link.read();
        this.#waiting = false;
        if (this.#failure) throw this.#failure;
        if (byteCount !== null) {
          link.took(byteCount);
          continue;
        }
        if (this.#head?.framing.kind !== "until_close") throw cut("the connection ended early");
        this.#bodyComplete = true;
      }
    } catch (error) {
      this.#waiting = false;
      throw this.#fail(error);
    }
  }

  readTo(receiver: PieceReceiver): void {
    this.#receiver = receiver;
    this.#deliver();
  }

  /** Gives the receiver what has arrived, or waits for more. */
  #deliver(): void {
    let piece: Uint8Array | null;
    try {
      if (this.#failure) throw this.#failure;
      invariant(!this.#waiting, "one read at a time");
      piece = this.#ended ? null : this.#takePiece();
      if (piece === null && !this.#ended) {
        if (!this.#bodyComplete) return this.#readForReceiver();
        this.#release();
      }
    } catch (error) {
      return this.#deliverFailure(error);
    }
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onPiece(piece);
  }

  #deliverFailure(error: unknown): void {
    const failure = this.#fail(error);
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onFailure(failure);
  }

  #readForReceiver(): void {
    const link = this.#needLink();
    link.recycle();
    link.arm(this.#setting.bounds.idleMs);
    this.#waiting = true;
    this.#onRead ??= (byteCount) => {
      this.#waiting = false;
      if (this.#failure) return this.#deliverFailure(this.#failure);
      if (byteCount !== null) this.#link?.took(byteCount);
      else if (this.#head?.framing.kind === "until_close") this.#bodyComplete = true;
      else return this.#deliverFailure(cut("the connection ended early"));
      this.#deliver();
    };
    this.#onReadFailed ??= (error) => {
      this.#waiting = false;
      this.#deliverFailure(error);
    };
    link.read().then(this.#onRead, this.#onReadFailed);
  }

  /** One function for all steps of a usual exchange: each further one would cost a promise. */
  async #run(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { pool, counts, destination: destinationOf, bounds, buffers } = this.#setting;
    try {
      const destination = destinationOf(request.url);
      const message = encodeRequest(request, destination, bounds.singleWriteBytes, buffers);
      let pooled = isRepeatable(request)
        ? pool.take(destination.origin)
        : await this.#takeProven(destination.origin);
      for (;;) {
        if (pooled !== undefined) counts.reused++;
        try {
          const link = pooled === undefined
            ? await this.#connect(destination)
            : this.#adopt(pooled);
          this.#send(link, message);
          for (;;) {
            const head = this.#takeHead(link);
            if (head !== undefined) return this.#begin(link, message, head);
            link.arm(bounds.headMs);
            this.#waiting = true;
            const byteCount = await link.read();
            this.#waiting = false;
            if (this.#failure) throw this.#failure;
            if (byteCount === null) throw cut("the connection ended before the head");
            link.took(byteCount);
          }
        } catch (error) {
          this.#waiting = false;
          if (pooled === undefined || this.#failure !== undefined) throw error;
          if (!await maySendAgain(request, pooled)) throw error;
          if (this.#failure !== undefined) throw this.#failure;
          pooled.close();
          counts.retried++;
          pooled = undefined;
        }
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /**
   * Takes a kept connection that is almost certainly not stale, for a request that must not be sent
   * twice.
   */
  async #takeProven(origin: string): Promise<Link | undefined> {
    const { pool } = this.#setting;
    if (!pool.hasProven(origin)) return undefined;
    // Connections that peers have closed by now leave the pool in this turn.
    await eventLoopTurn();
    if (this.#failure) throw this.#failure;
    return pool.takeProven(origin);
  }

  #send(link: Link, message: RequestMessage): void {
    const { headMs } = this.#setting.bounds;
    this.#searchedTo = link.start;
    this.#interims = 0;
    link.send(message, () => {
      if (this.#link === link && !this.#headDone) link.arm(headMs);
    });
  }

  /** Begins the answer whose head has arrived. */
  #begin(link: Link, message: RequestMessage, head: ResponseHead): UpstreamResponse {
    const { bounds, buffers } = this.#setting;
    this.#head = head;
    this.#headDone = true;
    // From here on it is not sent again, and bytes that are written are not read any more.
    if (link.requestWritten) buffers.give(message.first);
    const framing = head.framing;
    if (framing.kind === "length") this.#remainingBytes = framing.bytes;
    if (framing.kind === "chunked") {
      this.#decoder = new ChunkedDecoder(bounds);
    }
    if (framing.kind === "none" || (framing.kind === "length" && framing.bytes === 0)) {
      this.#release();
    }
    return { status: head.status, header: (name) => head.header(name), body: this };
  }

  /** Takes the final head from what has arrived; `undefined`, with room for more, while it is not complete. */
  #takeHead(link: Link): ResponseHead | undefined {
    const { headBytes, interimResponses } = this.#setting.bounds;
    for (;;) {
      const headEnd = findHeadEnd(link.buffer, this.#searchedTo, link.end);
      if ((headEnd === -1 ? link.end : headEnd) - link.start > headBytes) {
        throw new UpstreamFailure("too_large", "The head of the answer is too long");
      }
      if (headEnd === -1) break;
      const head = parseResponseHead(link.buffer.subarray(link.start, headEnd));
      link.start = headEnd;
      this.#searchedTo = headEnd;
      if (head.status >= 200) return head;
      // No protocol change was requested, so 101 ends here too.
      if (head.status === 101 || ++this.#interims > interimResponses) {
        throw new UpstreamFailure("protocol", "Unexpected interim answers");
      }
    }
    if (link.end - link.start >= 5 && !startsLikeHttp(link)) {
      throw new UpstreamFailure("protocol", "The peer does not speak HTTP/1.1");
    }
    if (link.start === link.end) link.recycle();
    else link.extend();
    this.#searchedTo = link.end;
    return undefined;
  }

  /** Returns the next part of the body that has already arrived. */
  #takePiece(): Uint8Array | null {
    const link = this.#needLink();
    const { start, end } = link;
    if (start === end || this.#bodyComplete) return null;
    const decoder = this.#decoder;
    if (decoder !== undefined) {
      decoder.decode(link.buffer, start, end);
      link.start = decoder.consumed;
      this.#bodyComplete = decoder.done;
      if (decoder.payloadStart === decoder.payloadEnd) return null;
      return link.buffer.subarray(decoder.payloadStart, decoder.payloadEnd);
    }
    let count = end - start;
    if (this.#head?.framing.kind === "length") {
      count = Math.min(count, this.#remainingBytes);
      this.#remainingBytes -= count;
      this.#bodyComplete = this.#remainingBytes === 0;
    }
    link.start += count;
    return link.buffer.subarray(start, start + count);
  }

  async #connect(destination: Destination): Promise<Link> {
    if (this.#failure) throw this.#failure;
    const { connect, deadlines, bounds, counts } = this.#setting;
    const aborter = new AbortController();
    const interrupted = withResolvers<never>();
    this.#interruptConnect = interrupted.reject;
    const deadline = deadlines.create(() =>
      interrupted.reject(new UpstreamFailure("connect", "No connection in time"))
    );
    deadline.arm(bounds.connectMs);
    let connection: Connection | undefined;
    const connecting = startPromise(connect, destination.target, aborter.signal);
    try {
      connection = await Promise.race([connecting, interrupted.promise]);
    } catch (error) {
      aborter.abort();
      connecting.then((late) => late.close(), ignore);
      if (error instanceof UpstreamFailure) throw error;
      throw new UpstreamFailure("connect", "No connection", { cause: error });
    } finally {
      deadline.disarm();
      this.#interruptConnect = undefined;
    }
    counts.opened++;
    const { readBytes, readMaxBytes } = bounds;
    const { origin } = destination;
    const link = new Link({ origin, connection, deadlines, owner: this, readBytes, readMaxBytes });
    return this.#adopt(link);
  }

  #adopt(link: Link): Link {
    this.#link = link;
    // The exchange may be cancelled between the connection coming up and this line.
    if (this.#failure) throw this.#failure;
    link.owner = this;
    return link;
  }

  /** Gives the link to the pool after the clean end of the body. */
  #release(): void {
    const link = this.#needLink();
    this.#ended = true;
    this.#link = undefined;
    if (link.requestWritten || link.writeFailed) this.#keep(link);
    else void this.#keepOnceWritten(link);
  }

  #keep(link: Link): void {
    const head = this.#head;
    if (!head?.keepAlive || !link.isClean) return link.close();
    const seconds = head.keepAliveSeconds;
    this.#setting.pool.put(link, seconds === undefined ? undefined : seconds * 1_000);
  }

  /** The write may have ended in this turn of the event loop, too, and its promise not be settled yet. */
  async #keepOnceWritten(link: Link): Promise<void> {
    for (let turn = 0; turn < settlingMicrotasks && !link.requestWritten; turn++) await undefined;
    this.#keep(link);
  }

  #needLink(): Link {
    invariant(this.#link !== undefined, "an exchange that runs has a link");
    return this.#link;
  }

  /** Ends the exchange from outside its own flow; pending reads reject with `failure`. */
  #stop(failure: UpstreamFailure): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#failure = failure;
    this.#interruptConnect?.(failure);
    this.#link?.close();
  }

  /** Turns any error into the one failure of this exchange. */
  #fail(error: unknown): UpstreamFailure {
    this.#failure ??= error instanceof UpstreamFailure ? error : cut("the connection broke", error);
    this.#link?.close();
    return this.#failure;
  }
}

function startsLikeHttp({ buffer, start }: Link): boolean {
  return buffer[start] === 72 && buffer[start + 1] === 84 && buffer[start + 2] === 84 &&
    buffer[start + 3] === 80 && buffer[start + 4] === 47;
}

/** Bytes of a response head. Common servers stop at 8–16 KiB. */
const maxHeadBytes = 32 * 1024;

/** Idle connections kept per origin: as many as calls usually run at once. The surplus is closed. */
const maxIdleConnections = 256;

/**
 * Milliseconds of idle time after which a connection counts as kept open by its peer. Peers that
 * close after an answer without announcing it have done so by then, as a round trip takes under 1
 * s.
 */
export const provenRestMs = 1_000;

/**
 * Milliseconds that a connection may be idle. Most load balancers close after 60 s, and this side should
 * close first.
 */
const maxIdleConnectionMs = 50_000;

/**
 * Milliseconds of silence between a request and the head of its answer: as long as the longest call, since a
 * whole answer starts only when it is complete. The caller's own deadline usually comes first.
 */
const maxHeadMs = 15 * 60_000;

/**
 * Bytes of a connection's read buffer at first: fits ten events of a stream, and a thousand streams
 * cost 4 MB.
 */
const readBytes = 4 * 1024;

/** Bytes to which the read buffer grows during a large body: larger reads save nothing. */
const readMaxBytes = 64 * 1024;

/** Bytes of extensions of one chunk; real ones have none. */
const maxChunkExtensionBytes = 1024;

/** Bytes of the trailers of a body; real ones have none or a checksum. */
const maxTrailerBytes = 8 * 1024;

/** Heads with a status of 1xx before the final one: a server sends one or two. */
const maxInterimResponses = 8;

/** Options of the HTTP/1.1 driver, and bounds that differ from its defaults. */
export interface Http1TransportOptions extends Partial<Http1Bounds>, Partial<PoolOptions> {
  readonly connect: Connect;
  readonly deadlines: Deadlines;
}

/** Counts of a transport's connections and exchanges. */
interface Http1Counts {
  /** Connections opened. */
  readonly opened: number;
  /** Exchanges that began on a pooled connection. */
  readonly reused: number;
  /** Exchanges that were sent again because that connection was stale. */
  readonly retried: number;
  /** Idle connections now. */
  readonly idle: number;
}

/** A transport over HTTP/1.1 that can be counted and closed. */
export interface Http1Transport extends Transport {
  counts(): Http1Counts;
  /** Closes idle connections, and those in use when their exchange ends. */
  close(): void;
}

/** URLs are those of the configured routes, and a few with ids in them. */
const destinationsKept = 512;

/**
 * Creates a {@linkcode Transport} over HTTP/1.1. Redirects are not followed, and a
 * `content-encoding` is not decoded.
 */
export function createHttp1Transport(options: Http1TransportOptions): Http1Transport {
  const { connect, deadlines, ...overrides } = options;
  const pool = new Pool({
    idleConnectionsPerOrigin: maxIdleConnections,
    idleConnectionMs: maxIdleConnectionMs,
    provenRestMs,
    ...overrides,
  });
  const counts = { opened: 0, reused: 0, retried: 0 };
  const setting: ExchangeSetting = {
    connect,
    deadlines,
    bounds: { ...defaultBounds, ...overrides },
    pool,
    buffers: new WriteBuffers(),
    destination: cachedDestinations(),
    counts,
  };
  return {
    open: (request: UpstreamRequest) => new Http1Exchange(setting, request),
    counts: () => ({ ...counts, idle: pool.idleCount }),
    close: () => pool.close(),
  };
}

const defaultBounds: Http1Bounds = {
  connectMs: defaultConnectMs,
  headMs: maxHeadMs,
  idleMs: defaultIdleMs,
  headBytes: maxHeadBytes,
  readBytes,
  readMaxBytes,
  singleWriteBytes,
  chunkExtensionBytes: maxChunkExtensionBytes,
  trailerBytes: maxTrailerBytes,
  interimResponses: maxInterimResponses,
};

function cachedDestinations(): (url: string) => Destination {
  const known = new Map<string, Destination>();
  return (url) => {
    const found = known.get(url);
    if (found !== undefined) return found;
    const destination = parseDestination(url);
    if (known.size >= destinationsKept) known.clear();
    known.set(url, destination);
    return destination;
  };
}
