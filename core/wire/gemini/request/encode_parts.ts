/** Writes content blocks as Gemini parts: texts, data, files. */
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import type {
  AudioBlock,
  DocumentBlock,
  ImageBlock,
  Placed,
  SearchResultBlock,
  TextBlock,
  ToolResultContent,
} from "../../conversation/mod.ts";
import { requireAudio } from "../../fields/audio.ts";
import { warnOfMark } from "../../fields/cache_marks.ts";
import { renderForeign } from "../../fields/extras.ts";
import { refuse } from "../../fields/fields.ts";
import {
  carriedImage,
  documentHeading,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/media_blocks.ts";
import type { Warnings } from "../../contract/warnings.ts";

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
noneUnhandled<
  Exclude<
    keyof ImageBlock,
    | keyof Placed
    | "type"
    | "source"
    // The vendor's resolutions are others.
    | "detail"
  >
>();
noneUnhandled<Exclude<keyof AudioBlock, keyof Placed | "type" | "source">>();
noneUnhandled<
  Exclude<
    keyof DocumentBlock,
    | keyof Placed
    | "type"
    | "source"
    // documentHeading() makes them text before the document.
    | "title"
    | "context"
    | "titlePath"
    | "citations"
  >
>();
noneUnhandled<
  Exclude<
    keyof SearchResultBlock,
    keyof Placed | "type" | "source" | "title" | "texts" | "citations"
  >
>();

/** Writes the parts of users and of results of tools. */
export class GeminiPartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
  }

  parts(block: ToolResultContent): JsonObject[] {
    if (block.type !== "foreign") warnOfMark(block, this.#warnings);
    switch (block.type) {
      case "text":
        return [{ text: block.text }];
      case "image":
        return [this.#image(block)];
      case "audio":
        requireAudio(block.path, this.#capabilities);
        return [inlineData(block.source)];
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ text: searchResultText(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ text }];
      }
    }
  }

  #image(block: ImageBlock): JsonObject {
    const source = carriedImage(block, this.#capabilities);
    if (source.kind === "base64") return inlineData(source);
    if (this.#capabilities.images === "base64") {
      refuse(block.path, "this model takes images only as data, not by URL");
    }
    return { fileData: { fileUri: source.url, mimeType: imageType(source.url) } };
  }

  #document(block: DocumentBlock): JsonObject[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    const heading = documentHeading(block);
    if (source.kind === "text") return [{ text: heading + source.text }];
    const head = heading === "" ? [] : [{ text: heading.trimEnd() }];
    switch (source.kind) {
      case "blocks":
        return [...head, ...source.blocks.flatMap((inner) => this.parts(inner))];
      case "file":
        return refuseForeignFile(path);
      case "url":
        requireDocuments(path, this.#capabilities);
        if (this.#capabilities.images === "base64") {
          refuse(path, "this model takes documents only as data, not by URL");
        }
        return [...head, { fileData: { fileUri: source.url, mimeType: "application/pdf" } }];
      case "base64":
        requireDocuments(path, this.#capabilities);
        return [...head, inlineData(source)];
    }
  }
}

function inlineData(
  { mediaType, data }: { readonly mediaType: string; readonly data: string },
): JsonObject {
  return { inlineData: { mimeType: mediaType, data } };
}

/** The type of a picture by the end of its address; the vendor requires one. */
function imageType(url: string): string {
  const end = /\.(png|gif|webp)(?:[?#]|$)/i.exec(url)?.[1];
  return end === undefined ? "image/jpeg" : `image/${end.toLowerCase()}`;
}
