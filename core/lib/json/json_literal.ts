/**
 * JSON string literals as they are in a frame, quotes included. A text delta is the same literal in
 * every style, so the hot path copies it from frame to frame instead of decoding and encoding it.
 */

/**
 * Tracks a JSON object that arrives in pieces and detects its end, after which only white space can
 * belong to it.
 *
 * @example
 * ```ts
 * import { JsonProgress } from "./json_literal.ts";
 * const progress = new JsonProgress();
 * progress.take('{"a":"}');
 * if (progress.isWhole) throw new Error("the brace is inside a string");
 * progress.take('"}');
 * if (!progress.isWhole) throw new Error("the object is closed");
 * ```
 */
export class JsonProgress {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;

  get isWhole(): boolean {
    return this.#closed;
  }

  take(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (unit === 0x5c) this.#escaped = true;
        else if (unit === 0x22) this.#inString = false;
      } else if (unit === 0x22) {
        this.#inString = true;
      } else if (unit === 0x7b || unit === 0x5b) {
        this.#depth++;
      } else if (unit === 0x7d || unit === 0x5d) {
        this.#depth--;
        this.#closed = this.#depth === 0;
      }
    }
  }
}

/**
 * Returns the offset after the closing quote of the string literal that opens at `start`, or -1 if
 * there is no valid literal. Exact: `JSON.parse` accepts whatever this accepts.
 *
 * @example
 * ```ts
 * import { literalEnd } from "./json_literal.ts";
 * const frame = '{"text":"a \\"b\\"","x":1}';
 * const end = literalEnd(frame, 8);
 * if (JSON.parse(frame.slice(8, end)) !== 'a "b"') throw new Error("wrong end");
 * ```
 */
export function literalEnd(text: string, start: number): number {
  if (text.charCodeAt(start) !== 0x22) return -1;
  for (let i = start + 1; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x22) return i + 1;
    if (unit < 0x20) return -1;
    if (unit !== 0x5c) continue;
    i++;
    if (text.charCodeAt(i) === 0x75 /* u */) {
      if (!isHex4(text, i + 1)) return -1;
      i += 4;
    } else if (!isShortEscape(text.charCodeAt(i))) {
      return -1;
    }
  }
  return -1;
}

function isHex4(text: string, from: number): boolean {
  for (let i = from; i < from + 4; i++) {
    const unit = text.charCodeAt(i);
    const isHex = (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x46) ||
      (unit >= 0x61 && unit <= 0x66);
    if (!isHex) return false;
  }
  return true;
}

/** Whether a unit is one of `" \ / b f n r t`. */
function isShortEscape(unit: number): boolean {
  return unit === 0x22 || unit === 0x5c || unit === 0x2f || unit === 0x62 || unit === 0x66 ||
    unit === 0x6e || unit === 0x72 || unit === 0x74;
}

/**
 * Computes the UTF-8 length of the text that a literal represents; half a surrogate pair counts
 * half of its four bytes.
 *
 * @example
 * ```ts
 * import { literalBytes } from "./json_literal.ts";
 * for (const text of ["", "plain", "tiếng Việt", "line\n", "\u{1f600}"]) {
 *   const bytes = new TextEncoder().encode(text).length;
 *   if (literalBytes(JSON.stringify(text)) !== bytes) throw new Error(text);
 * }
 * ```
 */
export function literalBytes(json: string): number {
  let bytes = 0;
  for (let i = 1; i < json.length - 1; i++) {
    let unit = json.charCodeAt(i);
    if (unit === 0x5c) {
      i++;
      if (json.charCodeAt(i) === 0x75) {
        unit = parseInt(json.slice(i + 1, i + 5), 16);
        i += 4;
      } else {
        unit = 0x20;
      }
    }
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}

/** Counts the UTF-16 units of a literal's text. */
export function literalLength(json: string): number {
  let units = json.length - 2;
  for (let at = json.indexOf("\\"); at !== -1; at = json.indexOf("\\", at)) {
    const escaped = json.charCodeAt(at + 1) === 0x75 /* u */ ? 6 : 2;
    units -= escaped - 1;
    at += escaped;
  }
  return units;
}

/**
 * The text of a frame around one string, learnt from a parsed frame and compared with the next ones. All text around
 * the string is equal in a frame that matches, so parsing it would give the same object with another string.
 *
 * Two more parts may differ: padding that some vendors put before the last braces, and the random `obfuscation` string
 * that others add to hide the length of a token.
 */
export class FrameTemplate {
  #before = "";
  #after = "";
  /** Text after the obfuscation string; `undefined` when the frame had none. */
  #tail: string | undefined;
  /** Whether the part after the string has no string, so that spaces in it mean nothing. */
  #mayPad = false;

  /**
   * Learns from a parsed frame in which the member `key` has `value`. If its position is ambiguous, no frame matches
   * until the next call.
   */
  learn(data: string, key: string, value: string): void {
    this.#before = "";
    const marker = `"${key}":`;
    const at = data.indexOf(marker);
    // Inside a string the quotes of the marker would be escaped, so a hit is a member; two hits are ambiguous.
    if (at < 0 || at !== data.lastIndexOf(marker)) return;
    const start = at + marker.length;
    const end = literalEnd(data, start);
    if (end < 0 || JSON.parse(data.slice(start, end)) !== value) return;
    this.#before = data.slice(0, start);
    this.#keepRest(data.slice(end));
  }

  /** Offset of the literal in a frame that matches; 0 if no frame does. */
  get textAt(): number {
    return this.#before.length;
  }

  /** Returns the literal in a frame that matches, else `undefined`. */
  match(data: string): string | undefined {
    const start = this.#before.length;
    // A slice and a comparison: several times faster than `startsWith` on texts of this length.
    if (start === 0 || data.slice(0, start) !== this.#before) return undefined;
    const end = literalEnd(data, start);
    if (end < 0 || !this.#restMatches(data, end)) return undefined;
    return data.slice(start, end);
  }

  #keepRest(rest: string): void {
    const marker = '"obfuscation":';
    const at = rest.lastIndexOf(marker);
    const end = at < 0 ? -1 : literalEnd(rest, at + marker.length);
    this.#tail = end < 0 ? undefined : rest.slice(end);
    this.#after = end < 0 ? rest : rest.slice(0, at + marker.length);
    this.#mayPad = end < 0 && !rest.includes('"');
    if (this.#mayPad) this.#after = rest.replaceAll(" ", "");
  }

  #restMatches(data: string, from: number): boolean {
    if (this.#tail !== undefined) {
      const next = from + this.#after.length;
      if (data.slice(from, next) !== this.#after) return false;
      const end = literalEnd(data, next);
      return end > 0 && data.slice(end) === this.#tail;
    }
    if (data.slice(from) === this.#after) return true;
    return this.#mayPad && this.#paddedRestMatches(data, from);
  }

  /** Compares the text behind the string, ignoring spaces. */
  #paddedRestMatches(data: string, from: number): boolean {
    let at = 0;
    for (let i = from; i < data.length; i++) {
      const unit = data.charCodeAt(i);
      if (unit === 0x20) continue;
      if (unit !== this.#after.charCodeAt(at)) return false;
      at++;
    }
    return at === this.#after.length;
  }
}
