/** Reads a client's connection through one buffer, ahead of its use, so that the end of the client is seen at once. */
import type { Connection } from "../../../core/net/transport/connection.ts";

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
export interface ReaderSizes {
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
