import { parseWithinDepth } from "./exact_json.ts";
import type { Json } from "./json.ts";

// Finds the ends of long lists of numbers without looking at each byte.

/** Bytes that are decoded at a time: some vectors of an embedding answer. */
const windowBytes = 256 * 1024;

/** Bytes from which a search in text is quicker than a loop over them. */
const shortBytes = 4 * 1024;

// Lenient: for ASCII it is ten times as fast as a strict one, and everything else is left to the caller.
const exactDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;

/**
 * Characters that end a number list or disqualify it. Each literal that is no number (`null`, `true`, `NaN`) has one of
 * the letters.
 */
const searched = ["]", '"', "[", "{", "n", "N", "t", "f"] as const;

/**
 * Searches JSON bytes for the ends of lists of numbers. A text is searched with the machine's vector instructions,
 * bytes are not: an answer of half a megabyte of vectors takes 40 µs instead of 800.
 *
 * @example
 * ```ts
 * import { NumberLists } from "./json_cursor.ts";
 * const bytes = new TextEncoder().encode(`{"a":[${"0.25,".repeat(2_000)}1],"b":[1,"]"]}`);
 * const lists = new NumberLists(bytes, bytes.length);
 * if (lists.endOf(5) !== bytes.indexOf(0x5d)) throw new Error("not found");
 * ```
 */
export class NumberLists {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #windowAt = 0;
  #windowEnd = 0;
  /** The decoded window; empty if a byte of it is no character of its own. */
  #text = "";
  /** Next place of each searched character in the window. Remembered, so that all searches together pass it once. */
  readonly #next: number[] = [];

  /** @param end up to where the bytes are JSON */
  constructor(bytes: Uint8Array, end: number) {
    this.#bytes = bytes;
    this.#end = end;
  }

  /**
   * Returns the offset of the bracket that closes the list which opens at `at`; -1 if the list is at the end, is very
   * long, or may have more than numbers. Offsets ascend from call to call.
   */
  endOf(at: number): number {
    if (this.#end - at < shortBytes || !this.#startsWithNumber(at)) return -1;
    if (at >= this.#windowEnd) this.#move(at);
    const close = this.#closing(at);
    if (close !== undefined) return close;
    // Each move leaves half a window behind, so no byte is decoded more than twice.
    if (at - this.#windowAt < windowBytes / 2) return -1;
    this.#move(at);
    return this.#closing(at) ?? -1;
  }

  #startsWithNumber(at: number): boolean {
    const byte = this.#bytes[at + 1] ?? 0;
    return (byte >= zero && byte <= nine) || byte === minus;
  }

  #move(at: number): void {
    const end = Math.min(at + windowBytes, this.#end);
    const window = this.#bytes.subarray(at, end);
    const text = exactDecoder.decode(window);
    this.#windowAt = at;
    this.#windowEnd = end;
    this.#text = text.length === window.length ? text : "";
    this.#next.length = 0;
  }

  /** Searches the window; `undefined` if the list ends behind it. */
  #closing(at: number): number | undefined {
    if (this.#text === "") return -1;
    const from = at - this.#windowAt + 1;
    const close = this.#find(0, from);
    if (close === Infinity) return undefined;
    for (let index = 1; index < searched.length; index++) {
      if (this.#find(index, from) < close) return -1;
    }
    return this.#windowAt + close;
  }

  #find(index: number, from: number): number {
    const known = this.#next[index];
    if (known !== undefined && known >= from) return known;
    const found = this.#text.indexOf(searched[index] ?? "", from);
    return this.#next[index] = found === -1 ? Infinity : found;
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A member name as bytes, created once; see {@linkcode JsonCursor.keyIs}. */
export type JsonKey = Uint8Array;

/** Prepares a member name for {@linkcode JsonCursor.keyIs}. */
export function jsonKey(name: string): JsonKey {
  return encoder.encode(name);
}

/** Digits of a number that a double holds exactly. */
const maxExactDigits = 15;

/** Bytes from which lists of numbers are looked for, to skip them as a whole: more than an answer in words has. */
const manyBytes = 32 * 1024;

/**
 * The error for bytes that cannot be JSON. The cursor does not validate: what it skips may still be
 * wrong.
 */
export class JsonScanError extends Error {
  override name = "JsonScanError";
}

/**
 * Scans JSON bytes for the members that matter, without building values.
 *
 * A text delta is some 300 bytes of which a meter needs the length of one string: parsing it costs
 * five times as much. A member is recognised by its name in any notation, escapes included.
 *
 * @example
 * ```ts
 * import { JsonCursor, jsonKey } from "./json_cursor.ts";
 * const bytes = new TextEncoder().encode('{"a":{"b":[1,2]},"text":"caf\\u00e9"}');
 * const text = jsonKey("text");
 * const cursor = new JsonCursor();
 * cursor.reset(bytes, 0, bytes.length);
 * let length = 0;
 * cursor.enterObject();
 * while (cursor.nextMember()) {
 *   if (cursor.keyIs(text)) length = cursor.takeTextLength();
 *   else cursor.skip();
 * }
 * if (length !== 5) throw new Error(String(length));
 * ```
 */
export class JsonCursor {
  #bytes: Uint8Array = new Uint8Array(0);
  #end = 0;
  #keyStart = 0;
  #keyEnd = 0;
  #keyEscapes = 0;
  #lists: NumberLists | undefined;
  /**
   * Offset of the next byte; on a value after {@linkcode nextMember} and {@linkcode nextElement}.
   */
  at = 0;

  /** Starts over at `bytes[start, end)`. */
  reset(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.#end = end;
    this.at = start;
    this.#lists = undefined;
    this.#space();
  }

  /** Offset of the opening quote of the member's name. */
  get keyStart(): number {
    return this.#keyStart;
  }

  /** First byte of the value: `{`, `[`, `"`, a digit, or the first letter of a literal. */
  get first(): number {
    return this.at < this.#end ? this.#bytes[this.at]! : 0;
  }

  get isNull(): boolean {
    return this.first === 0x6e;
  }

  get isString(): boolean {
    return this.first === 0x22;
  }

  get isNumber(): boolean {
    const { first } = this;
    return first === minus || (first >= zero && first <= nine);
  }

  /** Whether nothing but white space follows. */
  get isAtEnd(): boolean {
    this.#space();
    return this.at >= this.#end;
  }

  /** Enters an object. Returns `false`, and does nothing, if the value is something else. */
  enterObject(): boolean {
    if (this.first !== 0x7b) return false;
    this.at++;
    return true;
  }

  /** Enters an array. Returns `false`, and does nothing, if the value is something else. */
  enterArray(): boolean {
    if (this.first !== 0x5b) return false;
    this.at++;
    return true;
  }

  /** Moves to the value of the next member; at the end leaves the object and returns `false`. */
  nextMember(): boolean {
    if (!this.#more(0x7d)) return false;
    if (this.first !== 0x22) this.#refuse();
    this.#keyStart = this.at;
    this.#keyEscapes = this.#string();
    this.#keyEnd = this.at;
    this.#space();
    if (this.#bytes[this.at] !== 0x3a) this.#refuse();
    this.at++;
    this.#space();
    return true;
  }

  /** Moves to the next element; at the end leaves the array and returns `false`. */
  nextElement(): boolean {
    return this.#more(0x5d);
  }

  /** Whether the member has this name. */
  keyIs(key: JsonKey): boolean {
    if (this.#keyEscapes > 0) return this.#escapedKeyIs(key);
    const from = this.#keyStart + 1;
    if (this.#keyEnd - 1 - from !== key.length) return false;
    for (let i = 0; i < key.length; i++) {
      if (this.#bytes[from + i] !== key[i]) return false;
    }
    return true;
  }

  #escapedKeyIs(key: JsonKey): boolean {
    const name = encoder.encode(this.#parsed(this.#keyStart, this.#keyEnd)?.toString());
    return name.length === key.length && name.every((byte, i) => byte === key[i]);
  }

  /** Skips the value. */
  skip(): void {
    const first = this.first;
    if (first === 0x22) this.#string();
    else if (first === 0x7b || first === 0x5b) this.#container();
    else this.#literal();
  }

  /** Skips the value; returns whether it is a list of numbers, and of nothing else, that is not empty. */
  skipNumbers(): boolean {
    const from = this.at;
    if (!this.enterArray()) {
      this.skip();
      return false;
    }
    if (this.#end - from >= manyBytes) {
      const close = (this.#lists ??= new NumberLists(this.#bytes, this.#end)).endOf(from);
      if (close !== -1) {
        this.at = close + 1;
        return true;
      }
    }
    let count = 0;
    let isNumbers = true;
    while (this.nextElement()) {
      isNumbers &&= this.isNumber;
      this.skip();
      count++;
    }
    return isNumbers && count > 0;
  }

  /** Skips the value; returns it if it is a whole number of at most 15 digits, else `undefined`. */
  takeWholeNumber(): number | undefined {
    const from = this.at;
    this.skip();
    if (this.at === from || this.at - from > maxExactDigits) return undefined;
    let number = 0;
    for (let at = from; at < this.at; at++) {
      const byte = this.#bytes[at]!;
      if (byte < zero || byte > nine) return undefined;
      number = number * 10 + byte - zero;
    }
    return number;
  }

  /** Skips the value; returns its length as UTF-8 text if it is a string, else 0. */
  takeTextLength(): number {
    if (this.first !== 0x22) {
      this.skip();
      return 0;
    }
    const from = this.at + 1;
    const escapes = this.#string();
    const length = this.at - 1 - from;
    return escapes === 0 ? length : unescapedLength(this.#bytes, from, this.at - 1);
  }

  /** Skips the value; returns the first characters of a string as they are written, or nothing of anything else. */
  takeBeginning(chars: number): string {
    const { isString } = this;
    const from = this.at + 1;
    this.skip();
    const end = Math.min(from + chars, this.at - 1);
    return isString ? decoder.decode(this.#bytes.subarray(from, end)) : "";
  }

  /** Skips the value and parses it. */
  takeValue(): Json {
    const from = this.at;
    this.skip();
    return this.#parsed(from, this.at);
  }

  #parsed(from: number, to: number): Json {
    try {
      return parseWithinDepth(decoder.decode(this.#bytes.subarray(from, to)));
    } catch (cause) {
      throw new JsonScanError("Not JSON", { cause });
    }
  }

  #more(close: number): boolean {
    this.#space();
    if (this.first === 0x2c) {
      this.at++;
      this.#space();
    }
    if (this.at >= this.#end) this.#refuse();
    if (this.first !== close) return true;
    this.at++;
    return false;
  }

  #space(): void {
    while (this.at < this.#end && this.#bytes[this.at]! <= 0x20) this.at++;
  }

  /** Skips a string; returns the number of its escapes. */
  #string(): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let escapes = 0;
    let at = this.at + 1;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === 0x22) {
        this.at = at + 1;
        return escapes;
      }
      if (byte === 0x5c) {
        escapes++;
        at++;
      }
    }
    return this.#refuse();
  }

  #container(): void {
    const bytes = this.#bytes;
    const end = this.#end;
    let depth = 0;
    for (let at = this.at; at < end; at++) {
      const byte = bytes[at]!;
      // Digits, commas and points, of which lists of numbers consist, are below all brackets.
      if (byte < 0x5b && byte !== 0x22) continue;
      if (byte === 0x22) {
        this.at = at;
        this.#string();
        at = this.at - 1;
      } else if (byte === 0x5b && end - at >= manyBytes) {
        const close = (this.#lists ??= new NumberLists(bytes, end)).endOf(at);
        if (close === -1) depth++;
        else if (depth > 0) at = close;
        else {
          this.at = close + 1;
          return;
        }
      } else if (byte === 0x7b || byte === 0x5b) depth++;
      else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) {
        this.at = at + 1;
        return;
      }
    }
    this.#refuse();
  }

  #literal(): void {
    const from = this.at;
    for (; this.at < this.#end; this.at++) {
      const byte = this.#bytes[this.at]!;
      if (byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20) break;
    }
    if (this.at === from) this.#refuse();
  }

  #refuse(): never {
    throw new JsonScanError("Not JSON");
  }
}

/** Computes the UTF-8 length of the text that a JSON string literal with escapes represents. */
function unescapedLength(bytes: Uint8Array, from: number, to: number): number {
  let length = 0;
  for (let at = from; at < to; at++) {
    length++;
    if (bytes[at] !== 0x5c) continue;
    at++;
    if (bytes[at] !== 0x75 /* u */) continue;
    const unit = hex4(bytes, at + 1);
    at += 4;
    if (unit < 0x80) continue;
    // A surrogate pair is one character of 4 bytes: 2 for each half. A lone half would be 3, and
    // does not occur.
    length += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return length;
}

function hex4(bytes: Uint8Array, from: number): number {
  let value = 0;
  for (let i = from; i < from + 4; i++) {
    const byte = bytes[i] ?? 0;
    value = value * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return value;
}
