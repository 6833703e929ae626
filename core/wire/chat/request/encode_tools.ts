/** Writes tools and tool choice as Chat fields. */
import { noneLeft, noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { warnOfMark } from "../../fields/cache_marks.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  CustomTool,
  FunctionTool,
  HostedTool,
  HostedToolRequest,
  Placed,
  Tool,
  ToolChoice,
  WebSearchRequest,
} from "../../conversation/mod.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { allowsStrictChat, functionParameters } from "../../tools/schemas/json_schema.ts";
import type { Warnings } from "../../contract/warnings.ts";
import {
  carriedChoice,
  carriedHosted,
  isCustomTool,
  refuseForced,
  searchField,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
  writeParallelTools,
} from "../../tools/tool_fields.ts";
import { defined } from "../../../lib/base/defined.ts";

// What becomes of each member of a tool here. A new member does not compile until it has a row.
noneUnhandled<
  Exclude<
    keyof FunctionTool,
    keyof Placed | "type" | "name" | "description" | "schema" | "strict" | "strictPath"
  >
>();
noneUnhandled<
  Exclude<keyof CustomTool, keyof Placed | "type" | "name" | "description" | "format">
>();

/** The fields of a conversation that this file reads. */
type ToolFields = Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">;

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
export function encodeChatTools(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type !== "hosted") tools.push(encodeTool(tool, capabilities, warnings));
  }
  encodeHosted(conversation, capabilities, options, warnings, body);
  if (tools.length === 0) return warnOfIdleChoice(conversation.toolChoice, warnings);
  body.tools = tools;
  if (conversation.toolChoice !== undefined) {
    const choice = carriedChoice(conversation.toolChoice, capabilities, warnings);
    body.tool_choice = encodeChoice(choice, conversation.tools);
  }
  writeParallelTools(conversation, capabilities, warnings, body);
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): JsonObject {
  warnOfMark(tool, warnings);
  const named = {
    name: tool.name,
    ...defined({ description: tool.description }),
  };
  if (tool.type === "custom") {
    return { type: "custom", custom: { ...named, ...customFormat(tool.format) } };
  }
  const parameters = functionParameters(tool.schema);
  // A strict schema of another style may be invalid as one here; it still works without enforcement.
  const isRefused = tool.strict === true &&
    !(capabilities.strict_tools && allowsStrictChat(parameters));
  if (isRefused) warnings.add(strictPath(tool));
  const isSaid = tool.strict !== undefined && capabilities.strict_tools && !isRefused;
  const strict = isSaid ? { strict: tool.strict } : {};
  return { type: "function", function: { ...named, parameters, ...strict } };
}

/** Writes the grammar, which Chat nests one level deeper than the conversation. */
function customFormat(format: JsonObject | undefined): JsonObject {
  if (format === undefined) return {};
  if (format.type !== "grammar") return { format };
  const { type, ...grammar } = format;
  return { format: { type, grammar } };
}

/**
 * Writes the field for web search, which some models of this style take. They search for every answer then, so a
 * choice that forces the search is dropped by name, unless the model could call another tool instead.
 */
function encodeHosted(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): void {
  const has = (requested: HostedToolRequest) =>
    requested.tool === "web_search" && capabilities.extra_fields.includes(searchField);
  // The operator chose the field for the route; its cost is checked when the request goes out.
  const { allow: _, ...open } = options;
  for (const { requested, ...tool } of carriedHosted(conversation, open, warnings, has)) {
    if (requested.tool !== "web_search") continue;
    if (conversation.tools.length > 1) refuseForced(tool, conversation.toolChoice);
    body[searchField] = writeSearchOptions(requested, warnings);
  }
}

function writeSearchOptions(requested: WebSearchRequest, warnings: Warnings): JsonObject {
  const {
    tool: _,
    contextSize,
    location,
    allowedDomains,
    blockedDomains,
    maxUses,
    others,
    ...rest
  } = requested;
  noneLeft(rest);
  warnOfRequested([allowedDomains, blockedDomains, maxUses], warnings);
  for (const path of others) warnings.add(path);
  return {
    ...defined({ search_context_size: contextSize?.value }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", approximate: location.value } }),
  };
}

function encodeChoice(choice: ToolChoice, tools: readonly Tool[]): JsonObject | string {
  if (choice.type !== "tool") return choice.type;
  const { name } = choice;
  return isCustomTool(tools, name)
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } };
}
