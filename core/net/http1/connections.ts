/**
 * Connections to providers: each with the small buffer through which it is read, and the idle ones by origin.
 */
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import type { Connect, Connection } from "../transport/connection.ts";
import type { Destination, RequestMessage, WriteBuffers } from "./heads.ts";
import type { ChunkedLimits } from "./chunked.ts";

/** The holder of a link: an exchange, or the pool. */
export interface LinkOwner {
  /** Called when the deadline that the owner armed on the link is due. */
  onLinkDue(link: Link): void;
}

/** Needs of a {@linkcode Link}. */
interface LinkOptions {
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
 * Milliseconds for which an answer may still arrive after a failed write: a peer that refuses a body answers
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

  /** Milliseconds for which the link has been idle, to within two ticks of the deadlines. */
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

/** The bounds of a {@linkcode Pool}. */
export interface PoolOptions {
  readonly idleConnectionsPerOrigin: number;
  readonly idleConnectionMs: number;
  /** Idle time after which a connection counts as one that its peer keeps open. */
  readonly provenRestMs: number;
}

/**
 * Keeps clean connections for the next exchange. The youngest is reused first: it is the least
 * likely to be stale, and the surplus of a busy hour ages and is closed.
 */
export class Pool implements LinkOwner {
  readonly #options: PoolOptions;
  /** Each list is in order of arrival, the oldest first. */
  readonly #idle = new Map<string, Link[]>();
  readonly #onDisturbed = (link: Link) => this.#drop(link);
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get idleCount(): number {
    let count = 0;
    for (const links of this.#idle.values()) count += links.length;
    return count;
  }

  take(origin: string): Link | undefined {
    const links = this.#idle.get(origin);
    const link = links?.pop();
    if (links?.length === 0) this.#idle.delete(origin);
    return link;
  }

  /**
   * Whether {@linkcode takeProven} would return a connection.
   */
  hasProven(origin: string): boolean {
    const link = this.#idle.get(origin)?.[0];
    return link !== undefined && link.restedMs >= this.#options.provenRestMs;
  }

  /**
   * Takes the connection that has been idle longest, if its peer had time to close it and did not.
   * For a request that must not meet the end of a connection, since it would be unknown whether the
   * peer acted on it.
   */
  takeProven(origin: string): Link | undefined {
    if (!this.hasProven(origin)) return undefined;
    const links = this.#idle.get(origin);
    const link = links?.shift();
    if (links?.length === 0) this.#idle.delete(origin);
    return link;
  }

  /**
   * Keeps a link that {@linkcode Link.isClean}; `peerIdleMs` is how long the peer announced to
   * wait.
   */
  put(link: Link, peerIdleMs: number | undefined): void {
    // One second less than the peer: a request must not meet its closing.
    const idleMs = Math.min(this.#options.idleConnectionMs, (peerIdleMs ?? Infinity) - 1_000);
    if (this.#closed || idleMs <= 0) return link.close();
    let links = this.#idle.get(link.origin);
    if (links === undefined) this.#idle.set(link.origin, links = []);
    links.push(link);
    if (links.length > this.#options.idleConnectionsPerOrigin) links.shift()?.close();
    if (link.closed) return;
    link.rest(this, this.#onDisturbed, idleMs);
  }

  onLinkDue(link: Link): void {
    this.#drop(link);
  }

  #drop(link: Link): void {
    link.close();
    const links = this.#idle.get(link.origin);
    const index = links?.indexOf(link) ?? -1;
    if (index !== -1) links?.splice(index, 1);
    if (links?.length === 0) this.#idle.delete(link.origin);
  }

  /** Closes idle connections; those in use are closed when they come back. */
  close(): void {
    this.#closed = true;
    for (const links of this.#idle.values()) for (const link of links) link.close();
    this.#idle.clear();
  }
}

// The configuration and state that all exchanges of a transport share.

/** The bounds of the driver; the defaults in `transport.ts` say why they are what they are. */
export interface Http1Bounds extends ChunkedLimits {
  readonly connectMs: number;
  /** Silence between the request and the head of the answer. */
  readonly headMs: number;
  /** Silence between two pieces of a body. */
  readonly idleMs: number;
  readonly headBytes: number;
  readonly readBytes: number;
  readonly readMaxBytes: number;
  readonly singleWriteBytes: number;
  readonly interimResponses: number;
}

/** Setting that all exchanges of a transport share: bounds, pool, deadlines, counters. */
export interface ExchangeSetting {
  readonly connect: Connect;
  readonly deadlines: Deadlines;
  readonly bounds: Http1Bounds;
  readonly pool: Pool;
  readonly buffers: WriteBuffers;
  readonly destination: (url: string) => Destination;
  readonly counts: { opened: number; reused: number; retried: number };
}
