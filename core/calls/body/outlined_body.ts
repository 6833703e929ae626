/**
 * Reads a large body without decoding the texts of its prompt. Calls whose provider has the client's style need no more
 * than that; conversion parses the whole value.
 */
import { decodeUtf8 } from "../../lib/bytes/byte_parts.ts";
import { withExactNumbers } from "../../lib/json/exact_json.ts";
import { isJsonObject, type JsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { maxJsonNames, maxJsonValues } from "../../lib/json/scan/limits.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { outlineOf, type OutlineRules } from "../../lib/json/outline.ts";
import { scanJson, type Skeleton } from "../../lib/json/scan/scan.ts";
import { beginningOfUrl } from "../../net/remote/named_url.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { otherCaseProblem } from "./decisive_fields.ts";

// What a JSON body is after it was read, whole or in outline.

/** Byte range of a value, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON object as received: its bytes, its value and the places of its top-level fields. */
export interface JsonBody {
  readonly bytes: Uint8Array;
  /**
   * The parsed value; numbers are as exact as in the bytes. That of a large body is parsed when it is first read, which
   * costs more than the rest of a call: what needs no long texts reads the outline.
   */
  readonly value: JsonObject;
  /** The value, in which long strings of prompts may not be decoded. */
  readonly outline: OutlineObject;
  /** Top-level fields by their decoded name. */
  readonly fields: ReadonlyMap<string, Span>;
  /** The body contains the word `base64`: it may hold pictures or files, which are not billed by their length. */
  readonly mentionsBase64: boolean;
  /** Whether a string may begin with a short text of ASCII, or a short string contain it. */
  mayHold(text: string): boolean;
}

/** A body with another value, for what reads it; its bytes stay as they are. */
export function withValue(body: JsonBody, value: JsonObject): JsonBody {
  const { bytes, fields, mentionsBase64 } = body;
  return {
    bytes,
    value,
    outline: value,
    fields,
    mentionsBase64,
    mayHold: (text) => body.mayHold(text),
  };
}

// What must hold for the names of the top-level fields of a body.

/**
 * Returns the error for a field whose name is there already, or differs only in case from one that decides the cost.
 */
export function fieldProblem(
  name: string,
  earlier: ReadonlyMap<string, unknown>,
): GatewayError | undefined {
  if (!earlier.has(name)) return otherCaseProblem(name);
  const problem = `The field ${JSON.stringify(name)} is there twice`;
  return new GatewayError("invalid_json", problem, { param: name });
}

/** Returns the name that a string literal is; `""` for what is no literal. */
export function nameOf(literal: string): string {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" ? value : "";
  } catch {
    return ""; // not JSON: the parser reports it
  }
}

/** Bytes of the smallest body that is outlined: below it parsing costs no more. */
const leastOutlinedBytes = 8 * 1024;

/** Schemes of addresses that a provider fetches. */
const addressed = /^(?:https?|ftp|file):/i;

/** Whether a string begins like an address, or with nothing but what a URL drops up to where its head ends. */
function isAddressed(head: string): boolean {
  const begins = beginningOfUrl(head);
  return addressed.test(begins) || begins.length < "https:".length;
}

/** Which bytes can begin such a string: a letter of a scheme, white space, an escape, or a character beyond ASCII. */
const firstOfAddress: Uint8Array = (() => {
  const table = new Uint8Array(256);
  table.fill(1, 0, 0x21);
  table.fill(1, 0x80);
  for (const letter of "hHfF\\") table[letter.charCodeAt(0)] = 1;
  return table;
})();

const rules: OutlineRules = {
  left: new Set(["messages", "system", "input", "instructions", "tools", "functions"]),
  // What decides the cost of a call, and ids, which say who made a part.
  decoded: new Set(["type", "role", "model", "name", "id", "call_id", "tool_use_id"]),
  isDecoded: isAddressed,
  mayBegin: (byte) => firstOfAddress[byte] === 1,
};

/** Bytes of a literal in which its beginning is searched: names of makers before a mark, and the mark. */
const markBytes = 32;

/**
 * Reads a large body. `undefined` for a small one, and for one that is not certainly valid: parsing it as a whole says
 * what is wrong.
 *
 * @throws {GatewayError} `invalid_json` for a field that is there twice, or decides the cost and is in another case
 */
export function outlinedBody(bytes: Uint8Array): JsonBody | undefined {
  if (bytes.length < leastOutlinedBytes) return undefined;
  const skeleton = scanJson(bytes);
  // The scanner counts a few values and names less than the bounds do.
  if (skeleton === undefined || skeleton.values >= maxJsonValues - 1) return undefined;
  if (skeleton.names > maxJsonNames) return undefined;
  let outline: OutlineObject | undefined;
  try {
    outline = outlineOf(bytes, skeleton, rules);
  } catch {
    return undefined; // too many exact numbers
  }
  return outline === undefined ? undefined : new OutlinedBody(bytes, skeleton, outline);
}

class OutlinedBody implements JsonBody {
  readonly bytes: Uint8Array;
  readonly outline: OutlineObject;
  readonly fields: ReadonlyMap<string, Span>;
  readonly #skeleton: Skeleton;
  #value: JsonObject | undefined;

  constructor(bytes: Uint8Array, skeleton: Skeleton, outline: OutlineObject) {
    this.bytes = bytes;
    this.outline = outline;
    this.#skeleton = skeleton;
    this.fields = fieldsOf(bytes, skeleton.top);
  }

  get value(): JsonObject {
    return this.#value ??= wholeValue(this.bytes, this.#skeleton.hasLongNumbers);
  }

  get mentionsBase64(): boolean {
    return this.#skeleton.text.includes("base64") || this.#holds(isData);
  }

  mayHold(text: string): boolean {
    const mark = new TextEncoder().encode(text);
    return this.#skeleton.text.includes(text) ||
      this.#holds((bytes, start, end) => holdsMark(bytes.subarray(start, end), mark));
  }

  #holds(isFound: (bytes: Uint8Array, start: number, end: number) => boolean): boolean {
    const { longStrings } = this.#skeleton;
    for (let i = 0; i < longStrings.length; i += 2) {
      if (isFound(this.bytes, longStrings[i]!, longStrings[i + 1]!)) return true;
    }
    return false;
  }
}

/** Whether a long string is a data URL. */
function isData(bytes: Uint8Array, start: number, end: number): boolean {
  // `d`, or an escape that may be one.
  if (bytes[start] !== 0x64 && bytes[start] !== 0x5c) return false;
  return new LongText(bytes, start, end).head().startsWith("data:");
}

/** Whether the beginning of a literal contains some bytes. */
function holdsMark(literal: Uint8Array, mark: Uint8Array): boolean {
  const last = Math.min(markBytes, literal.length) - mark.length;
  for (let at = 0; at <= last; at++) {
    if (literal[at] === mark[0] && mark.every((byte, i) => literal[at + i] === byte)) return true;
  }
  return false;
}

/** The value of a body whose outline is known: it is valid, and has no more exact numbers than it may have. */
function wholeValue(bytes: Uint8Array, hasLongNumbers: boolean): JsonObject {
  const text = decodeUtf8(bytes);
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new TypeError("The body is an object");
  return hasLongNumbers ? withExactNumbers(value, text) : value;
}

/**
 * Finds the top-level fields of a valid object.
 *
 * @param top its opening brace, then for each field the colon and what is behind its value
 */
function fieldsOf(bytes: Uint8Array, top: Int32Array): ReadonlyMap<string, Span> {
  const fields = new Map<string, Span>();
  for (let i = 0; i + 2 < top.length; i += 2) {
    const literal = trimmed(bytes, top[i]! + 1, top[i + 1]!);
    const name = nameOf(decodeUtf8(bytes.subarray(literal.start, literal.end)));
    const problem = fieldProblem(name, fields);
    if (problem !== undefined) throw problem;
    fields.set(name, trimmed(bytes, top[i + 1]! + 1, top[i + 2]!));
  }
  return fields;
}

/** The part between two positions without white space around it. */
function trimmed(bytes: Uint8Array, from: number, to: number): Span {
  let start = from;
  let end = to;
  while (bytes[start]! <= 0x20) start++;
  while (bytes[end - 1]! <= 0x20) end--;
  return { start, end };
}
