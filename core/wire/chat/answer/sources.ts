/**
 * Reads the web sources of a Chat answer: `annotations` of the message, and the lists that search providers put beside
 * the choices (`search_results`, `citations`), which apply to the whole text.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { readUrlCitation } from "../../content/citations.ts";
import type { AnswerText, Citation, TextSpan } from "../../conversation/mod.ts";

/** Reads the annotations of a message or delta. Some servers omit the inner object. */
export function readAnnotations(message: JsonObject): Citation[] {
  const { annotations } = message;
  if (!Array.isArray(annotations)) return [];
  return annotations.flatMap((annotation): Citation[] => {
    if (!isJsonObject(annotation)) return [];
    const inner = annotation.url_citation ??
      (annotation.type === "url_citation" ? annotation : undefined);
    const citation = isJsonObject(inner) ? readUrlCitation(inner) : undefined;
    return citation === undefined ? [] : [citation];
  });
}

/**
 * Reads the sources beside the choices, each URL once. `search_results` has titles; `citations` is often only the URLs
 * of the same list.
 */
export function readListedSources(body: JsonObject): Citation[] {
  const found = new Map<string, Citation>();
  for (const list of [body.search_results, body.citations]) {
    for (const entry of Array.isArray(list) ? list : []) {
      const citation = listedSource(entry);
      if (citation !== undefined && !found.has(citation.url)) found.set(citation.url, citation);
    }
  }
  return [...found.values()];
}

function listedSource(entry: Json): Citation | undefined {
  const source = typeof entry === "string" ? { url: entry } : entry;
  if (!isJsonObject(source)) return undefined;
  const citation = readUrlCitation(source);
  if (citation === undefined || !/^https?:\/\//i.test(citation.url)) return undefined;
  return { url: citation.url, title: citation.title };
}

/** Returns the listed sources without those that an annotation names. */
export function unplacedSources(
  listed: readonly Citation[],
  placed: ReadonlySet<string>,
): Citation[] {
  return listed.filter(({ url }) => !placed.has(url));
}

/** Distributes sources with ranges in the joined text to the texts they belong to. */
export function citeTexts(
  texts: readonly AnswerText[],
  sources: readonly Citation[],
): AnswerText[] {
  let start = 0;
  return texts.map((block, i) => {
    const end = start + block.text.length;
    const isLast = i === texts.length - 1;
    const own = sources.filter(({ span }) =>
      span === undefined ? isLast : span.start >= start && (span.start < end || isLast)
    ).map((citation) => movedBack(citation, start));
    start = end;
    return own.length === 0 ? block : { ...block, citations: own };
  });
}

/** Shifts the range of a source to count from `start`. */
export function movedBack(citation: Citation, start: number): Citation {
  if (citation.span === undefined || start === 0) return citation;
  const span: TextSpan = { start: citation.span.start - start, end: citation.span.end - start };
  return { ...citation, span };
}
