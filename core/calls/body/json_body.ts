/**
 * Parses a JSON request body into its value and the byte range of each top-level field.
 *
 * - Folder `core/calls/body/`: request bodies as JSON or as forms: reading, changing fields in place, idempotency
 *   keys.
 * - In: the bytes of a body, and its headers.
 * - Out: fields with their place in the bytes, changed bodies, references to pictures, refusals.
 * - Never: decodes and rewrites a whole body to change a field, or copies a file to read a form.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { decodeUtf8, holdsAscii } from "../../lib/bytes/byte_parts.ts";
import { mayChange, withExactNumbers } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { maxExactNumbers } from "../../lib/json/scan/limits.ts";
import { JsonCount } from "../../lib/errors/json_bounds.ts";
import { JsonScanner, token } from "../../lib/json/json_scanner.ts";
import { fieldProblem, type JsonBody, nameOf, outlinedBody, type Span } from "./outlined_body.ts";

export type { JsonBody, Span };

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
    mayHold: (part) => holdsAscii(bytes, part),
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
