/** Writes images and documents in the forms that several encoders share. */
import type {
  DocumentBlock,
  ImageBlock,
  MediaSource,
  SearchResultBlock,
} from "../conversation/mod.ts";
import { writeDataUrl } from "../content/data_url.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { refuse } from "./fields.ts";

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
  return title ?? (mediaType === "application/pdf" ? "document.pdf" : "document");
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
