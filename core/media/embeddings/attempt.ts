/** Embedding calls on a route, and the tokens that a provider reports for them. */
import { isJsonObject } from "../../lib/json/json.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import { readCount } from "../../wire/stream/reading.ts";
import type { MediaWork } from "../base/exchange.ts";
import { type JsonAnswer, jsonWork } from "../base/json_call.ts";
import type { ListAnswer } from "../base/list_answer.ts";
import type { EmbeddingRequest } from "./request.ts";

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
