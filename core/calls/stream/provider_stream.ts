/**
 * The provider's side of a metered stream: reads chunks with an idle timeout, feeds them to the pipe in slices, and
 * finishes reading after the end.
 *
 * A read returns a view of a buffer that the next read reuses. A slice that waits for a bound is therefore kept only
 * until that next read.
 */
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { withResolvers } from "../../lib/runtime/mod.ts";
import type { PieceReceiver } from "../../net/transport/transport.ts";
import type { StartedStream } from "../attempts/attempt.ts";

/** Milliseconds that a provider gets to close its body after the terminal event; then the connection is closed. */
export const drainAfterEndMs = 500;

/** Reads after the terminal event: a few bytes of framing follow it, and a peer that sends more floods. */
const drainReads = 16;

/** The limits and handlers of reading a provider's stream. */
export interface ProviderStreamOptions {
  /** Longest silence of the provider while a read is pending. */
  readonly idleMs: number;
  /** Bytes after which the stream is given up, whatever they contain. Default: no bound. */
  readonly maxBytes: number | undefined;
  readonly deadlines: Deadlines;
}

/** Reads the stream of a provider that has produced its first output. */
export class ProviderStream implements PieceReceiver {
  readonly pipe: StreamPipe;
  readonly reading: StreamReading;
  readonly #started: StartedStream;
  readonly #deadlines: Deadlines;
  readonly #idle: Deadline;
  readonly #idleMs: number;
  readonly #maxBytes: number;
  #readBytes = 0;
  /** What arrived and was not given to the pipe yet. Valid until the next read. */
  #unread: Uint8Array | undefined;
  #pendingRead: Promise<Uint8Array | null> | undefined;
  /** Waits for the result of a read without a promise. */
  #receiver: PieceReceiver | undefined;
  #stalled = false;

  constructor(started: StartedStream, { idleMs, maxBytes, deadlines }: ProviderStreamOptions) {
    this.#started = started;
    this.pipe = started.pipe;
    this.reading = started.pipe.reading;
    this.#unread = started.unread;
    this.#deadlines = deadlines;
    this.#idleMs = idleMs;
    this.#maxBytes = maxBytes ?? Infinity;
    this.#idle = deadlines.create(() => {
      if (this.#pendingRead === undefined && this.#receiver === undefined) return;
      this.#stalled = true;
      this.cancel();
    });
  }

  /** The provider was silent for too long and was stopped for it. */
  get stalled(): boolean {
    return this.#stalled;
  }

  /** Nothing more will be read that the client could see. */
  get isOver(): boolean {
    return this.reading.state !== "open" || this.#started.bodyEnded;
  }

  /** The provider has said why it stopped; only its usage report may still come. */
  get isAnswerWhole(): boolean {
    const { reading } = this;
    return reading.state === "open" && reading.stopReason !== undefined &&
      !this.#started.bodyEnded;
  }

  get hasUnread(): boolean {
    return this.#unread !== undefined;
  }

  /** Begins to read the next chunk; `null` is the end of the body. Give the result to {@linkcode arrived}. */
  read(): Promise<Uint8Array | null> {
    // Never disarmed between chunks, which would cost more than arming: when due, it checks for a pending read.
    this.#idle.arm(this.#idleMs);
    return this.#pendingRead = this.#started.body.read();
  }

  /** Whether {@linkcode readTo} can be used. */
  get readsWithoutPromises(): boolean {
    return this.#started.body.readTo !== undefined;
  }

  /** Like {@linkcode read}, but gives the result to a receiver, perhaps before it returns. */
  readTo(receiver: PieceReceiver): void {
    this.#idle.arm(this.#idleMs);
    this.#receiver = receiver;
    this.#started.body.readTo?.(this);
  }

  onPiece(bytes: Uint8Array | null): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onPiece(bytes);
  }

  onFailure(failure: unknown): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onFailure(failure);
  }

  /** The result of a read that was begun and is not over. */
  #takePending(): Promise<Uint8Array | null> | undefined {
    const pending = this.#pendingRead;
    this.#pendingRead = undefined;
    if (this.#receiver === undefined) return pending;
    const { promise, resolve, reject } = withResolvers<Uint8Array | null>();
    this.#receiver = { onPiece: resolve, onFailure: reject };
    return promise;
  }

  /**
   * Takes the result of a read.
   *
   * @throws {GatewayError} `upstream_unreachable` when the stream has more bytes than an answer can have
   */
  arrived(chunk: Uint8Array | null): void {
    this.#pendingRead = undefined;
    if (chunk === null) return;
    this.#readBytes += chunk.length;
    if (this.#readBytes > this.#maxBytes) throw tooLong();
    this.#unread = chunk;
  }

  /**
   * Gives at most `maxBytes` of what arrived to the pipe; returns what the client gets for them.
   *
   * @throws {GatewayError} when the bytes are no stream of the style
   */
  convert(maxBytes: number): Uint8Array {
    return this.pipe.push(this.#take(maxBytes));
  }

  /** Like {@linkcode convert}, but the result is valid only until something else is done with this or another pipe. */
  convertLent(maxBytes: number): Uint8Array {
    const bytes = this.#take(maxBytes);
    return this.pipe.pushLent?.(bytes) ?? this.pipe.push(bytes);
  }

  #take(maxBytes: number): Uint8Array {
    const chunk = this.#unread ?? nothing;
    if (chunk.length <= maxBytes) {
      this.#unread = undefined;
      return chunk;
    }
    this.#unread = chunk.subarray(maxBytes);
    return chunk.subarray(0, maxBytes);
  }

  /** Stops the idle timeout: the provider is not being waited for. */
  pause(): void {
    this.#idle.disarm();
  }

  /** Ends the exchange with the provider; a pending read rejects. */
  cancel(): void {
    this.#started.exchange.cancel();
  }

  /** Reads what is left after the terminal event (usually nothing), so that the connection returns to its pool. */
  async drain(): Promise<void> {
    const deadline = this.#armDrain();
    try {
      for (let i = 0; i < drainReads; i++) {
        if (await this.#started.body.read() === null) return;
      }
      this.cancel();
    } catch {
      this.cancel();
    } finally {
      deadline.disarm();
    }
  }

  /**
   * Reads the usage report that follows a whole answer whose client has left. Without it, a client that hangs up between
   * the last text and the report would have the whole answer and pay only for the visible part, not for reasoning.
   */
  async readReport(): Promise<void> {
    const deadline = this.#armDrain();
    try {
      if (this.#unread !== undefined) this.pipe.push(this.#unread);
      for (let i = 0; i < drainReads && this.reading.state === "open"; i++) {
        const chunk = await (this.#takePending() ?? this.#started.body.read());
        if (chunk === null) break;
        this.pipe.push(chunk);
      }
    } catch {
      // Without a report the produced output is counted.
    } finally {
      deadline.disarm();
      this.cancel();
    }
  }

  #armDrain(): Deadline {
    const deadline = this.#deadlines.create(() => this.cancel());
    deadline.arm(drainAfterEndMs);
    return deadline;
  }
}

const nothing = new Uint8Array(0);

function tooLong(): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    "The provider of this model sent more than an answer can be",
  );
}
