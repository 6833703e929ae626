/**
 * Reads `POST /v1/embeddings`. Fields that are not checked here are forwarded unchanged. See docs/endpoints.md#embeddings.
 *
 * - Folder `core/media/embeddings/`: embedding calls: requests, and how they are called.
 * - In: a JSON body.
 * - Out: a checked request with the count of its input, and its work on a route.
 * - Never: builds the numbers of a vector.
 */
import { type DescribedMember, listOf, text, writtenSchema } from "../../lib/json/schemas.ts";
import { parseJsonBody, refuseMergedFields } from "../../calls/body/json_body.ts";
import { decodeBase64 } from "../../lib/runtime/built_ins.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { readCount } from "../../wire/stream/reading.ts";
import { fieldsOfJson, jsonField, refuseField } from "../../calls/body/fields.ts";
import {
  listSchema,
  modelName,
  type RequestField,
  tokensSchema,
  wholeNumber,
} from "../../calls/body/request_field.ts";
import { addCounts, type CountedInput, countOne } from "../base/input_charge.ts";
import {
  type JsonAnswer,
  type JsonRequest,
  jsonWork,
  type ListAnswer,
  readPlaces,
  reportedUsageSchema,
  type ResultShape,
} from "../base/json_call.ts";
import { type JsonCursor, jsonKey } from "../../lib/json/json_cursor.ts";
import type { MediaWork } from "../base/exchange.ts";

/** Inputs of one call: the largest bound of any provider. */
const maxEmbeddingInputs = 2_048;

/** An embedding request that was read and checked. */
export interface EmbeddingRequest extends JsonRequest {
  readonly input: CountedInput;
}

function countInput(input: Json | undefined): CountedInput {
  if (input === undefined || input === null) refuseField("input", "is required");
  if (input === "") refuseField("input", "must not be empty");
  const single = countOne(input);
  if (single !== undefined) return single;
  if (!Array.isArray(input)) {
    refuseField(
      "input",
      "must be a string, a list of strings, a list of tokens, or a list of such lists",
    );
  }
  if (input.length === 0) refuseField("input", "must not be empty");
  if (input.length > maxEmbeddingInputs) {
    refuseField("input", `at most ${maxEmbeddingInputs} inputs, ${input.length} were sent`);
  }
  let sum: CountedInput = { inputs: 0, textBytes: 0, tokens: 0 };
  for (const [index, value] of input.entries()) {
    const one = countOne(value);
    if (one === undefined) {
      refuseField(
        `input.${index}`,
        "must be a string or a list of tokens (whole numbers of 0 or more)",
      );
    }
    sum = addCounts(sum, one);
  }
  return sum;
}

const input: RequestField<CountedInput> = {
  name: "input",
  isRequired: true,
  schema: {
    description: "A text, a list of texts, a list of tokens, or a list of such lists.",
    anyOf: [
      { type: "string", minLength: 1 },
      listSchema(
        { anyOf: [{ type: "string" }, tokensSchema] },
        maxEmbeddingInputs,
        "Several inputs.",
      ),
      tokensSchema,
    ],
  },
  read: (fields) => countInput(jsonField(fields, "input")),
};

const dimensions = wholeNumber("dimensions", { min: 1 });

/** The fields that the document names. */
export const embeddingFields: readonly DescribedMember[] = [
  modelName,
  input,
  dimensions,
  { name: "encoding_format", schema: { type: "string", description: "`float` or `base64`." } },
];

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
  const model = modelName.read(fields);
  dimensions.read(fields);
  return { model, body, input: input.read(fields) };
}

// Embedding calls on a route, and the tokens that a provider reports for them.

/** Bytes of a whole answer: 2,048 vectors of 1,536 numbers of some 20 characters. */
const maxEmbeddingAnswerBytes = 64 * 1024 * 1024;

const vectors = [jsonKey("data")];
const vectorKeys = [jsonKey("embedding")];
const placeKeys = [jsonKey("index")];

/** Characters of the shortest base64 text of a vector: one number of one byte, with its padding. */
const leastBase64Chars = 4;

/** Characters of base64 of the first three numbers of a vector. */
const firstNumbersChars = 16;

/** Whether the first three numbers of 32 bits are none: a server that failed writes nothing else. */
function areNoNumbers(base64: string): boolean {
  const bytes = base64.length < firstNumbersChars ? undefined : decodeBase64(base64);
  if (bytes === undefined) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return [0, 4, 8].every((at) => Number.isNaN(view.getFloat32(at, true)));
}

/** Reads a vector: numbers, or their base64 text. */
function readVector(cursor: JsonCursor): boolean {
  if (!cursor.isString) return cursor.skipNumbers();
  const beginning = cursor.takeBeginning(firstNumbersChars);
  return beginning.length >= leastBase64Chars && !areNoNumbers(beginning);
}

/** A vector for each input. An answer whose vectors cannot be told apart would be stored for the wrong texts. */
function vectorShape(inputs: number): ResultShape {
  return [
    { keys: vectorKeys, isRequired: true, read: readVector },
    { keys: placeKeys, isRequired: false, read: readPlaces(inputs) },
  ];
}

const vectorMembers = {
  object: text,
  index: { type: "integer" },
  embedding: { anyOf: [listOf({ type: "number" }), text] },
};

/** The schema of an answer, which is the provider's. */
export const embeddingAnswerSchema: JsonObject = writtenSchema("A vector for each input.", {
  object: text,
  model: text,
  data: listOf(writtenSchema("A vector.", vectorMembers, ["embedding"])),
  usage: reportedUsageSchema,
}, ["data"]);

/** Describes an embedding call for its routes. An answer with another number of vectors is none. */
export function embeddingWork(request: EmbeddingRequest): MediaWork<JsonAnswer> {
  return jsonWork({
    request,
    style: "embeddings",
    list: vectors,
    maxAnswerBytes: maxEmbeddingAnswerBytes,
    shape: () => vectorShape(request.input.inputs),
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
