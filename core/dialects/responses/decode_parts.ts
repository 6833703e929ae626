/** Reads the content parts of Responses items: strings and lists of parts. */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import type { CacheMark, DocumentBlock, ImageBlock, TextBlock } from "../conversation.ts";
import { dataUrl, decodeBase64Text } from "../data_url.ts";
import { invalid, optionalString, refuse, requiredObject, requiredString } from "../fields.ts";

type PartBlock = TextBlock | ImageBlock | DocumentBlock;

/** A `content` or `output` field: a string or a list of parts. */
export function decodeParts(content: Json | undefined, path: string): PartBlock[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content, path }];
  if (!Array.isArray(content)) invalid(path, "must be a string or a list of parts");
  return content.map((part, i) => decodePart(requiredObject(part, `${path}.${i}`), `${path}.${i}`));
}

/** Content of instructions: texts only. */
export function decodeInstructions(content: Json | undefined, path: string): TextBlock[] {
  return decodeParts(content, path)
    .map((block) => block.type === "text" ? block : invalid(block.path, "must be a text part"))
    .filter((block) => block.text.trim() !== "");
}

function decodePart(part: JsonObject, path: string): PartBlock {
  const cache = decodeMark(part);
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
      return refuse(path, "audio input cannot be carried to this model");
    default:
      return invalid(
        `${path}.type`,
        "must be one of input_text, input_image, input_file, input_audio, output_text, refusal",
      );
  }
}

function decodeMark(part: JsonObject): { readonly cache?: CacheMark } {
  return isJsonObject(part["prompt_cache_breakpoint"]) ? { cache: {} } : {};
}

function decodeImage(part: JsonObject, path: string): ImageBlock {
  const url = optionalString(part, "image_url", `${path}.image_url`);
  const detail = optionalString(part, "detail", `${path}.detail`);
  const shared = { type: "image" as const, path, ...(detail === undefined ? {} : { detail }) };
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
  const shared = { type: "document" as const, path, ...(title === undefined ? {} : { title }) };
  if (url !== undefined) return { ...shared, source: { kind: "url", url } };
  if (content === undefined) {
    const id = requiredString(part, "file_id", `${path}.file_data`);
    return { ...shared, source: { kind: "file", style: "responses", id } };
  }
  const data = dataUrl(content) ?? invalid(`${path}.file_data`, "must be a base64 data URL");
  if (data.mediaType.startsWith("image/")) {
    return { type: "image", path, source: { kind: "base64", ...data } };
  }
  if (!data.mediaType.startsWith("text/")) {
    return { ...shared, source: { kind: "base64", ...data } };
  }
  const text = decodeBase64Text(data.data) ??
    invalid(`${path}.file_data`, "is not UTF-8 text in base64");
  return { ...shared, source: { kind: "text", text } };
}
