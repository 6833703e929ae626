/**
 * JSON bodies of requests: the value, with the byte range of each top-level field, read once and changed in place.
 *
 * A large body is outlined: the texts of its prompt are not decoded. Calls whose provider has the client's style need
 * no more than that; conversion parses the whole value. Such calls must reach the provider otherwise unchanged, so a
 * field is changed in the bytes, not by parsing and writing the body again, which would also be slow for long prompts.
 *
 * The fields that decide what a call costs are protected: a provider must not read another value for them than we do,
 * neither under another spelling of the name nor from an object that it merges into the request.
 *
 * - Folder `core/calls/body/`: request bodies as JSON or as forms: reading, changing fields in place, idempotency
 *   keys.
 * - In: the bytes of a body, and its headers.
 * - Out: fields with their place in the bytes, changed bodies, references to pictures, refusals.
 * - Never: decodes and rewrites a whole body to change a field, or copies a file to read a form.
 */
import {
  type ByteParts,
  decodeUtf8,
  holdsAscii,
  joined,
  withFewPieces,
} from "../../lib/bytes/byte_parts.ts";
import { JsonScanner, mayChange, token, withExactNumbers } from "../../lib/json/exact_json.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { maxExactNumbers, maxJsonNames, maxJsonValues } from "../../lib/json/scan/limits.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { outlineOf, type OutlineRules } from "../../lib/json/outline.ts";
import { scanJson, type Skeleton } from "../../lib/json/scan/scan.ts";
import { beginningOfUrl } from "../../net/remote/named_url.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { JsonCount } from "../../lib/errors/json_bounds.ts";
import {
  billableFieldNames,
  judgedFieldNames,
  mergedField,
} from "../../wire/billable_features/asked_for.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { singleWriteBytes } from "../../net/http1/heads.ts";

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

/**
 * Leaves top-level fields out; every other byte stays as it was. Nothing is parsed again.
 *
 * @example
 * ```ts
 * import { parseJsonBody, withoutMembers } from "./json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "models": ["b"], "model" : "a" }'));
 * const { bytes, value } = withoutMembers(body, ["models"]);
 * const text = new TextDecoder().decode(bytes);
 * if (text !== '{ "model" : "a" }' || value["models"] !== undefined) throw new Error(text);
 * ```
 */
export function withoutMembers(body: JsonBody, names: readonly string[]): JsonBody {
  return new ReducedBody(body, names);
}

class ReducedBody implements JsonBody {
  readonly bytes: Uint8Array;
  readonly outline: OutlineObject;
  readonly fields: ReadonlyMap<string, Span>;
  readonly #whole: JsonBody;
  readonly #names: readonly string[];

  constructor(whole: JsonBody, names: readonly string[]) {
    this.#whole = whole;
    this.#names = names;
    this.outline = without(whole.outline, names);
    const { bytes, fields } = whole;
    const pieces: Uint8Array[] = [];
    const kept = new Map<string, Span>();
    let length = 0;
    const add = (start: number, end: number) => {
      pieces.push(bytes.subarray(start, end));
      length += end - start;
    };
    let before = bytes.indexOf(0x7b) + 1;
    add(0, before);
    let isFirst = true;
    for (const [name, { start, end }] of fields) {
      if (!names.includes(name)) {
        // The comma after a field that is left out, where nothing is before it.
        add(kept.size === 0 && !isFirst ? bytes.indexOf(0x2c, before) + 1 : before, end);
        kept.set(name, { start: length - (end - start), end: length });
      }
      isFirst = false;
      before = end;
    }
    add(before, bytes.length);
    this.bytes = joined(pieces);
    this.fields = kept;
  }

  get value(): JsonObject {
    return without(this.#whole.value, this.#names);
  }

  get mentionsBase64(): boolean {
    return this.#whole.mentionsBase64;
  }

  mayHold(text: string): boolean {
    return this.#whole.mayHold(text);
  }
}

function without<Value extends object>(object: Value, names: readonly string[]): Value {
  const copy = { ...object };
  for (const name of names) Reflect.deleteProperty(copy, name);
  return copy;
}

// What must hold for the names of the top-level fields of a body.

/**
 * Returns the error for a field whose name is there already, or differs only in case from one that decides the cost.
 */
function fieldProblem(
  name: string,
  earlier: ReadonlyMap<string, unknown>,
): GatewayError | undefined {
  if (!earlier.has(name)) return otherCaseProblem(name);
  const problem = `The field ${JSON.stringify(name)} is there twice`;
  return new GatewayError("invalid_json", problem, { param: name });
}

/** Returns the name that a string literal is; `""` for what is no literal. */
function nameOf(literal: string): string {
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

/** Bytes that can begin such a string: a letter of a scheme, white space, an escape, or a character beyond ASCII. */
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

/** Separates beginnings: no string literal has it. */
const lineFeed = 0x0a;

/**
 * Reads a large body. `undefined` for a small one, and for one that is not certainly valid: parsing it as a whole says
 * what is wrong.
 *
 * @throws {GatewayError} `invalid_json` for a field that is there twice, or decides the cost and is in another case
 */
function outlinedBody(bytes: Uint8Array): JsonBody | undefined {
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
  #heads: string | undefined;

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
    const { text, longStrings } = this.#skeleton;
    if (text.includes("base64")) return true;
    for (let i = 0; i < longStrings.length; i += 2) {
      if (isData(this.bytes, longStrings[i]!, longStrings[i + 1]!)) return true;
    }
    return false;
  }

  mayHold(text: string): boolean {
    if (this.#skeleton.text.includes(text)) return true;
    this.#heads ??= headsOf(this.bytes, this.#skeleton.longStrings);
    return this.#heads.includes(text);
  }
}

/** Whether a long string is a data URL. */
function isData(bytes: Uint8Array, start: number, end: number): boolean {
  // `d`, or an escape that may be one.
  if (bytes[start] !== 0x64 && bytes[start] !== 0x5c) return false;
  return new LongText(bytes, start, end).head().startsWith("data:");
}

/** The beginnings of the long strings in one text, a line each: several marks are searched in it by the engine. */
function headsOf(bytes: Uint8Array, longStrings: Skeleton["longStrings"]): string {
  const heads = new Uint8Array((longStrings.length / 2) * (markBytes + 1));
  let length = 0;
  for (let i = 0; i < longStrings.length; i += 2) {
    const end = Math.min(longStrings[i]! + markBytes, longStrings[i + 1]!);
    for (let at = longStrings[i]!; at < end; at++) heads[length++] = bytes[at]!;
    heads[length++] = lineFeed;
  }
  return new TextDecoder().decode(heads.subarray(0, length));
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

/**
 * Parses a body, and refuses one that could mean something else to the provider than to us.
 *
 * @throws {GatewayError} `invalid_json` if it is not UTF-8, not JSON, not an object, nested deeper than
 * `maxJsonDepth`, has more values than `maxJsonValues`, more field names than `maxJsonNames` or more numbers outside
 * double precision than `maxExactNumbers`, has a top-level field twice, or one that decides the cost in another case
 */
export function parseJsonBody(bytes: Uint8Array): JsonBody {
  return outlinedBody(bytes) ?? parsedBody(bytes);
}

/** Parses a body at once, and names what is wrong with it. */
function parsedBody(bytes: Uint8Array): JsonBody {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    throw new GatewayError("invalid_json", "The request body is not valid UTF-8");
  }
  if (!startsAsObject(text)) throw notAnObject();
  // First, so that everything that costs the parser time and memory is bounded before it runs.
  const reader = new FieldReader(bytes, text);
  const fields = reader.read();
  const value = parsedObject(text);
  if (reader.problem !== undefined) throw reader.problem;
  const exact = reader.sawLongNumber ? exactObject(value, text) : value;
  return {
    bytes,
    value: exact,
    outline: exact,
    fields,
    // The engine searches for the first character, and a digit is rarer than a letter, so this test ends most
    // searches quickly.
    mentionsBase64: text.includes("64") && text.includes("base64"),
    mayHold: bytes.length < leastOutlinedBytes ? searchIn(text) : (part) => holdsAscii(bytes, part),
  };
}

/** A search in the text of a small body, which it keeps: that of a large one would double what the call holds. */
function searchIn(text: string): JsonBody["mayHold"] {
  return (part) => text.includes(part);
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

/** Finds the top-level fields of a text that begins as an object, and counts its values, names and depth. */
class FieldReader {
  readonly #scanner: JsonScanner;
  readonly #text: string;
  readonly #count = new JsonCount();
  readonly #fields = new Map<string, Span>();
  /** The error for a forbidden field. Thrown only if the text turns out to be JSON. */
  problem: GatewayError | undefined;
  /** Whether a number was found that may be outside double precision. */
  sawLongNumber = false;

  constructor(bytes: Uint8Array, text: string) {
    this.#scanner = JsonScanner.ofBytes(bytes, text);
    this.#text = text;
    // Before the object there can only be white space or a byte order mark.
    this.#scanner.end = bytes.indexOf(0x7b);
  }

  /**
   * Reads all fields. It stops at a fault, where a parser stops too, and has counted everything before it.
   *
   * @throws {GatewayError} `invalid_json` when a bound is exceeded
   */
  read(): ReadonlyMap<string, Span> {
    const scanner = this.#scanner;
    scanner.next();
    let found = scanner.next();
    while (found === token.string) {
      const name = nameOf(scanner.textOf(scanner.start, scanner.end));
      if (scanner.next() !== token.colon) break;
      const span = this.#value();
      if (span === undefined) break;
      this.#count.addField();
      this.#count.addValue();
      this.problem ??= fieldProblem(name, this.#fields);
      this.#fields.set(name, span);
      found = scanner.next();
      if (found === token.comma) found = scanner.next();
    }
    this.#count.checkNames(this.#text);
    return this.#fields;
  }

  /** Skips a value; returns `undefined` if the text ends within it. */
  #value(): Span | undefined {
    const scanner = this.#scanner;
    const count = this.#count;
    let depth = 0;
    let start: number | undefined;
    for (;;) {
      const found = scanner.next();
      start ??= scanner.start;
      if (found === token.open) {
        count.checkDepth(++depth);
        count.addValue();
        continue;
      }
      if (found === token.end) return undefined;
      if (found === token.close) depth--;
      else if (found === token.comma) count.addValue();
      else if (found === token.colon) count.addField();
      else if (found === token.word) this.sawLongNumber ||= mayChange(scanner);
      if (depth <= 0) return { start, end: scanner.end };
    }
  }
}

/** Names that case folding does not change: nearly all. */
const plainName = /^[a-z0-9_]*$/;

/** Folds case as such providers do: some letters have a third form (`ſ` folds to `s`, U+212A to `k`). */
function foldCase(name: string): string {
  return plainName.test(name) ? name : name.toUpperCase().toLowerCase();
}

const decisive: ReadonlyMap<string, string> = new Map([
  "model",
  "stream",
  "stream_options",
  "n",
  "best_of",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "partial_images",
  "background",
  "previous_response_id",
  "conversation",
  "prompt",
  "thread",
  "generationConfig",
  "generation_config",
  "cachedContent",
  "cached_content",
  "serviceTier",
  ...billableFieldNames,
].map((name) => [foldCase(name), name]));

/** Fields that have rules of their own inside the merged object too. */
const judgedInside: ReadonlySet<string> = new Set(judgedFieldNames);

function misnamed(name: string, known: string): string {
  return `The field ${JSON.stringify(name)} is named ${known}`;
}

/**
 * Refuses a top-level field whose name differs only in case from one that decides the cost. Some providers ignore
 * case and take the last field: a `Model` after our `model` would select another model at the price of this one.
 */
export function otherCaseProblem(name: string): GatewayError | undefined {
  const known = decisive.get(foldCase(name));
  if (known === undefined || known === name) return undefined;
  return new GatewayError("invalid_json", misnamed(name, known), { param: name });
}

/**
 * Refuses such names for parts of a form, where some servers also ignore blanks around the name, and read `n[]` or
 * `n[0]` as `n`. Fields that do not decide the cost keep their brackets (`image[]`).
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseOtherSpelling(name: string): void {
  const known = decisive.get(foldCase(name.replace(/\[.*$/s, "").trim()));
  if (known === undefined || known === name) return;
  throw new GatewayError("invalid_request", misnamed(name, known), { param: known });
}

/**
 * Refuses fields that decide the cost inside `extra_body`, which some servers merge into the request: reservation and
 * charge follow the top-level fields. Billable features inside it are checked for each route, as everywhere.
 *
 * @example
 * ```ts
 * import { refuseMergedFields } from "./json_body.ts";
 * refuseMergedFields({ model: "m", extra_body: { top_k: 4 } });
 * let refused = false;
 * try {
 *   refuseMergedFields({ model: "m", extra_body: { n: 9 } });
 * } catch {
 *   refused = true;
 * }
 * if (!refused) throw new Error("nine answers for one");
 * ```
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseMergedFields(body: OutlineObject): void {
  const merged = body[mergedField];
  if (!isJsonObject(merged)) return;
  for (const name in merged) {
    const known = decisive.get(foldCase(name));
    if (known === undefined || (known === name && judgedInside.has(name))) continue;
    const param = `${mergedField}.${known}`;
    const problem = known === name
      ? `${param}: belongs beside ${mergedField}, since it decides what the call costs`
      : misnamed(`${mergedField}.${name}`, known);
    throw new GatewayError("invalid_request", problem, { param });
  }
}

/**
 * Bytes of the largest body that is copied to change a field in it: copying that much costs less than one more write.
 */
const maxCopiedBodyBytes = 32 * 1024;

const encoder = new TextEncoder();

/** A text that replaces a range of bytes. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: Uint8Array;
}

function editsOf(body: JsonBody, changes: JsonObject): Edit[] {
  const edits: Edit[] = [];
  let added = "";
  let isEmpty = body.fields.size === 0;
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const span = body.fields.get(name);
    const text = stringifyExactly(value);
    if (span !== undefined) edits.push({ ...span, text: encoder.encode(text) });
    else {
      added += `${isEmpty ? "" : ","}${stringifyExactly(name)}:${text}`;
      isEmpty = false;
    }
  }
  if (added !== "") {
    const closing = body.bytes.lastIndexOf(0x7d);
    edits.push({ start: closing, end: closing, text: encoder.encode(added) });
  }
  return edits.sort((a, b) => a.start - b.start);
}

/**
 * Replaces or adds some top-level fields and leaves others out; the values of the rest stay as they were.
 *
 * @example
 * ```ts
 * import { joined } from "../../lib/bytes/byte_parts.ts";
 * import { parseJsonBody } from "./json_body.ts";
 * import { withoutFields } from "./json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const text = new TextDecoder().decode(joined(withoutFields(body, ["model"], { version: "1" })));
 * if (text !== '{"x":1.0,"version":"1"}') throw new Error(text);
 * ```
 */
export function withoutFields(
  body: JsonBody,
  removed: readonly string[],
  changes: JsonObject,
): ByteParts {
  const members: Member[] = [];
  for (const [name, { start, end }] of body.fields) {
    if (removed.includes(name) || changes[name] !== undefined) continue;
    members.push([name, body.bytes.subarray(start, end)]);
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined && !removed.includes(name)) {
      members.push([name, encoder.encode(stringifyExactly(value))]);
    }
  }
  const pieces = writtenMembers(members);
  return body.bytes.length <= maxCopiedBodyBytes
    ? joined(pieces)
    : withFewPieces(pieces, singleWriteBytes);
}

/** A field with the bytes of its value. */
type Member = readonly [name: string, value: Uint8Array];

function writtenMembers(members: readonly Member[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (const [name, value] of members) {
    const comma = pieces.length === 0 ? "{" : ",";
    pieces.push(encoder.encode(`${comma}${stringifyExactly(name)}:`), value);
  }
  pieces.push(encoder.encode(pieces.length === 0 ? "{}" : "}"));
  return pieces;
}

/**
 * Leaves one top-level field out and gives another a value that is bytes of JSON; the values of the rest stay as they
 * were.
 *
 * @example
 * ```ts
 * import { parseJsonBody, withFieldBytes } from "./json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "input" : "Hi" }'));
 * const value = new TextEncoder().encode("[1.0]");
 * const text = new TextDecoder().decode(withFieldBytes(body, "model", { name: "input", value }));
 * if (text !== '{"input":[1.0]}') throw new Error(text);
 * ```
 */
export function withFieldBytes(
  { bytes, fields }: JsonBody,
  removed: string,
  changed: { readonly name: string; readonly value: Uint8Array },
): Uint8Array {
  const members: Member[] = [];
  for (const [name, { start, end }] of fields) {
    if (name !== removed && name !== changed.name) {
      members.push([name, bytes.subarray(start, end)]);
    }
  }
  members.push([changed.name, changed.value]);
  return joined(writtenMembers(members));
}

/**
 * Replaces or adds some top-level fields; every other byte stays as it was. A large body is not copied, so the result
 * comes in pieces.
 *
 * @example
 * ```ts
 * import { joined } from "../../lib/bytes/byte_parts.ts";
 * import { parseJsonBody } from "./json_body.ts";
 * import { withFields } from "./json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const changed = withFields(body, { model: "b", stream: true });
 * const text = new TextDecoder().decode(joined(changed));
 * if (text !== '{ "model": "b", "x" : 1.0 ,"stream":true}') throw new Error(text);
 * ```
 */
export function withFields(body: JsonBody, changes: JsonObject): ByteParts {
  const { bytes } = body;
  const edits = editsOf(body, changes);
  if (edits.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let readAt = 0;
  for (const { start, end, text } of edits) {
    pieces.push(bytes.subarray(readAt, start), text);
    readAt = end;
  }
  pieces.push(bytes.subarray(readAt));
  return bytes.length <= maxCopiedBodyBytes
    ? joined(pieces)
    : withFewPieces(pieces, singleWriteBytes);
}
