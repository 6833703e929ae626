/** Reads and writes web sources of a text in the Messages style. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { Citation } from "../../conversation/mod.ts";
import { unsealedMark } from "../../fields/reasoning_seal.ts";

/**
 * Reads a citation of a web page: from the vendor's own search, or from a search result that the client sent with a URL.
 * Other kinds point into documents of the request, which other styles do not number. A citation covers the whole text of
 * its block.
 */
export function readCitation(value: Json | undefined): Citation | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, title, cited_text } = value;
  const url = type === "web_search_result_location"
    ? value.url
    : type === "search_result_location" && isWebAddress(value.source)
    ? value.source
    : undefined;
  if (typeof url !== "string") return undefined;
  return {
    url,
    title: typeof title === "string" ? title : "",
    ...(typeof cited_text === "string" && cited_text !== "" ? { citedText: cited_text } : {}),
  };
}

function isWebAddress(source: Json | undefined): boolean {
  return typeof source === "string" && /^https?:\/\//i.test(source);
}

/** Reads all web citations of a text block. */
export function readCitations(citations: Json | undefined): Citation[] {
  if (!Array.isArray(citations)) return [];
  return citations.map(readCitation).filter((citation) => citation !== undefined);
}

/**
 * Writes a source of another vendor's search. The vendor's own index into its results is marked as none: see
 * {@linkcode unsealedMark}.
 */
export function writeCitation({ url, title, citedText }: Citation): JsonObject {
  return {
    type: "web_search_result_location",
    url,
    title: title === "" ? null : title,
    encrypted_index: unsealedMark,
    cited_text: citedText ?? "",
  };
}
