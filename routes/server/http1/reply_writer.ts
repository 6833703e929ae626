/**
 * Writes the answers of one connection: those that are there as a whole, and those that a source produces.
 *
 * Of a source's answer, the head is written with the first bytes, then whatever comes, as fast as the client takes it.
 * Between two writes the writer keeps no bytes, and it asks the source for more only when the last write is over.
 */
import type { ByteSink, ByteSource } from "../../../core/lib/bytes/byte_parts.ts";
import type { Connection } from "../../../core/net/transport/connection.ts";
import { WriteBuffers } from "../../../core/net/http1/heads.ts";
import { type Reply, type ReplyFraming, replyHead } from "../../../core/net/http1/server/reply.ts";
import type { RequestHead } from "../../../core/net/http1/server/request_head.ts";

/**
 * Writes all bytes to a connection.
 *
 * @param onWrite called before each write: the peer has taken all bytes of the one before
 * @throws when the connection breaks
 */
export function writeAll(
  socket: Connection,
  bytes: Uint8Array,
  onWrite: () => void = () => {},
): Promise<void> {
  onWrite();
  return socket.write(bytes).then((written) =>
    written < bytes.length ? writeAll(socket, bytes.subarray(written), onWrite) : undefined
  );
}

// Buffers for what is written to clients, shared by all connections: one is in use only while a write is under way.

/** The buffers of all connections. */
const writeBuffers = new WriteBuffers();

const encoder = new TextEncoder();

/** Writes a text of one-byte characters at the start of a buffer that is long enough. */
function writeLatin1(text: string, buffer: Uint8Array): void {
  const { read, written } = encoder.encodeInto(text, buffer);
  // Characters above 0x7f became two bytes.
  if (read === text.length && written === text.length) return;
  for (let index = 0; index < text.length; index++) buffer[index] = text.charCodeAt(index);
}

/** Bytes of a chunk's framing: up to 8 digits, and two line ends. */
const chunkFramingBytes = 12;

const nothing = new Uint8Array(0);
const lastChunk = "0\r\n\r\n";
const lineEndBytes = 2;
const CR = 13;
const LF = 10;

/** Way in which an answer is written. */
interface SourceWriting {
  readonly socket: Connection;
  readonly source: ByteSource;
  readonly head: string;
  /** The declared length, or how the end is shown. */
  readonly framing: number | "chunked" | "until_close";
  /** Called before each write. */
  readonly onWrite: () => void;
}

/** The writer of one answer. */
class SourceWriter implements ByteSink {
  readonly #writing: SourceWriting;
  readonly #over = Promise.withResolvers<boolean>();
  #head: string;
  #queue: Uint8Array[] = [];
  #unwrittenBytes: number | undefined;
  /** Bytes that are being written, and the shared buffer that they lie in, if they do. */
  #sent: Uint8Array = nothing;
  #buffer: Uint8Array<ArrayBuffer> | undefined;
  #isScheduled = false;
  #isWriting = false;
  #isPulling = false;
  #pullsAgain = false;
  /** Whether the source was asked for bytes that it has not enqueued yet. */
  #isAsked = false;
  #isClosed = false;
  #isEndWritten = false;
  #isOver = false;

  constructor(writing: SourceWriting) {
    this.#writing = writing;
    this.#head = writing.head;
    if (typeof writing.framing === "number") this.#unwrittenBytes = writing.framing;
  }

  /** Writes everything; resolves with whether the client has been sent a whole answer. Never rejects. */
  run(): Promise<boolean> {
    try {
      this.#writing.source.start?.(this);
      this.#pull();
    } catch (failure) {
      this.error(failure);
    }
    this.#schedule();
    return this.#over.promise;
  }

  get desiredSize(): number | null {
    if (this.#isOver) return null;
    return this.#queue.length === 0 && !this.#isWriting ? 0 : -1;
  }

  enqueue(bytes: Uint8Array): void {
    if (this.#isClosed || this.#isOver) throw new TypeError("The answer has ended");
    this.#isAsked = false;
    if (bytes.length > 0) this.#queue.push(bytes);
    this.#schedule();
  }

  lend(bytes: Uint8Array): void {
    const isReady = this.#isChunked && this.#head === "" && bytes.length > 0 &&
      !this.#isScheduled && !this.#isWriting && !this.#isClosed && !this.#isOver;
    if (!isReady) return this.enqueue(bytes.slice());
    this.#isAsked = false;
    const buffer = writeBuffers.take(framedLength(bytes.length));
    const at = writeSize(bytes.length, buffer);
    buffer.set(bytes, at);
    buffer[at + bytes.length] = CR;
    buffer[at + bytes.length + 1] = LF;
    this.#buffer = buffer;
    this.#send(buffer);
  }

  close(): void {
    if (this.#isClosed || this.#isOver) throw new TypeError("The answer has ended");
    this.#isClosed = true;
    this.#schedule();
  }

  error(_reason: unknown): void {
    this.#end(false);
  }

  #end(isWhole: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#queue = [];
    this.#over.resolve(isWhole);
  }

  /** Gives the answer up, because its client is gone. */
  abandon(): void {
    if (this.#isOver) return;
    this.#end(false);
    try {
      // It has nothing to do with the connection any more how that ends.
      Promise.resolve(this.#writing.source.cancel()).catch(() => {});
    } catch {
      // The same.
    }
  }

  /** Asks the source for more, by the rules of a stream without a queue. */
  #pull(): void {
    if (this.#isClosed || this.#isOver) return;
    this.#isAsked = true;
    if (this.#isPulling) {
      this.#pullsAgain = true;
      return;
    }
    this.#isPulling = true;
    const pulled = this.#writing.source.pull(this);
    if (pulled === undefined) this.#onPulled();
    else pulled.then(this.#onPulled, this.#onPullFailed);
  }

  readonly #onPulled = (): void => {
    this.#isPulling = false;
    if (!this.#pullsAgain) return;
    this.#pullsAgain = false;
    if (this.#isAsked) this.#pullSafely();
  };

  readonly #onPullFailed = (failure: unknown): void => this.error(failure);

  #pullSafely(): void {
    try {
      this.#pull();
    } catch (failure) {
      this.error(failure);
    }
  }

  /** Writes after the running code, so that what it enqueues and its `close` go out together. */
  #schedule(): void {
    if (this.#isScheduled || this.#isWriting) return;
    this.#isScheduled = true;
    queueMicrotask(this.#write);
  }

  readonly #write = (): void => {
    this.#isScheduled = false;
    if (this.#isOver) return;
    const queue = this.#queue;
    const bytes = lengthOf(queue);
    if (this.#unwrittenBytes !== undefined) {
      this.#unwrittenBytes -= bytes;
      // More or less than was declared would be read as part of another answer.
      if (this.#unwrittenBytes < 0 || (this.#isClosed && this.#unwrittenBytes > 0)) {
        return this.abandon();
      }
    }
    this.#queue = [];
    this.#isEndWritten = this.#isClosed;
    const [only] = queue;
    if (this.#head === "" && queue.length === 1 && only !== undefined && !this.#isChunked) {
      return this.#send(only);
    }
    const buffer = writeBuffers.take(
      this.#head.length + bytes + chunkFramingBytes + lastChunk.length,
    );
    const length = this.#fill(buffer, queue, bytes);
    this.#head = "";
    if (length === 0) {
      writeBuffers.give(buffer);
      return this.#next();
    }
    this.#buffer = buffer;
    this.#send(buffer.subarray(0, length));
  };

  #send(bytes: Uint8Array): void {
    this.#isWriting = true;
    this.#sent = bytes;
    const { socket, onWrite } = this.#writing;
    onWrite();
    socket.write(bytes).then(this.#onTaken, this.#onFailed);
  }

  get #isChunked(): boolean {
    return this.#writing.framing === "chunked";
  }

  /** Puts head, bytes and framing into a buffer; returns how many bytes it holds then. */
  #fill(buffer: Uint8Array, queue: readonly Uint8Array[], bytes: number): number {
    let at = this.#head.length;
    if (at > 0) writeLatin1(this.#head, buffer);
    const isChunk = this.#isChunked && bytes > 0;
    if (isChunk) at = writeLine(bytes.toString(16), buffer, at);
    for (const piece of queue) {
      buffer.set(piece, at);
      at += piece.length;
    }
    if (isChunk) at = writeLine("", buffer, at);
    if (!this.#isChunked || !this.#isClosed) return at;
    return writeLine("", buffer, writeLine("0", buffer, at));
  }

  /** The connection has taken some or all of what was sent. */
  readonly #onTaken = (byteCount: number): void => {
    if (byteCount < this.#sent.length && !this.#isOver) {
      return this.#send(this.#sent.subarray(byteCount));
    }
    this.#isWriting = false;
    if (this.#buffer !== undefined) writeBuffers.give(this.#buffer);
    this.#buffer = undefined;
    this.#sent = nothing;
    if (!this.#isOver) this.#next();
  };

  readonly #onFailed = (): void => this.abandon();

  /** Goes on after all that was enqueued so far has been written. */
  #next(): void {
    if (this.#isEndWritten) this.#end(true);
    else if (this.#queue.length > 0 || this.#isClosed) this.#write();
    else if (!this.#isAsked) this.#pullSafely();
  }
}

function lengthOf(queue: readonly Uint8Array[]): number {
  let length = 0;
  for (const piece of queue) length += piece.length;
  return length;
}

/** Bytes of a chunk with its framing. */
function framedLength(bytes: number): number {
  let digits = 1;
  for (let rest = bytes >>> 4; rest > 0; rest >>>= 4) digits++;
  return digits + bytes + 2 * lineEndBytes;
}

/** Writes the line with the size of a chunk at the start of a buffer; returns its length. */
function writeSize(bytes: number, buffer: Uint8Array): number {
  const digits = framedLength(bytes) - bytes - 2 * lineEndBytes;
  for (let index = 0; index < digits; index++) {
    const digit = bytes >>> 4 * (digits - 1 - index) & 15;
    buffer[index] = digit < 10 ? 48 + digit : 87 + digit;
  }
  buffer[digits] = CR;
  buffer[digits + 1] = LF;
  return digits + lineEndBytes;
}

function writeLine(text: string, buffer: Uint8Array, at: number): number {
  for (let index = 0; index < text.length; index++) buffer[at + index] = text.charCodeAt(index);
  buffer[at + text.length] = CR;
  buffer[at + text.length + 1] = LF;
  return at + text.length + 2;
}

/** Bytes of a whole answer that are copied behind its head to make one write; copying more costs more than a second write. */
const joinedBytes = 16 * 1024;

/** Needs of a writer, which its connection has. */
interface ReplyHost {
  readonly socket: Connection;
  /** The value of the `date` header. */
  readonly date: () => string;
  /** Called before a write of a whole answer, or of a part of one that is still being produced. */
  readonly onWrite: (of: "whole" | "stream") => void;
  /** Called when an answer cannot be sent, or not to its end: the connection must end. */
  readonly onBroken: (defect?: unknown) => void;
}

/** Facts of a request that its answer depends on. */
type AnsweredHead = Pick<RequestHead, "method" | "keepAlive" | "isVersion11">;

/** The writer of a connection's answers, one after another. */
export class ReplyWriter {
  readonly #host: ReplyHost;
  readonly #onStreamWrite = (): void => this.#host.onWrite("stream");
  readonly #onWholeWrite = (): void => this.#host.onWrite("whole");
  #source: SourceWriter | undefined;

  constructor(host: ReplyHost) {
    this.#host = host;
  }

  /** Gives up the answer that is being produced, if there is one. */
  abandon(): void {
    this.#source?.abandon();
  }

  /**
   * Writes an answer; resolves with whether another may follow.
   *
   * @param mayFollow whether the connection could be kept
   * @throws when the connection breaks
   */
  write(reply: Reply, head: AnsweredHead, mayFollow: boolean): Promise<boolean> {
    const framing = framingOf(reply, head);
    const isLast = framing === "until_close" || !head.keepAlive || !mayFollow ||
      reply.headers.get("connection")?.toLowerCase() === "close";
    const text = this.#headOf(reply, framing, isLast);
    if (text === undefined) return Promise.resolve(false);
    const { body } = reply;
    if (framing === "none" || head.method === "HEAD") {
      cancel(reply);
      return this.#writeWhole(text, null, !isLast);
    }
    if (body === null || body instanceof Uint8Array) return this.#writeWhole(text, body, !isLast);
    return this.#writeSource(body, text, framing, !isLast);
  }

  async #writeSource(
    source: ByteSource,
    head: string,
    framing: Exclude<ReplyFraming, "none">,
    isKept: boolean,
  ): Promise<boolean> {
    const { socket, onBroken } = this.#host;
    const onWrite = this.#onStreamWrite;
    this.#source = new SourceWriter({ socket, source, head, framing, onWrite });
    const isWhole = await this.#source.run();
    this.#source = undefined;
    // Half an answer must not look like a whole one, nor be followed by another.
    if (!isWhole) onBroken();
    return isWhole && isKept;
  }

  /** The text of a head; `undefined` if the answer cannot be sent: the connection is broken off. */
  #headOf(reply: Reply, framing: ReplyFraming, isLast: boolean): string | undefined {
    const { status, headers } = reply;
    try {
      return replyHead({ status, headers, framing, isLast, date: this.#host.date() });
    } catch (error) {
      cancel(reply);
      this.#host.onBroken(error);
      return undefined;
    }
  }

  #writeWhole(head: string, body: Uint8Array | null, isKept: boolean): Promise<boolean> {
    const rest = body !== null && body.length > joinedBytes ? body : undefined;
    const joined = rest === undefined ? body : null;
    const length = head.length + (joined === null ? 0 : joined.length);
    const buffer = writeBuffers.take(length);
    writeLatin1(head, buffer);
    if (joined !== null) buffer.set(joined, head.length);
    const { socket } = this.#host;
    const onWrite = this.#onWholeWrite;
    const written = writeAll(socket, buffer, onWrite).then(() => {
      writeBuffers.give(buffer);
      return isKept;
    });
    if (rest === undefined) return written;
    return written.then(() => writeAll(socket, rest, onWrite)).then(() => isKept);
  }
}

/** Framing of an answer: how its end is shown to the client of a request. */
function framingOf({ status, headers, body }: Reply, head: AnsweredHead): ReplyFraming {
  if (status === 204 || status === 304) return "none";
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.length;
  const declared = headers.get("content-length");
  if (declared !== null && /^[0-9]{1,15}$/.test(declared)) return Number(declared);
  if (head.method === "HEAD") return "none";
  return head.isVersion11 ? "chunked" : "until_close";
}

/** Stops what produces the body of an answer that nobody gets. */
export function cancel({ body }: Reply): void {
  if (body === null || body instanceof Uint8Array) return;
  try {
    Promise.resolve(body.cancel()).catch(() => {});
  } catch {
    // It is of no use any more.
  }
}
