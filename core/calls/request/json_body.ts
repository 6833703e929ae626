/** Parses a JSON request body into its value and the byte range of each top-level field. */
import { GatewayError } from "../../errors.ts";
import { isNumberUnit, mayChange, withExactNumbers } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { maxExactNumbers } from "../../lib/json/limits.ts";
import { otherCaseProblem } from "./decisive_fields.ts";
import { JsonCount } from "../../lib/json/json_bounds.ts";

/** Byte range of a value, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON object as received: its bytes, its value and the places of its top-level fields. */
export interface JsonBody {
  readonly bytes: Uint8Array;
  /** The parsed value; numbers are as exact as in the bytes. */
  readonly value: JsonObject;
  /** Top-level fields by their decoded name. */
  readonly fields: ReadonlyMap<string, Span>;
  /** The body contains the word `base64`: it may hold pictures or files, which are not billed by their length. */
  readonly mentionsBase64: boolean;
}

const quote = 0x22;
const backslash = 0x5c;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder();

/**
 * Decodes UTF-8. The lenient decoder is several times faster and marks every fault; only a text with such marks is
 * decoded again strictly.
 *
 * @throws {TypeError} if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = lenientUtf8.decode(bytes);
  return text.includes("\ufffd") ? strictUtf8.decode(bytes) : text;
}

/**
 * A JSON text as bytes. If all of it is ASCII, positions in text and bytes agree, and the text is used: the engine
 * searches and cuts text far faster than bytes.
 */
class Source {
  readonly bytes: Uint8Array;
  readonly count = new JsonCount();
  /** The error for a forbidden field. Thrown only if the text turns out to be JSON. */
  problem: GatewayError | undefined;
  /** Whether a number was found that may be outside double precision. */
  sawLongNumber = false;
  readonly #text: string | undefined;

  constructor(bytes: Uint8Array, text: string) {
    this.bytes = bytes;
    this.#text = text.length === bytes.length ? text : undefined;
  }

  /** Finds the next quote from a position on; -1 if there is none. */
  findQuote(from: number): number {
    return this.#text === undefined
      ? this.bytes.indexOf(quote, from)
      : this.#text.indexOf('"', from);
  }

  /** Decodes the string literal between two positions, its quotes included. */
  stringAt(start: number, end: number): string {
    const literal = this.#text?.slice(start, end) ??
      strictUtf8.decode(this.bytes.subarray(start, end));
    if (!literal.includes("\\")) return literal.slice(1, -1);
    try {
      const value: unknown = JSON.parse(literal);
      return typeof value === "string" ? value : "";
    } catch {
      return ""; // not JSON: the parser reports it
    }
  }
}

/**
 * Parses a body, and refuses one that could mean something else to the provider than to us.
 *
 * @throws {GatewayError} `invalid_json` if it is not UTF-8, not JSON, not an object, nested deeper than
 * `maxJsonDepth`, has more values than `maxJsonValues`, more field names than `maxJsonNames` or more numbers outside
 * double precision than `maxExactNumbers`, has a top-level field twice, or one that decides the cost in another case
 */
export function parseJsonBody(bytes: Uint8Array): JsonBody {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    throw new GatewayError("invalid_json", "The request body is not valid UTF-8");
  }
  if (!startsAsObject(text)) throw notAnObject();
  const source = new Source(bytes, text);
  // First, so that everything that costs the parser time and memory is bounded before it runs.
  const fields = topLevelFields(source);
  source.count.checkNames(text);
  const value = parsedObject(text);
  if (source.problem !== undefined) throw source.problem;
  return {
    bytes,
    value: source.sawLongNumber ? exactObject(value, text) : value,
    fields,
    // The engine searches for the first character, and a digit is rarer than a letter, so this test ends most
    // searches quickly.
    mentionsBase64: text.includes("64") && text.includes("base64"),
  };
}

function startsAsObject(text: string): boolean {
  let at = 0;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text[at] === "{";
}

function notAnObject(): GatewayError {
  return new GatewayError("invalid_json", "The request body must be a JSON object");
}

function parsedObject(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the body; ours must not.
    throw new GatewayError("invalid_json", "The request body is not valid JSON");
  }
  if (isJsonObject(value)) return value;
  throw notAnObject();
}

/** Parses a body with long numbers exactly. */
function exactObject(value: JsonObject, text: string): JsonObject {
  try {
    return withExactNumbers(value, text);
  } catch {
    // The depth was checked before, so the cause is the number of long numbers.
    throw new GatewayError(
      "invalid_json",
      `The request body has more than ${maxExactNumbers} numbers outside double precision`,
    );
  }
}

/**
 * Finds the top-level fields of a text that begins as an object, and counts its values, names and depth. If the text
 * is not JSON the result is arbitrary, but the search ends and has counted everything before the fault.
 *
 * @throws {GatewayError} `invalid_json` when a bound is exceeded
 */
function topLevelFields(source: Source): ReadonlyMap<string, Span> {
  const { bytes } = source;
  const fields = new Map<string, Span>();
  let at = bytes.indexOf(0x7b) + 1;
  for (;;) {
    at = skipBlank(bytes, at);
    if (bytes[at] === 0x2c) at = skipBlank(bytes, at + 1);
    if (at >= bytes.length || bytes[at] === 0x7d) return fields;
    const nameEnd = skipString(source, at);
    const name = source.stringAt(at, nameEnd);
    at = skipBlank(bytes, nameEnd);
    const start = skipBlank(bytes, at + 1);
    const end = skipValue(source, start);
    source.count.addField();
    source.count.addValue();
    const problem = fields.has(name) ? twiceProblem(name) : otherCaseProblem(name);
    if (problem !== undefined) source.problem ??= problem;
    fields.set(name, { start, end });
    at = end;
  }
}

function twiceProblem(name: string): GatewayError {
  const problem = `The field ${JSON.stringify(name)} is there twice`;
  return new GatewayError("invalid_json", problem, { param: name });
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

/**
 * Skips a string, from its opening quote to after the closing one. Strings are most of a body, so they are searched
 * natively and not read character by character.
 */
function skipString(source: Source, from: number): number {
  const { bytes } = source;
  let at = from;
  for (;;) {
    at = source.findQuote(at + 1);
    if (at === -1) return bytes.length;
    let escapes = 0;
    while (bytes[at - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

function skipValue(source: Source, from: number): number {
  const { bytes, count } = source;
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = skipString(source, at);
    } else if (byte === 0x7b || byte === 0x5b) {
      count.checkDepth(++depth);
      count.addValue();
      at++;
      continue;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return at; // the enclosing object ends
      depth--;
      at++;
    } else if (byte === 0x2c && depth === 0) {
      return at;
    } else {
      if (byte === 0x2c) count.addValue();
      else if (byte === 0x3a) count.addField();
      at = byte === 0x2d || (byte >= 0x30 && byte <= 0x39) ? skipNumber(source, at) : at + 1;
      continue;
    }
    if (depth === 0) return at;
  }
  return at;
}

function skipNumber(source: Source, from: number): number {
  const { bytes } = source;
  let hasExponent = false;
  let at = from;
  for (let byte = bytes[at]!; isNumberUnit(byte); byte = bytes[++at]!) {
    hasExponent ||= byte === 0x65 || byte === 0x45;
  }
  source.sawLongNumber ||= mayChange(at - from, hasExponent);
  return at;
}
