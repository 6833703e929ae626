/** Writes tools and tool choice as Responses fields. */
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
  noteIdleChoice,
  writeParallelTools,
} from "../tool_fields.ts";

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
export function encodeResponsesTools(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type === "hosted") dropHostedTool(tool, conversation, notes);
    else tools.push(encodeTool(tool, facts, notes));
  }
  if (tools.length === 0) return noteIdleChoice(conversation.toolChoice, notes);
  body["tools"] = tools;
  if (conversation.toolChoice !== undefined) {
    const choice = carriedChoice(conversation.toolChoice, facts, notes);
    body["tool_choice"] = encodeChoice(choice, conversation.tools);
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
    type: tool.type,
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
  };
  if (tool.type === "custom") {
    return { ...named, ...(tool.format === undefined ? {} : { format: tool.format }) };
  }
  const parameters = functionParameters(tool.schema);
  // Said always: this vendor's default is strict, which would make every optional argument required.
  const strict = tool.strict === true && facts.strict_tools && allowsStrictChat(parameters);
  if (tool.strict === true && !strict) notes.add(`${tool.path}.strict`);
  return { ...named, parameters, strict };
}

function encodeChoice(choice: ToolChoice, tools: readonly Tool[]): JsonObject | string {
  if (choice.type !== "tool") return choice.type;
  const { name } = choice;
  return { type: isCustomTool(tools, name) ? "custom" : "function", name };
}
