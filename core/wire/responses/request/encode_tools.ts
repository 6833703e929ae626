/** Writes tools and tool choice as Responses fields. */
import { noneLeft } from "../../../lib/base/assert.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { warnOfMark } from "../../fields/fields.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  HostedTool,
  HostedToolRequest,
  McpRequest,
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
  type CarriedTool,
  isCustomTool,
  isNamed,
  strictPath,
  warnOfIdleChoice,
  warnOfRequested,
  writeParallelTools,
} from "../../tools/tool_fields.ts";
import { defined } from "../../../lib/base/defined.ts";
import { codeOutputs, searchSources } from "./known_fields.ts";

// Writes hosted tools for a Responses request.

/** Hosted tools as a Responses request has them. */
export interface EncodedHosted {
  readonly carried: readonly CarriedTool[];
  readonly tools: readonly JsonObject[];
  /** Values of `include` for results that the vendor sends only on request. */
  readonly include: readonly string[];
}

/** Writes the hosted tools that the route takes. Adds to the body what they need beside `tools`. */
function encodeHostedTools(
  conversation: Pick<Conversation, "tools" | "toolChoice">,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): EncodedHosted {
  // The search fetches pages: the style has no separate tool for that.
  const has = (requested: HostedToolRequest) => requested.tool !== "web_fetch";
  const carried = carriedHosted(conversation, options, warnings, has);
  const tools = carried.flatMap(({ requested }) => writeTool(requested, warnings));
  const include = carried.flatMap(({ requested }) => told[requested.tool] ?? []);
  const [only] = carried;
  if (only?.requested.tool === "web_search" && only.requested.maxUses !== undefined) {
    // The style bounds all hosted calls together.
    if (carried.length === 1) body["max_tool_calls"] = only.requested.maxUses.value;
    else warnOfRequested([only.requested.maxUses], warnings);
  }
  return { carried, tools, include };
}

/** Values of `include`, by tool. */
const told: Partial<Record<HostedToolRequest["tool"], string>> = {
  web_search: searchSources,
  code_execution: codeOutputs,
};

function writeTool(requested: HostedToolRequest, warnings: Warnings): JsonObject[] {
  for (const path of requested.others) warnings.add(path);
  switch (requested.tool) {
    case "web_search":
      return [writeSearch(requested, warnings)];
    case "web_fetch":
      return [];
    case "code_execution":
      return [{ type: "code_interpreter", container: { type: "auto" } }];
    case "mcp":
      return [writeMcp(requested)];
  }
}

function writeSearch(requested: WebSearchRequest, warnings: Warnings): JsonObject {
  const {
    tool: _,
    allowedDomains,
    blockedDomains,
    location,
    contextSize,
    // encodeHostedTools() writes it beside the tools.
    maxUses: _maxUses,
    // writeTool() names them.
    others: _others,
    ...rest
  } = requested;
  noneLeft(rest);
  warnOfRequested([blockedDomains], warnings);
  return {
    type: "web_search",
    ...(allowedDomains === undefined
      ? {}
      : { filters: { allowed_domains: [...allowedDomains.value] } }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", ...location.value } }),
    ...defined({ search_context_size: contextSize?.value }),
  };
}

function writeMcp(requested: McpRequest): JsonObject {
  const { tool: _, others: _others, server, url, authorization, allowedTools, ...rest } = requested;
  noneLeft(rest);
  return {
    type: "mcp",
    server_label: server,
    server_url: url,
    ...defined({ authorization }),
    ...(allowedTools === undefined ? {} : { allowed_tools: [...allowedTools] }),
    require_approval: "never",
  };
}

/** Writes the choice of a hosted tool. */
function hostedChoice({ requested }: CarriedTool): JsonObject {
  switch (requested.tool) {
    case "mcp":
      return { type: "mcp", server_label: requested.server };
    case "code_execution":
      return { type: "code_interpreter" };
    default:
      return { type: "web_search" };
  }
}

/** The fields of a conversation that this file reads. */
type ToolFields = Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">;

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body; returns the values of `include` that they need. */
export function encodeResponsesTools(
  conversation: ToolFields,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): readonly string[] {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type !== "hosted") tools.push(encodeTool(tool, capabilities, warnings));
  }
  const hosted = encodeHostedTools(conversation, options, warnings, body);
  tools.push(...hosted.tools);
  if (tools.length === 0) {
    warnOfIdleChoice(conversation.toolChoice, warnings);
    return [];
  }
  body["tools"] = tools;
  if (conversation.toolChoice !== undefined) {
    const choice = carriedChoice(conversation.toolChoice, capabilities, warnings);
    body["tool_choice"] = encodeChoice(choice, conversation.tools, hosted.carried);
  }
  writeParallelTools(conversation, capabilities, warnings, body);
  return hosted.include;
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): JsonObject {
  warnOfMark(tool, warnings);
  const named = {
    type: tool.type,
    name: tool.name,
    ...defined({ description: tool.description }),
  };
  if (tool.type === "custom") {
    return { ...named, ...defined({ format: tool.format }) };
  }
  const parameters = functionParameters(tool.schema);
  // Always sent: the vendor's default is strict, which would make every optional argument required.
  const strict = tool.strict === true && capabilities.strict_tools && allowsStrictChat(parameters);
  if (tool.strict === true && !strict) warnings.add(strictPath(tool));
  return { ...named, parameters, strict };
}

function encodeChoice(
  choice: ToolChoice,
  tools: readonly Tool[],
  hosted: readonly CarriedTool[],
): JsonObject | string {
  if (choice.type !== "tool") return choice.type;
  const { name } = choice;
  const forced = hosted.find((tool) => isNamed(tool, name));
  if (forced !== undefined) return hostedChoice(forced);
  return { type: isCustomTool(tools, name) ? "custom" : "function", name };
}
