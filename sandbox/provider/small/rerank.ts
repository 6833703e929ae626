/** Answers `POST /rerank` in the sandbox: documents that share more words with the query come first. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import { knownTriggers, requiredList, tokenBound } from "../base/read_fields.ts";
import { reported } from "../base/reported_usage.ts";
import { jsonReply, type Reply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { countTokens } from "../base/tokens.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";

/** Documents that a vendor counts as one search. */
const documentsPerSearch = 100;

const wordsOf = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

function textOf(document: Json): string {
  const text = isJsonObject(document) ? document["text"] : document;
  if (typeof text !== "string") throw new SandboxRefusal("documents: must be texts");
  return text;
}

/** Returns the share of the query's words that a document has. */
function scoreOf(query: ReadonlySet<string>, document: string): number {
  const words = wordsOf(document);
  const shared = [...query].filter((word) => words.has(word)).length;
  return Math.round(shared / Math.max(1, query.size) * 1_000) / 1_000;
}

/** Answers a request for ranks. @throws {SandboxRefusal} */
export function answerRerank(body: JsonObject): Reply {
  const { model, query } = body;
  if (typeof model !== "string") throw new SandboxRefusal("model: is required");
  if (typeof query !== "string") throw new SandboxRefusal("query: is required");
  const documents = requiredList(body, "documents").map(textOf);
  const { triggers, text } = knownTriggers(query);
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  const words = wordsOf(text);
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
