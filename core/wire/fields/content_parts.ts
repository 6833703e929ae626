/** Reads content as Chat and Responses write it: a string, or a list of parts. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { beginningOfUrl, readNamedUrl } from "../../net/remote/named_url.ts";
import type { AudioBlock, DocumentBlock, ImageBlock, TextBlock } from "../conversation/mod.ts";
import { decodeBase64Text } from "../content/data_url.ts";
import { invalid, requiredObject } from "./fields.ts";

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
