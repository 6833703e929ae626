/**
 * Reads `POST /v1/embeddings`. Fields that are not checked here are forwarded unchanged. See docs/endpoints.md#embeddings.
 *
 * - Folder `core/media/embeddings/`: embedding calls: requests, and how they are called.
 * - In: a JSON body.
 * - Out: a checked request with the count of its input, and its work on a route.
 * - Never: parses a vector.
 */
import { refuseMergedFields } from "../../calls/body/decisive_fields.ts";
import { parseJsonBody } from "../../calls/body/json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { readCount, textBytes } from "../../wire/stream/reading.ts";
import { fieldsOfJson, modelField, wholeNumberField } from "../../calls/body/fields.ts";
import type { CountedInput } from "../base/input_charge.ts";
import { type JsonAnswer, type JsonRequest, jsonWork, type ListAnswer } from "../base/json_call.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import type { MediaWork } from "../base/exchange.ts";

/** Inputs of one call: the largest bound of any provider. */
export const maxEmbeddingInputs = 2_048;

/** An embedding request that was read and checked. */
export interface EmbeddingRequest extends JsonRequest {
  readonly input: CountedInput;
}

function refuse(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

const isToken = (value: Json | undefined): boolean =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

/** Counts one input; `undefined` if it is neither a text nor a list of tokens. */
function countOne(value: Json | undefined): CountedInput | undefined {
  if (typeof value === "string") return { inputs: 1, textBytes: textBytes(value), tokens: 0 };
  if (!Array.isArray(value) || value.length === 0 || !value.every(isToken)) return undefined;
  return { inputs: 1, textBytes: 0, tokens: value.length };
}

function countInput(input: Json | undefined): CountedInput {
  if (input === undefined || input === null) refuse("input", "is required");
  if (input === "") refuse("input", "must not be empty");
  const single = countOne(input);
  if (single !== undefined) return single;
  if (!Array.isArray(input)) {
    refuse(
      "input",
      "must be a string, a list of strings, a list of tokens, or a list of such lists",
    );
  }
  if (input.length === 0) refuse("input", "must not be empty");
  if (input.length > maxEmbeddingInputs) {
    refuse("input", `at most ${maxEmbeddingInputs} inputs, ${input.length} were sent`);
  }
  let sum: CountedInput = { inputs: 0, textBytes: 0, tokens: 0 };
  for (const [index, value] of input.entries()) {
    const one = countOne(value);
    if (one === undefined) {
      refuse(`input.${index}`, "must be a string or a list of tokens (whole numbers of 0 or more)");
    }
    sum = {
      inputs: sum.inputs + 1,
      textBytes: sum.textBytes + one.textBytes,
      tokens: sum.tokens + one.tokens,
    };
  }
  return sum;
}

/**
 * Reads an embedding request.
 *
 * @example
 * ```ts
 * import { readEmbeddingRequest } from "./request.ts";
 * const body = new TextEncoder().encode('{"model":"e","input":["Xin chào",[1,2,3]]}');
 * const { input } = readEmbeddingRequest(body);
 * if (input.inputs !== 2 || input.textBytes !== 9 || input.tokens !== 3) throw new Error("miscounted");
 * ```
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readEmbeddingRequest(bytes: Uint8Array): EmbeddingRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const fields = fieldsOfJson(body.value);
  const model = modelField(fields);
  if (wholeNumberField(fields, "dimensions") === "invalid") {
    refuse("dimensions", "must be a whole number of 1 or more");
  }
  return { model, body, input: countInput(body.value["input"]) };
}

// Embedding calls on a route, and the tokens that a provider reports for them.

/** Bytes of a whole answer: 2,048 vectors of 1,536 numbers of some 20 characters. */
const maxEmbeddingAnswerBytes = 64 * 1024 * 1024;

const vectors = [jsonKey("data")];

/** Describes an embedding call for its routes. An answer with another number of vectors is none. */
export function embeddingWork(request: EmbeddingRequest): MediaWork<JsonAnswer> {
  return jsonWork({
    request,
    style: "embeddings",
    list: vectors,
    maxAnswerBytes: maxEmbeddingAnswerBytes,
    accepts: (items) => items === request.input.inputs,
  });
}

/**
 * Reads the tokens that an answer reports; `undefined` if there are none, `NaN` for nonsense. Some providers report only
 * a total, which is the same where nothing is written.
 */
export function reportedInputTokens({ usage }: ListAnswer): number | undefined {
  if (!isJsonObject(usage)) return undefined;
  return readCount(usage["prompt_tokens"]) ?? readCount(usage["input_tokens"]) ??
    readCount(usage["total_tokens"]);
}
