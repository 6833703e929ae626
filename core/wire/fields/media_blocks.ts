/** Images and documents, as far as the encoders of several styles treat them alike. */
import type {
  DocumentBlock,
  ImageBlock,
  MediaSource,
  SearchResultBlock,
} from "../conversation/mod.ts";
import { writeDataUrl } from "./data_url.ts";
import type { ResolvedCapabilities } from "../capabilities.ts";
import { refuse } from "./fields.ts";

/**
 * The source of an image that another provider can read too.
 *
 * @throws {GatewayError} `conversion_refused` when the model takes no images, or the image is a provider's own file
 */
export function carriedImage(
  { source, path }: ImageBlock,
  capabilities: ResolvedCapabilities,
): Exclude<MediaSource, { readonly kind: "file" }> {
  if (capabilities.images === "none") refuse(path, "this model takes no images");
  return source.kind === "file" ? refuseForeignFile(path) : source;
}

/** Chat and Responses: an image as a URL, its own or one that holds the data. */
export function imageUrl(block: ImageBlock, capabilities: ResolvedCapabilities): string {
  const source = carriedImage(block, capabilities);
  if (source.kind === "base64") return writeDataUrl(source.mediaType, source.data);
  if (capabilities.images === "base64") {
    refuse(block.path, "this model takes images only as data, not by URL");
  }
  return source.url;
}

/** Uploaded to one vendor, which is not the one that answers. */
export function refuseForeignFile(path: string): never {
  return refuse(path, "the file belongs to another provider");
}

/**
 * Requires that the model accepts documents.
 *
 * @throws {GatewayError} `conversion_refused` when the model takes no documents
 */
export function requireDocuments(path: string, capabilities: ResolvedCapabilities): void {
  if (!capabilities.files) refuse(path, "this model takes no documents");
}

/** Chat and Responses: a file needs a name; one that came without gets the plainest. */
export function documentFileName({ title }: DocumentBlock, mediaType: string): string {
  return title ?? (mediaType === "application/pdf" ? "document.pdf" : "document");
}

/** Title and context of a document, for styles where only its text goes out; empty when it has neither. */
export function documentHeading(block: DocumentBlock): string {
  const lines = [block.title, block.context].filter((line) => line !== undefined && line !== "");
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}

/** A search result as text, for styles without a block for it. */
export function searchResultText(block: SearchResultBlock): string {
  return `${block.title} (${block.source})\n${block.texts.join("\n")}`;
}
