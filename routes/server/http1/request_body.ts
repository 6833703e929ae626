/**
 * Reads a client's connection through one buffer, ahead of its use, so that the end of the client is seen at once; and
 * the body of one request from it: framing, pace, and `100 Continue`.
 */
import type { Connection } from "../../../core/net/transport/connection.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { ChunkedDecoder, type ChunkedLimits } from "../../../core/net/http1/chunked.ts";
import type { RequestHead } from "../../../core/net/http1/server/request_head.ts";

interface Waiter {
  /** Called with how many bytes came; `null` when the client has ended its side. */
  readonly resolve: (byteCount: number | null) => void;
  readonly reject: (reason: unknown) => void;
}

/** Large buffers that are kept for the next large body, of whichever connection. */
const keptLargeBuffers = 16;

const keptLarge: Uint8Array<ArrayBuffer>[] = [];

function takeLarge(size: number): Uint8Array<ArrayBuffer> {
  const kept = keptLarge.pop();
  return kept?.length === size ? kept : new Uint8Array(size);
}

/** Sizes of the buffer in bytes. */
interface ReaderSizes {
  readonly readBytes: number;
  readonly readMaxBytes: number;
}

/** The unread bytes of a connection are `buffer[start, end)`. */
export class SocketReader {
  readonly #socket: Connection;
  readonly #sizes: ReaderSizes;
  /** Called when the client has ended or broken its side while nobody waits for bytes. */
  readonly #onGone: () => void;
  buffer: Uint8Array<ArrayBuffer>;
  start = 0;
  end = 0;
  #isReading = false;
  #hasEnded = false;
  #failure: unknown;
  #waiter: Waiter | undefined;

  constructor(socket: Connection, sizes: ReaderSizes, onGone: () => void) {
    this.#socket = socket;
    this.#sizes = sizes;
    this.#onGone = onGone;
    this.buffer = new Uint8Array(sizes.readBytes);
  }

  /** Number of unread bytes. */
  get length(): number {
    return this.end - this.start;
  }

  /** Whether nothing more will come. */
  get isOver(): boolean {
    return this.#hasEnded || this.#failure !== undefined;
  }

  /** Whether the connection broke, so that nothing can be written either. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  /** Reads ahead as far as there is room. */
  watch(): void {
    if (this.#isReading || this.isOver || !this.#hasRoom()) return;
    this.#read();
  }

  /**
   * Waits for more bytes, with a larger buffer if this one is full.
   *
   * @returns whether some came; `false` when the client has ended its side
   * @throws when the connection breaks, or what {@linkcode interrupt} was called with
   */
  more(): Promise<boolean> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#hasEnded) return Promise.resolve(false);
    if (!this.#isReading) {
      if (!this.#hasRoom()) this.#replace(this.buffer.length * 2);
      this.#read();
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve: (byteCount) => resolve(byteCount !== null), reject };
    });
  }

  /** Whether {@linkcode moreInto} may be called: nothing is unread, and no read is under way. */
  get isIdle(): boolean {
    return this.start === this.end && !this.#isReading && !this.isOver;
  }

  /**
   * Waits for bytes that go straight into `view`, which an interrupted read may still write to.
   *
   * @returns how many came; `null` when the client has ended its side
   * @throws when the connection breaks, or what {@linkcode interrupt} was called with
   */
  moreInto(view: Uint8Array<ArrayBuffer>): Promise<number | null> {
    this.#isReading = true;
    this.#socket.read(view).then(this.#onReadEnded, this.#onFailure);
    return new Promise((resolve, reject) => this.#waiter = { resolve, reject });
  }

  /** Makes who waits for bytes fail. The bytes are kept when they come. */
  interrupt(reason: unknown): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(reason);
  }

  /** Takes a larger buffer for many bytes that are to come, or the usual one back. */
  expect(bytes: number): void {
    if (this.#isReading) return;
    const { readBytes, readMaxBytes } = this.#sizes;
    let size = readBytes;
    while (size < bytes && size < readMaxBytes) size *= 2;
    if (size !== this.buffer.length && this.length <= size) this.#replace(size);
  }

  #replace(size: number): void {
    const { readMaxBytes } = this.#sizes;
    const former = this.buffer;
    const buffer = size === readMaxBytes ? takeLarge(size) : new Uint8Array(size);
    buffer.set(former.subarray(this.start, this.end));
    this.buffer = buffer;
    if (former.length === readMaxBytes && keptLarge.length < keptLargeBuffers) {
      keptLarge.push(former);
    }
    this.end -= this.start;
    this.start = 0;
  }

  /** Moves what is unread to the front if need be. A read that is under way writes behind `end`, so it must not be. */
  #hasRoom(): boolean {
    if (this.start === this.end) this.start = this.end = 0;
    if (this.end < this.buffer.length) return true;
    if (this.start === 0) return false;
    this.buffer.copyWithin(0, this.start, this.end);
    this.end -= this.start;
    this.start = 0;
    return true;
  }

  #read(): void {
    this.#isReading = true;
    const into = this.end === 0 ? this.buffer : this.buffer.subarray(this.end);
    this.#socket.read(into).then(this.#onRead, this.#onFailure);
  }

  readonly #onRead = (byteCount: number | null): void => {
    this.end += byteCount ?? 0;
    this.#onReadEnded(byteCount);
  };

  readonly #onReadEnded = (byteCount: number | null): void => {
    this.#isReading = false;
    if (byteCount === null) this.#hasEnded = true;
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = undefined;
      return waiter.resolve(byteCount);
    }
    if (byteCount === null) this.#onGone();
    else this.watch();
  };

  readonly #onFailure = (failure: unknown): void => {
    this.#isReading = false;
    this.#failure = failure ?? new Error("The connection broke");
    if (this.#waiter === undefined) this.#onGone();
    else this.interrupt(this.#failure);
  };
}

// What the server bounds, and why so.

/** The bounds of a server; times in milliseconds. */
export interface ServerBounds extends ChunkedLimits {
  /** Connections at the same time. */
  readonly connections: number;
  /** Bytes of the buffer through which a connection is read while nothing large arrives. */
  readonly readBytes: number;
  /** The same while the body of a large request arrives. */
  readonly readMaxBytes: number;
  /** Bytes of the head of a request. */
  readonly headBytes: number;
  /** From the opening of a connection, or the first byte of a head, to the end of the head. */
  readonly headMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** A body of which fewer than `bodyWindowBytes` come in two windows in a row is given up. */
  readonly bodyWindowMs: number;
  readonly bodyWindowBytes: number;
  /** Without a byte of a whole answer taken by its client. */
  readonly unreadMs: number;
  /** The same for an answer that is still being produced. */
  readonly unreadStreamMs: number;
  /** For which a connection is still read after its last answer, when the client has not ended its request. */
  readonly lingerMs: number;
}

/** The bounds of the gateway's server. */
export const serverBounds: ServerBounds = {
  // Each costs about 12 KB of the heap and its buffers. The number of files that the process may open is usually lower.
  connections: 16_384,
  // A head of usual size with a prompt of 1 to 3 KB behind it.
  readBytes: 4 * 1024,
  // What a socket brings at once.
  readMaxBytes: 64 * 1024,
  // Browsers send cookies of a few KB; other servers take 8 to 32 KB.
  headBytes: 32 * 1024,
  // A lost packet of a mobile client is sent again after up to 10 s.
  headMs: 30_000,
  // Longer than load balancers keep idle connections, the longest of which is 600 s. If both ended them after the
  // same time, requests would meet connections that are being closed.
  idleMs: 620_000,
  // 70 bytes per second: only what has stalled, or is kept slow on purpose, comes more slowly. Endpoints have bounds of
  // their own, which are closer.
  bodyWindowMs: 15_000,
  bodyWindowBytes: 1_024,
  chunkExtensionBytes: 256,
  trailerBytes: 8 * 1024,
  isStrict: true,
  // As in `unreadAnswerMs`.
  unreadMs: 120_000,
  // Longer than any call runs: the call ends itself then, and is paid for.
  unreadStreamMs: 960_000,
  // A few round trips, in which the client reads the answer.
  lingerMs: 2_000,
};

/** Slow windows in a row after which a body is given up: the reader may have paused in the first. */
const slowWindows = 2;

/** Needs of a body, which its connection has. */
export interface BodyHost {
  readonly reader: SocketReader;
  readonly bounds: ServerBounds;
  /** Tells a client that waits for it to send the body. */
  sendContinue(): void;
  /** Arms the deadline that calls {@linkcode RequestBody.onDue}. */
  armBody(delayMs: number): void;
}

/** The body of a request; its reader sees the pieces as they come. */
export class RequestBody {
  readonly #host: BodyHost;
  readonly #decoder: ChunkedDecoder | undefined;
  #unreadBytes: number;
  #isAwaited: boolean;
  #isComplete = false;
  /** Whether its reader is done with the last piece, so that the buffer may be used again. */
  #isDone = false;
  #failure: unknown;
  #isWaiting = false;
  #isPaced = false;
  #windowBytes = 0;
  #slowWindows = 0;

  constructor(host: BodyHost, { body, expectsContinue }: RequestHead) {
    this.#host = host;
    this.#isAwaited = expectsContinue;
    this.#decoder = body === "chunked" ? new ChunkedDecoder(host.bounds) : undefined;
    this.#unreadBytes = body === "chunked" ? 0 : body;
    if (body === 0) this.#isComplete = this.#isDone = true;
  }

  /** Whether every byte was taken from the connection. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether the client waits for `100 Continue`, which was not sent, and has sent nothing of the body. */
  get isAwaited(): boolean {
    return this.#isAwaited && this.#host.reader.length === 0;
  }

  /** Takes a copy of the whole body, if its length is known and all of it has arrived. */
  takeArrived(): Uint8Array<ArrayBuffer> | undefined {
    const { reader } = this.#host;
    const bytes = this.#unreadBytes;
    if (this.#decoder !== undefined || bytes > reader.length) return undefined;
    const whole = reader.buffer.slice(reader.start, reader.start + bytes);
    reader.start += bytes;
    this.#unreadBytes = 0;
    this.#isComplete = true;
    this.#done();
    return whole;
  }

  /**
   * Returns the next piece, valid until the next call; `null` at the end.
   *
   * @throws when the client breaks off, sends too slowly or malformed chunks
   */
  async read(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const piece = this.#isComplete ? null : this.#take();
      if (piece !== null) return piece;
      if (this.#isComplete) {
        this.#done();
        return null;
      }
      if (!await this.#more()) throw this.#endedEarly();
    }
  }

  /**
   * Reads what comes next of a body whose length is known into `view`, from the connection itself if nothing has
   * arrived yet.
   *
   * @returns how many bytes; `undefined` at the end
   * @throws as {@linkcode read}
   */
  async readInto(view: Uint8Array<ArrayBuffer>): Promise<number | undefined> {
    invariant(this.#decoder === undefined, "the length of the body is known");
    const { reader } = this.#host;
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isComplete) return undefined;
      const piece = this.#take(view.length);
      if (piece !== null) {
        view.set(piece);
        if (this.#isComplete) this.#done();
        return piece.length;
      }
      if (reader.isIdle) return await this.#readFromSocket(view.subarray(0, this.#unreadBytes));
      if (!await this.#more()) throw this.#endedEarly();
    }
  }

  async #readFromSocket(view: Uint8Array<ArrayBuffer>): Promise<number> {
    const bytes = await this.#waiting(() => this.#host.reader.moreInto(view));
    if (bytes === null) throw this.#endedEarly();
    this.#windowBytes += bytes;
    this.#unreadBytes -= bytes;
    this.#isComplete = this.#unreadBytes === 0;
    if (this.#isComplete) this.#done();
    return bytes;
  }

  /** Notes that the reader has every byte and holds no piece any more. */
  #done(): void {
    this.#isDone = true;
    this.watch();
  }

  /**
   * Watches for the end of the client once the body was read, while its answer is being made. No piece is valid any
   * more then.
   */
  watch(): void {
    if (!this.#isDone) return;
    this.#host.reader.expect(0);
    this.#host.reader.watch();
  }

  /** Gives the body up: whoever reads it fails. */
  cancel(): void {
    if (this.#isComplete) return;
    this.#host.reader.interrupt(this.#fail(new Error("The body was given up")));
  }

  /** Takes what has arrived of a body that nobody will read. */
  skipArrived(): void {
    try {
      while (!this.#isComplete && this.#failure === undefined && this.#take() !== null);
    } catch {
      // It stays incomplete, which ends the connection.
    }
  }

  /** Called when the time of a window is over. */
  onDue(): void {
    if (!this.#isPaced || this.#isComplete) return;
    this.#isPaced = false;
    const isSlow = this.#windowBytes < this.#host.bounds.bodyWindowBytes;
    this.#slowWindows = isSlow ? this.#slowWindows + 1 : 0;
    // While nobody reads, the pace is not the client's.
    if (!this.#isWaiting) return;
    if (this.#slowWindows < slowWindows) return this.#pace();
    this.#host.reader.interrupt(this.#fail(new Error("The request came too slowly")));
  }

  #pace(): void {
    if (this.#isPaced) return;
    this.#isPaced = true;
    this.#windowBytes = 0;
    this.#host.armBody(this.#host.bounds.bodyWindowMs);
  }

  #more(): Promise<boolean> {
    const { reader } = this.#host;
    reader.expect(this.#decoder === undefined ? this.#unreadBytes : reader.buffer.length);
    return this.#waiting(() => reader.more());
  }

  /** Waits for the client, whose pace counts meanwhile. */
  async #waiting<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.#isAwaited && this.#host.reader.length === 0) this.#host.sendContinue();
    this.#isAwaited = false;
    this.#isWaiting = true;
    this.#pace();
    try {
      return await read();
    } finally {
      this.#isWaiting = false;
    }
  }

  /** The next part that has already arrived; of a body whose length is known at most `maxBytes`. */
  #take(maxBytes = Infinity): Uint8Array | null {
    const { reader } = this.#host;
    const { buffer, start, end } = reader;
    if (start === end) return null;
    const decoder = this.#decoder;
    this.#isAwaited = false;
    if (decoder === undefined) {
      const bytes = Math.min(this.#unreadBytes, end - start, maxBytes);
      this.#unreadBytes -= bytes;
      return this.#took(start, start + bytes, this.#unreadBytes === 0);
    }
    try {
      decoder.decode(buffer, start, end);
    } catch (error) {
      throw this.#fail(error);
    }
    const { payloadStart, payloadEnd, consumed, done } = decoder;
    // Framing without a payload counts as well: it has to be sent, too.
    this.#windowBytes += consumed - start - (payloadEnd - payloadStart);
    reader.start = consumed;
    const piece = this.#took(payloadStart, payloadEnd, done);
    reader.start = consumed;
    return piece.length === 0 ? null : piece;
  }

  #took(start: number, end: number, isLast: boolean): Uint8Array {
    const { reader } = this.#host;
    const piece = reader.buffer.subarray(start, end);
    this.#windowBytes += end - start;
    reader.start = end;
    if (isLast) this.#isComplete = true;
    return piece;
  }

  #endedEarly(): unknown {
    return this.#fail(new Error("The request ended early"));
  }

  #fail(failure: unknown): unknown {
    this.#failure ??= failure;
    return this.#failure;
  }
}
