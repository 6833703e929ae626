/** Writes tools and tool choice as Responses fields. */
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { warnOfMark } from "../../fields/cache_marks.ts";
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
import { allowsStrictChat, functionParameters } from "../../tools/schemas/json_schema.ts";
import type { Warnings } from "../../contract/warnings.ts";
import {
  carriedChoice,
  type CarriedTool,
  isCustomTool,
  isNamed,
  strictPath,
  warnOfIdleChoice,
  writeParallelTools,
} from "../../tools/tool_fields.ts";
import { encodeHostedTools, hostedChoice } from "./hosted_tools.ts";
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
