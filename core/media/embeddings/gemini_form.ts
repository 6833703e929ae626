/**
 * Embeddings in the form of Gemini: `embedContent` and `batchEmbedContents` become a request of `/v1/embeddings`, and its
 * answer becomes theirs. Models of embeddings have one form at providers.
 *
 * Source: https://ai.google.dev/api/embeddings
 */
import { parseJsonBody } from "../../calls/body/json_body.ts";
import { refuseField } from "../../calls/body/fields.ts";
import { type ByteParts, joined } from "../../lib/bytes/byte_parts.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import {
  type DescribedMember,
  listOf,
  objectSchema,
  text,
  writtenSchema,
} from "../../lib/json/schemas.ts";
import { JsonCursor, jsonKey } from "../../lib/json/json_cursor.ts";
import { decodeBase64 } from "../../lib/runtime/built_ins.ts";
import { type MediaWork, readNoResult } from "../base/exchange.ts";
import type { JsonAnswer } from "../base/json_call.ts";
import { type EmbeddingRequest, embeddingWork, readEmbeddingRequest } from "./request.ts";

/** Requests of one batch, as at the vendor. */
const maxBatchRequests = 100;

/** The operations, as they end a path. */
export type GeminiEmbeddingOperation = "embedContent" | "batchEmbedContents";

/** A request in the form of `/v1/embeddings`. */
export interface GeminiEmbeddingRequest extends EmbeddingRequest {
  /** Members that other providers do not have, such as `taskType`. */
  readonly dropped: readonly string[];
}

/** One text of a request, and the size of vector that is asked for. */
interface AskedVector {
  readonly text: string;
  readonly dimensions: number | undefined;
}

/** Members of a request that have a counterpart, in both spellings that the vendor takes. */
const known = new Set(["model", "content", "outputDimensionality", "output_dimensionality"]);

const utf8 = new TextEncoder();

const contentSchema: JsonObject = {
  type: "object",
  description: "The text, in one part or several.",
  required: ["parts"],
  properties: {
    parts: listOf(writtenSchema("A part.", { text }, ["text"])),
  },
};

/** The fields of `embedContent` that the document names. */
export const geminiEmbeddingFields: readonly DescribedMember[] = [
  { name: "content", isRequired: true, schema: contentSchema },
  {
    name: "outputDimensionality",
    schema: { type: "integer", minimum: 1, description: "Numbers of a vector." },
  },
];

/** The fields of `batchEmbedContents` that the document names. */
export const geminiEmbeddingBatchFields: readonly DescribedMember[] = [{
  name: "requests",
  isRequired: true,
  schema: {
    type: "array",
    maxItems: maxBatchRequests,
    items: objectSchema("A request.", geminiEmbeddingFields),
  },
}];

const vectorSchema = writtenSchema("A vector.", { values: listOf({ type: "number" }) }, ["values"]);

/** The schemas of answers. */
export const geminiEmbeddingAnswers = {
  embedContent: writtenSchema("The vector.", { embedding: vectorSchema }, ["embedding"]),
  batchEmbedContents: writtenSchema(
    "A vector for each request, in their order.",
    { embeddings: listOf(vectorSchema) },
    ["embeddings"],
  ),
} as const satisfies Readonly<Record<GeminiEmbeddingOperation, JsonObject>>;

function textOf(content: Json | undefined, at: string): string {
  if (content === undefined || content === null) refuseField(at, "is required");
  if (!isJsonObject(content)) refuseField(at, "must be an object with parts");
  const { parts } = content;
  if (!Array.isArray(parts) || parts.length === 0) {
    refuseField(`${at}.parts`, "must be a list of parts with text");
  }
  const texts = parts.map((part, index) => {
    const isText = isJsonObject(part) && typeof part.text === "string" &&
      Object.keys(part).length === 1;
    if (!isText) refuseField(`${at}.parts.${index}`, "must have a text and nothing else");
    return part.text;
  });
  const whole = texts.join("");
  if (whole === "") refuseField(`${at}.parts`, "must have a text that is not empty");
  return whole;
}

function dimensionsOf(request: JsonObject, prefix: string): number | undefined {
  const names = ["outputDimensionality", "output_dimensionality"] as const;
  const name = names.find((one) => request[one] !== undefined && request[one] !== null);
  const value = name === undefined ? undefined : request[name];
  if (name === undefined || (Number.isSafeInteger(value) && Number(value) > 0)) {
    return value === undefined ? undefined : Number(value);
  }
  return refuseField(`${prefix}${name}`, "must be a whole number of 1 or more");
}

/** Refuses another model than that of the path: one call has one model and one price. */
function checkModel(request: JsonObject, model: string, prefix: string): void {
  const { model: named } = request;
  if (named === undefined || named === null) return;
  if (typeof named === "string" && named.replace(/^models\//, "") === model) return;
  refuseField(`${prefix}model`, `must be models/${model}, as the path says`);
}

function readOne(request: JsonObject, model: string, prefix: string): AskedVector {
  checkModel(request, model, prefix);
  return {
    text: textOf(request["content"], `${prefix}content`),
    dimensions: dimensionsOf(request, prefix),
  };
}

/** The requests of a body, with the place of each for errors. */
function requestsIn(
  body: JsonObject,
  operation: GeminiEmbeddingOperation,
): readonly { readonly request: JsonObject; readonly prefix: string }[] {
  if (operation === "embedContent") return [{ request: body, prefix: "" }];
  const { requests } = body;
  if (!Array.isArray(requests) || requests.length === 0) {
    return refuseField("requests", "must be a list of requests");
  }
  if (requests.length > maxBatchRequests) {
    refuseField("requests", `at most ${maxBatchRequests}, ${requests.length} were sent`);
  }
  return requests.map((request, index) => {
    if (!isJsonObject(request)) refuseField(`requests.${index}`, "must be an object");
    return { request, prefix: `requests.${index}.` };
  });
}

/**
 * Reads a request in the form of Gemini as one of `/v1/embeddings`.
 *
 * @param model the name in the path
 * @example
 * ```ts
 * import { readGeminiEmbeddings } from "./gemini_form.ts";
 * const sent = '{"content":{"parts":[{"text":"Xin chào"}]},"taskType":"RETRIEVAL_QUERY"}';
 * const read = readGeminiEmbeddings(new TextEncoder().encode(sent), "embedContent", "e");
 * if (JSON.stringify(read.body.value["input"]) !== '["Xin chào"]') throw new Error("lost");
 * if (read.dropped.join() !== "taskType") throw new Error("not named");
 * ```
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readGeminiEmbeddings(
  bytes: Uint8Array,
  operation: GeminiEmbeddingOperation,
  model: string,
): GeminiEmbeddingRequest {
  const sent = parseJsonBody(bytes).value;
  const requests = requestsIn(sent, operation);
  const asked = requests.map(({ request, prefix }) => readOne(request, model, prefix));
  const [dimensions, ...others] = new Set(asked.map((one) => one.dimensions));
  if (others.length > 0) {
    refuseField(
      "requests",
      "must ask for one outputDimensionality: a call has vectors of one size",
    );
  }
  const members = requests.flatMap(({ request }) => Object.keys(request));
  const own = operation === "embedContent"
    ? []
    : Object.keys(sent).filter((name) => name !== "requests" && name !== "model");
  const body = {
    model,
    input: asked.map(({ text }) => text),
    encoding_format: "float",
    ...(dimensions === undefined ? {} : { dimensions }),
  };
  return {
    ...readEmbeddingRequest(utf8.encode(JSON.stringify(body))),
    dropped: [...new Set([...own, ...members.filter((name) => !known.has(name))])],
  };
}

const dataKey = jsonKey("data");
const vectorKey = jsonKey("embedding");
const placeKey = jsonKey("index");

/** Bytes of a number of a vector in base64. */
const floatBytes = 4;

/** Writes a vector in base64, which some providers send whatever was asked for, as a list of numbers; else nothing. */
function numbersOf(base64: string): Uint8Array {
  const bytes = decodeBase64(base64) ?? new Uint8Array(0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const numbers = Array.from(
    { length: Math.floor(bytes.length / floatBytes) },
    (_, at) => view.getFloat32(at * floatBytes, true),
  );
  const isVector = numbers.length > 0 && numbers.every(Number.isFinite);
  return isVector ? utf8.encode(JSON.stringify(numbers)) : new Uint8Array(0);
}

/** Finds the vectors of an answer in the order of the texts, as the bytes of lists of numbers. */
function vectorsIn(bytes: Uint8Array): readonly Uint8Array[] {
  const cursor = new JsonCursor();
  cursor.reset(bytes, 0, bytes.length);
  const vectors: { readonly place: number; readonly numbers: Uint8Array }[] = [];
  cursor.enterObject();
  while (cursor.nextMember()) {
    if (!cursor.keyIs(dataKey) || !cursor.enterArray()) {
      cursor.skip();
      continue;
    }
    while (cursor.nextElement()) {
      let place = vectors.length;
      let numbers: Uint8Array = new Uint8Array(0);
      cursor.enterObject();
      while (cursor.nextMember()) {
        if (cursor.keyIs(placeKey) && cursor.isNumber) place = cursor.takeWholeNumber() ?? place;
        else if (cursor.keyIs(vectorKey) && cursor.isString) {
          numbers = numbersOf(String(cursor.takeValue()));
        } else if (cursor.keyIs(vectorKey)) {
          const start = cursor.at;
          cursor.skip();
          numbers = bytes.subarray(start, cursor.at);
        } else cursor.skip();
      }
      vectors.push({ place, numbers });
    }
  }
  return vectors.sort((one, other) => one.place - other.place).map(({ numbers }) => numbers);
}

/** The work of such a call: that of `/v1/embeddings`, and an answer in the form of Gemini. */
export function geminiEmbeddingWork(
  request: GeminiEmbeddingRequest,
  operation: GeminiEmbeddingOperation,
): MediaWork<JsonAnswer> {
  const work = embeddingWork(request);
  return {
    ...work,
    async receive(asked) {
      const answer = await work.receive(asked);
      const bytes = geminiEmbeddingAnswer(answer.bytes, operation);
      if (bytes === undefined) throw readNoResult(joined(answer.bytes), "no numbers in base64");
      return { ...answer, bytes };
    },
  };
}

/**
 * Writes an answer of `/v1/embeddings`, which was read as one, in the form of Gemini. Numbers stay as they were written.
 * `undefined`: a vector in base64 is none.
 *
 * @example
 * ```ts
 * import { geminiEmbeddingAnswer } from "./gemini_form.ts";
 * const answer = new TextEncoder().encode('{"data":[{"embedding":[0.10]}]}');
 * const written = new TextDecoder().decode(geminiEmbeddingAnswer(answer, "embedContent"));
 * if (written !== '{"embedding":{"values":[0.10]}}') throw new Error(written);
 * ```
 */
export function geminiEmbeddingAnswer(
  answer: ByteParts,
  operation: GeminiEmbeddingOperation,
): Uint8Array | undefined {
  const vectors = vectorsIn(joined(answer));
  if (vectors.some(({ length }) => length === 0)) return undefined;
  const values = vectors.flatMap((numbers, index) => [
    utf8.encode(`${index === 0 ? "" : ","}{"values":`),
    numbers,
    utf8.encode("}"),
  ]);
  const [before, after] = operation === "embedContent"
    ? ['{"embedding":', "}"]
    : ['{"embeddings":[', "]}"];
  return joined([utf8.encode(before), ...values, utf8.encode(after)]);
}
