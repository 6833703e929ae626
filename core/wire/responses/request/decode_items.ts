/** Reads the input items of a Responses request as turns. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  fileBlock,
  instructionTexts,
  type PartBlock,
  readContent,
} from "../../fields/content_parts.ts";
import type {
  Block,
  CacheMark,
  DocumentBlock,
  Effort,
  ImageBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "../../conversation/mod.ts";
import {
  invalid,
  oneOf,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { readEffort } from "../../fields/common_fields.ts";
import { readSealedText, toldSummary } from "../../fields/reasoning_seal.ts";
import { readItemProof } from "../items/output_items.ts";
import { readHostedItem } from "../items/hosted_items.ts";
import { isClientSearch, keysOf, listed } from "./decode_tools.ts";
import { type NameOf, searchToolName } from "../items/tool_groups.ts";
import { defined } from "../../../lib/base/defined.ts";
import { readInputAudio } from "../../fields/audio.ts";
import { dataUrl } from "../../content/citations.ts";

// Reads the content parts of Responses items: strings and lists of parts.

/** Reads a `content` or `output` field: a string or a list of parts. */
function decodeParts(content: Json | undefined, path: string): PartBlock[] {
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
  const shared = { type: "image" as const, path, ...(detail && { detail }) };
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

/** The type of an item that changes the effort from its place on, without a change of the prefix that is cached. */
const configurationUpdate = "configuration_update";

/** Returns the effort that the last such item sets, with its path; `undefined` without one. */
export function updatedEffort(
  input: Json | undefined,
): { readonly effort: Effort; readonly effortPath: string } | undefined {
  if (!Array.isArray(input)) return undefined;
  for (let i = input.length - 1; i >= 0; i--) {
    const item = input[i];
    if (!isJsonObject(item) || item["type"] !== configurationUpdate) continue;
    const reasoning = optionalObject(item, "reasoning", `input.${i}.reasoning`) ?? {};
    const effortPath = `input.${i}.reasoning.effort`;
    const effort = readEffort(optionalString(reasoning, "effort", effortPath), effortPath);
    if (effort !== undefined) return { effort, effortPath };
  }
  return undefined;
}

/** The input items of a Responses request, as turns. */
export interface DecodedInput {
  /** Instructions before the first other item, in order. */
  readonly system: readonly TextBlock[];
  /** One turn per item; neighbours of one role are merged later. */
  readonly turns: readonly Turn[];
}

/** Reads the `input` field: a string, or a list of items. `nameOf` names the tools that it calls. */
export function decodeInput(input: Json | undefined, nameOf: NameOf): DecodedInput {
  if (input === undefined || input === null) invalid("input", "is required");
  if (typeof input === "string") {
    const block: TextBlock = { type: "text", text: input, path: "input" };
    return { system: [], turns: [{ role: "user", path: "input", blocks: [block] }] };
  }
  if (!Array.isArray(input)) invalid("input", "must be a string or a list of items");
  const system: TextBlock[] = [];
  const turns: Turn[] = [];
  input.forEach((value, i) => {
    const item = requiredObject(value, `input.${i}`);
    // Its tools stand among the others, its effort in the request.
    if (item["type"] === "additional_tools" || item["type"] === configurationUpdate) return;
    const turn = decodeItem(item, `input.${i}`, nameOf);
    if (turn.role === "system" && turns.length === 0) {
      system.push(...turn.blocks.filter((block) => block.type === "text"));
    } else {
      turns.push(turn);
    }
  });
  return { system, turns };
}

function decodeItem(item: JsonObject, path: string, nameOf: NameOf): Turn {
  const type = optionalString(item, "type", `${path}.type`) ?? "message";
  switch (type) {
    case "message":
      return decodeMessage(item, path);
    case "function_call":
    case "custom_tool_call":
      return said("assistant", path, decodeCall(type, item, path, nameOf));
    case "function_call_output":
    case "custom_tool_call_output":
      return said("user", path, decodeOutput(type, item, path));
    case "tool_search_call":
      if (!isClientSearch(item, type)) break;
      return said("assistant", path, decodeSearch(item, path));
    case "tool_search_output":
      if (!isClientSearch(item, type)) break;
      return said("user", path, decodeFound(item, path, nameOf));
    case "reasoning":
      return said("assistant", path, decodeReasoning(item, path));
    case "item_reference":
      return refuse(path, "stored items belong to another provider; send the item itself");
    case "compaction":
    // Other names of it in the histories of Codex.
    case "compaction_summary":
    case "context_compaction": {
      const summary = readSealedText(item["encrypted_content"]);
      if (summary !== undefined) {
        return said("user", path, { type: "text", path, text: toldSummary(summary) });
      }
      return refuse(path, "a compacted conversation can only be read by its own provider");
    }
  }
  return said("assistant", path, decodeForeign(type, item, path));
}

function said(role: "user" | "assistant", path: string, block: Block): Turn {
  return { role, path, blocks: [block] };
}

function decodeMessage(item: JsonObject, path: string): Turn {
  const role = oneOf(
    requiredString(item, "role", `${path}.role`),
    ["user", "assistant", "system", "developer"],
    `${path}.role`,
  );
  const blocks = decodeParts(item["content"], `${path}.content`);
  if (role === "system" || role === "developer") {
    return { role: "system", path, blocks: instructionTexts(blocks) };
  }
  return { role, path, blocks };
}

function decodeCall(
  type: "function_call" | "custom_tool_call",
  item: JsonObject,
  path: string,
  nameOf: NameOf,
): ToolCallBlock {
  const itemId = optionalString(item, "id", `${path}.id`);
  const text = (key: string): string => optionalString(item, key, `${path}.${key}`) ?? "";
  const group = optionalString(item, "namespace", `${path}.namespace`);
  const name = requiredString(item, "name", `${path}.name`);
  return {
    type: "tool_call",
    path,
    id: requiredString(item, "call_id", `${path}.call_id`),
    ...defined({ itemId }),
    name: nameOf({ ...defined({ group }), name }),
    input: type === "function_call"
      ? { kind: "json_text", text: text("arguments") }
      : { kind: "text", text: text("input") },
  };
}

function decodeOutput(
  type: "function_call_output" | "custom_tool_call_output",
  item: JsonObject,
  path: string,
): ToolResultBlock {
  return {
    type: "tool_result",
    path,
    callId: requiredString(item, "call_id", `${path}.call_id`),
    content: decodeParts(item["output"], `${path}.output`),
    isError: false,
    ...(type === "custom_tool_call_output" ? { custom: true } : {}),
  };
}

/** Reads a call of the caller's own search for tools. */
function decodeSearch(item: JsonObject, path: string): ToolCallBlock {
  const given = item["arguments"] ?? {};
  return {
    type: "tool_call",
    path,
    id: requiredString(item, "call_id", `${path}.call_id`),
    name: searchToolName,
    input: isJsonObject(given)
      ? { kind: "object", value: given }
      : { kind: "json_text", text: typeof given === "string" ? given : stringifyExactly(given) },
  };
}

/** Reads the result of a search for tools: names the tools to the model; they are also in the list of tools. */
function decodeFound(item: JsonObject, path: string, nameOf: NameOf): ToolResultBlock {
  const found = listed(item, `${path}.tools`).flatMap(({ tool }) => keysOf(tool)).map(nameOf);
  const text = found.length === 0
    ? "No tools were found."
    : `Found, and ready to be called: ${found.join(", ")}`;
  return {
    type: "tool_result",
    path,
    callId: requiredString(item, "call_id", `${path}.call_id`),
    content: [{ type: "text", text, path }],
    isError: false,
  };
}

function decodeReasoning(item: JsonObject, path: string): ReasoningBlock {
  return { type: "reasoning", path, ...readItemProof(item, "responses") };
}

/** Reads calls of the vendor's own tools, and their results. */
function decodeForeign(kind: string, raw: JsonObject, path: string): Block {
  return readHostedItem(raw, path) ??
    { type: "foreign", style: "responses", path, kind, raw, otherwise: "warn" };
}
