/** Reads Chat content: strings and lists of parts. */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { fileBlock, type PartBlock, readContent } from "../content_parts.ts";
import type { CacheMark, DocumentBlock, ImageBlock } from "../conversation/mod.ts";
import { dataUrl } from "../data_url.ts";
import { invalid, optionalString, refuse, requiredObject, requiredString } from "../fields.ts";

/** A `content` field; absent and null are no content. */
export function decodeChatContent(content: Json | undefined, path: string): PartBlock[] {
  return readContent(content, path, decodePart);
}

function decodePart(part: JsonObject, path: string): PartBlock {
  const cache = decodeChatMark(part, path);
  switch (part.type) {
    case "text":
      return { type: "text", path, text: requiredString(part, "text", `${path}.text`), ...cache };
    case "refusal": {
      const text = requiredString(part, "refusal", `${path}.refusal`);
      return { type: "text", path, text, refusal: true, ...cache };
    }
    case "image_url":
      return { ...decodeImage(part, path), ...cache };
    case "file":
      return { ...decodeFile(part, path), ...cache };
    case "input_audio":
      return refuse(path, "audio input cannot be carried to this model");
    default:
      return invalid(`${path}.type`, "must be one of text, image_url, file, input_audio, refusal");
  }
}

/** Both forms of cache mark that Chat clients send: the vendor's, and the habit of other gateways. */
const markMembers = ["cache_control", "prompt_cache_breakpoint"] as const;

/** The mark of a part, message or tool, as something to spread. */
export function decodeChatMark(part: JsonObject, path: string): { readonly cache?: CacheMark } {
  for (const member of markMembers) {
    const mark = part[member];
    if (!isJsonObject(mark)) continue;
    const { ttl } = mark;
    const place = { path: `${path}.${member}` };
    return { cache: ttl === "5m" || ttl === "1h" ? { ...place, ttl } : place };
  }
  return {};
}

function decodeImage(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  // Some clients write the URL itself instead of the object around it.
  const holder = typeof part.image_url === "string" ? { url: part.image_url } : part.image_url;
  const image = requiredObject(holder, `${path}.image_url`);
  const url = requiredString(image, "url", `${path}.image_url.url`);
  const detail = optionalString(image, "detail", `${path}.image_url.detail`);
  const data = dataUrl(url);
  if (data === undefined) {
    if (/^data:/i.test(url)) invalid(`${path}.image_url.url`, "must be a base64 data URL");
    return isPdfUrl(url)
      ? { type: "document", path, source: { kind: "url", url } }
      : { type: "image", path, source: { kind: "url", url }, ...(detail && { detail }) };
  }
  if (data.mediaType === "application/pdf") {
    return { type: "document", path, source: { kind: "base64", ...data } };
  }
  return { type: "image", path, source: { kind: "base64", ...data }, ...(detail && { detail }) };
}

function isPdfUrl(url: string): boolean {
  return /^https?:\/\/[^?#]*\.pdf(?:[?#]|$)/i.test(url);
}

function decodeFile(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  const file = requiredObject(part.file, `${path}.file`);
  const content = optionalString(file, "file_data", `${path}.file.file_data`);
  if (content === undefined) {
    return refuse(`${path}.file.file_id`, "the file belongs to another provider; send its data");
  }
  const title = optionalString(file, "filename", `${path}.file.filename`);
  const data = dataUrl(content) ??
    (title !== undefined && /\.pdf$/i.test(title)
      ? { mediaType: "application/pdf", data: content }
      : invalid(`${path}.file.file_data`, "must be a base64 data URL"));
  return fileBlock(data, { path, dataPath: `${path}.file.file_data`, title });
}
