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
  /** How many `data` lines the frame has; 0 for a comment or an empty frame. */
  dataLines = 0;
  /** The payload: a range of `payload`, which is `bytes` itself unless the frame has several `data` lines. */
  payload: Uint8Array = nothing;
  payloadStart = 0;
  payloadEnd = 0;
  #eventStart = 0;
  #eventEnd = 0;
  /** Where each of several `data` lines begins: in the payload, and in `bytes`. */
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
export interface FrameEdit {
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
  /** How many edits the current frame has. */
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
