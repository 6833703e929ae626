/**
 * Reads the web sources of a Chat answer: `annotations` of the message, and the lists that search providers put beside
 * the choices (`search_results`, `citations`), which apply to the whole text.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { placeOf, readUrlCitation, writeUrlCitation } from "../../content/citations.ts";
import type { AnswerText, Citation, TextSpan } from "../../conversation/mod.ts";
import { streamCitationChars } from "../../contract/limits.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";

// Writes web sources as Chat annotations, with their ranges in the joined text.
//
// See docs/conversion.md#sources.

/** Writes a source of a block whose text reaches from `start` to `end`. */
export function writeAnnotation(citation: Citation, start: number, end: number): JsonObject {
  return {
    type: "url_citation",
    url_citation: writeUrlCitation(citation, placeOf(citation, start, end)),
  };
}

/**
 * Collects the annotations of one streamed answer. Official libraries keep only the last list of a delta's member
 * `annotations`, so all of them go out in one list at the end. Buffers up to {@linkcode streamCitationChars}; further
 * annotations are dropped.
 *
 * @example
 * ```ts
 * import { StreamAnnotations } from "./sources.ts";
 * const annotations = new StreamAnnotations();
 * annotations.text(0, '"One. "');
 * annotations.endBlock(0);
 * annotations.cite(1, { url: "https://example.com", title: "T" });
 * annotations.text(1, '"Two."');
 * annotations.endBlock(1);
 * if (!JSON.stringify(annotations.list()).includes('"start_index":5,"end_index":9')) throw new Error("misplaced");
 * ```
 */
export class StreamAnnotations {
  /** Length of all text so far, as clients count it. */
  #chars = 0;
  /** The block whose text came last, and where it began. */
  #block = -1;
  #start = 0;
  /** Sources of blocks that have not ended. */
  #open: { readonly block: number; readonly citation: Citation }[] = [];
  readonly #placed: JsonObject[] = [];
  #keptChars = 0;

  /** Takes a piece of text as a JSON literal. */
  text(block: number, json: string): void {
    if (block !== this.#block) {
      this.#block = block;
      this.#start = this.#chars;
    }
    this.#chars += literalLength(json);
  }

  /** Text of so many characters of the block passed whose text came last. */
  passed(chars: number): void {
    this.#chars += chars;
  }

  cite(block: number, citation: Citation): void {
    const chars = citationOverheadChars + citation.url.length + citation.title.length;
    if (this.#keptChars + chars > streamCitationChars) return;
    this.#keptChars += chars;
    // The cited passage may be long, and the style has no member for it.
    const { citedText: _, ...kept } = citation;
    this.#open.push({ block, citation: kept });
  }

  /** Ends a block of any kind. A source of a block without text is dropped. */
  endBlock(block: number): void {
    if (this.#open.length === 0) return;
    const ended = this.#open.filter((entry) => entry.block === block);
    this.#open = this.#open.filter((entry) => entry.block !== block);
    if (block !== this.#block) return;
    for (const { citation } of ended) {
      this.#placed.push(writeAnnotation(citation, this.#start, this.#chars));
    }
  }

  /** Returns the annotations whose range is known. */
  list(): readonly JsonObject[] {
    return this.#placed;
  }
}

/** Characters that a buffered source takes beside its texts. */
const citationOverheadChars = 128;

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
