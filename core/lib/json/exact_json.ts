/**
 * Parses JSON without changing its numbers, and splits its text into tokens without building values.
 *
 * `JSON.parse` rounds whole numbers beyond 2^53, and turns larger ones than a double can hold into `Infinity`, which is
 * written as `null`: an id in a tool's arguments would name another record. Such numbers become
 * {@linkcode ExactNumber}s here. Decimals that lose only their last digits do not, since the parser of every client
 * rounds them, too.
 *
 * Whatever reads a body before or beside `JSON.parse` uses the tokens: the bounds of JSON, the places of top-level
 * fields, the search for numbers outside double precision. Frames of a stream are read by `json_cursor.ts`, which skips
 * to single members.
 *
 * A body is read as bytes, since the engine reads them faster than the units of a text. Where positions agree, the end
 * of a string is searched in the text, since the engine searches texts faster. A text that did not come as bytes is not
 * encoded: for arguments of a tool or a frame of a stream, that would cost more than the scan.
 */
import { type ExactNumber, isJsonObject, type Json, type JsonObject } from "./json.ts";
import { maxExactNumbers, maxJsonDepth } from "./scan/limits.ts";
import { encodeHex, exactNumber } from "../runtime/built_ins.ts";

/** The kinds of tokens that {@linkcode JsonScanner.next} returns. */
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

/** A token of JSON text, as the scanner returns it. */
type Token = typeof token[keyof typeof token];

const quote = 0x22;
const backslash = 0x5c;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The token that each ASCII character begins; `end` for white space. */
const tokenOfAscii: Uint8Array = (() => {
  const table = new Uint8Array(0x80).fill(token.word);
  table.fill(token.end, 0, 0x21);
  table[quote] = token.string;
  table[0x7b] = table[0x5b] = token.open;
  table[0x7d] = table[0x5d] = token.close;
  table[0x2c] = token.comma;
  table[0x3a] = token.colon;
  return table;
})();

/** The token that a byte or UTF-16 unit begins; `end` for white space. */
function tokenOfUnit(unit: number): number {
  return unit < 0x80 ? tokenOfAscii[unit]! : token.word;
}

/**
 * Moves from token to token. It accepts any text; only the parser decides whether it is JSON.
 *
 * @example
 * ```ts
 * import { JsonScanner, token } from "./exact_json.ts";
 * const scanner = JsonScanner.ofText('{"a":[1, true]}');
 * const found: string[] = [];
 * while (scanner.next() !== token.end) found.push(scanner.textOf(scanner.start, scanner.end));
 * if (found.join(" ") !== '{ "a" : [ 1 , true ] }') throw new Error(found.join(" "));
 * ```
 */
export class JsonScanner {
  /** The position behind the last byte or unit. */
  readonly length: number;
  /** Read in place of the text, if present. */
  readonly #bytes: Uint8Array | undefined;
  /** The text; empty if positions in it differ from those of the scanner. */
  readonly #text: string;
  /** Position at which the token begins. */
  start = 0;
  /** Position at which it ends, and at which the search for the next one begins. */
  end = 0;

  private constructor(bytes: Uint8Array | undefined, text: string, length: number) {
    this.#bytes = bytes;
    this.#text = text;
    this.length = length;
  }

  /** Makes a scanner whose positions are those of a text. */
  static ofText(text: string): JsonScanner {
    return new JsonScanner(undefined, text, text.length);
  }

  /**
   * Makes a scanner whose positions are offsets in bytes.
   *
   * @param text the decoded bytes, without the byte order mark that they may have
   */
  static ofBytes(bytes: Uint8Array, text: string): JsonScanner {
    const { length } = bytes;
    return new JsonScanner(bytes, text.length === length ? text : "", length);
  }

  /** Moves to the next token and returns its kind. After the end it returns the end again. */
  next(): Token {
    const { length } = this;
    const bytes = this.#bytes;
    const text = this.#text;
    let at = this.end;
    let found: number = token.end;
    for (; at < length; at++) {
      found = tokenOfUnit(bytes === undefined ? text.charCodeAt(at) : bytes[at]!);
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

  /** Returns the byte or UTF-16 unit at a position before the end. */
  unitAt(at: number): number {
    return this.#bytes === undefined ? this.#text.charCodeAt(at) : this.#bytes[at]!;
  }

  /** Returns the text between two positions. */
  textOf(start: number, end: number): string {
    if (this.#text !== "") return this.#text.slice(start, end);
    return decoder.decode(this.#bytes?.subarray(start, end));
  }

  /** Whether the token begins like a number. */
  get isNumber(): boolean {
    const first = this.unitAt(this.start);
    return first === 0x2d || (first >= 0x30 && first <= 0x39);
  }

  #word(from: number): Token {
    const { length } = this;
    let at = from + 1;
    while (at < length && tokenOfUnit(this.unitAt(at)) === token.word) at++;
    this.end = at;
    return token.word;
  }

  #string(from: number): Token {
    let at = from;
    for (;;) {
      at = this.#findQuote(at + 1);
      if (at === -1) return this.#atEnd();
      let escapes = 0;
      while (this.unitAt(at - 1 - escapes) === backslash) escapes++;
      if (escapes % 2 === 1) continue;
      this.end = at + 1;
      return token.string;
    }
  }

  #findQuote(from: number): number {
    if (this.#text !== "") return this.#text.indexOf('"', from);
    return this.#bytes?.indexOf(quote, from) ?? -1;
  }

  #atEnd(): Token {
    this.end = this.length;
    return token.end;
  }
}

/**
 * Characters of a text that is parsed whatever its depth: so few brackets take the engine a millisecond. Nearly all
 * answers and events are shorter.
 */
const uncheckedChars = 64 * 1024;

/**
 * Refuses JSON from a provider that is nested deeper than requests may be: a million brackets block the engine for a
 * second.
 *
 * @param unchecked characters of a text that is not looked at; 0 where what is parsed is walked by recursion
 * @throws {SyntaxError} if a text of some length has more than `maxJsonDepth` levels
 *
 * @example
 * ```ts
 * import { checkJsonDepth } from "./exact_json.ts";
 * checkJsonDepth(`[${"{},".repeat(100_000)}{}]`);
 * try {
 *   checkJsonDepth("[".repeat(100_000));
 *   throw new Error("not refused");
 * } catch (error) {
 *   if (!(error instanceof SyntaxError)) throw error;
 * }
 * ```
 */
export function checkJsonDepth(text: string, unchecked = uncheckedChars): void {
  if (text.length <= unchecked) return;
  let depth = 0;
  const scanner = JsonScanner.ofText(text);
  for (let found = scanner.next(); found !== token.end; found = scanner.next()) {
    if (found === token.close) depth--;
    else if (found === token.open && ++depth > maxJsonDepth) {
      throw new SyntaxError(`Nested deeper than ${maxJsonDepth} levels`);
    }
  }
}

/**
 * Parses JSON from a provider whose numbers need not be exact; see {@linkcode checkJsonDepth}.
 *
 * @param unchecked as for {@linkcode checkJsonDepth}
 * @throws {SyntaxError} if the text is not JSON, or too deep
 */
export function parseWithinDepth(text: string, unchecked?: number): Json {
  checkJsonDepth(text, unchecked);
  const value: Json = JSON.parse(text);
  return value;
}

/** Length of the shortest whole number beyond 2^53. */
const wholeDigitsMin = 16;
/** Length of the shortest number that overflows: `1e309`. */
const lengthMin = 5;

interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses like `JSON.parse`, but keeps the numbers that it would change.
 *
 * Most texts have no such number; they cost one additional scan. In the others the numbers become strings with a random
 * mark, which are replaced after parsing. A reviver would be simpler, but takes seconds for a large body.
 *
 * @throws {SyntaxError} if the text is not JSON, has more such numbers than `maxExactNumbers`, or is nested deeper than
 * `maxJsonDepth` and long, or has one
 *
 * @example
 * ```ts
 * import { parseExactly } from "./exact_json.ts";
 * const text = '{"id":1234567890123456789,"most":1e400,"n":1.50}';
 * const again = JSON.stringify(parseExactly(text));
 * if (again !== '{"id":1234567890123456789,"most":1e400,"n":1.5}') throw new Error(again);
 * ```
 */
export function parseExactly(text: string): Json {
  checkJsonDepth(text);
  const value: Json = JSON.parse(text);
  const places = changedNumbers(text);
  return places.length === 0 ? value : reparsed(text, places);
}

/** Parses like {@linkcode parseExactly}; `undefined` for a text that it refuses. */
export function tryParseExactly(text: string): Json | undefined {
  try {
    return parseExactly(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Like {@linkcode parseExactly}, for an object that `JSON.parse` has parsed already.
 *
 * @param value what `JSON.parse` makes of `text`
 *
 * @throws {SyntaxError} if there are more such numbers than `maxExactNumbers`, or the text has one and is nested
 * deeper than `maxJsonDepth`
 */
export function withExactNumbers(value: JsonObject, text: string): JsonObject {
  const places = changedNumbers(text);
  if (places.length === 0) return value;
  const exact = reparsed(text, places);
  return isJsonObject(exact) ? exact : value;
}

function reparsed(text: string, places: readonly Place[]): Json {
  const mark = encodeHex(crypto.getRandomValues(new Uint8Array(16)));
  const value: Json = JSON.parse(withMarks(text, places, mark));
  return unmarked(value, mark, 0) ?? value;
}

/** Whether the current token of a scanner may be a number outside double precision. */
export function mayChange(scanner: JsonScanner): boolean {
  const length = scanner.end - scanner.start;
  if (length < lengthMin || !scanner.isNumber) return false;
  if (length >= wholeDigitsMin) return true;
  return /[eE]/.test(scanner.textOf(scanner.start, scanner.end));
}

/** Whether a number changes as a double. Decimals may lose their last digits. */
function changes(number: string): boolean {
  const value = Number(number);
  return !Number.isFinite(value) || (/^-?\d+$/.test(number) && String(value) !== number);
}

/** Finds the numbers in valid JSON that would change. @throws {SyntaxError} for more than `maxExactNumbers` */
function changedNumbers(text: string): readonly Place[] {
  const scanner = JsonScanner.ofText(text);
  const found: Place[] = [];
  for (let kind = scanner.next(); kind !== token.end; kind = scanner.next()) {
    if (kind !== token.word || !mayChange(scanner)) continue;
    const { start, end } = scanner;
    if (!changes(text.slice(start, end))) continue;
    found.push({ start, end });
    if (found.length > maxExactNumbers) throw new SyntaxError("Too many large numbers");
  }
  return found;
}

function withMarks(text: string, places: readonly Place[], mark: string): string {
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end } of places) {
    pieces.push(text.slice(done, start), `"${mark}${text.slice(start, end)}"`);
    done = end;
  }
  pieces.push(text.slice(done));
  return pieces.join("");
}

/** Returns the number that a marked string represents. Replaces marked strings within lists and objects in place. */
function unmarked(value: Json | undefined, mark: string, depth: number): ExactNumber | undefined {
  if (typeof value === "string") {
    return value.startsWith(mark) ? exactNumber(value.slice(mark.length)) : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > maxJsonDepth) throw new SyntaxError("The JSON is nested too deeply");
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const number = unmarked(value[i], mark, depth + 1);
      if (number !== undefined) value[i] = number;
    }
  } else if (isJsonObject(value)) {
    for (const name in value) {
      const number = unmarked(value[name], mark, depth + 1);
      if (number !== undefined) value[name] = number;
    }
  }
  return undefined;
}
