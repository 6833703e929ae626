/**
 * Splits a byte stream into server-sent events.
 *
 * - Folder `core/lib/sse/`: server-sent events as bytes: splitting, editing in place, writing.
 * - In: chunks of a stream, split anywhere.
 * - Out: frames, edited bytes, encoded events.
 * - Never: parses the data of an event, or holds more of an unfinished event than the bound it was
 *   given.
 */
import { SseFrame } from "./frame.ts";

const nothing = new Uint8Array(0);

/** Thrown when one event grows beyond the bound given to {@linkcode SseSplitter}. */
export class SseFrameTooLargeError extends Error {
  override name = "SseFrameTooLargeError";
}

/**
 * Called with each whole frame in order; returns `false` to stop. The frame is valid during the
 * call only.
 */
export type FrameVisitor = (frame: SseFrame) => boolean;

/**
 * Returns the end of the frame that begins at `from` in `bytes`, if it is known without being split, else -1. Such a frame
 * is not visited.
 */
export type KnownFrames = (bytes: Uint8Array, from: number) => number;

/**
 * Splits an event stream into frames, wherever its chunks are cut.
 *
 * Lines end at LF, CRLF or CR. A frame that lies inside one chunk is visited in place, without a
 * copy; only the frame still open at the end of a chunk is kept, and its size is bounded. Every
 * byte is examined a fixed number of times.
 *
 * @example
 * ```ts
 * import { SseSplitter } from "./splitter.ts";
 * const splitter = new SseSplitter(1024);
 * const seen: string[] = [];
 * for (const part of ["data: a", "\n\nda", "ta: b\n\n"]) {
 *   splitter.push(new TextEncoder().encode(part), (frame) => seen.push(frame.data) > 0);
 * }
 * if (seen.join() !== "a,b") throw new Error(seen.join());
 * ```
 */
export class SseSplitter {
  readonly #maxFrameBytes: number;
  readonly #frame = new SseFrame();
  /** The frame that is not complete yet: `#open[0, #openLength)`. */
  #open: Uint8Array = nothing;
  #openLength = 0;
  /** Whether no byte of the current line has arrived. */
  #lineEmpty = true;
  /**
   * Whether a CR was seen: from then on every byte is examined one by one. Providers use plain LF.
   */
  #sawCr = false;
  /** Whether the last byte was a CR that ended a line: a following LF belongs to it. */
  #afterCr = false;
  /**
   * Whether the last line ended with CRLF; the blank line then does too, and its LF is waited for.
   */
  #usesCrlf = false;
  /** Whether a blank line's CR arrived; the frame ends with the LF if one follows, else there. */
  #blankCr = false;
  #stopped = false;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  /**
   * Takes the next bytes and visits each frame that is now complete. The view is not kept: what
   * must outlive the call is copied.
   *
   * @throws {SseFrameTooLargeError} when a frame passes the bound; frames before it were visited
   */
  push(chunk: Uint8Array, visit: FrameVisitor, known?: KnownFrames): void {
    if (this.#stopped || chunk.length === 0) return;
    const first = this.#skipKnown(chunk, 0, known);
    if (first === chunk.length) return;
    if (!this.#sawCr && chunk.indexOf(0x0d, first) >= 0) this.#sawCr = true;
    const from = this.#sawCr
      ? this.#pushAnyLines(chunk, first, visit)
      : this.#pushLfLines(chunk, first, visit, known);
    if (this.#stopped) this.#drop();
    else if (from < chunk.length) this.#keep(chunk, from, chunk.length);
  }

  /**
   * Returns the frame whose closing blank line never arrived, or `undefined` if nothing is left.
   * Call it at the end of the stream. The standard discards this frame; a caller with more
   * knowledge may read it.
   */
  takeRest(): SseFrame | undefined {
    if (this.#stopped || this.#openLength === 0) return undefined;
    this.#stopped = true;
    this.#frame.set(this.#open, 0, this.#openLength, true);
    return this.#frame;
  }

  /** Skips known frames at the beginning of a frame; returns where the first other one begins. */
  #skipKnown(chunk: Uint8Array, at: number, known: KnownFrames | undefined): number {
    if (known === undefined || this.#sawCr || this.#openLength > 0 || !this.#lineEmpty) return at;
    let from = at;
    while (from < chunk.length) {
      const end = known(chunk, from);
      if (end === -1) break;
      from = end;
    }
    return from;
  }

  #pushLfLines(
    chunk: Uint8Array,
    first: number,
    visit: FrameVisitor,
    known: KnownFrames | undefined,
  ): number {
    let from = first;
    let at = first;
    while (at < chunk.length) {
      // A search is a call into the engine; the blank line that follows most lines is found without
      // one.
      const lf = chunk[at] === 0x0a ? at : chunk.indexOf(0x0a, at);
      if (lf < 0) break;
      if (lf === at && this.#lineEmpty) {
        this.#complete(chunk, from, lf + 1, visit);
        if (this.#stopped) return lf + 1;
        from = at = this.#skipKnown(chunk, lf + 1, known);
        continue;
      }
      this.#lineEmpty = true;
      at = lf + 1;
    }
    if (at < chunk.length) this.#lineEmpty = false;
    return from;
  }

  #pushAnyLines(chunk: Uint8Array, first: number, visit: FrameVisitor): number {
    let from = first;
    for (let at = first; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#blankCr) {
        this.#blankCr = false;
        const end = byte === 0x0a ? at + 1 : at;
        this.#complete(chunk, from, end, visit);
        from = end;
        if (this.#stopped) return from;
        if (byte === 0x0a) continue;
      }
      if (this.#endsFrame(byte)) {
        this.#complete(chunk, from, at + 1, visit);
        from = at + 1;
        if (this.#stopped) return from;
      }
    }
    return from;
  }

  /** Tracks line ends by one byte; returns whether it closes the frame. */
  #endsFrame(byte: number | undefined): boolean {
    if (byte === 0x0a) {
      if (this.#afterCr) {
        this.#afterCr = false;
        this.#usesCrlf = true;
        return false;
      }
      this.#usesCrlf = false;
      const blank = this.#lineEmpty;
      this.#lineEmpty = true;
      return blank;
    }
    if (byte !== 0x0d) {
      this.#lineEmpty = false;
      this.#afterCr = false;
      return false;
    }
    if (!this.#lineEmpty) {
      this.#lineEmpty = true;
      this.#afterCr = true;
      this.#usesCrlf = false;
      return false;
    }
    if (this.#usesCrlf) {
      this.#blankCr = true;
      return false;
    }
    this.#afterCr = true;
    return true;
  }

  #complete(chunk: Uint8Array, from: number, to: number, visit: FrameVisitor): void {
    if (this.#openLength > 0) {
      this.#keep(chunk, from, to);
      this.#frame.set(this.#open, 0, this.#openLength, this.#sawCr);
      // The visitor may keep ranges of the buffer, so it is handed over, not reused.
      this.#drop();
    } else {
      if (to - from > this.#maxFrameBytes) this.#refuse();
      this.#frame.set(chunk, from, to, this.#sawCr);
    }
    this.#stopped = !visit(this.#frame);
  }

  #keep(chunk: Uint8Array, from: number, to: number): void {
    const length = this.#openLength + to - from;
    if (length > this.#maxFrameBytes) this.#refuse();
    if (this.#openLength === 0) {
      this.#open = chunk.slice(from, to);
    } else {
      if (length > this.#open.length) {
        const larger = new Uint8Array(
          Math.max(length, Math.min(2 * this.#open.length, this.#maxFrameBytes)),
        );
        larger.set(this.#open.subarray(0, this.#openLength));
        this.#open = larger;
      }
      this.#open.set(chunk.subarray(from, to), this.#openLength);
    }
    this.#openLength = length;
  }

  #drop(): void {
    this.#open = nothing;
    this.#openLength = 0;
  }

  #refuse(): never {
    this.#stopped = true;
    this.#drop();
    throw new SseFrameTooLargeError(`An event is longer than ${this.#maxFrameBytes} bytes`);
  }
}
