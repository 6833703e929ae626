/** Reads the content parts of Responses items: strings and lists of parts. */
import { readInputAudio } from "../../fields/audio.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { fileBlock, type PartBlock, readContent } from "../../fields/content_parts.ts";
import type { CacheMark, DocumentBlock, ImageBlock } from "../../conversation/mod.ts";
import { dataUrl } from "../../content/data_url.ts";
import { invalid, optionalString, requiredString } from "../../fields/fields.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Reads a `content` or `output` field: a string or a list of parts. */
export function decodeParts(content: Json | undefined, path: string): PartBlock[] {
  return readContent(content, path, decodePart);
}

function decodePart(part: JsonObject, path: string): PartBlock {
  const cache = decodeMark(part, path);
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", path, text: requiredString(part, "text", `${path}.text`), ...cache };
    case "refusal": {
      const text = requiredString(part, "refusal", `${path}.refusal`);
      return { type: "text", path, text, refusal: true };
    }
    case "input_image":
      return { ...decodeImage(part, path), ...cache };
    case "input_file":
      return { ...decodeFile(part, path), ...cache };
    case "input_audio":
      return { ...readInputAudio(part, path), ...cache };
    default:
      return invalid(
        `${path}.type`,
        "must be one of input_text, input_image, input_file, input_audio, output_text, refusal",
      );
  }
}

function decodeMark(part: JsonObject, path: string): { readonly cache?: CacheMark } {
  const member = "prompt_cache_breakpoint";
  return isJsonObject(part[member]) ? { cache: { path: `${path}.${member}` } } : {};
}

function decodeImage(part: JsonObject, path: string): ImageBlock {
  const url = optionalString(part, "image_url", `${path}.image_url`);
  const detail = optionalString(part, "detail", `${path}.detail`);
  const shared = { type: "image" as const, path, ...defined({ detail }) };
  if (url === undefined) {
    const id = requiredString(part, "file_id", `${path}.image_url`);
    return { ...shared, source: { kind: "file", style: "responses", id } };
  }
  const data = dataUrl(url);
  if (data !== undefined) return { ...shared, source: { kind: "base64", ...data } };
  if (/^data:/i.test(url)) invalid(`${path}.image_url`, "must be a base64 data URL");
  return { ...shared, source: { kind: "url", url } };
}

function decodeFile(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  const title = optionalString(part, "filename", `${path}.filename`);
  const content = optionalString(part, "file_data", `${path}.file_data`);
  const url = optionalString(part, "file_url", `${path}.file_url`);
  const shared = { type: "document" as const, path, ...defined({ title }) };
  if (url !== undefined) return { ...shared, source: { kind: "url", url } };
  if (content === undefined) {
    const id = requiredString(part, "file_id", `${path}.file_data`);
    return { ...shared, source: { kind: "file", style: "responses", id } };
  }
  const data = dataUrl(content) ?? invalid(`${path}.file_data`, "must be a base64 data URL");
  return fileBlock(data, { path, dataPath: `${path}.file_data`, title });
}
