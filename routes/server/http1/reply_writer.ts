/** Writes the answers of one connection. */
import type { ByteSource } from "../../../core/lib/bytes/byte_parts.ts";
import { type Reply, type ReplyFraming, replyHead } from "../../../core/net/http1/server/reply.ts";
import type { RequestHead } from "../../../core/net/http1/server/request_head.ts";
import type { Connection } from "../../../core/net/transport/connection.ts";
import { SourceWriter, writeAll, writeBuffers, writeLatin1 } from "./source_writer.ts";

/** Bytes of a whole answer that are copied behind its head to make one write; copying more costs more than a second write. */
const joinedBytes = 16 * 1024;

/** What a writer needs of its connection. */
export interface ReplyHost {
  readonly socket: Connection;
  /** The value of the `date` header. */
  readonly date: () => string;
  /** Called before a write of a whole answer, or of a part of one that is still being produced. */
  readonly onWrite: (of: "whole" | "stream") => void;
  /** Called when an answer cannot be sent, or not to its end: the connection must end. */
  readonly onBroken: (defect?: unknown) => void;
}

/** What an answer depends on of its request. */
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

/** How the end of an answer is shown to the client of a request. */
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
