/** Writes content blocks as Chat content: strings, text parts, images, files. */
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import {
  CacheMarkCounter,
  ephemeralMark,
  type Markable,
  warnOfMark,
} from "../../fields/cache_marks.ts";
import type {
  AudioBlock,
  DocumentBlock,
  ImageBlock,
  Placed,
  SearchResultBlock,
  TextBlock,
  ToolResultContent,
} from "../../conversation/mod.ts";
import { writeInputAudio } from "../../fields/audio.ts";
import { writeDataUrl } from "../../content/data_url.ts";
import { renderForeign } from "../../fields/extras.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { refuse } from "../../fields/fields.ts";
import {
  documentFileName,
  documentHeading,
  imageUrl,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/media_blocks.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { defined } from "../../../lib/base/defined.ts";

/** A text part of a Chat message. */
export interface TextPart extends JsonObject {
  type: "text";
  text: string;
}
/** An image, sound or file part of a Chat message. */
export interface MediaPart extends JsonObject {
  type: "image_url" | "file" | "input_audio";
}
/** A content part of a Chat message. */
export type Part = TextPart | MediaPart;

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
noneUnhandled<Exclude<keyof AudioBlock, keyof Placed | "type" | "source">>();
noneUnhandled<
  Exclude<
    keyof DocumentBlock,
    | keyof Placed
    | "type"
    | "source"
    | "title"
    | "context"
    | "citations"
    // The title always goes out.
    | "titlePath"
  >
>();
noneUnhandled<
  Exclude<
    keyof SearchResultBlock,
    keyof Placed | "type" | "source" | "title" | "texts" | "citations"
  >
>();

/** Writes the parts of one request. */
export class PartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  /** Writes texts: as a string if the route takes no parts or one is enough, else as parts. */
  joinTexts(parts: readonly TextPart[]): string | TextPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && !isMarked(first)) return first.text;
    return this.#capabilities.text_parts ? [...parts] : parts.map((part) => part.text).join("\n\n");
  }

  /** Writes any content: as a string if it is one plain text, else as parts. */
  content(parts: readonly Part[]): string | Part[] {
    return parts.every((part) => part.type === "text") ? this.joinTexts(parts) : [...parts];
  }

  parts(block: ToolResultContent): Part[] {
    switch (block.type) {
      case "text":
        return [this.#text(block)];
      case "image":
        return [this.#image(block)];
      case "audio":
        return [{ ...writeInputAudio(block, this.#capabilities), ...this.mark(block) }];
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ type: "text", text: searchResultText(block), ...this.mark(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ type: "text", text }];
      }
    }
  }

  /** Writes the cache mark of a block in the route's form, as an object to spread; warns if the route has none. */
  mark(block: Markable): JsonObject {
    const kind = this.#capabilities.cache_marks;
    // A string cannot be marked.
    const mark = this.#marks.take(block, kind !== "none" && this.#capabilities.text_parts);
    if (mark === undefined) return {};
    if (kind === "breakpoint") return { prompt_cache_breakpoint: { mode: "explicit" } };
    return { cache_control: ephemeralMark(mark) };
  }

  #text(block: TextBlock): TextPart {
    return { type: "text", text: block.text, ...this.mark(block) };
  }

  #image(block: ImageBlock): MediaPart {
    const { detail } = block;
    const url = imageUrl(block, this.#capabilities);
    return {
      type: "image_url",
      image_url: { url, ...defined({ detail }) },
      // The vendor refuses breakpoints on images.
      ...(this.#capabilities.cache_marks === "cache_control"
        ? this.mark(block)
        : this.#unmarked(block)),
    };
  }

  #unmarked(block: ImageBlock): JsonObject {
    warnOfMark(block, this.#warnings);
    return {};
  }

  /** Moves the mark of a block that became several parts to the last of them. */
  markLast(block: Markable, parts: readonly Part[]): void {
    if (block.cache === undefined) return;
    const last = parts.at(-1);
    const cannotHold = last?.type === "image_url" &&
      this.#capabilities.cache_marks !== "cache_control";
    if (last === undefined || cannotHold) warnOfMark(block, this.#warnings);
    else if (!isMarked(last)) Object.assign(last, this.mark(block));
  }

  #document(block: DocumentBlock): Part[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [{ type: "text", text: documentHeading(block) + source.text, ...this.mark(block) }];
      case "blocks": {
        const head = documentHeading(block);
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        if (head !== "") parts.unshift({ type: "text", text: head.trimEnd() });
        this.markLast(block, parts);
        return parts;
      }
      case "file":
        return refuseForeignFile(path);
      case "url":
        return refuse(path, "this model takes documents only as data, not by URL");
      case "base64":
        return [this.#file(block, source.mediaType, source.data)];
    }
  }

  #file(block: DocumentBlock, mediaType: string, data: string): MediaPart {
    requireDocuments(block.path, this.#capabilities);
    // The part has a member only for a name.
    if (block.context !== undefined) this.#warnings.add(`${block.path}.context`);
    return {
      type: "file",
      file: {
        filename: documentFileName(block, mediaType),
        file_data: writeDataUrl(mediaType, data),
      },
      ...this.mark(block),
    };
  }
}

function isMarked(part: Part): boolean {
  return part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined;
}
