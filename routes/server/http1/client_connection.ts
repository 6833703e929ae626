/** One connection of a client: reads requests, has them answered in their order, and ends. */
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { Connection } from "../../../core/net/transport/connection.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";
import {
  findRequestHeadEnd,
  parseRequestHead,
  type RequestHead,
  RequestRefusal,
} from "../../../core/net/http1/server/request_head.ts";
import { type BodyHost, RequestBody, type ServerBounds, SocketReader } from "./request_body.ts";
import type { Evictable } from "./eviction.ts";
import { cancel, ReplyWriter, writeAll } from "./reply_writer.ts";
import { ServedRequest } from "./served_request.ts";
import type { ByteSink, ByteSource } from "../../../core/lib/bytes/byte_parts.ts";

// Turns a standard `Response` into the form that the server writes.

/** Microtasks after which a body that has not ended is one that is still being produced. */
const settledMicrotasks = 32;

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The rest of a body whose first reads are done or pending. */
class ReaderSource implements ByteSource {
  readonly #reader: Reader;
  #reads: Promise<ReadableStreamReadResult<Uint8Array>>[];

  constructor(reader: Reader, reads: Promise<ReadableStreamReadResult<Uint8Array>>[]) {
    this.#reader = reader;
    this.#reads = reads;
  }

  async pull(sink: ByteSink): Promise<void> {
    const { done, value } = await (this.#reads.shift() ?? this.#reader.read());
    if (done) sink.close();
    else sink.enqueue(value);
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

/**
 * Makes a reply of a response. A body that is in memory as one piece gets its length, as every other server does; a
 * `Response` does not say whether it is.
 */
async function replyOf(response: Response): Promise<Reply> {
  const { status, body } = response;
  const headers: [string, string][] = [...response.headers];
  if (body === null) return new Reply(status, headers, null);
  const reader = body.getReader();
  if (isStreamed(response)) return new Reply(status, headers, new ReaderSource(reader, []));
  const first = reader.read();
  const { done, value } = await first;
  if (done) return new Reply(status, headers, new Uint8Array(0));
  const second = reader.read();
  let isOnly = false;
  second.then(({ done }) => isOnly = done, () => {});
  for (let turn = 0; turn < settledMicrotasks && !isOnly; turn++) await undefined;
  if (isOnly) return new Reply(status, headers, value);
  return new Reply(status, headers, new ReaderSource(reader, [first, second]));
}

/** Whether the first bytes may come long after the head, which is not to wait for them. */
function isStreamed({ headers }: Response): boolean {
  return headers.has("content-length") ||
    headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** The socket of a client. */
export interface ClientSocket extends Connection {
  /** Ends our side; the client's may go on. */
  closeWrite(): Promise<void>;
}

/** Answers the requests of a connection. */
export type RequestHandler = (
  request: ServedRequest,
  remoteAddress: Deno.NetAddr,
) => Reply | Response | Promise<Reply | Response>;

/** Setting that all connections of a server share. */
export interface ConnectionSetting {
  readonly bounds: ServerBounds;
  readonly deadlines: Deadlines;
  readonly handler: RequestHandler;
  /** The answer to what is no request, or to a request whose handler has failed; `error` is a defect. */
  readonly failed: (status: number, error?: unknown) => Reply;
  /** The value of the `date` header. */
  readonly date: () => string;
}

/** Phase of a connection: what it is waiting for, and so what it means when its time is up. */
type Phase = "first_byte" | "idle" | "head" | "serving" | "writing" | "lingering";

/** Counts the waits for clients, so that the oldest one is known. */
let waits = 0;

/** Empty lines before a request that are skipped (RFC 9112 section 2.2). */
const skippedLines = 2;

const CR = 13;
const LF = 10;

/** Head by which something that is no request is answered. */
const refusedHead = { method: "GET", keepAlive: false, isVersion11: true } as const;

const continueHead = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** A connection that is being served. */
export class ClientConnection implements BodyHost, Evictable {
  readonly reader: SocketReader;
  readonly #setting: ConnectionSetting;
  readonly #socket: ClientSocket;
  readonly #remoteAddress: Deno.NetAddr;
  readonly #deadline: Deadline;
  #phase: Phase = "first_byte";
  #body: RequestBody | undefined;
  #request: ServedRequest | undefined;
  readonly #writer: ReplyWriter;
  #continued: Promise<void> | undefined;
  /** Bytes of the next head that hold no end of it. */
  #searchedBytes = 0;
  #isStopping = false;
  #isClosed = false;
  #awaitsSince = ++waits;

  constructor(setting: ConnectionSetting, socket: ClientSocket, remoteAddress: Deno.NetAddr) {
    this.#setting = setting;
    this.#socket = socket;
    this.#remoteAddress = remoteAddress;
    this.reader = new SocketReader(socket, setting.bounds, () => this.#onGone());
    this.#deadline = setting.deadlines.create(() => this.#onDue());
    const { bounds: { unreadMs, unreadStreamMs }, date } = setting;
    this.#writer = new ReplyWriter({
      socket,
      date,
      onWrite: (of) => this.#enter("writing", of === "whole" ? unreadMs : unreadStreamMs),
      onBroken: (defect) => {
        if (defect !== undefined) setting.failed(500, defect);
        this.close();
      },
    });
  }

  get bounds(): ServerBounds {
    return this.#setting.bounds;
  }

  /** Whether no request, nor a part of one, is here. */
  get isIdle(): boolean {
    return this.#phase === "first_byte" || this.#phase === "idle";
  }

  get remoteHost(): string {
    return this.#remoteAddress.hostname;
  }

  get awaits(): Evictable["awaits"] {
    const phase = this.#phase;
    if (phase === "idle") return "next_request";
    return phase === "first_byte" || phase === "head" ? phase : undefined;
  }

  get awaitsSince(): number {
    return this.#awaitsSince;
  }

  /** Serves until either side ends the connection. Never rejects. */
  async run(): Promise<void> {
    this.#deadline.arm(this.bounds.headMs);
    try {
      while (!this.#isClosed) {
        const head = this.#takeHead();
        if (head === undefined) {
          if (!await this.reader.more()) break;
        } else if (!await this.#serve(head)) break;
      }
    } catch (error) {
      if (error instanceof RequestRefusal) await this.#refuse(error.status).catch(() => {});
      // Anything else is the end of the connection.
    } finally {
      this.close();
    }
  }

  /** Ends the connection with the answer that is being made; at once if there is none. */
  stop(): void {
    this.#isStopping = true;
    if (this.isIdle) this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deadline.disarm();
    this.#writer.abandon();
    this.#request?.left();
    this.#socket.close();
  }

  sendContinue(): void {
    this.#continued = writeAll(this.#socket, continueHead);
    this.#continued.catch(() => {});
  }

  armBody(delayMs: number): void {
    // Beside an answer that has begun, only the answer is timed.
    if (this.#phase === "serving") this.#deadline.arm(delayMs);
  }

  /** Takes the next head, if it has arrived. */
  #takeHead(): RequestHead | undefined {
    const { reader, bounds } = this;
    this.#skipEmptyLines();
    const { buffer, start, end } = reader;
    if (start === end) {
      this.#searchedBytes = 0;
      if (this.#phase !== "first_byte") this.#enter("idle", bounds.idleMs);
      return undefined;
    }
    const headEnd = findRequestHeadEnd(buffer, start, start + this.#searchedBytes, end);
    if ((headEnd === -1 ? end : headEnd) - start > bounds.headBytes) {
      throw new RequestRefusal(431, "The head is too long");
    }
    this.#searchedBytes = headEnd === -1 ? end - start : 0;
    if (headEnd === -1) {
      if (this.#phase !== "head") this.#enter("head", bounds.headMs);
      return undefined;
    }
    const head = parseRequestHead(buffer.subarray(start, headEnd));
    reader.start = headEnd;
    return head;
  }

  #skipEmptyLines(): void {
    const { reader } = this;
    for (let lines = 0; lines < skippedLines; lines++) {
      const { buffer, start, end } = reader;
      if (end - start < 2 || buffer[start] !== CR || buffer[start + 1] !== LF) return;
      reader.start += 2;
    }
  }

  #enter(phase: Phase, boundMs: number): void {
    this.#phase = phase;
    if (phase === "head" || phase === "idle") this.#awaitsSince = ++waits;
    this.#deadline.arm(boundMs);
  }

  /** Answers one request; returns whether another may follow. */
  async #serve(head: RequestHead): Promise<boolean> {
    this.#phase = "serving";
    const body = this.#body = new RequestBody(this, head);
    const request = this.#request = new ServedRequest(head, body);
    let reply: Reply;
    try {
      const answered = this.#setting.handler(request, this.#remoteAddress);
      body.watch();
      const answer = answered instanceof Promise ? await answered : answered;
      reply = answer instanceof Reply ? answer : await replyOf(answer);
    } catch (error) {
      reply = this.#setting.failed(500, error);
    }
    if (this.#isClosed) {
      cancel(reply);
      return false;
    }
    if (this.#continued !== undefined) await this.#continued;
    this.#continued = undefined;
    request.skipUnread();
    const isKept = await this.#writer.write(reply, head, body.isComplete && !this.#isStopping);
    this.#request = undefined;
    if (!body.isComplete) await this.#linger();
    return isKept && !this.#isStopping;
  }

  /** Answers what is no request, and ends the connection. */
  async #refuse(status: number): Promise<void> {
    await this.#writer.write(this.#setting.failed(status), refusedHead, false);
    await this.#linger();
  }

  /**
   * Reads on for a moment after the last answer. The client has more to send, and if it met a closed socket, it would
   * lose the answer, too.
   */
  async #linger(): Promise<void> {
    this.#enter("lingering", this.bounds.lingerMs);
    await this.#socket.closeWrite();
    const { reader } = this;
    do reader.start = reader.end; while (await reader.more());
  }

  /** The client has ended or broken its side while its request is served. */
  #onGone(): void {
    this.#request?.left();
    // One that has only ended its own side still reads.
    if (this.reader.isBroken) this.#writer.abandon();
  }

  #onDue(): void {
    switch (this.#phase) {
      case "serving":
        return this.#body?.onDue();
      case "head":
        return this.reader.interrupt(new RequestRefusal(408, "The head came too slowly"));
      default:
        return this.close();
    }
  }
}
