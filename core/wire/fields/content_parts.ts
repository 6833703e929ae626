/** Content as Chat and Responses write it: a string, or a list of parts. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { DocumentBlock, ImageBlock, TextBlock } from "../conversation/mod.ts";
import { decodeBase64Text } from "./data_url.ts";
import { invalid, requiredObject } from "./fields.ts";

/** What a part of content can be. */
export type PartBlock = TextBlock | ImageBlock | DocumentBlock;

/**
 * The blocks of a `content` or `output` field; absent and null are no content.
 *
 * @param readPart the style's own reading of one part
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

/** Whether an address says that a PDF is behind it: Chat clients send those like pictures. */
export function isPdfUrl(url: string): boolean {
  return /^https?:\/\/[^?#]*\.pdf(?:[?#]|$)/i.test(url);
}

/** Instructions hold texts only; blank ones say nothing, and vendors refuse them. */
export function instructionTexts(blocks: readonly PartBlock[]): TextBlock[] {
  return blocks
    .map((block) => block.type === "text" ? block : invalid(block.path, "must be a text part"))
    .filter((block) => block.text.trim() !== "");
}

/**
 * A file with its data: an image stays one, plain text is text, anything else is a document.
 *
 * @param dataPath where the data stood, for the refusal of text that is none
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
