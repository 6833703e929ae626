/** Reads Chat content: strings and lists of parts. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { fileBlock, isPdfUrl, type PartBlock, readContent } from "../../fields/content_parts.ts";
import type { CacheMark, DocumentBlock, ImageBlock } from "../../conversation/mod.ts";
import { readInputAudio } from "../../fields/audio.ts";
import { dataUrl } from "../../content/data_url.ts";
import {
  invalid,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";

/** Reads a `content` field; absent and null mean no content. */
export function decodeChatContent(content: Json | undefined, path: string): PartBlock[] {
  return readContent(content, path, decodePart);
}

/** Reads one part of a list. */
export function decodeChatPart(value: Json, path: string): PartBlock {
  return decodePart(requiredObject(value, path), path);
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
    // The forms of Mistral and Z.ai.
    case "document_url":
    case "file_url":
      return { ...decodeDocumentUrl(part, part.type, path), ...cache };
    case "input_audio":
      return { ...readInputAudio(part, path), ...cache };
    default:
      return invalid(
        `${path}.type`,
        "must be one of text, image_url, file, document_url, file_url, input_audio, refusal",
      );
  }
}

/** The two members for cache marks that Chat clients send: the vendor's, and that of other gateways. */
const markMembers = ["cache_control", "prompt_cache_breakpoint"] as const;

/** Reads the cache mark of a part, message or tool, as an object to spread. */
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

function decodeFile(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  const file = requiredObject(part.file, `${path}.file`);
  const titlePath = `${path}.file.filename`;
  const title = optionalString(file, "filename", titlePath);
  const named = { path, title, titlePath };
  const url = optionalString(file, "file_url", `${path}.file.file_url`);
  if (url !== undefined) return urlDocument(url, `${path}.file.file_url`, named);
  const content = optionalString(file, "file_data", `${path}.file.file_data`);
  if (content === undefined) {
    return refuse(`${path}.file.file_id`, "the file belongs to another provider; send its data");
  }
  // Aggregators take a URL in the place of the data, and the data itself without the URL around it.
  const isBare = title !== undefined && /\.pdf$/i.test(title) && !/^\w+:/.test(content);
  if (!isBare) return urlDocument(content, `${path}.file.file_data`, named);
  const data = { mediaType: "application/pdf", data: content };
  return fileBlock(data, { path, dataPath: `${path}.file.file_data`, title });
}

/** Reads a document by its URL: a string, or an object around it. */
function decodeDocumentUrl(
  part: JsonObject,
  member: "document_url" | "file_url",
  path: string,
): ImageBlock | DocumentBlock {
  const held = part[member];
  const titlePath = `${path}.document_name`;
  const named = { path, title: optionalString(part, "document_name", titlePath), titlePath };
  if (typeof held === "string") return urlDocument(held, `${path}.${member}`, named);
  const url = requiredString(
    requiredObject(held, `${path}.${member}`),
    "url",
    `${path}.${member}.url`,
  );
  return urlDocument(url, `${path}.${member}.url`, named);
}

/** Reads a file by its URL: a data URL, or an address. */
function urlDocument(
  url: string,
  dataPath: string,
  { path, title, titlePath }: {
    readonly path: string;
    readonly title: string | undefined;
    readonly titlePath: string;
  },
): ImageBlock | DocumentBlock {
  const data = dataUrl(url);
  if (data !== undefined) return fileBlock(data, { path, dataPath, title });
  if (!/^https?:/i.test(url)) invalid(dataPath, "must be a base64 data URL or an https URL");
  const named = title === undefined ? {} : { title, titlePath };
  return { type: "document", path, source: { kind: "url", url }, ...named };
}
