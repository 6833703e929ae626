/** Writes tools and tool choice as Chat fields. */
import type { JsonObject } from "../../json.ts";
import { noteMark } from "../cache_marks.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../conversation/mod.ts";
import type { ResolvedFacts } from "../facts.ts";
import { allowsStrictChat, functionParameters } from "../json_schema.ts";
import type { Notes } from "../notes.ts";
import {
  carriedChoice,
  dropHostedTool,
  isCustomTool,
  noteHostedTool,
  noteIdleChoice,
  writeParallelTools,
} from "../tool_fields.ts";

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
export function encodeChatTools(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type === "hosted") encodeHosted(tool, conversation, facts, notes, body);
    else tools.push(encodeTool(tool, facts, notes));
  }
  if (tools.length === 0) return noteIdleChoice(conversation.toolChoice, notes);
  body.tools = tools;
  if (conversation.toolChoice !== undefined) {
    const choice = carriedChoice(conversation.toolChoice, facts, notes);
    body.tool_choice = encodeChoice(choice, conversation.tools);
  }
  writeParallelTools(conversation, facts, notes, body);
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject {
  noteMark(tool, notes);
  const named = {
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
  };
  if (tool.type === "custom") {
    return { type: "custom", custom: { ...named, ...customFormat(tool.format) } };
  }
  const parameters = functionParameters(tool.schema);
  // What is a strict schema in another style need not be one here; not enforced, it is still a good schema.
  const isRefused = tool.strict === true && !(facts.strict_tools && allowsStrictChat(parameters));
  if (isRefused) notes.add(`${tool.path}.strict`);
  const isSaid = tool.strict !== undefined && facts.strict_tools && !isRefused;
  const strict = isSaid ? { strict: tool.strict } : {};
  return { type: "function", function: { ...named, parameters, ...strict } };
}

/** Chat nests the grammar one level deeper than the flat form of the conversation. */
function customFormat(format: JsonObject | undefined): JsonObject {
  if (format === undefined) return {};
  if (format.type !== "grammar") return { format };
  const { type, ...grammar } = format;
  return { format: { type, grammar } };
}

function encodeHosted(
  tool: HostedTool,
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  if (tool.kind.startsWith("web_search") && facts.extra_fields.includes("web_search_options")) {
    noteHostedTool(tool, conversation.toolChoice, notes);
    body.web_search_options = {};
  } else {
    dropHostedTool(tool, conversation, notes);
  }
}

function encodeChoice(choice: ToolChoice, tools: readonly Tool[]): JsonObject | string {
  if (choice.type !== "tool") return choice.type;
  const { name } = choice;
  return isCustomTool(tools, name)
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } };
}
