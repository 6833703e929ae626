/**
 * A JSON request body as bytes, its parsed value, and where each top-level field lies.
 *
 * Same-style calls must reach the provider unchanged, so a field is replaced in the bytes instead of parsing and
 * writing the whole body again: faithful, and cheap for long prompts.
 */
import { GatewayError } from "../errors.ts";
import { isNumberUnit, mayChange, withExactNumbers } from "../exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { refuseOtherCase } from "./decisive_fields.ts";

/** Byte range of a value, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface JsonBody {
  readonly bytes: Uint8Array;
  /** Its numbers are as exact as in the bytes. */
  readonly value: JsonObject;
  /** Top-level fields by their decoded name. */
  readonly fields: ReadonlyMap<string, Span>;
  /** The word stands somewhere in it: the body may hold pictures or files, which are not billed by their length. */
  readonly mentionsBase64: boolean;
}

const quote = 0x22;
const backslash = 0x5c;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Decodes, refusing what is no UTF-8. The lenient decoder is several times quicker and marks every fault; only a text
 * with such marks is looked at again.
 *
 * @throws {TypeError} if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = lenientUtf8.decode(bytes);
  return text.includes("\ufffd") ? strictUtf8.decode(bytes) : text;
}

/**
 * A valid JSON text as bytes. Where all of it is ASCII, positions in text and bytes agree: the engine searches and
 * cuts text far quicker than bytes.
 */
class Source {
  readonly bytes: Uint8Array;
  /** A number was passed that may be too large for a `number`. */
  sawLongNumber = false;
  readonly #text: string | undefined;

  constructor(bytes: Uint8Array, text: string) {
    this.bytes = bytes;
    this.#text = text.length === bytes.length ? text : undefined;
  }

  /** Where the next quote is, from a position on; -1 if there is none. */
  findQuote(from: number): number {
    return this.#text === undefined
      ? this.bytes.indexOf(quote, from)
      : this.#text.indexOf('"', from);
  }

  /** The value of the string literal between two positions, its quotes included. */
  stringAt(start: number, end: number): string {
    const literal = this.#text?.slice(start, end) ??
      strictUtf8.decode(this.bytes.subarray(start, end));
    if (!literal.includes("\\")) return literal.slice(1, -1);
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" ? value : "";
  }
}

/**
 * Parses a body and refuses what could mean one thing to us and another to the provider.
 *
 * @throws {GatewayError} `invalid_json` if it is not UTF-8, not JSON, not an object, nested deeper than
 * `limits.jsonDepth`, has more numbers that no double holds than `limits.exactNumbers`, names a top-level field twice,
 * or writes one that decides the cost in other case
 */
export function parseJsonBody(bytes: Uint8Array): JsonBody {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    throw new GatewayError("invalid_json", "The request body is not valid UTF-8");
  }
  const value = parsedObject(text);
  const source = new Source(bytes, text);
  const fields = topLevelFields(source);
  return {
    bytes,
    value: source.sawLongNumber ? exactObject(value, text) : value,
    fields,
    // The engine looks for the first character: a digit is rarer than a letter, and this is most of the search.
    mentionsBase64: text.includes("64") && text.includes("base64"),
  };
}

function parsedObject(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the body; ours does not.
    throw new GatewayError("invalid_json", "The request body is not valid JSON");
  }
  if (isJsonObject(value)) return value;
  throw new GatewayError("invalid_json", "The request body must be a JSON object");
}

/** The object of a body that has long numbers. */
function exactObject(value: JsonObject, text: string): JsonObject {
  try {
    return withExactNumbers(value, text);
  } catch {
    // The depth was looked at before, so it is their number.
    throw new GatewayError(
      "invalid_json",
      `The request body has more than ${limits.exactNumbers} numbers that no double holds`,
    );
  }
}

/** Finds the top-level fields of a text that is known to be a valid JSON object. */
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
    refuseOtherCase(name);
    if (fields.has(name)) {
      throw new GatewayError("invalid_json", `The field ${JSON.stringify(name)} is there twice`, {
        param: name,
      });
    }
    fields.set(name, { start, end });
    at = end;
  }
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

/** From the opening quote to behind the closing one. Strings are most of a body: they are searched, not walked. */
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
  const { bytes } = source;
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = skipString(source, at);
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++;
      if (depth > limits.jsonDepth) {
        throw new GatewayError(
          "invalid_json",
          `The request body is nested deeper than ${limits.jsonDepth} levels`,
        );
      }
      at++;
      continue;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return at; // the object around us ends
      depth--;
      at++;
    } else if (byte === 0x2c && depth === 0) {
      return at;
    } else {
      at = byte <= 0x39 && byte >= 0x2d ? skipNumber(source, at) : at + 1;
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

/**
 * The body with some top-level fields replaced or added, every other byte as it was.
 *
 * @example
 * ```ts
 * import { parseJsonBody, withFields } from "./json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const changed = withFields(body, { model: "b", stream: true });
 * const text = new TextDecoder().decode(changed);
 * if (text !== '{ "model": "b", "x" : 1.0 ,"stream":true}') throw new Error(text);
 * ```
 */
export function withFields(body: JsonBody, changes: JsonObject): Uint8Array {
  const edits: { start: number; end: number; text: Uint8Array }[] = [];
  const closing = body.bytes.lastIndexOf(0x7d);
  let added = "";
  let isEmpty = body.fields.size === 0;
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const span = body.fields.get(name);
    const text = JSON.stringify(value);
    if (span !== undefined) edits.push({ ...span, text: encoder.encode(text) });
    else {
      added += `${isEmpty ? "" : ","}${JSON.stringify(name)}:${text}`;
      isEmpty = false;
    }
  }
  if (added !== "") edits.push({ start: closing, end: closing, text: encoder.encode(added) });
  if (edits.length === 0) return body.bytes;
  edits.sort((a, b) => a.start - b.start);

  let length = body.bytes.length;
  for (const { start, end, text } of edits) length += text.length - (end - start);
  const result = new Uint8Array(length);
  let readAt = 0;
  let writeAt = 0;
  for (const { start, end, text } of edits) {
    result.set(body.bytes.subarray(readAt, start), writeAt);
    writeAt += start - readAt;
    result.set(text, writeAt);
    writeAt += text.length;
    readAt = end;
  }
  result.set(body.bytes.subarray(readAt), writeAt);
  return result;
}
