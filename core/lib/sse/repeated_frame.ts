/**
 * Recognizes frames that equal the one before them except for one text. Most events of a stream do, and comparing bytes is
 * several times faster than scanning their JSON again.
 */
import type { SseFrame } from "./frame.ts";

const nothing = new Uint8Array(0);
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
 * import { RepeatedFrame } from "./repeated_frame.ts";
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
  /** Where the text of the last match is, without its quotes. */
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
