/**
 * Divides a text where its sources end. Messages has no ranges inside a block: a passage with a source is a block of its
 * own, as the vendor's own search writes it.
 *
 * A block ends after the white space that follows a source, so that no block is blank: the vendor refuses blank blocks
 * when the client sends them back.
 */
import type { AnswerText, Citation } from "../../conversation/mod.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { unsealedMark } from "../../fields/reasoning_seal.ts";

// Reads and writes web sources of a text in the Messages style.

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
  if (typeof url !== "string" || url === "") return undefined;
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

/**
 * Divides a whole text into blocks.
 *
 * @example
 * ```ts
 * import { divideAtSources } from "./cited_text.ts";
 * const source = { url: "https://example.com", title: "T", span: { start: 0, end: 4 } };
 * const blocks = divideAtSources({ type: "text", path: "", text: "One. Two.", citations: [source] });
 * if (blocks.map(({ text }) => text).join("|") !== "One. |Two.") throw new Error("divided elsewhere");
 * if (blocks[0]?.citations?.length !== 1 || blocks[1]?.citations) throw new Error("on the wrong block");
 * ```
 */
export function divideAtSources(block: AnswerText): AnswerText[] {
  const { citations = [], ...rest } = block;
  if (citations.length === 0) return [rest];
  const blocks: AnswerText[] = [];
  const found: { text: string; citations: Citation[] } = { text: "", citations: [] };
  const close = () => {
    const { text, citations } = found;
    blocks.push({ ...rest, text, ...(citations.length === 0 ? {} : { citations }) });
    Object.assign(found, { text: "", citations: [] });
  };
  const divider = new CitedText({
    text: (json) => {
      found.text += JSON.parse(json);
    },
    cite: (citation) => found.citations.push(citation),
    divide: close,
  });
  for (const citation of citations) divider.cite(citation);
  divider.text(stringifyExactly(block.text));
  divider.end();
  close();
  return blocks;
}

/** Receives the pieces of a divided text. */
export interface CitedTextSink {
  /** Takes a piece as a JSON literal. */
  readonly text: (json: string) => void;
  /** Takes a source of the open block. */
  readonly cite: (citation: Citation) => void;
  /** Ends the open block; the next piece begins another. */
  readonly divide: () => void;
}

/**
 * Divides a text that comes in pieces, with sources before, between or after them. A source that comes after the block
 * of its text ended goes to the open block.
 */
export class CitedText {
  readonly #sink: CitedTextSink;
  /** Length of the text so far. */
  #chars = 0;
  /** Whether the open block has more than white space. */
  #solid = false;
  /** Whether the open block ends before the next character that is not white space. */
  #ending = false;
  /** Sources whose text has not come, and those of the whole text. */
  #waiting: Citation[] = [];
  #ofAll: Citation[] = [];

  constructor(sink: CitedTextSink) {
    this.#sink = sink;
  }

  text(json: string): void {
    if (!this.#ending && this.#waiting.length === 0) return this.#pass(json);
    let text: string = JSON.parse(json);
    while (text !== "") {
      const at = this.#ending ? behindSpace(text) : Math.min(text.length, this.#nextEnd(text));
      if (at > 0) this.#pass(stringifyExactly(text.slice(0, at)));
      text = text.slice(at);
      const isEnding = this.#ending;
      this.#citeReached();
      if (isEnding && text !== "") this.#divide();
    }
  }

  /** Whether text passes as it comes. */
  get passes(): boolean {
    return this.#solid && !this.#ending && this.#waiting.length === 0;
  }

  /** Text of so many characters passed. */
  passed(chars: number): void {
    this.#chars += chars;
  }

  cite(citation: Citation): void {
    const { span } = citation;
    if (span === undefined) this.#ofAll.push(citation);
    else if (span.end > this.#chars || !this.#solid) this.#waiting.push(citation);
    else {
      this.#sink.cite(citation);
      this.#ending ||= span.end === this.#chars;
    }
  }

  /** Ends the text. Sources without any text are dropped. */
  end(): void {
    if (this.#solid) {
      for (const citation of [...this.#waiting, ...this.#ofAll]) this.#sink.cite(citation);
    }
    this.#chars = 0;
    this.#solid = false;
    this.#ending = false;
    this.#waiting = [];
    this.#ofAll = [];
  }

  #pass(json: string): void {
    this.#chars += literalLength(json);
    if (!this.#solid) {
      const text: string = JSON.parse(json);
      this.#solid = text.trim() !== "";
    }
    this.#sink.text(json);
  }

  #divide(): void {
    this.#sink.divide();
    this.#ending = false;
    this.#solid = false;
  }

  /** Returns how much of a piece comes before the next end of a source. */
  #nextEnd(text: string): number {
    let next = text.length;
    for (const { span } of this.#waiting) {
      const at = (span?.end ?? 0) - this.#chars;
      if (at > 0 && at < next) next = at;
    }
    // Not between the halves of a character.
    const unit = text.charCodeAt(next);
    return unit >= 0xdc00 && unit < 0xe000 ? next + 1 : next;
  }

  #citeReached(): void {
    if (!this.#solid) return;
    const isReached = ({ span }: Citation) => span !== undefined && span.end <= this.#chars;
    const reached = this.#waiting.filter(isReached);
    if (reached.length === 0) return;
    this.#waiting = this.#waiting.filter((citation) => !isReached(citation));
    for (const citation of reached) this.#sink.cite(citation);
    this.#ending ||= reached.some(({ span }) => span?.end === this.#chars);
  }
}

function behindSpace(text: string): number {
  return text.length - text.trimStart().length;
}
