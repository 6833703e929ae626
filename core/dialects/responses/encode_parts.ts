/** Writes content blocks as Responses content parts. */
import type { JsonObject } from "../../json.ts";
import type {
  CacheMark,
  DocumentBlock,
  ImageBlock,
  SearchResultBlock,
  ToolResultContent,
} from "../conversation.ts";
import { renderForeign } from "../extras.ts";
import type { ResolvedFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import type { Notes } from "../notes.ts";

/** Most cache marks one request may hold. */
const cacheMarksPerRequest = 4;

export interface InputPart extends JsonObject {
  type: "input_text" | "input_image" | "input_file";
}

/** Writes the parts of one request. */
export class InputPartWriter {
  readonly #facts: ResolvedFacts;
  readonly #notes: Notes;
  #marks = 0;

  constructor(facts: ResolvedFacts, notes: Notes) {
    this.#facts = facts;
    this.#notes = notes;
  }

  parts(block: ToolResultContent): InputPart[] {
    switch (block.type) {
      case "text":
        return [this.#text(block.text, block)];
      case "image":
        return [this.#image(block)];
      case "document":
        return this.#document(block);
      case "search_result":
        return [this.#text(searchResultText(block), block)];
      case "foreign": {
        const text = renderForeign(block, this.#notes);
        return text === undefined ? [] : [{ type: "input_text", text }];
      }
    }
  }

  /** A string where that is enough, else the parts. */
  plainest(parts: readonly InputPart[]): string | InputPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    const isPlain = parts.length === 1 && first["prompt_cache_breakpoint"] === undefined;
    return isPlain && typeof first["text"] === "string" ? first["text"] : [...parts];
  }

  /** Whether cache marks can be carried at all. */
  get marksBlocks(): boolean {
    return this.#facts.cache_marks === "breakpoint";
  }

  #text(text: string, block: { readonly cache?: CacheMark; readonly path: string }): InputPart {
    return { type: "input_text", text, ...this.mark(block) };
  }

  /** The cache mark of a block, as something to spread; named when the route has none, or none left. */
  mark(block: { readonly cache?: CacheMark; readonly path: string }): JsonObject {
    if (block.cache === undefined) return {};
    if (!this.marksBlocks || this.#marks >= cacheMarksPerRequest) {
      this.#notes.add(`${block.path}.cache_control`);
      return {};
    }
    this.#marks++;
    return { prompt_cache_breakpoint: { mode: "explicit" } };
  }

  #image(block: ImageBlock): InputPart {
    const { source, detail, path } = block;
    if (this.#facts.images === "none") refuse(path, "this model takes no images");
    if (source.kind === "file") refuse(path, "the file belongs to another provider");
    if (source.kind === "url" && this.#facts.images === "base64") {
      refuse(path, "this model takes images only as data, not by URL");
    }
    // The vendor refuses breakpoints on images.
    if (block.cache !== undefined) this.#notes.add(`${path}.cache_control`);
    return {
      type: "input_image",
      image_url: source.kind === "url"
        ? source.url
        : `data:${source.mediaType};base64,${source.data}`,
      detail: detail ?? "auto",
    };
  }

  #document(block: DocumentBlock): InputPart[] {
    const { source, path } = block;
    if (block.citations === true) this.#notes.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [this.#text(heading(block) + source.text, block)];
      case "blocks": {
        const head = heading(block).trimEnd();
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        return head === "" ? parts : [{ type: "input_text", text: head }, ...parts];
      }
      case "file":
        return refuse(path, "the file belongs to another provider");
      case "url":
        if (!this.#facts.files) refuse(path, "this model takes no documents");
        return [{ type: "input_file", file_url: source.url }];
      case "base64":
        if (!this.#facts.files) refuse(path, "this model takes no documents");
        return [{
          type: "input_file",
          filename: block.title ??
            (source.mediaType === "application/pdf" ? "document.pdf" : "document"),
          file_data: `data:${source.mediaType};base64,${source.data}`,
        }];
    }
  }
}

function searchResultText(block: SearchResultBlock): string {
  return `${block.title} (${block.source})\n${block.texts.join("\n")}`;
}

function heading(block: DocumentBlock): string {
  const lines = [block.title, block.context].filter((line) => line !== undefined && line !== "");
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}
