/** One connection of a client: reads requests, has them answered in their order, and ends. */
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { Connection } from "../../../core/upstream/connection.ts";
import { Reply } from "../../../core/lib/http1/server/reply.ts";
import { type ReplyFraming, replyHead } from "../../../core/lib/http1/server/reply_head.ts";
import {
  findRequestHeadEnd,
  parseRequestHead,
  type RequestHead,
  RequestRefusal,
} from "../../../core/lib/http1/server/request_head.ts";
import type { ServerBounds } from "./bounds.ts";
import { type BodyHost, RequestBody } from "./request_body.ts";
import { replyOf } from "./reply_of.ts";
import { ServedRequest } from "./served_request.ts";
import { SocketReader } from "./socket_reader.ts";
import { SourceWriter } from "./source_writer.ts";
import { giveBuffer, takeBuffer, writeLatin1 } from "./write_buffers.ts";
import { writeAll } from "./write_all.ts";

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

/** What all connections of a server share. */
export interface ConnectionSetting {
  readonly bounds: ServerBounds;
  readonly deadlines: Deadlines;
  readonly handler: RequestHandler;
  /** The answer to what is no request, or to a request whose handler has failed; `error` is a defect. */
  readonly failed: (status: number, error?: unknown) => Reply;
  /** The value of the `date` header. */
  readonly date: () => string;
}

/** What a connection is waiting for, and so what it means when its time is up. */
type Phase = "first_byte" | "idle" | "head" | "serving" | "writing" | "lingering";

/** Bytes of a whole answer that are copied behind its head to make one write; copying more costs more than a second write. */
const joinedBytes = 16 * 1024;

/** Empty lines before a request that are skipped (RFC 9112 section 2.2). */
const skippedLines = 2;

const CR = 13;
const LF = 10;

const continueHead = new TextEncoder().encode("HTTP/1.1 100 Continue\r\n\r\n");

/** A connection that is being served. */
export class ClientConnection implements BodyHost {
  readonly reader: SocketReader;
  readonly #setting: ConnectionSetting;
  readonly #socket: ClientSocket;
  readonly #remoteAddress: Deno.NetAddr;
  readonly #deadline: Deadline;
  #phase: Phase = "first_byte";
  #body: RequestBody | undefined;
  #request: ServedRequest | undefined;
  #writer: SourceWriter | undefined;
  #continued: Promise<void> | undefined;
  /** How much of the next head holds no end of it. */
  #searchedBytes = 0;
  #isStopping = false;
  #isClosed = false;

  constructor(setting: ConnectionSetting, socket: ClientSocket, remoteAddress: Deno.NetAddr) {
    this.#setting = setting;
    this.#socket = socket;
    this.#remoteAddress = remoteAddress;
    this.reader = new SocketReader(socket, setting.bounds, () => this.#onGone());
    this.#deadline = setting.deadlines.create(() => this.#onDue());
  }

  get bounds(): ServerBounds {
    return this.#setting.bounds;
  }

  /** Whether no request, nor a part of one, is here. */
  get isIdle(): boolean {
    return this.#phase === "first_byte" || this.#phase === "idle";
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
    this.#writer?.abandon();
    this.#request?.left();
    this.#socket.close();
  }

  sendContinue(): void {
    this.#continued = writeAll(this.#socket, continueHead);
    this.#continued.catch(() => {});
  }

  armBody(delayMs: number): void {
    this.#deadline.arm(delayMs);
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
    const isKept = await this.#write(reply, head, body.isComplete);
    this.#request = undefined;
    if (!body.isComplete) await this.#linger();
    return isKept && !this.#isStopping;
  }

  /** Writes an answer; returns whether the connection is kept after it. */
  async #write(reply: Reply, head: RequestHead, isRequestOver: boolean): Promise<boolean> {
    const framing = framingOf(reply, head);
    const isLast = framing === "until_close" || !head.keepAlive || this.#isStopping ||
      !isRequestOver || reply.headers.get("connection")?.toLowerCase() === "close";
    const text = this.#headOf(reply, framing, isLast);
    if (text === undefined) return false;
    const { body } = reply;
    if (
      body === null || body instanceof Uint8Array || framing === "none" || head.method === "HEAD"
    ) {
      cancel(reply);
      const sent = body instanceof Uint8Array && framing !== "none" && head.method !== "HEAD";
      await this.#writeWhole(text, sent ? body : undefined);
      return !isLast;
    }
    const { unreadStreamMs } = this.bounds;
    const onWrite = () => this.#enter("writing", unreadStreamMs);
    const socket = this.#socket;
    this.#writer = new SourceWriter({ socket, source: body, head: text, framing, onWrite });
    const isWhole = await this.#writer.run();
    this.#writer = undefined;
    // Half an answer must not look like a whole one, nor be followed by another.
    if (!isWhole) this.close();
    return isWhole && !isLast;
  }

  /** The text of a head; `undefined` if the answer cannot be sent: the connection is broken off. */
  #headOf(reply: Reply, framing: ReplyFraming, isLast: boolean): string | undefined {
    const { status, headers } = reply;
    try {
      return replyHead({ status, headers, framing, isLast, date: this.#setting.date() });
    } catch (error) {
      this.#setting.failed(500, error);
      cancel(reply);
      this.close();
      return undefined;
    }
  }

  async #writeWhole(head: string, body: Uint8Array | undefined): Promise<void> {
    const bodyBytes = body === undefined ? 0 : body.length;
    const isJoined = bodyBytes <= joinedBytes;
    const length = head.length + (isJoined ? bodyBytes : 0);
    const buffer = takeBuffer(length);
    writeLatin1(head, buffer);
    if (body !== undefined && isJoined) buffer.set(body, head.length);
    this.#enter("writing", this.bounds.unreadMs);
    await writeAll(this.#socket, buffer.subarray(0, length));
    giveBuffer(buffer);
    if (body !== undefined && !isJoined) await writeAll(this.#socket, body);
  }

  /** Answers what is no request, and ends the connection. */
  async #refuse(status: number): Promise<void> {
    const { headers, body } = this.#setting.failed(status);
    const framing = body instanceof Uint8Array ? body.length : 0;
    const date = this.#setting.date();
    const text = replyHead({ status, headers, framing, isLast: true, date });
    await this.#writeWhole(text, body instanceof Uint8Array ? body : undefined);
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
    if (this.reader.isBroken) this.#writer?.abandon();
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

/** How the end of an answer is shown to the client of a request. */
function framingOf({ status, headers, body }: Reply, head: RequestHead): ReplyFraming {
  if (status === 204 || status === 304) return "none";
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.length;
  const declared = headers.get("content-length");
  if (declared !== null && /^[0-9]{1,15}$/.test(declared)) return Number(declared);
  if (head.method === "HEAD") return "none";
  return head.isVersion11 ? "chunked" : "until_close";
}

/** Stops what produces the body of an answer that nobody gets. */
function cancel({ body }: Reply): void {
  if (body === null || body instanceof Uint8Array) return;
  try {
    Promise.resolve(body.cancel()).catch(() => {});
  } catch {
    // It is of no use any more.
  }
}
