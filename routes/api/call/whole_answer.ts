/**
 * Sends an answer that was read whole. A large one is sent in pieces, so that its memory is released when it has
 * left. As one body it would stay in the server for as long as a client does not read.
 */
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import {
  type ByteParts,
  type ByteSink,
  type ByteSource,
  joined,
  lengthOf,
  piecesOf,
} from "../../../core/lib/bytes/byte_parts.ts";
import type { Reply } from "../../../core/net/http1/server/reply.ts";
import type { Deadline, Deadlines } from "../../../core/lib/time/deadlines.ts";
import { answerOf } from "./response_headers.ts";

/** Bytes of the pieces in which a large answer is sent: what a socket takes at once. */
const bufferedBodyPieceBytes = 64 * 1024;

/**
 * Milliseconds without a piece taken after which the connection of a client is closed: 4 kbit/s suffice to avoid
 * that.
 */
export const unreadAnswerMs = 120_000;

class BufferedSource implements ByteSource {
  readonly #over = Promise.withResolvers<void>();
  readonly #deadlines: Deadlines;
  #parts: Uint8Array[];
  #unread: Deadline | undefined;

  constructor(bytes: ByteParts, buffered: BufferedAnswer, deadlines: Deadlines) {
    this.#parts = piecesOf(bytes).filter(({ length }) => length > 0);
    this.#deadlines = deadlines;
    buffered.keepUntil(this.#over.promise);
  }

  start(sink: ByteSink): void {
    this.#unread = this.#deadlines.create(() => {
      this.#end();
      sink.error(new Error("The client did not read its answer"));
    });
    this.#unread.arm(unreadAnswerMs);
  }

  pull(sink: ByteSink): void {
    const [part] = this.#parts;
    if (part === undefined) return;
    const piece = part.subarray(0, bufferedBodyPieceBytes);
    if (piece.length < part.length) this.#parts[0] = part.subarray(piece.length);
    else this.#parts.shift();
    sink.enqueue(piece);
    this.#unread?.arm(unreadAnswerMs);
    if (this.#parts.length > 0) return;
    this.#end();
    sink.close();
  }

  cancel(): void {
    this.#end();
  }

  #end(): void {
    this.#unread?.disarm();
    this.#parts = [];
    this.#over.resolve();
  }
}

/**
 * Makes a 200. Its counted memory, if any, is released when the client has received all of it, has left, or
 * has stopped reading.
 */
export function wholeAnswer(
  bytes: ByteParts,
  headers: readonly [string, string][],
  buffered: BufferedAnswer | undefined,
  deadlines: Deadlines,
  contentType = "application/json",
): Reply {
  if (buffered === undefined || buffered.bytes === 0) {
    return answerOf(joined(bytes), contentType, headers);
  }
  const body = new BufferedSource(bytes, buffered, deadlines);
  return answerOf(body, contentType, [
    ...headers,
    ["content-length", String(lengthOf(bytes))],
  ]);
}
