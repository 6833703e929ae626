/**
 * A JSON request body as bytes, its parsed value, and where each top-level field lies.
 *
 * Same-style calls must reach the provider unchanged, so a field is replaced in the bytes instead of parsing and
 * writing the whole body again: faithful, and cheap for long prompts.
 */
import { dearFieldNames } from "../dialects/dear/wishes.ts";
import { GatewayError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { limits } from "../limits.ts";

/** Byte range of a value, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface JsonBody {
  readonly bytes: Uint8Array;
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

/** Where the next quote is, from a position on; -1 if there is none. */
type FindQuote = (from: number) => number;

/**
 * Parses a body and refuses what could mean one thing to us and another to the provider.
 *
 * @throws {GatewayError} `invalid_json` if it is not UTF-8, not JSON, not an object, nested deeper than
 * `limits.jsonDepth`, names a top-level field twice, or writes one that decides the cost in other case
 */
export function parseJsonBody(bytes: Uint8Array): JsonBody {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    throw new GatewayError("invalid_json", "The request body is not valid UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the body; ours does not.
    throw new GatewayError("invalid_json", "The request body is not valid JSON");
  }
  if (!isJsonObject(value)) {
    throw new GatewayError("invalid_json", "The request body must be a JSON object");
  }
  // Positions in text and bytes agree while all is ASCII; the engine searches text far quicker than bytes.
  const findQuote: FindQuote = text.length === bytes.length
    ? (from) => text.indexOf('"', from)
    : (from) => bytes.indexOf(quote, from);
  return {
    bytes,
    value,
    fields: topLevelFields(bytes, findQuote),
    mentionsBase64: text.includes("base64"),
  };
}

/**
 * Fields that decide what a call may cost. Some providers match names without regard to case, and the last one wins
 * there: a `Model` behind our `model` would be another model at the price of this one.
 */
const decisive: ReadonlyMap<string, string> = new Map([
  "model",
  "stream",
  "stream_options",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "background",
  "previous_response_id",
  "conversation",
  "prompt",
  "thread",
  ...dearFieldNames,
].map((name) => [foldCase(name), name]));

/** As those providers do it: some letters have a third case (`ſ` is an `s`, U+212A a `k`). */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** Finds the top-level fields of a text that is known to be a valid JSON object. */
function topLevelFields(bytes: Uint8Array, findQuote: FindQuote): ReadonlyMap<string, Span> {
  const fields = new Map<string, Span>();
  let at = bytes.indexOf(0x7b) + 1;
  for (;;) {
    at = skipBlank(bytes, at);
    if (bytes[at] === 0x2c) at = skipBlank(bytes, at + 1);
    if (at >= bytes.length || bytes[at] === 0x7d) return fields;
    const nameEnd = skipString(bytes, at, findQuote);
    const name = decodeName(bytes.subarray(at, nameEnd));
    at = skipBlank(bytes, nameEnd);
    const start = skipBlank(bytes, at + 1);
    const end = skipValue(bytes, start, findQuote);
    const known = decisive.get(foldCase(name));
    if (known !== undefined && known !== name) {
      throw new GatewayError(
        "invalid_json",
        `The field ${JSON.stringify(name)} is named ${known}`,
        {
          param: name,
        },
      );
    }
    if (fields.has(name)) {
      throw new GatewayError("invalid_json", `The field ${JSON.stringify(name)} is there twice`, {
        param: name,
      });
    }
    fields.set(name, { start, end });
    at = end;
  }
}

function decodeName(bytes: Uint8Array): string {
  const name: unknown = JSON.parse(strictUtf8.decode(bytes));
  return typeof name === "string" ? name : "";
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

/** From the opening quote to behind the closing one. Strings are most of a body: they are searched, not walked. */
function skipString(bytes: Uint8Array, from: number, findQuote: FindQuote): number {
  let at = from;
  for (;;) {
    at = findQuote(at + 1);
    if (at === -1) return bytes.length;
    let escapes = 0;
    while (bytes[at - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

function skipValue(bytes: Uint8Array, from: number, findQuote: FindQuote): number {
  let depth = 0;
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = skipString(bytes, at, findQuote);
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
      at++;
      continue;
    }
    if (depth === 0) return at;
  }
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
  const encoder = new TextEncoder();
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
