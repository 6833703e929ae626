/**
 * Splits JSON text into tokens without building values. Everything that looks at the text of a body before or beside
 * `JSON.parse` uses it: the bounds of a body, the places of its fields, numbers that a double would change. For frames
 * of a stream see `json_cursor.ts`, which goes straight to single members.
 *
 * It walks over bytes, which the engine reads two to three times faster than characters of a text, but searches the end
 * of a string in the text where that is ASCII: there positions agree, and the engine's search of a text is far quicker.
 */

/** What {@linkcode JsonScanner.next} found. */
export const token = {
  /** The end of the text, or a string that does not end. */
  end: 0,
  string: 1,
  /** `{` or `[` */
  open: 2,
  /** `}` or `]` */
  close: 3,
  comma: 4,
  colon: 5,
  /** A number, `true`, `false` or `null`; of a text that is not JSON, anything else. */
  word: 6,
} as const;

export type Token = typeof token[keyof typeof token];

const quote = 0x22;
const backslash = 0x5c;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** What a byte is by itself; `end` stands for white space. */
const tokenOfByte: Uint8Array = (() => {
  const table = new Uint8Array(256).fill(token.word);
  table.fill(token.end, 0, 0x21);
  table[quote] = token.string;
  table[0x7b] = table[0x5b] = token.open;
  table[0x7d] = table[0x5d] = token.close;
  table[0x2c] = token.comma;
  table[0x3a] = token.colon;
  return table;
})();

/**
 * Goes from token to token. It accepts any text: whether it is JSON is for the parser to say.
 *
 * @example
 * ```ts
 * import { JsonScanner, token } from "./json_scanner.ts";
 * const scanner = JsonScanner.of('{"a":[1, true]}');
 * const found: string[] = [];
 * while (scanner.next() !== token.end) found.push(scanner.textOf(scanner.start, scanner.end));
 * if (found.join(" ") !== '{ "a" : [ 1 , true ] }') throw new Error(found.join(" "));
 * ```
 */
export class JsonScanner {
  readonly bytes: Uint8Array;
  /** The same as text, if it is ASCII. */
  readonly #ascii: string | undefined;
  /** Offset in the bytes at which the token begins. */
  start = 0;
  /** Offset at which it ends, and at which the search for the next one begins. */
  end = 0;

  /** @param text what the bytes say; without a byte order mark that they may have */
  constructor(bytes: Uint8Array, text: string) {
    this.bytes = bytes;
    this.#ascii = text.length === bytes.length ? text : undefined;
  }

  /** Makes a scanner of a text that did not come as bytes. */
  static of(text: string): JsonScanner {
    return new JsonScanner(encoder.encode(text), text);
  }

  /** Finds the next token. After the end it finds the end again. */
  next(): Token {
    const { bytes } = this;
    const { length } = bytes;
    let at = this.end;
    let found: number = token.end;
    for (; at < length; at++) {
      found = tokenOfByte[bytes[at]!]!;
      if (found !== token.end) break;
    }
    this.start = at;
    if (found === token.string) return this.#string(at);
    if (found === token.word) return this.#word(at);
    if (at >= length) return this.#atEnd();
    this.end = at + 1;
    // The table holds nothing but tokens.
    return found as Token;
  }

  /** A part of the text. */
  textOf(start: number, end: number): string {
    return this.#ascii?.slice(start, end) ?? decoder.decode(this.bytes.subarray(start, end));
  }

  /** Whether the token begins like a number. */
  get isNumber(): boolean {
    const first = this.bytes[this.start] ?? 0;
    return first === 0x2d || (first >= 0x30 && first <= 0x39);
  }

  #word(from: number): Token {
    const { bytes } = this;
    let at = from + 1;
    while (at < bytes.length && tokenOfByte[bytes[at]!] === token.word) at++;
    this.end = at;
    return token.word;
  }

  #string(from: number): Token {
    const { bytes } = this;
    let at = from;
    for (;;) {
      at = this.#ascii === undefined
        ? bytes.indexOf(quote, at + 1)
        : this.#ascii.indexOf('"', at + 1);
      if (at === -1) return this.#atEnd();
      let escapes = 0;
      while (bytes[at - 1 - escapes] === backslash) escapes++;
      if (escapes % 2 === 1) continue;
      this.end = at + 1;
      return token.string;
    }
  }

  #atEnd(): Token {
    this.end = this.bytes.length;
    return token.end;
  }
}
