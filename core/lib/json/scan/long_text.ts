/** Bytes of a literal that are decoded to see how its text begins. */
const headBytes = 1024;
/** Complete characters and escapes at the beginning of a literal. */
const wholeCharacters = /^(?:[^\\]|\\u[0-9a-fA-F]{4}|\\[^u])*/;

const letterD = 0x64;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A long string of a JSON text, which is not decoded before it is asked for. */
export class LongText {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #end: number;

  /**
   * @param bytes a text with a valid string literal, whose quotes are before `start` and at `end`
   */
  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  /** Bytes of the literal without its quotes: as many as the text has in UTF-8, more where it has escapes. */
  get byteLength(): number {
    return this.#end - this.#start;
  }

  /** The literal without its quotes. */
  get literal(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Whether the text may be a data URL, by its first character. */
  get mayBeDataUrl(): boolean {
    return this.#bytes[this.#start] === letterD;
  }

  /**
   * Whether the beginning of the text may have characters that are written as `\u` and four digits; a backslash before
   * the letter looks like one.
   */
  get mayHaveEscapedCharacters(): boolean {
    const headEnd = Math.min(this.#start + headBytes, this.#end);
    return decoder.decode(this.#bytes.subarray(this.#start, headEnd)).includes("\\u");
  }

  /** The text. */
  text(): string {
    return unescaped(decoder.decode(this.literal));
  }

  /** The beginning of the text: 170 characters or more. The last one may be cut off. */
  head(): string {
    const literal = decoder.decode(this.literal.subarray(0, headBytes));
    return unescaped(wholeCharacters.exec(literal)?.[0] ?? "");
  }

  /** Whether the text begins with another of up to 100 characters. */
  startsWith(beginning: string): boolean {
    return this.head().startsWith(beginning);
  }
}

function unescaped(literal: string): string {
  return literal.includes("\\") ? String(JSON.parse(`"${literal}"`)) : literal;
}
