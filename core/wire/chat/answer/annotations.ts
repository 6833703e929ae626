/**
 * Writes web sources as Chat annotations, with their ranges in the joined text.
 *
 * See docs/conversion.md#sources.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { streamCitationChars } from "../../contract/limits.ts";
import { placeOf, writeUrlCitation } from "../../content/citations.ts";
import type { Citation } from "../../conversation/mod.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";

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
 * import { StreamAnnotations } from "./annotations.ts";
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
