/** The chunked transfer coding (RFC 9112 section 7.1), decoded inside the buffer it came in. */
import { UpstreamFailure } from "../transport/transport.ts";

// The grammar of chunk extensions and trailer lines (RFC 9112 sections 7.1.1 and 7.1.2), byte by byte.

const CR = 13;
const TAB = 9;
const SPACE = 32;
const DOUBLE_QUOTE = 34;
const COLON = 58;
const SEMICOLON = 59;
const EQUALS = 61;
const BACKSLASH = 92;
const DELETE = 127;

/** The places of the grammar. Numbers, because they are switched on per byte. */
const place = {
  extensionNameStart: 0,
  extensionName: 1,
  extensionValueStart: 2,
  extensionValue: 3,
  quoted: 4,
  escaped: 5,
  quoteEnd: 6,
  fieldNameStart: 7,
  fieldName: 8,
  fieldValue: 9,
} as const;

/** Whether a byte may be part of a token (RFC 9110 section 5.6.2). */
const isToken = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~") isToken[char.charCodeAt(0)] = 1;
for (let byte = 0; byte < 128; byte++) {
  if (/[0-9A-Za-z]/.test(String.fromCharCode(byte))) isToken[byte] = 1;
}

/** Fields that say where a message ends: behind the body they could only mislead (RFC 9110 section 6.5.1). */
const framingFields: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** Whether a byte may be in a value: no control character but the tab. */
function isText(byte: number): boolean {
  return byte === TAB || (byte >= SPACE && byte !== DELETE);
}

/**
 * Checks one line of chunked framing. Optional white space around `;` and `=` of extensions is
 * refused: no common client sends it, and parsers read it in different ways.
 *
 * @example
 * ```ts
 * import { ChunkLine } from "./chunked.ts";
 * const line = new ChunkLine();
 * line.beginExtension();
 * const isExtension = [...new TextEncoder().encode('a=b;c="d"\r')].every((byte) => line.accepts(byte));
 * if (!isExtension) throw new Error("refused");
 * ```
 */
export class ChunkLine {
  #place: number = place.extensionNameStart;
  #fieldName = "";

  /** Begins the extensions of a chunk, behind the first semicolon. */
  beginExtension(): void {
    this.#place = place.extensionNameStart;
  }

  beginTrailer(): void {
    this.#place = place.fieldNameStart;
    this.#fieldName = "";
  }

  /** Takes the next byte, up to the carriage return at the end; returns whether the grammar has it there. */
  accepts(byte: number): boolean {
    switch (this.#place) {
      case place.extensionNameStart:
        this.#place = place.extensionName;
        return isToken[byte] === 1;
      case place.extensionName:
        if (byte === EQUALS) this.#place = place.extensionValueStart;
        else return isToken[byte] === 1 || this.#endsExtension(byte);
        return true;
      case place.extensionValueStart:
        this.#place = byte === DOUBLE_QUOTE ? place.quoted : place.extensionValue;
        return byte === DOUBLE_QUOTE || isToken[byte] === 1;
      case place.extensionValue:
        return isToken[byte] === 1 || this.#endsExtension(byte);
      case place.quoted:
        if (byte === DOUBLE_QUOTE) this.#place = place.quoteEnd;
        else if (byte === BACKSLASH) this.#place = place.escaped;
        return isText(byte);
      case place.escaped:
        this.#place = place.quoted;
        return isText(byte);
      case place.quoteEnd:
        return this.#endsExtension(byte);
      case place.fieldNameStart:
        this.#place = place.fieldName;
        return this.#addToName(byte);
      case place.fieldName:
        if (byte !== COLON) return this.#addToName(byte);
        this.#place = place.fieldValue;
        return !framingFields.has(this.#fieldName.toLowerCase());
      default:
        return isText(byte) || byte === CR;
    }
  }

  #addToName(byte: number): boolean {
    this.#fieldName += String.fromCharCode(byte);
    return isToken[byte] === 1;
  }

  #endsExtension(byte: number): boolean {
    if (byte === SEMICOLON) this.#place = place.extensionNameStart;
    return byte === SEMICOLON || byte === CR;
  }
}

/** The bounds of chunked framing. */
export interface ChunkedLimits {
  /** Bytes between the digits of one chunk's size and its line end: padding and extensions. */
  readonly chunkExtensionBytes: number;
  /** Bytes of all trailer lines together. */
  readonly trailerBytes: number;
  /**
   * Refuses everything that the grammar does not have, as a server must. A client is lenient with
   * padding and with what extensions and trailers contain, since both are ignored.
   */
  readonly isStrict?: true;
}

/** 13 hexadecimal digits are 52 bits: still an exact number. */
const maxSizeDigits = 13;

const LF = 10;
/** The states of the grammar. Numbers, because the decoder switches on them per byte. */
const state = {
  size: 0,
  padding: 1,
  extension: 2,
  sizeLf: 3,
  data: 4,
  dataCr: 5,
  dataLf: 6,
  trailerStart: 7,
  trailerLine: 8,
  trailerLf: 9,
  endLf: 10,
  done: 11,
} as const;

type State = typeof state[keyof typeof state];

const protocol = (why: string) => new UpstreamFailure("protocol", `Cannot read the body: ${why}`);

/**
 * Strips the framing of a chunked body piece by piece. It keeps a few numbers between pieces and no bytes.
 *
 * The payloads of all chunks in a piece are moved together, so that one read gives one view however the peer
 * cut its chunks. A piece that lies inside one chunk, the usual case for events, is not moved at all.
 *
 * Trailers are checked for form and dropped (RFC 9110 section 6.5.1 allows that).
 *
 * @example
 * ```ts
 * import { ChunkedDecoder } from "./chunked.ts";
 * const decoder = new ChunkedDecoder({ chunkExtensionBytes: 100, trailerBytes: 100 });
 * const buffer = new TextEncoder().encode("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
 * decoder.decode(buffer, 0, buffer.length);
 * const payload = buffer.subarray(decoder.payloadStart, decoder.payloadEnd);
 * if (new TextDecoder().decode(payload) !== "abcde" || !decoder.done) throw new Error("wrong body");
 * ```
 */
export class ChunkedDecoder {
  readonly #limits: ChunkedLimits;
  /** The grammar of the current extension or trailer line; absent where both are only skipped. */
  readonly #line: ChunkLine | undefined;
  #state: State = state.size;
  #chunkBytes = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;

  /** After {@linkcode decode}: the payload is `buffer[payloadStart, payloadEnd)`; may be empty. */
  payloadStart = 0;
  payloadEnd = 0;
  /** After {@linkcode decode}: how far the buffer belongs to this body. Short of `end` only when `done`. */
  consumed = 0;

  constructor(limits: ChunkedLimits) {
    this.#limits = limits;
    this.#line = limits.isStrict ? new ChunkLine() : undefined;
  }

  /** Whether the final chunk and its trailers were read: the clean end. */
  get done(): boolean {
    return this.#state === state.done;
  }

  /**
   * Decodes `buffer[start, end)` in place.
   *
   * @throws {UpstreamFailure} with code `protocol` or `too_large`; the decoder must not be used
   * after that
   */
  decode(buffer: Uint8Array, start: number, end: number): void {
    let at = start;
    let payloadStart = start;
    let payloadEnd = start;
    while (at < end && this.#state !== state.done) {
      if (this.#state !== state.data) {
        this.#step(buffer[at++] ?? 0);
        continue;
      }
      const taken = Math.min(this.#chunkBytes, end - at);
      if (payloadEnd === payloadStart) payloadStart = payloadEnd = at;
      if (payloadEnd !== at) buffer.copyWithin(payloadEnd, at, at + taken);
      payloadEnd += taken;
      at += taken;
      this.#chunkBytes -= taken;
      if (this.#chunkBytes === 0) this.#state = state.dataCr;
    }
    this.payloadStart = payloadStart;
    this.payloadEnd = payloadEnd;
    this.consumed = at;
  }

  /** Takes one byte of framing. */
  #step(byte: number): void {
    switch (this.#state) {
      case state.size:
        return this.#sizeByte(byte);
      case state.padding:
        if (byte === SPACE || byte === TAB) return this.#countExtension();
        if (byte === SEMICOLON) this.#state = state.extension;
        else if (byte === CR) this.#state = state.sizeLf;
        else throw protocol("a chunk size is malformed");
        return;
      case state.extension:
        if (this.#line?.accepts(byte) === false) throw protocol("a chunk extension is malformed");
        if (byte === CR) this.#state = state.sizeLf;
        else if (byte === LF || byte === 0) throw protocol("a chunk extension is malformed");
        return this.#countExtension();
      case state.sizeLf:
        if (byte !== LF) throw protocol("a chunk size line is malformed");
        this.#state = this.#chunkBytes === 0 ? state.trailerStart : state.data;
        return;
      case state.dataCr:
        if (byte !== CR) throw protocol("a chunk is longer than its size");
        this.#state = state.dataLf;
        return;
      case state.dataLf:
        if (byte !== LF) throw protocol("a chunk is longer than its size");
        this.#startChunk();
        return;
      default:
        return this.#trailerByte(byte);
    }
  }

  #startChunk(): void {
    this.#state = state.size;
    this.#sizeDigits = 0;
    this.#extensionBytes = 0;
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      if (++this.#sizeDigits > maxSizeDigits) throw protocol("a chunk size is too long");
      this.#chunkBytes = this.#chunkBytes * 16 + digit;
      return;
    }
    if (this.#sizeDigits === 0) throw protocol("a chunk size is missing");
    if (byte === CR) this.#state = state.sizeLf;
    else if (byte === SEMICOLON) {
      this.#line?.beginExtension();
      this.#state = state.extension;
    } // Some servers pad the size to a fixed width.
    else if ((byte === SPACE || byte === TAB) && this.#line === undefined) {
      this.#state = state.padding;
    } else throw protocol("a chunk size is malformed");
  }

  #countExtension(): void {
    if (++this.#extensionBytes > this.#limits.chunkExtensionBytes) {
      throw new UpstreamFailure("too_large", "Cannot read the body: a chunk extension is too long");
    }
  }

  #trailerByte(byte: number): void {
    switch (this.#state) {
      case state.trailerStart:
        if (byte === CR) {
          this.#state = state.endLf;
          return;
        }
        this.#line?.beginTrailer();
        return this.#trailerContent(byte);
      case state.trailerLine:
        return this.#trailerContent(byte);
      case state.trailerLf:
        if (byte !== LF) throw protocol("a trailer line is malformed");
        this.#state = state.trailerStart;
        return;
      case state.endLf:
        if (byte !== LF) throw protocol("the end of the body is malformed");
        this.#state = state.done;
        return;
    }
  }

  #trailerContent(byte: number): void {
    if (byte === LF || byte === 0 || this.#line?.accepts(byte) === false) {
      throw protocol("a trailer line is malformed");
    }
    if (byte === CR) {
      this.#state = state.trailerLf;
      return;
    }
    if (++this.#trailerBytes > this.#limits.trailerBytes) {
      throw new UpstreamFailure("too_large", "Cannot read the body: the trailers are too long");
    }
    this.#state = state.trailerLine;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
