/** One connection to a provider, with the small buffer through which it is read. */
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import type { Connection } from "../transport/connection.ts";
import type { RequestMessage } from "./request_head.ts";

/** The holder of a link: an exchange, or the pool. */
export interface LinkOwner {
  /** Called when the deadline that the owner armed on the link is due. */
  onLinkDue(link: Link): void;
}

/** What a {@linkcode Link} needs. */
export interface LinkOptions {
  readonly origin: string;
  readonly connection: Connection;
  readonly deadlines: Deadlines;
  readonly owner: LinkOwner;
  /** Size of the read buffer between exchanges. */
  readonly readBytes: number;
  /** Size to which it may grow while large bodies arrive. */
  readonly readMaxBytes: number;
}

/**
 * How long an answer may still arrive after a failed write: a peer that refuses a body answers
 * first.
 */
const writeFailedGraceMs = 1_000;

/** One connection to a provider, with its read buffer and its deadline. */
export class Link {
  readonly origin: string;
  readonly #connection: Connection;
  readonly #readBytes: number;
  readonly #readMaxBytes: number;
  readonly #deadline: Deadline;
  owner: LinkOwner;

  /** Unread bytes are `buffer[start, end)`. */
  buffer: Uint8Array<ArrayBuffer>;
  start = 0;
  end = 0;
  /** Whether a byte of the current exchange has arrived. */
  answered = false;
  writeFailed = false;
  #unwritten = false;
  #restMs = 0;
  #closed = false;
  #pendingRead: Promise<number | null> | undefined;
  #onDisturbed: ((link: Link) => void) | undefined;
  #lastReadFilledBuffer = false;

  constructor(options: LinkOptions) {
    this.origin = options.origin;
    this.#connection = options.connection;
    this.#readBytes = options.readBytes;
    this.#readMaxBytes = options.readMaxBytes;
    this.owner = options.owner;
    this.buffer = new Uint8Array(options.readBytes);
    this.#deadline = options.deadlines.create(() => this.owner.onLinkDue(this));
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether the connection has taken every byte of the request. */
  get requestWritten(): boolean {
    return !this.#unwritten;
  }

  /**
   * Whether nothing is left of the last exchange in either direction, so that another one may use
   * the link.
   */
  get isClean(): boolean {
    return !this.#closed && !this.#unwritten && this.start === this.end;
  }

  arm(delayMs: number): void {
    this.#deadline.arm(delayMs);
  }

  /**
   * Starts writing and does not wait: the read side shows how the exchange goes, and a peer may
   * answer early. Calls `onProgress` when a part of a long write was taken.
   */
  send(message: RequestMessage, onProgress: () => void): void {
    this.answered = false;
    this.#unwritten = true;
    const { first } = message;
    this.#connection.write(first).then((written) => {
      if (written === first.length && message.rest.length === 0) this.#unwritten = false;
      else this.#writeRest(message, written, onProgress).then(this.#onWritten, this.#onWriteFailed);
    }, this.#onWriteFailed);
  }

  readonly #onWritten = (): void => {
    this.#unwritten = false;
  };

  readonly #onWriteFailed = (): void => {
    this.writeFailed = true;
    if (!this.#closed) this.#deadline.arm(writeFailedGraceMs);
  };

  /** Writes what a first write of `written` bytes has left. */
  async #writeRest(
    { first, rest }: RequestMessage,
    written: number,
    onProgress: () => void,
  ): Promise<void> {
    let piece: Uint8Array = first;
    for (let next = 0;; next++) {
      while (written < piece.length) {
        onProgress();
        written += await this.#connection.write(piece.subarray(written));
      }
      const following = rest[next];
      if (following === undefined) return;
      piece = following;
      written = await this.#connection.write(piece);
    }
  }

  /**
   * Returns the pending read, or starts one behind `end`. The caller has made room, and reports the
   * bytes to {@linkcode took}.
   */
  read(): Promise<number | null> {
    const pending = this.#pendingRead;
    if (pending === undefined) return this.#startRead();
    this.#pendingRead = undefined;
    return pending;
  }

  /** Reports that `byteCount` bytes arrived behind `end`. */
  took(byteCount: number): void {
    this.answered = true;
    this.end += byteCount;
    this.#lastReadFilledBuffer = this.end === this.buffer.length;
  }

  /**
   * Makes room if nothing is unread. A buffer that was full grows, so that large bodies take fewer
   * reads.
   */
  recycle(): void {
    this.start = 0;
    this.end = 0;
    if (this.#lastReadFilledBuffer && this.buffer.length < this.#readMaxBytes) {
      this.buffer = new Uint8Array(Math.min(this.buffer.length * 2, this.#readMaxBytes));
    }
    this.#lastReadFilledBuffer = false;
  }

  /** Makes room behind unread bytes that must stay together. */
  extend(): void {
    if (this.end < this.buffer.length) return;
    const unread = this.buffer.subarray(this.start, this.end);
    const isSpacious = unread.length <= this.buffer.length / 2;
    const buffer = isSpacious ? this.buffer : new Uint8Array(this.buffer.length * 2);
    buffer.set(unread);
    this.buffer = buffer;
    this.start = 0;
    this.end = unread.length;
  }

  /**
   * Reads ahead while the link is idle: the end of the connection or a stray byte shows at once,
   * and the next exchange has its read pending before it writes. The owner is called when `restMs`
   * have passed.
   */
  rest(owner: LinkOwner, onDisturbed: (link: Link) => void, restMs: number): void {
    this.owner = owner;
    this.start = 0;
    this.end = 0;
    this.#lastReadFilledBuffer = false;
    if (this.buffer.length !== this.#readBytes) this.buffer = new Uint8Array(this.#readBytes);
    this.#onDisturbed = onDisturbed;
    this.#pendingRead = this.#startRead();
    this.#pendingRead.then(this.#onRestEnded, this.#onRestEnded);
    this.#restMs = restMs;
    this.arm(restMs);
  }

  /** The read of a rest has ended. One that an exchange has taken over is not pending here any more. */
  readonly #onRestEnded = (): void => {
    if (this.#pendingRead !== undefined) this.#onDisturbed?.(this);
  };

  /** How long the link has been idle, to within two ticks of the deadlines. */
  get restedMs(): number {
    return Math.max(this.#restMs - this.#deadline.remainingMs, 0);
  }

  #startRead(): Promise<number | null> {
    const into = this.end === 0 ? this.buffer : this.buffer.subarray(this.end);
    return this.#connection.read(into);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pendingRead = undefined;
    this.#deadline.disarm();
    this.#connection.close();
  }
}
