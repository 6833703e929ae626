/** Reads and writes the web sources of an answer (`groundingMetadata`); reads those it quotes (`citationMetadata`). */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { Citation } from "../../conversation/mod.ts";

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/**
 * Reads the sources of a candidate: what its searches found, then the works that it quotes. Places in the text are
 * counted in bytes by this vendor, so they are not carried.
 */
export function readSources(candidate: JsonObject): Citation[] {
  const found = readGrounding(candidate.groundingMetadata);
  const urls = new Set(found.map(({ url }) => url));
  for (const citation of readQuotations(candidate.citationMetadata)) {
    if (urls.has(citation.url)) continue;
    urls.add(citation.url);
    found.push(citation);
  }
  return found;
}

/** Reads the quoted works, whose list the vendor's two services name differently. */
function readQuotations(metadata: Json | undefined): Citation[] {
  if (!isJsonObject(metadata)) return [];
  return [...objects(metadata.citationSources), ...objects(metadata.citations)]
    .flatMap(({ uri, title }): Citation[] =>
      typeof uri === "string" && uri !== ""
        ? [{ url: uri, title: typeof title === "string" ? title : "" }]
        : []
    );
}

/**
 * Reads the sources of searches. Passages that a source supports come first, each with its source; then the sources
 * that support none.
 */
function readGrounding(metadata: Json | undefined): Citation[] {
  if (!isJsonObject(metadata)) return [];
  const sources = (Array.isArray(metadata.groundingChunks) ? metadata.groundingChunks : [])
    .map(sourceOf);
  const used = new Set<number>();
  const found: Citation[] = [];
  for (const support of objects(metadata.groundingSupports)) {
    const segment = isJsonObject(support.segment) ? support.segment : {};
    const citedText = typeof segment.text === "string" && segment.text !== ""
      ? { citedText: segment.text }
      : {};
    const indices = support.groundingChunkIndices;
    for (const index of Array.isArray(indices) ? indices : []) {
      const source = typeof index === "number" ? sources[index] : undefined;
      if (source === undefined || typeof index !== "number") continue;
      used.add(index);
      found.push({ ...source, ...citedText });
    }
  }
  sources.forEach((source, i) => {
    if (source !== undefined && !used.has(i)) found.push(source);
  });
  return found;
}

function sourceOf(chunk: Json): Citation | undefined {
  const web = isJsonObject(chunk) ? chunk.web : undefined;
  if (!isJsonObject(web) || typeof web.uri !== "string" || web.uri === "") return undefined;
  return { url: web.uri, title: typeof web.title === "string" ? web.title : "" };
}

/** Writes sources as `groundingMetadata`, as an object to spread; nothing if there are none. */
export function writeGrounding(citations: readonly Citation[]): JsonObject {
  if (citations.length === 0) return {};
  const places = new Map<string, number>();
  const groundingChunks: JsonObject[] = [];
  const groundingSupports: JsonObject[] = [];
  for (const { url, title, citedText } of citations) {
    let place = places.get(url);
    if (place === undefined) {
      places.set(url, place = groundingChunks.length);
      groundingChunks.push({ web: { uri: url, title } });
    }
    if (citedText !== undefined) {
      groundingSupports.push({ segment: { text: citedText }, groundingChunkIndices: [place] });
    }
  }
  return {
    groundingMetadata: {
      groundingChunks,
      ...(groundingSupports.length === 0 ? {} : { groundingSupports }),
    },
  };
}
