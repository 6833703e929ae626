/** Reads content as Chat and Responses write it: a string, or a list of parts. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { beginningOfUrl, readNamedUrl } from "../../net/remote/named_url.ts";
import type {
  AudioBlock,
  DocumentBlock,
  ImageBlock,
  MediaSource,
  SearchResultBlock,
  TextBlock,
} from "../conversation/mod.ts";
import { decodeBase64Text, writeDataUrl } from "../content/citations.ts";
import { invalid, refuse, requiredObject } from "./fields.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";

// Writes images and documents in the forms that several encoders share.

/**
 * Returns the source of an image if another provider can read it.
 *
 * @throws {GatewayError} `conversion_refused` if the model takes no images, or the image is an upload to one provider
 */
export function carriedImage(
  { source, path }: ImageBlock,
  capabilities: ResolvedCapabilities,
): Exclude<MediaSource, { readonly kind: "file" }> {
  if (capabilities.images === "none") refuse(path, "this model takes no images");
  return source.kind === "file" ? refuseForeignFile(path) : source;
}

/** Chat and Responses: writes an image as a URL, either its own or a data URL. */
export function imageUrl(block: ImageBlock, capabilities: ResolvedCapabilities): string {
  const source = carriedImage(block, capabilities);
  if (source.kind === "base64") return writeDataUrl(source.mediaType, source.data);
  if (capabilities.images === "base64") {
    refuse(block.path, "this model takes images only as data, not by URL");
  }
  return source.url;
}

/** Refuses a file that was uploaded to another vendor. */
export function refuseForeignFile(path: string): never {
  return refuse(path, "the file belongs to another provider");
}

/**
 * Requires that the model accepts documents.
 *
 * @throws {GatewayError} `conversion_refused` if the model takes no documents
 */
export function requireDocuments(path: string, capabilities: ResolvedCapabilities): void {
  if (!capabilities.files) refuse(path, "this model takes no documents");
}

/** Chat and Responses: returns the name of a file, which both require, or a default. */
export function documentFileName({ title }: DocumentBlock, mediaType: string): string {
  if (title !== undefined && title !== "") return title;
  return mediaType === "application/pdf" ? "document.pdf" : "document";
}

/** Returns title and context of a document as text, for styles that carry only its text; empty if it has neither. */
export function documentHeading(block: DocumentBlock): string {
  const lines = [block.title, block.context].filter((line) => line !== undefined && line !== "");
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}

/** Renders a search result as text, for styles without a block for it. */
export function searchResultText(block: SearchResultBlock): string {
  return `${block.title} (${block.source})\n${block.texts.join("\n")}`;
}

/** A block that a part of content becomes. */
export type PartBlock = TextBlock | ImageBlock | AudioBlock | DocumentBlock;

/**
 * Reads the blocks of a `content` or `output` field; absent and null mean no content.
 *
 * @param readPart reads one part of the style
 */
export function readContent(
  content: Json | undefined,
  path: string,
  readPart: (part: JsonObject, path: string) => PartBlock,
): PartBlock[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content, path }];
  if (!Array.isArray(content)) invalid(path, "must be a string or a list of parts");
  return content.map((part, i) => readPart(requiredObject(part, `${path}.${i}`), `${path}.${i}`));
}

/** Whether the path of a URL ends in `.pdf`: Chat clients send PDF documents as images. */
export function isPdfUrl(text: string): boolean {
  if (!/^https?:/i.test(beginningOfUrl(text))) return false;
  const url = readNamedUrl(text, true);
  return url instanceof URL && /\.pdf$/i.test(url.pathname);
}

/** Reads the texts of instructions, without blank ones, which vendors refuse. */
export function instructionTexts(blocks: readonly PartBlock[]): TextBlock[] {
  return blocks
    .map((block) => block.type === "text" ? block : invalid(block.path, "must be a text part"))
    .filter((block) => block.text.trim() !== "");
}

/**
 * Turns a file with data into a block: an image, text for `text/plain`, or a document.
 *
 * @param dataPath the path of the data, for the refusal of text that is not UTF-8
 */
export function fileBlock(
  { mediaType, data }: { readonly mediaType: string; readonly data: string },
  { path, dataPath, title }: {
    readonly path: string;
    readonly dataPath: string;
    readonly title: string | undefined;
  },
): ImageBlock | DocumentBlock {
  const named = title === undefined ? {} : { title };
  if (mediaType.startsWith("image/")) {
    return { type: "image", path, source: { kind: "base64", mediaType, data } };
  }
  if (!mediaType.startsWith("text/")) {
    return { type: "document", path, source: { kind: "base64", mediaType, data }, ...named };
  }
  const text = decodeBase64Text(data) ?? invalid(dataPath, "is not UTF-8 text in base64");
  return { type: "document", path, source: { kind: "text", text }, ...named };
}
