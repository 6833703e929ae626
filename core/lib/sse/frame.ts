/**
 * Frames of server-sent events: split off a stream of bytes, read, and edited in place.
 *
 * {@linkcode RepeatedFrame} recognizes frames that equal the one before them except for one text. Most events of a
 * stream do, and comparing bytes is several times faster than scanning their JSON again.
 *
 * - Folder `core/lib/sse/`: server-sent events as bytes: splitting, editing in place, writing.
 * - In: chunks of a stream, split anywhere.
 * - Out: frames, edited bytes, encoded events.
 * - Never: parses the data of an event, or holds more of an unfinished event than the bound it was
 *   given.
 */

const nothing = new Uint8Array(0);
const decoder = new TextDecoder();

/** Bytes of the longest name of an event that is kept; those of all styles are shorter. */
const maxKeptNameBytes = 64;

/** Names that are kept, a power of two: the styles have some forty. */
const keptNames = 128;

/**
 * The last names, by a hash of their bytes: streams repeat the same few, and a call of the decoder costs more than all other
 * work on a name.
 */
const names: string[] = Array.from({ length: keptNames }, () => "");

function nameAt(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length > maxKeptNameBytes) return decoder.decode(bytes.subarray(start, end));
  let hash = length;
  for (let at = start; at < end; at++) hash = (hash * 31 + bytes[at]!) | 0;
  const slot = hash & (keptNames - 1);
  const kept = names[slot]!;
  if (kept.length === length && isTextAt(bytes, start, kept)) return kept;
  return names[slot] = decoder.decode(bytes.subarray(start, end));
}

/**
 * One event of an event stream (WHATWG HTML, "Server-sent events"): a range of bytes, and where in it the fields are.
 *
 * The splitter fills one frame object again and again, so nothing is allocated per event. It is valid only while
 * the visitor runs; take {@linkcode data} or copy the bytes to keep something.
 */
export class SseFrame {
  /** The bytes that contain the frame at `[start, end)`, its closing blank line included. */
  bytes: Uint8Array = nothing;
  start = 0;
  end = 0;
  /** Number of `data` lines of the frame; 0 for a comment or an empty frame. */
  dataLines = 0;
  /** The payload: a range of `payload`, which is `bytes` itself unless the frame has several `data` lines. */
  payload: Uint8Array = nothing;
  payloadStart = 0;
  payloadEnd = 0;
  #eventStart = 0;
  #eventEnd = 0;
  /** Starts of several `data` lines: in the payload, and in `bytes`. */
  #lines: { readonly payloadAt: number; readonly bytesAt: number }[] = [];

  /** Points the frame at `bytes[start, end)` and finds its fields. */
  set(bytes: Uint8Array, start: number, end: number, mayHaveCr: boolean): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.dataLines = 0;
    this.payload = bytes;
    this.payloadStart = this.payloadEnd = end;
    this.#eventStart = this.#eventEnd = end;
    let at = start;
    // A byte order mark may open the stream; it is not part of the first field's name.
    if (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
    while (at < end) {
      if (bytes[at] === 0x0a) {
        at++;
        continue;
      }
      let lineEnd = mayHaveCr ? endOfLine(bytes, at, end) : bytes.indexOf(0x0a, at);
      if (lineEnd < 0 || lineEnd > end) lineEnd = end;
      if (lineEnd > at) this.#field(at, lineEnd);
      at = lineEnd + 1;
    }
  }

  /** Name of the event; empty when the frame has no `event` field. */
  get event(): string {
    const start = this.#eventStart;
    return start === this.#eventEnd ? "" : nameAt(this.bytes, start, this.#eventEnd);
  }

  /** The data of the event, decoded; several `data` lines are joined by a line feed. */
  get data(): string {
    return decoder.decode(this.payload.subarray(this.payloadStart, this.payloadEnd));
  }

  /** The text of a frame without fields that begins an object: the form in which some servers send an error. */
  get bareObject(): string | undefined {
    if (this.dataLines > 0) return undefined;
    let at = this.start;
    while (at < this.end && this.bytes[at]! <= 0x20) at++;
    return this.bytes[at] === 0x7b ? decoder.decode(this.bytes.subarray(at, this.end)) : undefined;
  }

  /** Converts an offset in `payload` to the offset in `bytes`. */
  offsetOf(payloadOffset: number): number {
    if (this.payload === this.bytes) return payloadOffset;
    const line = this.#lines.findLast(({ payloadAt }) => payloadAt <= payloadOffset);
    return line === undefined ? payloadOffset : line.bytesAt + payloadOffset - line.payloadAt;
  }

  /** Whether there is a payload that is more than white space. */
  get hasPayload(): boolean {
    let at = this.payloadStart;
    while (at < this.payloadEnd && this.payload[at]! <= 0x20) at++;
    return at < this.payloadEnd;
  }

  /** Whether the payload is exactly this ASCII text, apart from white space at its ends. */
  payloadIs(text: string): boolean {
    let from = this.payloadStart;
    let to = this.payloadEnd;
    while (from < to && this.payload[from]! <= 0x20) from++;
    while (to > from && this.payload[to - 1]! <= 0x20) to--;
    return to - from === text.length && isTextAt(this.payload, from, text);
  }

  #field(from: number, to: number): void {
    const first = this.bytes[from];
    if (first === 0x64 /* d */ && hasName(this.bytes, from, to, "data")) {
      this.#addData(valueStart(this.bytes, from + 4, to), to);
    } else if (first === 0x65 /* e */ && hasName(this.bytes, from, to, "event")) {
      this.#eventStart = valueStart(this.bytes, from + 5, to);
      this.#eventEnd = to;
    }
  }

  #addData(from: number, to: number): void {
    this.dataLines++;
    if (this.dataLines === 1) {
      this.payloadStart = from;
      this.payloadEnd = to;
      return;
    }
    const earlier = this.payload.subarray(this.payloadStart, this.payloadEnd);
    if (this.dataLines === 2) this.#lines = [{ payloadAt: 0, bytesAt: this.payloadStart }];
    this.#lines.push({ payloadAt: earlier.length + 1, bytesAt: from });
    const joined = new Uint8Array(earlier.length + 1 + to - from);
    joined.set(earlier);
    joined[earlier.length] = 0x0a;
    joined.set(this.bytes.subarray(from, to), earlier.length + 1);
    this.payload = joined;
    this.payloadStart = 0;
    this.payloadEnd = joined.length;
  }
}

/** Whether an ASCII text is at a place. */
function isTextAt(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

function endOfLine(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== 0x0a && bytes[at] !== 0x0d) at++;
  return at;
}

/** A field is its name and a colon, or a line that is only the name. */
function hasName(bytes: Uint8Array, from: number, to: number, name: string): boolean {
  const after = from + name.length;
  if (after > to || (after < to && bytes[after] !== 0x3a)) return false;
  for (let i = 1; i < name.length; i++) {
    if (bytes[from + i] !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** Skips the colon and the one space that may follow it. */
function valueStart(bytes: Uint8Array, colon: number, to: number): number {
  if (colon >= to) return to;
  return bytes[colon + 1] === 0x20 && colon + 1 < to ? colon + 2 : colon + 1;
}

/** One edit: `text` replaces `[start, end)` of a frame. */
interface FrameEdit {
  start: number;
  end: number;
  text: Uint8Array;
}

/**
 * The edits of one frame, in the order of its bytes. The object and its entries are reused from
 * frame to frame, so an edited frame allocates nothing.
 *
 * @example
 * ```ts
 * import { SseFrame } from "./frame.ts";
 * import { FrameEdits } from "./frame.ts";
 * const bytes = new TextEncoder().encode("data: [1,\ndata: 2]\n\n");
 * const frame = new SseFrame();
 * frame.set(bytes, 0, bytes.length, false);
 * const edits = new FrameEdits();
 * edits.cut(frame, 2, 5); // of the payload `[1,\n2]`
 * const { start, end } = edits.at(0);
 * if (start !== 8 || end !== 17) throw new Error(`${start} ${end}`);
 * ```
 */
export class FrameEdits {
  readonly #edits: FrameEdit[] = [];
  /** Number of edits of the current frame. */
  count = 0;

  /** Removes the edits of the previous frame. */
  clear(): void {
    this.count = 0;
  }

  at(index: number): FrameEdit {
    return this.#edits[index]!;
  }

  /** Removes `[start, end)` of the frame's payload. */
  cut(frame: SseFrame, start: number, end: number): void {
    this.replace(frame, start, end, nothing);
  }

  /** Replaces `[start, end)` of the frame's payload by `text`. */
  replace(frame: SseFrame, start: number, end: number, text: Uint8Array): void {
    let edit = this.#edits[this.count];
    if (edit === undefined) this.#edits.push(edit = { start: 0, end: 0, text });
    edit.start = frame.offsetOf(start);
    edit.end = frame.offsetOf(end);
    edit.text = text;
    this.count++;
  }
}

/** Thrown when one event grows beyond the bound given to {@linkcode SseSplitter}. */
export class SseFrameTooLargeError extends Error {
  override name = "SseFrameTooLargeError";
}

/**
 * Called with each whole frame in order; returns `false` to stop. The frame is valid during the
 * call only.
 */
type FrameVisitor = (frame: SseFrame) => boolean;

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
 * import { SseSplitter } from "./frame.ts";
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

const obfuscation = new TextEncoder().encode('"obfuscation":"');

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Frames in a row that are learnt in vain; a stream whose frames differ in more than a text is not learnt again. */
const learntInVain = 8;

/**
 * One frame with a placeholder for the text of a JSON string. It matches only frames that follow the learnt one at once,
 * and one another, so whatever the other bytes mean, they have just meant the same.
 *
 * A second placeholder is the random string `obfuscation`, with which vendors hide the length of a token.
 *
 * @example
 * ```ts
 * import { SseFrame } from "./frame.ts";
 * import { RepeatedFrame } from "./frame.ts";
 * const bytes = new TextEncoder().encode('data: {"t":"a"}\n\ndata: {"t":"b\\n"}\n\n');
 * const frame = new SseFrame();
 * frame.set(bytes, 0, 17, false);
 * const repeated = new RepeatedFrame();
 * repeated.learn(frame, 12, 13);
 * const end = repeated.match(bytes, 17, bytes.length);
 * if (end !== bytes.length || repeated.textLength !== 2) throw new Error(String(end));
 * ```
 */
export class RepeatedFrame {
  #isKnown = false;
  #learntInVain = 0;
  #before = nothing;
  /** From the closing quote of the text to the second placeholder, or to the end. */
  #after = nothing;
  /** The suffix after the second placeholder, closing quote included. */
  #tail = nothing;
  /** Start of the text of the last match, without its quotes. */
  textStart = 0;
  textEnd = 0;
  /** UTF-8 length of the text of the last match. */
  textLength = 0;

  /** Whether frames are compared with a learnt one. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether the learnt frame has a second placeholder. */
  get hasSecondText(): boolean {
    return this.#tail.length > 0;
  }

  /** The next frame does not follow the learnt one. */
  forget(): void {
    this.#isKnown = false;
  }

  /** Learns a frame in whose payload a text without `\u` escapes begins at `textStart`. */
  learnText(frame: SseFrame, textStart: number): boolean {
    this.#isKnown = false;
    const textEnd = stringEnd(frame.payload, textStart, frame.payloadEnd);
    return textEnd !== -1 && this.learn(frame, textStart, textEnd);
  }

  /** Learns a frame whose text is `payload[textStart, textEnd)`; returns whether the next frames are compared with it. */
  learn(frame: SseFrame, textStart: number, textEnd: number): boolean {
    this.#isKnown = false;
    // With several `data` lines the payload is a copy.
    if (frame.dataLines !== 1 || this.#learntInVain >= learntInVain) return false;
    this.#learntInVain++;
    const { bytes, start, end } = frame;
    this.#before = bytes.slice(start, textStart);
    const rest = bytes.slice(textEnd, end);
    const placeholder = indexOf(rest, obfuscation);
    const close = placeholder === -1
      ? -1
      : stringEnd(rest, placeholder + obfuscation.length, rest.length);
    this.#after = close === -1 ? rest : rest.slice(0, placeholder + obfuscation.length);
    this.#tail = close === -1 ? nothing : rest.slice(close);
    return this.#isKnown = true;
  }

  /** Returns the end of the frame that begins at `from`, or -1 if `bytes[from, to)` does not begin with a whole frame like it. */
  match(bytes: Uint8Array, from: number, to: number): number {
    if (!this.#isKnown || !begins(bytes, from, to, this.#before)) return -1;
    const start = from + this.#before.length;
    const textEnd = stringEnd(bytes, start, to);
    if (textEnd === -1 || !begins(bytes, textEnd, to, this.#after)) return -1;
    let end = textEnd + this.#after.length;
    if (this.#tail.length > 0) {
      end = stringEnd(bytes, end, to);
      if (end === -1 || !begins(bytes, end, to, this.#tail)) return -1;
      end += this.#tail.length;
    }
    this.textStart = start;
    this.textEnd = textEnd;
    this.textLength = textEnd - start - escapesIn(bytes, start, textEnd);
    this.#learntInVain = 0;
    return end;
  }
}

function begins(bytes: Uint8Array, from: number, to: number, part: Uint8Array): boolean {
  const { length } = part;
  if (to - from < length) return false;
  for (let index = 0; index < length; index++) {
    if (bytes[from + index] !== part[index]) return false;
  }
  return true;
}

/** The closing quote of a string with no escapes but short ones, or -1. */
function stringEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte < 0x20) return -1;
    if (byte !== BACKSLASH) continue;
    const escaped = bytes[++at] ?? 0;
    if (escaped < 0x20 || escaped === LETTER_U) return -1;
  }
  return -1;
}

/** Number of short escapes; each is a character of two bytes. */
function escapesIn(bytes: Uint8Array, from: number, to: number): number {
  let escapes = 0;
  for (let at = from; at < to; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    escapes++;
    at++;
  }
  return escapes;
}

function indexOf(bytes: Uint8Array, part: Uint8Array): number {
  for (let at = bytes.indexOf(part[0]!); at !== -1; at = bytes.indexOf(part[0]!, at + 1)) {
    if (begins(bytes, at, bytes.length, part)) return at;
  }
  return -1;
}
