/** Writes tools and tool choice as Messages fields. */
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ConversionOptions } from "../../contract/contract.ts";
import type {
  Conversation,
  CustomTool,
  FunctionTool,
  HostedTool,
  Placed,
  Tool,
  ToolChoice,
} from "../../conversation/mod.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { refuse } from "../../fields/fields.ts";
import { allowsStrictMessages } from "../../tools/schemas/json_schema.ts";
import type { Warnings } from "../../contract/warnings.ts";
import {
  carriedChoice,
  type CarriedTool,
  isNamed,
  warnOfIdleChoice,
} from "../../tools/tool_fields.ts";
import type { BlockWriter } from "./encode_blocks.ts";
import { encodeHostedTools } from "./hosted_tools.ts";
import { defined } from "../../../lib/base/defined.ts";

// What becomes of each member of a tool here. A new member does not compile until it has a row.
noneUnhandled<
  Exclude<
    keyof FunctionTool,
    | keyof Placed
    | "type"
    | "name"
    | "description"
    | "schema"
    | "strict"
    // Leaving `strict` out is not named.
    | "strictPath"
  >
>();
noneUnhandled<
  Exclude<
    keyof CustomTool,
    | keyof Placed
    | "type"
    | "name"
    | "description"
    // prepareTools() puts the grammar into the description.
    | "format"
  >
>();

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
    if (tool.type !== "hosted") tools.push(encodeTool(tool, capabilities, writer));
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
): JsonObject {
  const schema = tool.type === "function" ? tool.schema : undefined;
  const inputSchema = schema ?? { type: "object", properties: {} };
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
