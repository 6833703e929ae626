/** Writes hosted tools for a Messages request. */
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
import { defined } from "../../../lib/base/defined.ts";

/** The value of `anthropic-beta` that MCP servers need. */
const mcpBeta = "mcp-client-2025-11-20";

/** Hosted tools as a Messages request has them. */
export interface EncodedHosted {
  readonly carried: readonly CarriedTool[];
  readonly tools: readonly JsonObject[];
  readonly betas: readonly string[];
}

/** Writes the hosted tools that the route takes. Adds to the body what they need beside `tools`. */
export function encodeHostedTools(
  conversation: Pick<Conversation, "tools" | "toolChoice">,
  options: ConversionOptions,
  warnings: Warnings,
  body: JsonObject,
): EncodedHosted {
  const names = new Set(
    conversation.tools.flatMap((tool) => tool.type === "hosted" ? [] : [tool.name]),
  );
  // Names are fixed, and the vendor refuses two tools with one name.
  const has = ({ tool }: HostedToolRequest) => tool === "mcp" || !names.has(tool);
  const carried = carriedHosted(conversation, options, warnings, has);
  const servers = carried.flatMap(({ requested }) =>
    requested.tool === "mcp" ? [writeServer(requested)] : []
  );
  if (servers.length > 0) body.mcp_servers = servers;
  return {
    carried,
    tools: carried.map(({ requested }) => writeTool(requested, warnings)),
    betas: servers.length > 0 ? [mcpBeta] : [],
  };
}

function writeTool(requested: HostedToolRequest, warnings: Warnings): JsonObject {
  for (const path of requested.others) warnings.add(path);
  switch (requested.tool) {
    case "web_search":
      return writeSearch(requested, warnings);
    case "web_fetch":
      return { type: "web_fetch_20250910", name: "web_fetch" };
    case "code_execution":
      return { type: "code_execution_20250825", name: "code_execution" };
    case "mcp":
      return writeToolset(requested);
  }
}

/** The first version of the tool, which all models with web search have. */
function writeSearch(requested: WebSearchRequest, warnings: Warnings): JsonObject {
  const {
    tool: _,
    allowedDomains,
    blockedDomains,
    location,
    maxUses,
    contextSize,
    // writeTool() names them.
    others: _others,
    ...rest
  } = requested;
  noneLeft(rest);
  // The vendor takes one of the two lists.
  const blocked = allowedDomains === undefined ? blockedDomains : undefined;
  warnOfRequested([contextSize, blocked === undefined ? blockedDomains : undefined], warnings);
  return {
    type: "web_search_20250305",
    name: "web_search",
    ...(allowedDomains === undefined ? {} : { allowed_domains: [...allowedDomains.value] }),
    ...(blocked === undefined ? {} : { blocked_domains: [...blocked.value] }),
    ...(location === undefined
      ? {}
      : { user_location: { type: "approximate", ...location.value } }),
    ...defined({ max_uses: maxUses?.value }),
  };
}

function writeServer({ server, url, authorization }: McpRequest): JsonObject {
  return {
    type: "url",
    name: server,
    url,
    ...defined({ authorization_token: authorization }),
  };
}

function writeToolset({ server, allowedTools }: McpRequest): JsonObject {
  const toolset = { type: "mcp_toolset", mcp_server_name: server };
  if (allowedTools === undefined) return toolset;
  const configs = Object.fromEntries(allowedTools.map((name) => [name, { enabled: true }]));
  return { ...toolset, default_config: { enabled: false }, configs };
}
