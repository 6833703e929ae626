/**
 * Reads `POST /v1/rerank`. Fields that are not checked here are forwarded unchanged. See docs/endpoints.md#rerank.
 *
 * - Folder `core/media/rerank/`: calls that rank documents by a query: requests, answers, charges.
 * - In: a JSON body, and one route.
 * - Out: a checked request with the count of its input, the answer, and what it costs.
 * - Never: believes more searches or tokens than the documents can be.
 */
import { type DescribedMember, listOf, text, writtenSchema } from "../../lib/json/schemas.ts";
import { parseJsonBody, refuseMergedFields } from "../../calls/body/json_body.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { readCount, textBytes } from "../../wire/stream/reading.ts";
import { fieldsOfJson, jsonField, refuseField, textField } from "../../calls/body/fields.ts";
import {
  listSchema,
  modelName,
  type RequestField,
  wholeNumber,
} from "../../calls/body/request_field.ts";
import {
  chargeForInput,
  type CountedInput,
  type InputCharge,
  maxInputCost,
} from "../base/input_charge.ts";
import {
  type JsonAnswer,
  type JsonRequest,
  jsonWork,
  type ListAnswer,
  readPlaces,
  readWhere,
  reportedUsageSchema,
  type ResultShape,
} from "../base/json_call.ts";
import { costOfUnits } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import type { MediaWork } from "../base/exchange.ts";

/** Documents of one call: the largest bound of any provider. */
const maxDocuments = 10_000;

/** Documents of one search, as vendors count them. */
const documentsPerSearch = 100;

/**
 * Bytes of a document that count as one more document at most. Vendors divide documents of more than 500 tokens, those
 * of the query included, which has at most half of them.
 */
const chunkBytes = 250;

/** A request that was read and checked. */
export interface RerankRequest extends JsonRequest {
  readonly documents: number;
  /** Tokens as vendors count them: the query once for each document. */
  readonly input: CountedInput;
  /** Searches by the number of documents. */
  readonly searches: number;
  /** The most searches that a vendor can count. */
  readonly maxSearches: number;
}

/** Whether a document consists of what its bytes bound: text, and plain members beside it. */
function isTextual(document: Json | undefined): boolean {
  if (typeof document === "string") return true;
  if (!isJsonObject(document) || typeof document["text"] !== "string") return false;
  return Object.entries(document).every(([name, value]) =>
    !/image|url|file/i.test(name) && (typeof value !== "object" || value === null)
  );
}

/** Counts the bytes of a document, with those of its members beside the text. */
function bytesOf(document: Json | undefined): number {
  if (!isJsonObject(document)) return textBytes(document);
  return Object.entries(document).reduce(
    (sum, [name, value]) => sum + textBytes(name) + textBytes(String(value)),
    0,
  );
}

const query: RequestField<string> = {
  name: "query",
  isRequired: true,
  schema: { type: "string", minLength: 1 },
  read: (fields) => {
    const text = textField(fields, "query");
    if (text === undefined || text === "") refuseField("query", "is required");
    return text;
  },
};

const documentList: RequestField<readonly Json[]> = {
  name: "documents",
  isRequired: true,
  schema: listSchema(
    { anyOf: [text, { type: "object", required: ["text"], properties: { text } }] },
    maxDocuments,
    "Texts, or objects with a text.",
  ),
  read: (fields) => {
    const documents = jsonField(fields, "documents");
    if (!Array.isArray(documents) || documents.length === 0) {
      refuseField("documents", "must be a list with at least one document");
    }
    if (documents.length > maxDocuments) {
      refuseField("documents", `at most ${maxDocuments} documents, ${documents.length} were sent`);
    }
    return documents;
  },
};

const topN = wholeNumber("top_n", { min: 1 });

/** The fields that the document names. */
export const rerankFields: readonly DescribedMember[] = [
  modelName,
  query,
  documentList,
  topN,
];

const searchesOf = (documents: number) => Math.ceil(documents / documentsPerSearch);

/**
 * Reads a request.
 *
 * @example
 * ```ts
 * import { readRerankRequest } from "./request.ts";
 * const body = new TextEncoder().encode('{"model":"r","query":"cats","documents":["a cat",{"text":"a dog"}]}');
 * const { documents, input, searches } = readRerankRequest(body);
 * if (documents !== 2 || input.textBytes !== 22 || searches !== 1) throw new Error("miscounted");
 * ```
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readRerankRequest(bytes: Uint8Array): RerankRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const fields = fieldsOfJson(body.value);
  const model = modelName.read(fields);
  const queryBytes = textBytes(query.read(fields));
  const documents = documentList.read(fields);
  topN.read(fields);
  let documentBytes = 0;
  let chunks = 0;
  for (const [index, document] of documents.entries()) {
    if (!isTextual(document)) {
      refuseField(`documents.${index}`, "must be a string, or an object with text");
    }
    const length = bytesOf(document);
    documentBytes += length;
    chunks += Math.max(1, Math.ceil(length / chunkBytes));
  }
  const count = documents.length;
  return {
    model,
    body,
    documents: count,
    input: { inputs: count, textBytes: queryBytes * count + documentBytes, tokens: 0 },
    searches: searchesOf(count),
    maxSearches: searchesOf(chunks),
  };
}

// Calls that rank documents on a route, and what they cost.

/** Bytes of a whole answer, which may repeat the documents of the request. */
const maxRerankAnswerBytes = 32 * 1024 * 1024;

/** The list is named differently by vendors. */
const lists = [jsonKey("results"), jsonKey("data")];
const placeKeys = [jsonKey("index")];
const scoreKeys = [jsonKey("relevance_score"), jsonKey("score")];

const readScore = readWhere(({ isNumber }) => isNumber);

/** A place in the documents that were sent, and a number by which they are ordered. */
function rankShape(documents: number): ResultShape {
  return [
    { keys: placeKeys, isRequired: true, read: readPlaces(documents) },
    { keys: scoreKeys, isRequired: true, read: readScore },
  ];
}

const rankMembers = {
  index: { type: "integer" },
  relevance_score: { type: "number" },
  document: { description: "The document, where the request asks for it." },
};

/** The schema of an answer, which is the provider's. */
export const rerankAnswerSchema: JsonObject = writtenSchema("The documents, best first.", {
  id: text,
  model: text,
  results: listOf(writtenSchema("A document.", rankMembers, ["index", "relevance_score"])),
  meta: { type: "object" },
  usage: reportedUsageSchema,
}, ["results"]);

/** Describes a call for its routes. An answer that ranks nothing, or more than was sent, is none. */
export function rerankWork(request: RerankRequest): MediaWork<JsonAnswer> {
  return jsonWork({
    request,
    style: "rerank",
    list: lists,
    maxAnswerBytes: maxRerankAnswerBytes,
    shape: () => rankShape(request.documents),
    accepts: (items) => items > 0 && items <= request.documents,
  });
}

const membersOf = (value: Json | undefined) => isJsonObject(value) ? value : {};

/** Reads the tokens that an answer reports, in the places of several vendors; `undefined` if there are none. */
function reportedTokens({ usage, meta }: ListAnswer): number | undefined {
  const { total_tokens: total, prompt_tokens: prompt, input_tokens: input } = membersOf(usage);
  const { tokens, billed_units: billed } = membersOf(meta);
  return readCount(total) ?? readCount(prompt) ?? readCount(input) ??
    readCount(membersOf(tokens)["input_tokens"]) ?? readCount(membersOf(billed)["input_tokens"]);
}

/** Computes the most that a call can cost. */
export function maxRerankCost(price: AppliedPrice, request: RerankRequest): bigint {
  return price.unit === "search"
    ? costOfUnits(price, request.maxSearches)
    : maxInputCost(price, request.input);
}

/**
 * Prices an answered call: by tokens, by the call, or by searches as the provider counts them, if they are possible.
 * Searches beyond what the documents can be are a claim.
 */
export function chargeForRerank(
  price: AppliedPrice,
  request: RerankRequest,
  answer: ListAnswer,
): InputCharge {
  if (price.unit !== "search") return chargeForInput(price, request.input, reportedTokens(answer));
  const said = readCount(membersOf(membersOf(answer.meta)["billed_units"])["search_units"]);
  const isPossible = said !== undefined && said > 0 && said <= request.maxSearches;
  const units = isPossible ? said : request.searches;
  const priceMicroVnd = costOfUnits(price, units);
  const claimMicroVnd = said !== undefined && said > units ? costOfUnits(price, said - units) : 0n;
  return { units, priceMicroVnd, estimated: said !== undefined && !isPossible, claimMicroVnd };
}
