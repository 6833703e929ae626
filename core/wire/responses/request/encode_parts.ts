/** Writes content blocks as Responses content parts. */
import { refuseAudio } from "../../fields/audio.ts";
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { CacheMarkCounter, type Markable, warnOfMark } from "../../fields/cache_marks.ts";
import type {
  DocumentBlock,
  ImageBlock,
  Placed,
  SearchResultBlock,
  TextBlock,
  ToolResultContent,
} from "../../conversation/mod.ts";
import { writeDataUrl } from "../../content/data_url.ts";
import { renderForeign } from "../../fields/extras.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import {
  documentFileName,
  documentHeading,
  imageUrl,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/media_blocks.ts";
import type { Warnings } from "../../contract/warnings.ts";

/** A content part of a Responses input item. */
export interface InputPart extends JsonObject {
  type: "input_text" | "input_image" | "input_file";
}

// What becomes of each member of a block here. A new member does not compile until it has a row.
noneUnhandled<
  Exclude<
    keyof TextBlock,
    | keyof Placed
    | "type"
    | "text"
    // In a history a refusal is text like any other.
    | "refusal"
  >
>();
noneUnhandled<Exclude<keyof ImageBlock, keyof Placed | "type" | "source" | "detail">>();
noneUnhandled<
  Exclude<
    keyof DocumentBlock,
    keyof Placed | "type" | "source" | "title" | "titlePath" | "context" | "citations"
  >
>();
noneUnhandled<
  Exclude<
    keyof SearchResultBlock,
    keyof Placed | "type" | "source" | "title" | "texts" | "citations"
  >
>();

/** Writes the parts of one request. */
export class InputPartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  parts(block: ToolResultContent): InputPart[] {
    switch (block.type) {
      case "text":
        return [this.#text(block.text, block)];
      case "image":
        return [this.#image(block)];
      case "audio":
        return refuseAudio(block.path);
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [this.#text(searchResultText(block), block)];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ type: "input_text", text }];
      }
    }
  }

  /** Writes a string if that is enough, else the parts. */
  plainest(parts: readonly InputPart[]): string | InputPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    const isPlain = parts.length === 1 && first["prompt_cache_breakpoint"] === undefined;
    return isPlain && typeof first["text"] === "string" ? first["text"] : [...parts];
  }

  /** Whether cache marks can be carried at all. */
  get marksBlocks(): boolean {
    return this.#capabilities.cache_marks === "breakpoint";
  }

  #text(text: string, block: Markable): InputPart {
    return { type: "input_text", text, ...this.mark(block) };
  }

  /** Writes the cache mark of a block, as an object to spread; warns if the route has none, or none left. */
  mark(block: Markable): JsonObject {
    const mark = this.#marks.take(block, this.marksBlocks);
    return mark === undefined ? {} : { prompt_cache_breakpoint: { mode: "explicit" } };
  }

  #image(block: ImageBlock): InputPart {
    const image_url = imageUrl(block, this.#capabilities);
    // The vendor refuses breakpoints on images.
    warnOfMark(block, this.#warnings);
    return { type: "input_image", image_url, detail: block.detail ?? "auto" };
  }

  #document(block: DocumentBlock): InputPart[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [this.#text(documentHeading(block) + source.text, block)];
      case "blocks": {
        const head = documentHeading(block).trimEnd();
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        if (head !== "") parts.unshift({ type: "input_text", text: head });
        this.markLast(block, parts);
        return parts;
      }
      case "file":
        return refuseForeignFile(path);
      case "url":
        if (block.title !== undefined) this.#warnings.add(block.titlePath ?? `${path}.title`);
        return [this.#file(block, { file_url: source.url })];
      case "base64":
        return [this.#file(block, {
          filename: documentFileName(block, source.mediaType),
          file_data: writeDataUrl(source.mediaType, source.data),
        })];
    }
  }

  /** Writes a file; warns of a cache mark and a context, which it cannot have. */
  #file(block: DocumentBlock, file: JsonObject): InputPart {
    requireDocuments(block.path, this.#capabilities);
    warnOfMark(block, this.#warnings);
    if (block.context !== undefined) this.#warnings.add(`${block.path}.context`);
    return { type: "input_file", ...file };
  }

  /** Moves the mark of a block that became several parts to the last of them, if that is text. */
  markLast(block: Markable, parts: readonly InputPart[]): void {
    if (block.cache === undefined) return;
    const last = parts.at(-1);
    if (last?.type !== "input_text") warnOfMark(block, this.#warnings);
    else if (last["prompt_cache_breakpoint"] === undefined) Object.assign(last, this.mark(block));
  }
}
