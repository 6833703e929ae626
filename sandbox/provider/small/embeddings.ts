/** Answers `POST /embeddings` in the sandbox: texts with the same words get vectors that are close to each other. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { encodeBase64 } from "../../../core/lib/runtime/built_ins.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import { knownTriggers, requiredList, SandboxRefusal, tokenBound } from "../base/request.ts";
import { countTokens, reported } from "../base/tokens.ts";
import { jsonReply, type Reply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";

// Answers `POST /moderations` in the sandbox: it flags what names a category, such as violence.

const categories = ["harassment", "hate", "illicit", "self-harm", "sexual", "violence"] as const;

function moderatedText(input: Json): string {
  if (typeof input === "string") return input;
  const text = isJsonObject(input) ? input["text"] : undefined;
  return typeof text === "string" ? text : "";
}

function resultOf(text: string): JsonObject {
  const isFlagged = (category: string) => text.toLowerCase().includes(category);
  const each = (value: (category: string) => Json): JsonObject =>
    Object.fromEntries(categories.map((category) => [category, value(category)]));
  return {
    flagged: categories.some(isFlagged),
    categories: each(isFlagged),
    category_scores: each((category) => isFlagged(category) ? 0.98 : 0.001),
    category_applied_input_types: each(() => ["text"]),
  };
}

/** Answers a request for moderation. @throws {SandboxRefusal} */
export function answerModerations(body: JsonObject): Reply {
  const { model, input } = body;
  if (typeof model !== "string") throw new SandboxRefusal("model: is required");
  if (typeof input !== "string" && !Array.isArray(input)) {
    throw new SandboxRefusal("input: is required");
  }
  const inputs = Array.isArray(input) ? input : [input];
  const { triggers } = knownTriggers(inputs.map(moderatedText).join("\n"));
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  // Parts are one input together, texts one each.
  const isParts = inputs.some(isJsonObject);
  const texts = isParts ? [inputs.map(moderatedText).join("\n")] : inputs.map(moderatedText);
  const results = triggers.empty ? [] : texts.map(resultOf);
  return jsonReply(200, { id: `modr-${hashHex(JSON.stringify(body))}`, model, results }, triggers);
}

// Answers `POST /rerank` in the sandbox: documents that share more words with the query come first.

/** Documents that a vendor counts as one search. */
const documentsPerSearch = 100;

const distinctWords = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

function documentText(document: Json): string {
  const text = isJsonObject(document) ? document["text"] : document;
  if (typeof text !== "string") throw new SandboxRefusal("documents: must be texts");
  return text;
}

/** Returns the share of the query's words that a document has. */
function scoreOf(query: ReadonlySet<string>, document: string): number {
  const words = distinctWords(document);
  const shared = [...query].filter((word) => words.has(word)).length;
  return Math.round(shared / Math.max(1, query.size) * 1_000) / 1_000;
}

/** Answers a request for ranks. @throws {SandboxRefusal} */
export function answerRerank(body: JsonObject): Reply {
  const { model, query } = body;
  if (typeof model !== "string") throw new SandboxRefusal("model: is required");
  if (typeof query !== "string") throw new SandboxRefusal("query: is required");
  const documents = requiredList(body, "documents").map(documentText);
  const { triggers, text } = knownTriggers(query);
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  const words = distinctWords(text);
  const ranked = documents
    .map((document, index) => ({ index, document, score: scoreOf(words, document) }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, tokenBound(body, "top_n", 1) ?? documents.length);
  const results = ranked.map(({ index, document, score }): JsonObject => ({
    index,
    relevance_score: score,
    ...(body["return_documents"] === true && { document: { text: document } }),
  }));
  const searches = reported(Math.ceil(documents.length / documentsPerSearch), triggers);
  const tokens = reported(
    documents.reduce((sum, document) => sum + countTokens(query) + countTokens(document), 0),
    triggers,
  );
  return jsonReply(200, {
    id: `rerank-${hashHex(JSON.stringify(body))}`,
    model,
    results: triggers.empty ? [] : results,
    ...(triggers.usage !== "none" && {
      meta: { billed_units: { search_units: searches } },
      usage: { total_tokens: tokens },
    }),
  }, triggers);
}

const defaultDimensions = 256;
/** As many as the largest model of a vendor has. */
const maxDimensions = 3_072;

const isTokens = (value: Json | undefined): value is number[] =>
  Array.isArray(value) && value.every((token) => typeof token === "number");

function inputsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === "string" || (isTokens(input) && input.length > 0)) return [input];
  if (Array.isArray(input) && input.length > 0) return input;
  throw new SandboxRefusal("input: is required");
}

function wordsOf(input: Json): string[] {
  if (typeof input === "string") {
    return input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [input];
  }
  if (isTokens(input)) return input.map(String);
  throw new SandboxRefusal("input: must be texts or lists of tokens");
}

/** Makes a vector of length 1: each word adds to one dimension. */
function vectorOf(words: readonly string[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of words) {
    const place = Number.parseInt(hashHex(word).slice(0, 8), 16) % dimensions;
    vector[place] = vector[place]! + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function encoded(vector: Float32Array, format: Json | undefined): Json {
  if (format === "base64") return encodeBase64(new Uint8Array(vector.buffer));
  return [...vector].map((value) => Number(value.toFixed(7)));
}

/** Answers an embedding request. @throws {SandboxRefusal} */
export function answerEmbeddings(body: JsonObject): Reply {
  if (typeof body["model"] !== "string") throw new SandboxRefusal("model: is required");
  const inputs = inputsOf(body["input"]);
  const dimensions = tokenBound(body, "dimensions", 1) ?? defaultDimensions;
  if (dimensions > maxDimensions) {
    throw new SandboxRefusal(`dimensions: must be at most ${maxDimensions}`);
  }
  const texts = inputs.filter((input) => typeof input === "string");
  const { triggers } = knownTriggers(texts.join("\n"));
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  const data = inputs.map((input, index): JsonObject => ({
    object: "embedding",
    index,
    embedding: encoded(vectorOf(wordsOf(input), dimensions), body["encoding_format"]),
  }));
  const tokens = reported(
    inputs.reduce<number>(
      (sum, input) =>
        sum + (typeof input === "string" ? countTokens(input) : wordsOf(input).length),
      0,
    ),
    triggers,
  );
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonReply(200, {
    object: "list",
    data: triggers.empty ? [] : data,
    model: body["model"],
    ...(triggers.usage !== "none" && { usage }),
  }, triggers);
}
