/** Writes tools and tool choice as Messages fields. */
import { noneLeft } from "../../../lib/base/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
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
import { refuse } from "../../fields/fields.ts";
import { allowsStrictMessages } from "../../tools/schemas/json_schema.ts";
import type { Warnings } from "../../contract/warnings.ts";
import {
  carriedChoice,
  carriedHosted,
  type CarriedTool,
  isNamed,
  warnOfIdleChoice,
  warnOfRequested,
} from "../../tools/tool_fields.ts";
import type { BlockWriter } from "./encode_blocks.ts";
import { defined } from "../../../lib/base/defined.ts";

// Writes hosted tools for a Messages request.

/** The value of `anthropic-beta` that MCP servers need. */
const mcpBeta = "mcp-client-2025-11-20";

/** Hosted tools as a Messages request has them. */
export interface EncodedHosted {
  readonly carried: readonly CarriedTool[];
  readonly tools: readonly JsonObject[];
  readonly betas: readonly string[];
}

/** Writes the hosted tools that the route takes. Adds to the body what they need beside `tools`. */
function encodeHostedTools(
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
  const servers = carried.flatMap(({ requested, path }) =>
    requested.tool === "mcp" ? [writeServer(requested, path)] : []
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

function writeServer({ server, url, authorization }: McpRequest, path: string): JsonObject {
  if (!/^https:\/\//i.test(url)) refuse(path, "this model calls MCP servers only by https URLs");
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

/** Adds `tools` and `tool_choice` to the body; returns the values of `anthropic-beta` that they need. */
export function encodeMessagesTools(
  conversation: Pick<Conversation, "tools" | "toolChoice" | "parallelTools">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  writer: BlockWriter,
  warnings: Warnings,
  body: JsonObject,
): readonly string[] {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type !== "hosted") tools.push(encodeTool(tool, capabilities, writer, warnings));
  }
  const hosted = encodeHostedTools(conversation, options, warnings, body);
  tools.push(...hosted.tools);
  if (tools.length === 0) {
    warnOfIdleChoice(conversation.toolChoice, warnings);
    return [];
  }
  body.tools = tools;
  const choice = encodeChoice(conversation.toolChoice, capabilities, hosted.carried, warnings);
  const single = conversation.parallelTools === false;
  if (single && !capabilities.parallel_flag) warnings.add("parallel_tool_calls");
  if (single && capabilities.parallel_flag && choice?.type !== "none") {
    body.tool_choice = { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true };
  } else if (choice !== undefined) {
    body.tool_choice = choice;
  }
  return hosted.betas;
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  capabilities: ResolvedCapabilities,
  writer: BlockWriter,
  warnings: Warnings,
): JsonObject {
  const schema = tool.type === "function" ? tool.schema : undefined;
  const given = schema ?? { type: "object", properties: {} };
  const inputSchema = withLegalNames(given);
  if (inputSchema !== given) warnings.add(tool.path);
  // A schema that the vendor's grammar cannot express still works: it is only not enforced.
  const strict = tool.type === "function" && tool.strict === true && capabilities.strict_tools &&
    allowsStrictMessages(inputSchema);
  return {
    name: tool.name,
    ...defined({ description: tool.description }),
    input_schema: inputSchema,
    ...(strict ? { strict } : {}),
    ...writer.mark(tool),
  };
}

/** Names of arguments that the vendor takes; it refuses the request for any other. */
const argumentName = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Moves arguments whose names the vendor refuses into the description, from which the model can still write them. */
function withLegalNames(schema: JsonObject): JsonObject {
  const { properties, required, additionalProperties, description, ...rest } = schema;
  if (!isJsonObject(properties)) return schema;
  const odd = Object.entries(properties).filter(([name]) => !argumentName.test(name));
  if (odd.length === 0) return schema;
  const isLegal = (name: Json) => typeof name === "string" && argumentName.test(name);
  const told = odd.map(([name, one]) => `${name}: ${stringifyExactly(one ?? null)}`);
  const before = typeof description === "string" && description !== "" ? [description] : [];
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isLegal(name))),
    ...(Array.isArray(required) ? { required: required.filter(isLegal) } : {}),
    ...(additionalProperties === undefined || additionalProperties === false
      ? {}
      : { additionalProperties }),
    description: [...before, `Further arguments: ${told.join(", ")}`].join("\n"),
  };
}

function encodeChoice(
  requested: ToolChoice | undefined,
  capabilities: ResolvedCapabilities,
  hosted: readonly CarriedTool[],
  warnings: Warnings,
): JsonObject | undefined {
  if (requested === undefined) return undefined;
  const choice = carriedChoice(requested, capabilities, warnings);
  const forced = choice.type === "tool"
    ? hosted.find((tool) => isNamed(tool, choice.name))
    : undefined;
  // A server is no tool that could be forced: its tools have names of their own.
  if (forced?.requested.tool === "mcp") refuse(requested.path, "no MCP server can be forced");
  if (forced !== undefined) return { type: "tool", name: forced.requested.tool };
  if (choice.type === "tool") return { type: "tool", name: choice.name };
  return { type: choice.type === "required" ? "any" : choice.type };
}
