/** The web sources of one Chat stream: told on the text they belong to, wherever in the stream they come. */
import type { JsonObject } from "../../lib/json/json.ts";
import { streamCitationChars } from "../limits.ts";
import { citationChars } from "../fields/citations.ts";
import type { Citation } from "../conversation/mod.ts";
import type { EventSink } from "../stream/dialect.ts";
import { literalLength } from "../../lib/json/json_literal.ts";
import { movedBack, readAnnotations, readListedSources, unplacedSources } from "./sources.ts";

/** What a source that is kept costs beside its words, in characters. */
const overheadChars = 128;

/**
 * Collects the sources of a Chat stream.
 *
 * Servers send annotations before the text, within it or after it, once or with every chunk, and
 * count positions from the beginning of the whole text, which may be several blocks here.
 */
export class StreamSources {
  /** Length of all text so far, and of the text before the open block. */
  #chars = 0;
  #blockStart = 0;
  /** What was told already, by URL and place. */
  readonly #told = new Set<string>();
  readonly #placedUrls = new Set<string>();
  #keptChars = 0;
  #waiting: Citation[] = [];
  /** The list beside the choices that came last: each replaces the one before. */
  #listed: Citation[] = [];

  /** Takes a piece of text as a JSON literal. */
  text(json: string): void {
    this.#chars += literalLength(json);
  }

  /** A block of text begins. */
  begin(): void {
    this.#blockStart = this.#chars;
  }

  /** Takes the annotations of a delta. */
  place(delta: JsonObject): void {
    for (const citation of readAnnotations(delta)) {
      const { url, span } = citation;
      const key = `${span?.start} ${span?.end} ${url}`;
      if (this.#told.has(key) || !this.#fits(citation)) continue;
      this.#told.add(key);
      this.#placedUrls.add(url);
      this.#waiting.push(citation);
    }
  }

  /** Takes the lists beside the choices. */
  list(chunk: JsonObject): void {
    if (!Array.isArray(chunk.search_results) && !Array.isArray(chunk.citations)) return;
    let chars = 0;
    const listed = readListedSources(chunk)
      .filter((citation) => (chars += charsOf(citation)) <= streamCitationChars);
    if (listed.length > 0) this.#listed = listed;
  }

  /** Tells the annotations that wait, on an open block of text. */
  cite(block: number, emit: EventSink): void {
    if (this.#waiting.length === 0) return;
    for (const citation of this.#waiting) {
      emit({ type: "citation", block, citation: movedBack(citation, this.#blockStart) });
    }
    this.#waiting = [];
  }

  /** A block of text ends: nothing can be told on it any more. */
  end(block: number, emit: EventSink): void {
    this.cite(block, emit);
    for (const citation of unplacedSources(this.#listed, this.#placedUrls)) {
      this.#placedUrls.add(citation.url);
      emit({ type: "citation", block, citation });
    }
  }

  #fits(citation: Citation): boolean {
    const chars = this.#keptChars + charsOf(citation);
    if (chars > streamCitationChars) return false;
    this.#keptChars = chars;
    return true;
  }
}

function charsOf(citation: Citation): number {
  return overheadChars + citationChars(citation);
}
