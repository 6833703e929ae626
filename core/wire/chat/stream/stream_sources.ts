/** Assigns the web sources of one Chat stream to the text they belong to, wherever in the stream they come. */
import type { JsonObject } from "../../../lib/json/json.ts";
import { streamCitationChars } from "../../contract/limits.ts";
import { citationChars } from "../../content/citations.ts";
import type { Citation } from "../../conversation/mod.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";
import {
  movedBack,
  readAnnotations,
  readListedSources,
  unplacedSources,
} from "../answer/sources.ts";

/** Characters that a buffered source takes beside its texts. */
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
  /** The sources already sent, by URL and range. */
  readonly #told = new Set<string>();
  readonly #placedUrls = new Set<string>();
  #keptChars = 0;
  #waiting: Citation[] = [];
  /** The last list beside the choices: each replaces the one before. */
  #listed: Citation[] = [];

  /** Takes a piece of text as a JSON literal. */
  text(json: string): void {
    this.#chars += literalLength(json);
  }

  /** Text of so many characters passed. */
  passed(chars: number): void {
    this.#chars += chars;
  }

  /** Whether the next text has no source before it. */
  get isQuiet(): boolean {
    return this.#waiting.length === 0;
  }

  /** Begins a block of text. */
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

  /** Sends the waiting annotations of an open block of text. */
  cite(block: number, emit: EventSink): void {
    if (this.#waiting.length === 0) return;
    for (const citation of this.#waiting) {
      emit({ type: "citation", block, citation: movedBack(citation, this.#blockStart) });
    }
    this.#waiting = [];
  }

  /** Ends a block of text: sends the sources that belong to it. */
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
