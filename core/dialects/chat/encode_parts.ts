/** Writes content blocks as Chat content: strings, text parts, images, files. */
import type { JsonObject } from "../../json.ts";
import type {
  DocumentBlock,
  ImageBlock,
  SearchResultBlock,
  TextBlock,
  ToolResultContent,
} from "../conversation.ts";
import { renderForeign } from "../extras.ts";
import type { ResolvedFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import type { Notes } from "../notes.ts";

/** Most cache marks one request may hold, at every vendor that has them. */
const cacheMarksPerRequest = 4;

export interface TextPart extends JsonObject {
  type: "text";
  text: string;
}
export interface MediaPart extends JsonObject {
  type: "image_url" | "file";
}
export type Part = TextPart | MediaPart;

/** Writes the parts of one request. */
export class PartWriter {
  readonly #facts: ResolvedFacts;
  readonly #notes: Notes;
  #marks = 0;

  constructor(facts: ResolvedFacts, notes: Notes) {
    this.#facts = facts;
    this.#notes = notes;
  }

  /** Text blocks only: a string where one is enough, else parts, which keep the borders between the blocks. */
  texts(blocks: readonly TextBlock[]): string | TextPart[] {
    return this.joinTexts(blocks.map((block) => this.#text(block)));
  }

  /** The same for parts that are written already. */
  joinTexts(parts: readonly TextPart[]): string | TextPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && !isMarked(first)) return first.text;
    return this.#facts.text_parts ? [...parts] : parts.map((part) => part.text).join("\n\n");
  }

  /** Any content: a string when it is one plain text. */
  content(parts: readonly Part[]): string | Part[] {
    return parts.every((part) => part.type === "text") ? this.joinTexts(parts) : [...parts];
  }

  parts(block: ToolResultContent): Part[] {
    switch (block.type) {
      case "text":
        return [this.#text(block)];
      case "image":
        return [this.#image(block)];
      case "document":
        return this.#document(block);
      case "search_result":
        return [this.#searchResult(block)];
      case "foreign": {
        const text = renderForeign(block, this.#notes);
        return text === undefined ? [] : [{ type: "text", text }];
      }
    }
  }

  /** The cache mark of a block in the route's form, as something to spread; named when the route has none. */
  mark(block: ToolResultContent | { readonly cache?: { ttl?: string }; path: string }): JsonObject {
    if (block.cache === undefined) return {};
    const kind = this.#facts.cache_marks;
    if (kind === "none" || this.#marks >= cacheMarksPerRequest) {
      this.#notes.add(`${block.path}.cache_control`);
      return {};
    }
    this.#marks++;
    if (kind === "breakpoint") return { prompt_cache_breakpoint: { mode: "explicit" } };
    const { ttl } = block.cache;
    return { cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) } };
  }

  #text(block: TextBlock): TextPart {
    return { type: "text", text: block.text, ...this.mark(block) };
  }

  #image(block: ImageBlock): MediaPart {
    const { source, detail, path } = block;
    if (this.#facts.images === "none") refuse(path, "this model takes no images");
    if (source.kind === "file") refuse(path, "the file belongs to another provider");
    if (source.kind === "url" && this.#facts.images === "base64") {
      refuse(path, "this model takes images only as data, not by URL");
    }
    const url = source.kind === "url"
      ? source.url
      : `data:${source.mediaType};base64,${source.data}`;
    return {
      type: "image_url",
      image_url: { url, ...(detail === undefined ? {} : { detail }) },
      // The vendor refuses breakpoints on images.
      ...(this.#facts.cache_marks === "cache_control" ? this.mark(block) : this.#unmarked(block)),
    };
  }

  #unmarked(block: ImageBlock): JsonObject {
    if (block.cache !== undefined) this.#notes.add(`${block.path}.cache_control`);
    return {};
  }

  #document(block: DocumentBlock): Part[] {
    const { source, path } = block;
    if (block.citations) this.#notes.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [{ type: "text", text: heading(block) + source.text, ...this.mark(block) }];
      case "blocks": {
        const head = heading(block);
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        return head === "" ? parts : [{ type: "text", text: head.trimEnd() }, ...parts];
      }
      case "file":
        return refuse(path, "the file belongs to another provider");
      case "url":
        return refuse(path, "this model takes documents only as data, not by URL");
      case "base64":
        return [this.#file(block, source.mediaType, source.data)];
    }
  }

  #file(block: DocumentBlock, mediaType: string, data: string): MediaPart {
    if (!this.#facts.files) refuse(block.path, "this model takes no documents");
    return {
      type: "file",
      file: {
        filename: block.title ?? (mediaType === "application/pdf" ? "document.pdf" : "document"),
        file_data: `data:${mediaType};base64,${data}`,
      },
      ...this.mark(block),
    };
  }

  #searchResult(block: SearchResultBlock): TextPart {
    const text = `${block.title} (${block.source})\n${block.texts.join("\n")}`;
    return { type: "text", text, ...this.mark(block) };
  }
}

function isMarked(part: TextPart): boolean {
  return part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined;
}

function heading(block: DocumentBlock): string {
  const lines = [block.title, block.context].filter((line) => line !== undefined && line !== "");
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}
