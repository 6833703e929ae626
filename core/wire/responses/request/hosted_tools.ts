/** Writes hosted tools for a Responses request. */
import { noneLeft } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  HostedToolRequest,
  McpRequest,
  WebSearchRequest,
} from "../../conversation/mod.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { carriedHosted, type CarriedTool, warnOfRequested } from "../../tools/tool_fields.ts";
import { codeOutputs, searchSources } from "./includes.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Hosted tools as a Responses request has them. */
export interface EncodedHosted {
  readonly carried: readonly CarriedTool[];
  readonly tools: readonly JsonObject[];
  /** Values of `include` for results that the vendor sends only on request. */
  readonly include: readonly string[];
}

/** Writes the hosted tools that the route takes. Adds to the body what they need beside `tools`. */
export function encodeHostedTools(
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
export function hostedChoice({ requested }: CarriedTool): JsonObject {
  switch (requested.tool) {
    case "mcp":
      return { type: "mcp", server_label: requested.server };
    case "code_execution":
      return { type: "code_interpreter" };
    default:
      return { type: "web_search" };
  }
}
