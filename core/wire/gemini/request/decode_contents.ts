/** Reads the contents of a Gemini request as turns. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type {
  AnswerBlock,
  AudioBlock,
  Block,
  DocumentBlock,
  ImageBlock,
  TextBlock,
  ToolResultBlock,
  ToolResultContent,
  Turn,
} from "../../conversation/mod.ts";
import { fileBlock } from "../../fields/content_parts.ts";
import {
  invalid,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { readModelPart } from "../answer/decode_answer.ts";
import { addHostedResult, otherParts } from "../answer/hosted_parts.ts";
import { google, provesThought } from "../answer/thought_signatures.ts";

/**
 * Whether a file URI refers to storage of the vendor, which is that of the operator's account: a customer who knows a
 * name could read another's file.
 */
export function isStoredFile(uri: string): boolean {
  return !/^https?:/i.test(uri) || /^https?:\/\/[\w.-]*\.googleapis\.com(?:[:/]|$)/i.test(uri);
}

/** Reads `contents`: a list, or, as some libraries send it, a single content or a text. */
export function decodeGeminiContents(contents: Json | undefined): Turn[] {
  if (contents === undefined || contents === null) return invalid("contents", "is required");
  const placed = Array.isArray(contents)
    ? contents.map((value, i) => placedContent(value, `contents.${i}`))
    : [placedContent(contents, "contents")];
  return joinedModels(placed).map(({ role, path, parts }) => ({
    role,
    path,
    blocks: role === "assistant"
      ? decodeModel(parts)
      : parts.map(({ part, at }) => decodeUser(part, at)),
  }));
}

interface PlacedContent {
  readonly role: "user" | "assistant";
  readonly path: string;
  readonly parts: readonly PlacedPart[];
}

/**
 * Joins neighbouring contents of the model. The vendor's libraries keep each chunk of a stream as a content of its own,
 * and the signature of a thought may be in the chunk after it.
 */
function joinedModels(contents: readonly PlacedContent[]): PlacedContent[] {
  const groups: PlacedContent[][] = [];
  for (const content of contents) {
    const group = groups.at(-1);
    const joins = content.role === "assistant" && group?.[0]?.role === "assistant";
    if (joins) group?.push(content);
    else groups.push([content]);
  }
  return groups.flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ ...first, parts: group.flatMap(({ parts }) => parts) }];
  });
}

/** Reads instructions: a content of texts, or a text. */
export function decodeInstructions(value: Json | undefined, path: string): TextBlock[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [{ type: "text", path, text: value }];
  return partsIn(requiredObject(value, path), path)
    .map(({ part, at }): TextBlock => ({
      type: "text",
      path: at,
      text: requiredString(part, "text", `${at}.text`),
    }))
    .filter(({ text }) => text.trim() !== "");
}

interface PlacedPart {
  readonly part: JsonObject;
  readonly at: string;
}

function partsIn(content: JsonObject, path: string): PlacedPart[] {
  const parts = optionalList(content, "parts", `${path}.parts`) ?? [];
  return parts.map((part, i) => {
    const at = `${path}.parts.${i}`;
    return { part: requiredObject(part, at), at };
  });
}

function placedContent(value: Json, path: string): PlacedContent {
  if (typeof value === "string") {
    return { role: "user", path, parts: [{ part: { text: value }, at: path }] };
  }
  const content = requiredObject(value, path);
  const role = optionalString(content, "role", `${path}.role`) ?? "user";
  const parts = partsIn(content, path);
  switch (role) {
    case "model":
      return { role: "assistant", path, parts };
    case "user":
    case "function":
      return { role: "user", path, parts };
    default:
      return invalid(`${path}.role`, "must be user or model");
  }
}

function decodeModel(parts: readonly PlacedPart[]): Block[] {
  const blocks: Block[] = [];
  for (const { part, at } of parts) {
    if (addHostedResult(blocks, part, at)) continue;
    if (isJsonObject(part.functionCall)) {
      requiredString(part.functionCall, "name", `${at}.functionCall.name`);
      optionalObject(part.functionCall, "args", `${at}.functionCall.args`);
    }
    const read = readModelPart(part, at, google);
    if (read === undefined) blocks.push(...otherParts(part, at).map((block) => told(block, part)));
    else for (const block of read) addModelBlock(blocks, block);
  }
  return blocks;
}

/** Part of the history that only this style has: it is named, and so is media, since no vendor takes it back. */
function told(block: AnswerBlock, raw: JsonObject): Block {
  if (block.type === "foreign") return { ...block, otherwise: "warn" };
  if (block.type !== "picture" && block.type !== "sound") return block;
  const { path } = block;
  return { type: "foreign", style: "gemini", kind: "inlineData", raw, path, otherwise: "warn" };
}

/** Adds a block; the proof that the gateway put on a call belongs to the thought before it. */
function addModelBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1);
  const isThought = last?.type === "reasoning" && last.text !== "" && last.proof === undefined;
  if (block.type !== "reasoning" || !isThought || !provesThought(block)) blocks.push(block);
  else blocks[blocks.length - 1] = { ...last, ...block, text: last.text };
}

function decodeUser(part: JsonObject, path: string): Block {
  const { text, inlineData, fileData, functionResponse } = part;
  if (typeof text === "string") return { type: "text", path, text };
  if (inlineData !== undefined) {
    return decodeData(requiredObject(inlineData, `${path}.inlineData`), path);
  }
  if (fileData !== undefined) {
    return decodeFile(requiredObject(fileData, `${path}.fileData`), path);
  }
  if (functionResponse !== undefined) {
    return decodeResult(requiredObject(functionResponse, `${path}.functionResponse`), path);
  }
  const [other] = otherParts(part, path);
  if (other?.type !== "foreign") return { type: "text", path, text: "" };
  return other.kind === "part"
    ? invalid(path, "must have text, inlineData, fileData or functionResponse")
    : { ...other, otherwise: "refuse" };
}

function decodeData(
  blob: JsonObject,
  path: string,
): ImageBlock | AudioBlock | DocumentBlock {
  const dataPath = `${path}.inlineData.data`;
  const mediaType = requiredString(blob, "mimeType", `${path}.inlineData.mimeType`)
    .toLowerCase().replace(/;.*$/s, "");
  // The vendor's libraries write base64 in either alphabet.
  const data = requiredString(blob, "data", dataPath).replaceAll("-", "+").replaceAll("_", "/");
  if (mediaType.startsWith("audio/")) {
    return { type: "audio", path, source: { mediaType, data } };
  }
  refuseSound(mediaType, path);
  return fileBlock({ mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType, data }, {
    path,
    dataPath,
    title: undefined,
  });
}

function refuseSound(mediaType: string, path: string): void {
  if (/^(?:audio|video)\//.test(mediaType)) {
    refuse(path, "video, and sound by its address, cannot be carried to this model");
  }
}

/** Videos that only the vendor can read. */
const video = /^https?:\/\/(?:(?:www\.|m\.)?youtube\.com|youtu\.be)\//i;

function decodeFile(file: JsonObject, path: string): ImageBlock | DocumentBlock {
  const url = requiredString(file, "fileUri", `${path}.fileData.fileUri`);
  const type = optionalString(file, "mimeType", `${path}.fileData.mimeType`)?.toLowerCase() ?? "";
  refuseSound(type, path);
  if (video.test(url) || isStoredFile(url)) {
    refuse(`${path}.fileData.fileUri`, "the file belongs to another provider; send its data");
  }
  const isImage = type.startsWith("image/") || /\.(?:png|jpe?g|gif|webp)(?:[?#]|$)/i.test(url);
  return { type: isImage ? "image" : "document", path, source: { kind: "url", url } };
}

function decodeResult(result: JsonObject, path: string): ToolResultBlock {
  const at = `${path}.functionResponse`;
  const name = requiredString(result, "name", `${at}.name`);
  const { text, isError } = resultText(result.response);
  const media = (optionalList(result, "parts", `${at}.parts`) ?? []).flatMap((value, i) => {
    const partPath = `${at}.parts.${i}`;
    const part = requiredObject(value, partPath);
    if (part.inlineData === undefined) {
      return refuse(partPath, "this model takes results of tools only as text and data");
    }
    return [decodeData(requiredObject(part.inlineData, `${partPath}.inlineData`), partPath)];
  });
  const content: ToolResultContent[] = text === ""
    ? media
    : [{ type: "text", path: `${at}.response`, text }, ...media];
  return {
    type: "tool_result",
    path,
    callId: optionalString(result, "id", `${at}.id`) ?? "",
    name,
    content,
    isError,
  };
}

/** Reads what a function returned: `output` or `error` alone, else the object itself as JSON. */
function resultText(response: Json | undefined): { text: string; isError: boolean } {
  if (!isJsonObject(response)) {
    return {
      text: response === undefined || response === null ? "" : stringifyExactly(response),
      isError: false,
    };
  }
  const [[key, value] = ["", undefined], ...more] = Object.entries(response);
  const isError = more.length === 0 && key === "error";
  if (more.length > 0 || (!isError && key !== "output") || value === undefined) {
    return { text: stringifyExactly(response), isError: false };
  }
  return { text: typeof value === "string" ? value : stringifyExactly(value), isError };
}
