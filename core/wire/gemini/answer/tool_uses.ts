/** Counts hosted tools in a Gemini answer: searches by the queries of its grounding, pages, runs of code. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ToolUseCount } from "../../tools/tool_uses.ts";

/** Enters a candidate of an answer or of a chunk. Grounding covers the answer so far; parts come once. */
export function countCandidateUses(count: ToolUseCount, candidate: JsonObject): void {
  const { groundingMetadata: grounding, urlContextMetadata: pages, content } = candidate;
  if (isJsonObject(grounding)) countGrounding(count, grounding);
  if (isJsonObject(pages)) {
    const fetched = listOf(pages["urlMetadata"]).filter(isFetched);
    if (fetched.length > 0) count.reported("web_fetch", fetched.length);
  }
  for (const part of listOf(isJsonObject(content) ? content["parts"] : undefined)) {
    if (!isJsonObject(part)) continue;
    const { executableCode: code, toolCall: call, toolResponse: response } = part;
    if (isJsonObject(code)) count.saw("code_execution");
    if (isJsonObject(call)) countSearches(count, call);
    if (isJsonObject(response)) countPages(count, response);
  }
}

function countGrounding(count: ToolUseCount, grounding: JsonObject): void {
  // The vendor bills no empty query.
  const queries = listOf(grounding["webSearchQueries"]).filter((query) => query !== "");
  const chunks = listOf(grounding["groundingChunks"]).filter(isJsonObject);
  const hasWeb = chunks.some(({ web }) => isJsonObject(web));
  const searches = Math.max(queries.length, hasWeb ? 1 : 0);
  if (searches > 0) count.reported("web_search", searches);
  if (chunks.some((chunk) => isJsonObject(chunk["retrievedContext"]))) {
    count.reported("file_search", 1);
  }
}

/** Counts the queries of a call that the answer shows. */
function countSearches(count: ToolUseCount, { toolType, args }: JsonObject): void {
  if (toolType !== "GOOGLE_SEARCH_WEB" || !isJsonObject(args)) return;
  const queries = listOf(args["queries"] ?? [args["query"] ?? ""]);
  for (const query of queries) if (query !== "") count.saw("web_search");
}

/** Counts the pages that a response shows as read. */
function countPages(count: ToolUseCount, { toolType, response }: JsonObject): void {
  if (toolType !== "URL_CONTEXT" || !isJsonObject(response)) return;
  for (const page of listOf(response["url_metadata"])) {
    const isRead = isJsonObject(page) &&
      page["url_retrieval_status"] === "URL_RETRIEVAL_STATUS_SUCCESS";
    if (isRead) count.saw("web_fetch");
  }
}

function isFetched(page: Json): boolean {
  if (!isJsonObject(page)) return false;
  const status = page["urlRetrievalStatus"];
  return status === undefined || status === "URL_RETRIEVAL_STATUS_SUCCESS";
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
