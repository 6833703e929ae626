/** The grammar of chunk extensions and trailer lines (RFC 9112 sections 7.1.1 and 7.1.2), byte by byte. */

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
 * import { ChunkLine } from "./chunk_line.ts";
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
