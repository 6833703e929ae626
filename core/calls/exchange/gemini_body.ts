/**
 * Joins a Gemini request: the model and the form of the answer are in its path, all else in its body, whose field names
 * may be in camel case or in snake case.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { decodeUtf8 } from "../../lib/bytes/byte_parts.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { withReferenceNames } from "../../wire/mod.ts";
import { type JsonBody, withValue } from "../body/json_body.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";

// Turns a stream of events into one JSON array, the form in which Gemini clients get a stream unless they ask for events.

const encoder = new TextEncoder();

/**
 * A pipe whose output is a JSON array of what the events of another pipe hold. That pipe writes whole frames with one
 * line of data each, as the Gemini style has them.
 */
export class ArrayStream implements StreamPipe {
  readonly #pipe: StreamPipe;
  readonly #decoder = new TextDecoder();
  #isBegun = false;

  constructor(pipe: StreamPipe) {
    this.#pipe = pipe;
  }

  get reading(): StreamReading {
    return this.#pipe.reading;
  }

  push(bytes: Uint8Array): Uint8Array {
    return encoder.encode(this.#elements(this.#pipe.push(bytes)));
  }

  end(): Uint8Array {
    return this.#closed(this.#pipe.end());
  }

  fail(error: GatewayError): Uint8Array {
    return this.#closed(this.#pipe.fail(error));
  }

  stopForLength(usage: TokenUsage): Uint8Array | undefined {
    const tail = this.#pipe.stopForLength(usage);
    return tail && this.#closed(tail);
  }

  #closed(bytes: Uint8Array): Uint8Array {
    const elements = this.#elements(bytes);
    return encoder.encode(`${elements}${this.#isBegun ? "" : "["}]`);
  }

  #elements(bytes: Uint8Array): string {
    let out = "";
    for (const line of this.#decoder.decode(bytes, { stream: true }).split(/\r\n|\n|\r/)) {
      // An error is written without the name of the field.
      const json = line.startsWith("data:")
        ? line.slice(5).trim()
        : line.startsWith("{")
        ? line
        : "";
      if (json === "") continue;
      out += this.#isBegun ? `,\r\n${json}` : `[${json}`;
      this.#isBegun = true;
    }
    return out;
  }
}

/** Facts of a Gemini request in its path and its query. */
export interface GeminiPath {
  readonly model: string;
  readonly stream: boolean;
  /** The stream is wanted as one JSON array, not as events. */
  readonly inArray: boolean;
}

/** Members of the path that a body may not have as well. */
const wrongBesidePath: readonly (readonly [string, (value: Json | undefined) => boolean])[] = [
  ["model", (value) => value !== undefined && value !== null && typeof value !== "string"],
  ["stream", (value) => value !== undefined],
];

/**
 * Adds the members of the path to the value of a body; its bytes stay as they are, for a provider of the same style.
 *
 * Libraries that build requests from the vendor's own schema write the model into the body too; the one in the path
 * counts, as at the vendor.
 *
 * @throws {GatewayError} `invalid_request` for a field that belongs in the path, or is there in both forms of its name
 *
 * @example
 * ```ts
 * import { geminiBody } from "./gemini_body.ts";
 * import { parseJsonBody } from "../body/json_body.ts";
 * const sent = parseJsonBody(new TextEncoder().encode('{"contents":[],"generation_config":{"top_k":4}}'));
 * const { value } = geminiBody(sent, { model: "m", stream: true, inArray: false });
 * if (JSON.stringify(value) !== '{"contents":[],"generationConfig":{"topK":4},"model":"m","stream":true}') {
 *   throw new Error(JSON.stringify(value));
 * }
 * ```
 */
export function geminiBody(sent: JsonBody, { model, stream }: GeminiPath): JsonBody {
  for (const [param, isWrong] of wrongBesidePath) {
    if (!isWrong(sent.value[param])) continue;
    throw new GatewayError("invalid_request", `${param}: belongs in the path`, { param });
  }
  const value = withReferenceNames(sent.value);
  return {
    ...withValue(sent, { ...value, model, ...(stream ? { stream } : {}) }),
    mentionsBase64: holdsFile(value["contents"]),
  };
}

function holdsFile(contents: Json | undefined): boolean {
  if (Array.isArray(contents)) return contents.some(holdsFile);
  if (!isJsonObject(contents)) return false;
  const { inlineData, parts, functionResponse: result } = contents;
  return inlineData !== undefined || holdsFile(parts) ||
    (isJsonObject(result) && holdsFile(result["parts"]));
}

/** Fields whose members decide what a call costs, in both forms of their names. */
const decisive = ["generationConfig", "generation_config", "tools"] as const;

/**
 * Returns the fields that decide the cost and whose bytes differ from what was read, for the native body to carry what
 * was read. The provider could read a repeated member in another way than the gateway.
 */
export function decisiveFields({ bytes, fields }: JsonBody): JsonObject {
  const changes: JsonObject = {};
  for (const name of decisive) {
    const span = fields.get(name);
    if (span === undefined) continue;
    const text = decodeUtf8(bytes.subarray(span.start, span.end));
    const read = parseExactly(text);
    if (text !== stringifyExactly(read)) changes[name] = read;
  }
  return changes;
}
