/** Reads the input items of a Responses request as turns. */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import { instructionTexts } from "../content_parts.ts";
import type {
  Block,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "../conversation/mod.ts";
import {
  invalid,
  oneOf,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../fields.ts";
import { decodeParts } from "./decode_parts.ts";
import { readItemProof } from "./reasoning_item.ts";
import { flatName } from "./tool_groups.ts";

export interface DecodedInput {
  /** Instructions before the first other item, in order. */
  readonly system: readonly TextBlock[];
  /** One turn per item; neighbours of one role are merged later. */
  readonly turns: readonly Turn[];
}

/** The `input` field: a string, or a list of items. */
export function decodeInput(input: Json | undefined): DecodedInput {
  if (input === undefined || input === null) invalid("input", "is required");
  if (typeof input === "string") {
    const block: TextBlock = { type: "text", text: input, path: "input" };
    return { system: [], turns: [{ role: "user", path: "input", blocks: [block] }] };
  }
  if (!Array.isArray(input)) invalid("input", "must be a string or a list of items");
  const system: TextBlock[] = [];
  const turns: Turn[] = [];
  input.forEach((value, i) => {
    const turn = decodeItem(requiredObject(value, `input.${i}`), `input.${i}`);
    if (turn.role === "system" && turns.length === 0) {
      system.push(...turn.blocks.filter((block) => block.type === "text"));
    } else {
      turns.push(turn);
    }
  });
  return { system, turns };
}

function decodeItem(item: JsonObject, path: string): Turn {
  const type = optionalString(item, "type", `${path}.type`) ?? "message";
  switch (type) {
    case "message":
      return decodeMessage(item, path);
    case "function_call":
    case "custom_tool_call":
      return said("assistant", path, decodeCall(type, item, path));
    case "function_call_output":
    case "custom_tool_call_output":
      return said("user", path, decodeOutput(type, item, path));
    case "reasoning":
      return said("assistant", path, decodeReasoning(item, path));
    case "item_reference":
      return refuse(path, "stored items belong to another provider; send the item itself");
    case "compaction":
      return refuse(path, "a compacted conversation can only be read by its own provider");
    default:
      return said("assistant", path, decodeForeign(type, item, path));
  }
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
): ToolCallBlock {
  const itemId = optionalString(item, "id", `${path}.id`);
  const text = (key: string): string => optionalString(item, key, `${path}.${key}`) ?? "";
  return {
    type: "tool_call",
    path,
    id: requiredString(item, "call_id", `${path}.call_id`),
    ...(itemId === undefined ? {} : { itemId }),
    name: flatName(
      optionalString(item, "namespace", `${path}.namespace`),
      requiredString(item, "name", `${path}.name`),
    ),
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

function decodeReasoning(item: JsonObject, path: string): ReasoningBlock {
  return { type: "reasoning", path, ...readItemProof(item, "responses") };
}

/** Calls of the vendor's own tools, and what they returned. Answers of earlier searches are worth their text only. */
function decodeForeign(kind: string, raw: JsonObject, path: string): Block {
  const action = raw["action"];
  const query = isJsonObject(action) ? action["query"] : undefined;
  return {
    type: "foreign",
    style: "responses",
    path,
    kind,
    raw,
    ...(kind === "web_search_call" && typeof query === "string"
      ? { text: `[Searched the web for: ${query}]` }
      : {}),
    otherwise: "note",
  };
}
