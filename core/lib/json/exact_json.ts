/**
 * Parses JSON without changing its numbers.
 *
 * `JSON.parse` rounds whole numbers beyond 2^53, and turns larger ones than a double can hold into `Infinity`, which is
 * written as `null`: an id in a tool's arguments would name another record. Such numbers become
 * {@linkcode ExactNumber}s here. Decimals that lose only their last digits do not, since the parser of every client
 * rounds them, too.
 */
import { type ExactNumber, isJsonObject, type Json, type JsonObject } from "./json.ts";
import { checkJsonDepth, JsonScanner, token } from "./json_scanner.ts";
import { encodeHex, exactNumber } from "../runtime/mod.ts";
import { maxExactNumbers, maxJsonDepth } from "./scan/limits.ts";

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
