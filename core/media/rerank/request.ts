/**
 * Reads `POST /v1/rerank`. Fields that are not checked here are forwarded unchanged. See docs/endpoints.md#rerank.
 *
 * - Folder `core/media/rerank/`: calls that rank documents by a query: requests, answers, charges.
 * - In: a JSON body, and one route.
 * - Out: a checked request with the count of its input, the answer, and what it costs.
 * - Never: believes more searches or tokens than the documents can be.
 */
import { refuseMergedFields } from "../../calls/body/decisive_fields.ts";
import { parseJsonBody } from "../../calls/body/json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { textBytes } from "../../wire/stream/reading.ts";
import { fieldsOfJson, modelField, textField, wholeNumberField } from "../../calls/body/fields.ts";
import type { CountedInput } from "../base/input_charge.ts";
import type { JsonRequest } from "../base/json_call.ts";

/** Documents of one call: the largest bound of any provider. */
export const maxDocuments = 10_000;

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
  readonly mostSearches: number;
}

function refuse(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
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
  const model = modelField(fields);
  const query = textField(fields, "query");
  if (query === undefined || query === "") refuse("query", "is required");
  const { documents } = body.value;
  if (!Array.isArray(documents) || documents.length === 0) {
    refuse("documents", "must be a list with at least one document");
  }
  if (documents.length > maxDocuments) {
    refuse("documents", `at most ${maxDocuments} documents, ${documents.length} were sent`);
  }
  if (wholeNumberField(fields, "top_n") === "invalid") {
    refuse("top_n", "must be a whole number of 1 or more");
  }
  let documentBytes = 0;
  let chunks = 0;
  for (const [index, document] of documents.entries()) {
    if (!isTextual(document)) {
      refuse(`documents.${index}`, "must be a string, or an object with text");
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
    input: { inputs: count, textBytes: textBytes(query) * count + documentBytes, tokens: 0 },
    searches: searchesOf(count),
    mostSearches: searchesOf(chunks),
  };
}
